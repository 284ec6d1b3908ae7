/* The environment of a process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/sys/environment.h"
#include "tidbnumad/sys/sysroot.h"

const char *environment_find(const char *bytes, size_t size, const char *key) {
        const size_t length = strlen(key);

        for (const char *entry = bytes; entry < bytes + size; entry += strlen(entry) + 1)
                if (strncmp(entry, key, length) == 0 && entry[length] == '=')
                        return entry + length + 1;
        return NULL;
}

int environment_read(const ProcHandle *handle, const char *key, char *buffer, size_t size) {
        _cleanup_free_ char *bytes = NULL;
        const char *value;
        size_t n;
        int r = read_file_alloc_at(handle->dir_fd, "environ", &bytes, &n);

        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;
        value = environment_find(bytes, n, key);
        if (!value)
                return -ENODATA;
        r = snprintf(buffer, size, "%s", value);
        return r < 0 || (size_t)r >= size ? -ENOSPC : 0;
}
