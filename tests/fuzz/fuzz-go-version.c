/* An executable with any content: what is no program by Go leaves the output alone, and little of
 * it is read. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/sys/go-version.h"

enum { BYTES_READ_MAX = 64 << 10 };

typedef struct File {
        const uint8_t *data;
        size_t size, n_read;
} File;

static ssize_t read_file(uint64_t offset, void *buffer, size_t size, void *userdata) {
        File *file = userdata;

        check(offset <= INT64_MAX - size); /* as pread(2) requires */
        file->n_read += size;
        check(file->n_read <= BYTES_READ_MAX);
        if (offset >= file->size)
                return 0;
        if (size > file->size - offset)
                size = file->size - offset;
        memcpy(buffer, file->data + offset, size);
        return (ssize_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        File file = { .data = data, .size = size };
        GoVersion version = { 4711, 4712 };
        int r = go_version_parse(read_file, &file, &version);

        if (r < 0)
                check(r == -ENODATA && version.major == 4711 && version.minor == 4712);
        else
                check(r == 0 && version.major < 10000 && version.minor < 10000);
        return 0;
}
