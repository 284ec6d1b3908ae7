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

/* --- maps --- */

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

/* What cannot be found out stays 0, which no mapping of a file has. */
static ShmemDevices read_shmem_devices(void) {
        return (ShmemDevices){
                .kernel = device_of_memfd(0),
                .dev_shm = device_of_mount("/dev/shm", TMPFS_MAGIC),
                .huge = device_of_memfd(MFD_HUGETLB),
                .dev_hugepages = device_of_mount("/dev/hugepages", HUGETLBFS_MAGIC),
        };
}

/* On the kernel's own mount, where no user chooses the names:
 * Documentation/filesystems/proc.rst. */
static bool is_shared_anonymous(const char *name) {
        return strncmp(name, "/dev/zero (deleted)", 19) == 0 ||
               strncmp(name, "[anon_shmem:", 12) == 0;
}

static MappingKind kind_of(const char *permissions, const char *name, bool is_kernel_shmem) {
        /* PROT_NONE is address space that an allocator (Go, jemalloc) reserves: it has no pages. */
        if (permissions[0] != 'r' && permissions[1] != 'w')
                return MAPPING_OTHER;
        /* Of the kernel's own; [vsyscall] is not even in the user's range. */
        if (strncmp(name, "[v", 2) == 0)
                return MAPPING_OTHER;
        if (permissions[3] == 'p')
                return MAPPING_PRIVATE;
        if (is_kernel_shmem && is_shared_anonymous(name))
                return MAPPING_SHARED_ANON;
        /* A device's memory is where the device has it; /dev/shm is no device, hugetlbfs neither.
         */
        if (strncmp(name, "/dev/", 5) == 0 && strncmp(name, "/dev/shm/", 9) != 0 &&
            strncmp(name, "/dev/hugepages/", 15) != 0)
                return MAPPING_OTHER;
        return *name == '/' ? MAPPING_FILE : MAPPING_OTHER;
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

/* Exactly as the kernel writes it, and not by sscanf(3): a server may have 50,000 lines. */
static bool take_numbers(const char **line, uint64_t *start, uint64_t *end, char permissions[5],
                         uint64_t *major, uint64_t *minor, uint64_t *inode) {
        uint64_t offset;
        size_t n_inode;

        if (!take_hex(line, '-', start) || !take_hex(line, ' ', end) || strcspn(*line, " ") != 4)
                return false;
        memcpy(permissions, *line, 4);
        permissions[4] = '\0';
        *line += 4;
        *line += **line == ' ';
        if (!take_hex(line, ' ', &offset) || !take_hex(line, ':', major) ||
            !take_hex(line, ' ', minor))
                return false;
        n_inode = strspn(*line, "0123456789");
        *inode = strtoull(*line, NULL, 10);
        *line += n_inode;
        return n_inode > 0 && *major <= UINT_MAX && *minor <= UINT_MAX;
}

int maps_parse_line(const char *line, const ShmemDevices *shmem, Mapping *ret) {
        uint64_t start, end, major, minor, inode;
        char permissions[5];
        bool is_shared;
        dev_t device;

        if (!take_numbers(&line, &start, &end, permissions, &major, &minor, &inode) || start >= end)
                return -EBADMSG;
        line += strspn(line, " ");
        device = makedev((unsigned)major, (unsigned)minor);
        is_shared = permissions[3] != 'p' && device != 0;
        *ret = (Mapping){
                .start = start,
                .end = end,
                .kind = kind_of(permissions, line, device != 0 && device == shmem->kernel),
                .device = device,
                .inode = inode,
                .is_private = permissions[3] == 'p',
                .has_file = *line == '/',
                .on_disk = *line == '/' && major != 0,
                .is_shmem = is_shared && (device == shmem->kernel || device == shmem->dev_shm),
                .is_huge = is_shared && (device == shmem->huge || device == shmem->dev_hugepages),
        };
        return 0;
}

int maps_open(const ProcHandle *handle, MapsReader **ret) {
        MapsReader *reader = calloc(1, sizeof(*reader));

        if (!reader)
                return -ENOMEM;
        reader->fd = openat(handle->dir_fd, "maps", O_RDONLY | O_CLOEXEC);
        if (reader->fd < 0) {
                int r = errno == ENOENT ? -ESRCH : -errno;

                free(reader);
                return r;
        }
        reader->shmem = read_shmem_devices();
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

/* Puts more of the file behind what is not yet read. Returns the bytes that came. */
static ssize_t refill(MapsReader *reader) {
        const size_t room = sizeof(reader->window) - 1;
        ssize_t n;

        memmove(reader->window, reader->window + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
        n = read(reader->fd, reader->window + reader->end, room - reader->end);
        if (n > 0)
                reader->end += (size_t)n;
        return n < 0 ? -errno : n;
}

/* The next line, without its newline; of one that is longer than the window the beginning. */
static int next_line(MapsReader *reader, char **ret) {
        for (;;) {
                char *line = reader->window + reader->begin;
                char *newline = memchr(line, '\n', reader->end - reader->begin);
                bool full = !newline && reader->end - reader->begin == sizeof(reader->window) - 1;
                bool cut = reader->cut;
                ssize_t n;

                if (newline || full) {
                        reader->window[newline ? (size_t)(newline - reader->window) : reader->end] =
                                '\0';
                        reader->begin =
                                newline ? (size_t)(newline - reader->window) + 1 : reader->end;
                        reader->cut = full;
                        if (cut)
                                continue;
                        *ret = line;
                        return 1;
                }
                n = refill(reader);
                if (n <= 0)
                        return (int)n;
        }
}

int maps_next(MapsReader *reader, Mapping *ret) {
        char *line;
        int r;

        do {
                r = next_line(reader, &line);
                if (r <= 0)
                        return r;
        } while (maps_parse_line(line, &reader->shmem, ret) < 0);
        return 1;
}

/* --- numa-maps --- */

/* /proc/PID/numa_maps, a line at a time, and the policy in its first line. */

/* The value behind " name=", or NULL. Blanks in file names are written as \040, so that no file
 * name contains such a word. */
static const char *find(const char *line, const char *word) {
        const char *p = strstr(line, word);

        return p ? p + strlen(word) : NULL;
}

static uint64_t count_of(const char *line, const char *word) {
        uint64_t n;

        return parse_field(line, word, &n) < 0 ? 0 : n;
}

static bool is_shmem(const char *name) {
        static const char *const begins[] = { "/memfd:", "/SYSV", "/dev/shm/", "/dev/zero" };

        for (size_t i = 0; i < ELEMENTSOF(begins); i++)
                if (strncmp(name, begins[i], strlen(begins[i])) == 0)
                        return true;
        return false;
}

static NumaMapsKind numa_maps_kind_of(const char *line, uint64_t n_pages) {
        const char *file = find(line, " file=");

        if (strstr(line, " huge"))
                return NUMA_MAPS_HUGE;
        if (file && is_shmem(file))
                return NUMA_MAPS_SHMEM;
        /* Beside a file's pages the line does not show the nodes of the copied pages. */
        return !file || count_of(line, " anon=") > n_pages / 2 ? NUMA_MAPS_ANON : NUMA_MAPS_FILE;
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
        const uint64_t page_kib = count_of(line, " kernelpagesize_kB=");
        uint64_t pages, all = 0;
        uint32_t node;
        const char *at;
        NumaMapsKind kind;

        if (strspn(line, "0123456789abcdef") == 0 || line[strspn(line, "0123456789abcdef")] != ' ')
                return -EBADMSG;
        for (at = line; next_node(&at, &node, &pages);)
                if (__builtin_add_overflow(all, pages, &all))
                        return -EBADMSG;
        /* A line without pages has no page size. */
        if (all > 0 && (page_kib == 0 || page_kib > UINT64_MAX / 1024 / all))
                return -EBADMSG;
        kind = numa_maps_kind_of(line, all);
        for (at = line; next_node(&at, &node, &pages);)
                if (pages > 0)
                        callback(node, kind, pages * page_kib * 1024, userdata);
        return 0;
}

int numa_maps_read(const ProcHandle *handle, NumaMapsCallback callback, void *userdata) {
        _cleanup_close_ int fd = openat(handle->dir_fd, "numa_maps", O_RDONLY | O_CLOEXEC);
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0;

        if (fd < 0)
                return -errno;
        file = fdopen(fd, "re");
        if (!file)
                return -errno;
        (void)TAKE_FD(fd);
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
        if (n == 0 || !isalpha((unsigned char)*word))
                return -EBADMSG;
        if (n >= size)
                return -ENOSPC;
        memcpy(buffer, word, n);
        buffer[n] = '\0';
        return 0;
}

int memory_policy_read(const ProcHandle *handle, char *buffer, size_t size) {
        _cleanup_close_ int fd = openat(handle->dir_fd, "numa_maps", O_RDONLY | O_CLOEXEC);
        char text[128]; /* a longer read would make the kernel walk further */
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        if (n < 0)
                return errno == ENOENT && faccessat(handle->dir_fd, "stat", F_OK, 0) < 0 ? -ESRCH
                                                                                         : -errno;
        text[n] = '\0';
        return memory_policy_parse(text, buffer, size);
}
