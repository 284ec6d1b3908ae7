/* Resident memory of a process by kind. Its nodes are read elsewhere. */
#include <errno.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/proc-memory.h"

/* Names of processes are in the first line only, with their newlines escaped. */
int proc_memory_parse(const char *text, ProcMemory *ret) {
        ProcMemory m = { 0 };

        if (parse_kib_field(text, "\nRssAnon:", &m.anon_bytes) < 0 ||
            parse_kib_field(text, "\nRssFile:", &m.file_bytes) < 0 ||
            parse_kib_field(text, "\nRssShmem:", &m.shmem_bytes) < 0)
                return -EBADMSG;
        (void)parse_kib_field(text, "\nHugetlbPages:", &m.huge_bytes); /* not in every kernel */
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
