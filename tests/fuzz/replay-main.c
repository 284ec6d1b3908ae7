/* Feeds each file of a corpus folder to a fuzz target, in place of libFuzzer's main(), and then
 * large inputs that are made of them, with a limit of CPU time. A folder without files is a
 * failure: it would test nothing. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fuzz.h"
#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"

/* Large inputs. A parser whose time grows with the square of its input takes minutes for one of
 * these, and one whose time grows with its input some milliseconds; the limit is between, far from
 * both, so that sanitizers and a busy host do not matter. */
#define LARGE_KIB 256
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/* It looks for the end of a string at each call of some functions of the C library. */
#undef LARGE_KIB
#define LARGE_KIB 32
#endif
#endif
enum { LARGE_BYTES = LARGE_KIB << 10, LARGE_SECONDS = 4, LARGE_SEEDS = 8, SHAPED_SEEDS = 3 };

/* What a large input is filled with before a seed. */
static const char *const shapes[] = { "\n",  " \n", "#\n",    "- ",  "- a\n", "[",   "{",
                                      "a: ", "? ",  "&a *a ", "0,",  "0-1,",  "/",   "\\",
                                      "\"",  "'",   "\t",     "%a ", "(",     "1:2 " };

typedef struct Seed {
        char *name;
        uint8_t *data;
        size_t size;
} Seed;

static void seeds_done(Seed *seeds, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(seeds[i].name);
                free(seeds[i].data);
        }
        free(seeds);
}

/* 1: it is a file, in a block of exactly its size, so that a sanitizer sees the first byte too far.
 */
static int read_seed(int folder, const char *name, Seed *ret) {
        _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ uint8_t *data = NULL;
        struct stat st;
        size_t size = 0;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return 0;
        data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
        if (!data)
                return -ENOMEM;
        while (size < (size_t)st.st_size) {
                ssize_t n = read(fd, data + size, (size_t)st.st_size - size);

                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                size += (size_t)n;
        }
        *ret = (Seed){ strdup(name), TAKE_PTR(data), size };
        return ret->name ? 1 : -ENOMEM;
}

static double cpu_seconds(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* True: it took no longer than a large input may. */
static bool feed_large(const char *name, const char *what, const uint8_t *data, size_t size) {
        const double begun = cpu_seconds();
        double taken;

        (void)printf("%s, large: %s\n", name, what);
        (void)fflush(stdout);
        (void)LLVMFuzzerTestOneInput(data, size);
        taken = cpu_seconds() - begun;
        if (taken > LARGE_SECONDS)
                (void)fprintf(stderr,
                              "%s, large: '%s' took %.1f s of CPU time, expected up to %d\n", name,
                              what, taken, LARGE_SECONDS);
        return taken <= LARGE_SECONDS;
}

static void fill(uint8_t *data, size_t size, const void *with, size_t with_size) {
        for (size_t i = 0; i < size; i += with_size)
                memcpy(data + i, with, size - i < with_size ? size - i : with_size);
}

static bool feed_large_of(const Seed *seed, bool shaped) {
        const size_t size = LARGE_BYTES + seed->size;
        _cleanup_free_ uint8_t *data = malloc(size);
        bool in_time;

        if (!data || seed->size == 0)
                return data != NULL;
        fill(data, LARGE_BYTES, seed->data, seed->size);
        in_time = feed_large(seed->name, "repeated", data, LARGE_BYTES);
        for (size_t k = 0; k < ELEMENTSOF(shapes) && shaped; k++) {
                fill(data, LARGE_BYTES, shapes[k], strlen(shapes[k]));
                memcpy(data + LARGE_BYTES, seed->data, seed->size);
                in_time &= feed_large(seed->name, shapes[k], data, size);
        }
        return in_time;
}

static int feed(const Seed *seeds, size_t n) {
        const size_t step = n / LARGE_SEEDS + 1, shaped_step = n / SHAPED_SEEDS + 1;
        bool in_time = true;

        for (size_t i = 0; i < n; i++) {
                (void)printf("%s\n", seeds[i].name);
                (void)fflush(stdout); /* names the culprit of a crash */
                (void)LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
        }
        for (size_t i = 0; i < n; i += step)
                in_time &= feed_large_of(&seeds[i], false);
        for (size_t i = 0; i < n; i += shaped_step)
                in_time &= feed_large_of(&seeds[i], true);
        return n > 0 && in_time ? 0 : 1;
}

int main(int argc, char **argv) {
        _cleanup_closedir_ DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
        struct dirent *entry;
        Seed *seeds = NULL;
        size_t n = 0, allocated = 0;
        int r = 0;

        if (!folder) {
                (void)fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
                return 2;
        }
        while (r >= 0 && (entry = readdir(folder))) {
                Seed seed;

                r = read_seed(dirfd(folder), entry->d_name, &seed);
                if (r < 0)
                        (void)fprintf(stderr, "%s: cannot be read\n", entry->d_name);
                else if (r > 0)
                        r = ARRAY_INSERT(seeds, n, allocated, n, &seed);
        }
        r = r < 0 ? 1 : feed(seeds, n);
        seeds_done(seeds, n);
        return r;
}
