/* /proc/PID/numa_maps, a line at a time, and the policy in its first line. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/numa-maps.h"

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

static NumaMapsKind kind_of(const char *line, uint64_t n_pages) {
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
        kind = kind_of(line, all);
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
