/* Feeds each file of a corpus folder to a fuzz target, in place of libFuzzer's main(). A folder
 * without files is a failure: it would test nothing. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "tidbnumad/base/cleanup.h"

/* The input in a block of exactly its size, so that a sanitizer sees the first byte too far. */
static int replay(int folder, const char *name) {
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
        (void)printf("%s\n", name);
        (void)fflush(stdout); /* names the culprit of a crash */
        (void)LLVMFuzzerTestOneInput(data, size);
        return 1;
}

int main(int argc, char **argv) {
        _cleanup_closedir_ DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
        struct dirent *entry;
        int n = 0;

        if (!folder) {
                (void)fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
                return 2;
        }
        while ((entry = readdir(folder))) {
                int r = replay(dirfd(folder), entry->d_name);

                if (r < 0) {
                        (void)fprintf(stderr, "%s: cannot be read\n", entry->d_name);
                        return 1;
                }
                n += r;
        }
        return n > 0 ? 0 : 1;
}
