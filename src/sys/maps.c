/* The mappings of a process: /proc/PID/maps, and /proc/PID/numa_maps with their pages. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/maps.h"

/* /proc/PID/maps in a window of one page: what the kernel gives at a time. Between two windows it
 * lets go of the process's memory map. */

/* An empty one takes no page, reserved or not. */
static dev_t device_of_memfd(unsigned flags) {
        _cleanup_close_ int fd = memfd_create("tidbnumad", MFD_CLOEXEC | flags);
        struct stat st;

        return fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
}

/* Where nothing is mounted there, the folder is of another file system. */
static dev_t device_of_mount(const char *path, long type) {
        struct statfs fs;
        struct stat st;

        return statfs(path, &fs) == 0 && fs.f_type == type && stat(path, &st) == 0 ? st.st_dev : 0;
}

/* Moves behind a number and the character behind it. */
static bool take_hex(const char **line, char behind, uint64_t *ret) {
        const char *p = *line;
        uint64_t value = 0;

        for (; isxdigit((unsigned char)*p); p++)
                value = value << 4 | (uint64_t)(*p <= '9' ? *p - '0' : (*p | 0x20) - 'a' + 10);
        if (p == *line || p - *line > 16 || *p != behind)
                return false;
        *line = p + 1;
        *ret = value;
        return true;
}

int maps_parse_line(const char *line, const ShmemDevices *shmem, Mapping *ret) {
        uint64_t start, end, offset, major, minor;
        bool is_private, is_shared, is_kernel_shmem;
        const char *permissions, *inode;
        MappingKind kind;
        dev_t device;

        /* Exactly as the kernel writes it, and not by sscanf(3): a server may have 50,000 lines. */
        if (!take_hex(&line, '-', &start) || !take_hex(&line, ' ', &end) || strcspn(line, " ") != 4)
                return -EBADMSG;
        permissions = line;
        line += 4;
        line += *line == ' ';
        if (!take_hex(&line, ' ', &offset) || !take_hex(&line, ':', &major) ||
            !take_hex(&line, ' ', &minor))
                return -EBADMSG;
        inode = line;
        line += strspn(line, "0123456789");
        if (line == inode || major > UINT_MAX || minor > UINT_MAX || start >= end)
                return -EBADMSG;
        line += strspn(line, " ");
        device = makedev((unsigned)major, (unsigned)minor);
        is_private = permissions[3] == 'p';
        is_shared = !is_private && device != 0;
        is_kernel_shmem = device != 0 && device == shmem->kernel;
        /* PROT_NONE is address space that an allocator (Go, jemalloc) reserves: it has no pages.
         * "[v": of the kernel's own; [vsyscall] is not even in the user's range. */
        if ((permissions[0] != 'r' && permissions[1] != 'w') || strncmp(line, "[v", 2) == 0)
                kind = MAPPING_OTHER;
        else if (is_private)
                kind = MAPPING_PRIVATE;
        /* On the kernel's own mount, where no user chooses the names:
         * Documentation/filesystems/proc.rst. */
        else if (is_kernel_shmem && (strncmp(line, "/dev/zero (deleted)", 19) == 0 ||
                                     strncmp(line, "[anon_shmem:", 12) == 0))
                kind = MAPPING_SHARED_ANON;
        /* A device's memory is where the device has it; /dev/shm is no device, hugetlbfs neither.
         */
        else if (strncmp(line, "/dev/", 5) == 0 && strncmp(line, "/dev/shm/", 9) != 0 &&
                 strncmp(line, "/dev/hugepages/", 15) != 0)
                kind = MAPPING_OTHER;
        else
                kind = *line == '/' ? MAPPING_FILE : MAPPING_OTHER;
        *ret = (Mapping){
                .start = start,
                .end = end,
                .kind = kind,
                .device = device,
                .inode = strtoull(inode, NULL, 10),
                .is_private = is_private,
                .has_file = *line == '/',
                .on_disk = *line == '/' && major != 0,
                .is_shmem = is_shared && (device == shmem->kernel || device == shmem->dev_shm),
                .is_huge = is_shared && (device == shmem->huge || device == shmem->dev_hugepages),
        };
        return 0;
}

int maps_open(const ProcHandle *handle, MapsReader **ret) {
        _cleanup_close_ int fd = proc_open_memory_file(handle, "maps");
        MapsReader *reader;

        if (fd < 0)
                return proc_error(fd);
        reader = calloc(1, sizeof(*reader));
        if (!reader)
                return -ENOMEM;
        reader->fd = TAKE_FD(fd);
        /* What cannot be found out stays 0, which no mapping of a file has. */
        reader->shmem = (ShmemDevices){
                .kernel = device_of_memfd(0),
                .dev_shm = device_of_mount("/dev/shm", TMPFS_MAGIC),
                .huge = device_of_memfd(MFD_HUGETLB),
                .dev_hugepages = device_of_mount("/dev/hugepages", HUGETLBFS_MAGIC),
        };
        *ret = reader;
        return 0;
}

MapsReader *maps_close(MapsReader *reader) {
        if (reader)
                closep(&reader->fd);
        free(reader);
        return NULL;
}

