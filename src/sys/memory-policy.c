/* NUMA policies of processes. */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include "tidbnumad/sys/memory-policy.h"

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
