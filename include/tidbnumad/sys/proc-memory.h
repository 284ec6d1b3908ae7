/* How much memory a process has resident, by kind: /proc/PID/status. */
#pragma once

#include <stdint.h>

#include "tidbnumad/sys/proc.h"

/* Counters that the kernel keeps anyway: reading them walks through nothing. */
typedef struct ProcMemory {
        uint64_t anon_bytes;  /* RssAnon */
        uint64_t file_bytes;  /* RssFile */
        uint64_t shmem_bytes; /* RssShmem */
        uint64_t huge_bytes;  /* HugetlbPages, in none of the others */
} ProcMemory;

/* -EBADMSG: a field is missing, as of a kernel thread or of a process that has ended. */
int proc_memory_parse(const char *text, ProcMemory *ret);

/* -ESRCH: gone. */
int proc_memory_read(const ProcHandle *handle, ProcMemory *ret);
