/* Resident memory of a process by kind. Its nodes are read elsewhere. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/sys/proc-memory.h"

/* "\nRssAnon:\t    1234 kB": names of processes are in the first line only, with their newlines
 * escaped. */
static int parse_kib(const char *text, const char *field, uint64_t *ret_bytes) {
        const char *p = strstr(text, field);
        uint64_t kib;

        if (!p || sscanf(p + strlen(field), " %" SCNu64 " kB", &kib) != 1 ||
            kib > UINT64_MAX / 1024)
                return -EBADMSG;
        *ret_bytes = kib * 1024;
        return 0;
}

int proc_memory_parse(const char *text, ProcMemory *ret) {
        ProcMemory m = { 0 };

        if (parse_kib(text, "\nRssAnon:", &m.anon_bytes) < 0 ||
            parse_kib(text, "\nRssFile:", &m.file_bytes) < 0 ||
            parse_kib(text, "\nRssShmem:", &m.shmem_bytes) < 0)
                return -EBADMSG;
        (void)parse_kib(text, "\nHugetlbPages:", &m.huge_bytes); /* not in every kernel */
        *ret = m;
        return 0;
}

int proc_memory_read(const ProcHandle *handle, ProcMemory *ret) {
        _cleanup_free_ char *text = NULL; /* of any length: thousands of supplementary groups */
        int r = read_file_alloc_at(handle->dir_fd, "status", &text, NULL);

        if (r == -ENOENT)
                return -ESRCH;
        return r < 0 ? r : proc_memory_parse(text, ret);
}
