#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/sys/cmdline.h"
#include "tidbnumad/sys/sysroot.h"

/* Without the last argument where its end is not seen. */
static size_t cut_last(const char *bytes, size_t size) {
        const char *end = memrchr(bytes, '\0', size);

        return end ? (size_t)(end - bytes) + 1 : 0;
}

/* Gives back what was not needed, with the NUL that a rewritten line may lack. */
static void finish(char *bytes, size_t size, char **ret_bytes, size_t *ret_size) {
        char *exact;

        if (size > 0 && bytes[size - 1] != '\0')
                bytes[size++] = '\0';
        bytes[size] = '\0';
        exact = realloc(bytes, size + 1);
        *ret_bytes = exact ? exact : bytes;
        *ret_size = size;
}

int cmdline_read(const ProcHandle *handle, char **ret_bytes, size_t *ret_size) {
        _cleanup_close_ int fd = openat(handle->dir_fd, "cmdline", O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *bytes = NULL;
        size_t size;
        ssize_t n;
        bool cut;

        if (fd < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        bytes = malloc(CMDLINE_MAX_BYTES + 2);
        if (!bytes)
                return -ENOMEM;
        n = read_up_to(fd, bytes, CMDLINE_MAX_BYTES + 1);
        if (n < 0)
                return (int)n;
        cut = (size_t)n > CMDLINE_MAX_BYTES;
        size = cut ? cut_last(bytes, CMDLINE_MAX_BYTES) : (size_t)n;
        finish(TAKE_PTR(bytes), size, ret_bytes, ret_size);
        return cut;
}

const char *cmdline_next(const char *bytes, size_t size, const char *argument) {
        const char *next = argument ? argument + strlen(argument) + 1 : bytes;

        return next < bytes + size ? next : NULL;
}

int cmdline_join(const char *bytes, size_t size, char **ret) {
        char *text = malloc(size + 1);

        if (!text)
                return -ENOMEM;
        for (size_t i = 0; i < size; i++)
                text[i] = bytes[i] == '\0' ? ' ' : bytes[i];
        text[size > 0 ? size - 1 : 0] = '\0'; /* the last argument's */
        *ret = text;
        return 0;
}

/* --- environment --- */

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