int maps_rewind(MapsReader *reader) {
        reader->begin = reader->end = 0;
        reader->cut = false;
        return lseek(reader->fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int maps_next(MapsReader *reader, Mapping *ret) {
        const size_t room = sizeof(reader->window) - 1;

        for (;;) {
                char *line = reader->window + reader->begin;
                char *newline = memchr(line, '\n', reader->end - reader->begin);
                const bool full = !newline && reader->end - reader->begin == room;
                const bool cut = reader->cut;
                ssize_t n;

                /* Of a line that is longer than the window, the beginning counts. */
                if (newline || full) {
                        char *behind = full ? reader->window + reader->end : newline;

                        *behind = '\0';
                        reader->begin = (size_t)(behind - reader->window) + !full;
                        reader->cut = full;
                        if (!cut && maps_parse_line(line, &reader->shmem, ret) >= 0)
                                return 1;
                        continue;
                }
                /* More of the file, behind what is not yet read. */
                memmove(reader->window, line, reader->end - reader->begin);
                reader->end -= reader->begin;
                reader->begin = 0;
                n = read(reader->fd, reader->window + reader->end, room - reader->end);
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                reader->end += (size_t)n;
        }
}

/* --- /proc/PID/numa_maps, a line at a time, and the policy in its first line --- */

static uint64_t count_of(const char *line, const char *word) {
        uint64_t n;

        return parse_field(line, word, &n) < 0 ? 0 : n;
}

/* " N3=17": moves on behind it. */
static bool next_node(const char **at, uint32_t *ret_node, uint64_t *ret_pages) {
        for (const char *p = strstr(*at, " N"); p; p = strstr(p + 2, " N")) {
                int length = 0;

                if (sscanf(p, " N%" SCNu32 "=%" SCNu64 "%n", ret_node, ret_pages, &length) != 2)
                        continue;
                *at = p + length;
                return true;
        }
        return false;
}

int numa_maps_parse_line(const char *line, NumaMapsCallback callback, void *userdata) {
        static const char *const shmem[] = { "/memfd:", "/SYSV", "/dev/shm/", "/dev/zero" };
        const uint64_t page_kib = count_of(line, " kernelpagesize_kB=");
        /* Blanks in file names are written as \040, so that no file name contains such a word. */
        const char *file = strstr(line, " file="), *at;
        uint64_t pages, all = 0;
        NumaMapsKind kind;
        uint32_t node;

        if (strspn(line, "0123456789abcdef") == 0 || line[strspn(line, "0123456789abcdef")] != ' ')
                return -EBADMSG;
        for (at = line; next_node(&at, &node, &pages);)
                if (__builtin_add_overflow(all, pages, &all))
                        return -EBADMSG;
        /* A line without pages has no page size. */
        if (all > 0 && (page_kib == 0 || page_kib > UINT64_MAX / 1024 / all))
                return -EBADMSG;
        /* Beside a file's pages the line does not show the nodes of the copied pages. */
        kind = !file || count_of(line, " anon=") > all / 2 ? NUMA_MAPS_ANON : NUMA_MAPS_FILE;
        for (size_t i = 0; file && i < ELEMENTSOF(shmem); i++)
                if (strncmp(file + strlen(" file="), shmem[i], strlen(shmem[i])) == 0)
                        kind = NUMA_MAPS_SHMEM;
        if (strstr(line, " huge"))
                kind = NUMA_MAPS_HUGE;
        for (at = line; next_node(&at, &node, &pages);)
                if (pages > 0)
                        callback(node, kind, pages * page_kib * 1024, userdata);
        return 0;
}

/* -ESRCH: the process is gone; -ENOENT: a kernel without NUMA. */
static int numa_maps_open(const ProcHandle *handle) {
        int fd = proc_open_memory_file(handle, "numa_maps");

        return fd == -ENOENT && !path_exists(handle->dir_fd, "stat") ? -ESRCH : fd;
}

int numa_maps_read(const ProcHandle *handle, NumaMapsCallback callback, void *userdata) {
        int fd = numa_maps_open(handle);
        _cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "re");
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0;

        if (fd < 0)
                return fd;
        if (!file) {
                closep(&fd);
                return -errno;
        }
        errno = 0;
        while (getline(&line, &allocated, file) >= 0)
                (void)numa_maps_parse_line(line, callback, userdata);
        if (ferror(file))
                return errno != 0 ? -errno : -EIO;
        return proc_is_alive(handle) ? 0 : -ESRCH;
}

/* --- the policy --- */

int memory_policy_parse(const char *text, char *buffer, size_t size) {
        size_t address = strspn(text, "0123456789abcdef"), n;
        const char *word = text + address;

        if (address == 0 || *word != ' ')
                return -EBADMSG;
        word++;
        n = strcspn(word, " \n");
        /* Names of two words: "prefer (many):0-1", "weighted interleave:0-7". */
        if (strncmp(word + n, " (many)", 7) == 0 || strncmp(word + n, " interleave", 11) == 0)
                n += 1 + strcspn(word + n + 1, " \n");
        if (n == 0 || !isalpha((unsigned char)*word))
                return -EBADMSG;
        if (n >= size)
                return -ENOSPC;
        memcpy(buffer, word, n);
        buffer[n] = '\0';
        return 0;
}

int memory_policy_read(const ProcHandle *handle, char *buffer, size_t size) {
        _cleanup_close_ int fd = numa_maps_open(handle);
        char text[128]; /* a longer read would make the kernel walk further */
        ssize_t n;

        if (fd < 0)
                return fd;
        n = read(fd, text, sizeof(text) - 1);
        if (n < 0)
                return -errno;
        text[n] = '\0';
        return memory_policy_parse(text, buffer, size);
}
