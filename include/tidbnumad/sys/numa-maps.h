/* Where all pages of a process are: /proc/PID/numa_maps (proc(5)).
 *
 * Exact and expensive: the kernel walks through every page and holds the process's memory map
 * meanwhile, 15.8 ms per GiB were seen. Read on request only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/proc.h"

typedef enum NumaMapsKind {
        NUMA_MAPS_ANON, /* the larger part of a mapping's pages is the process's own */
        NUMA_MAPS_FILE,
        NUMA_MAPS_SHMEM, /* memfd, System V, /dev/shm, shared memory without a name */
        NUMA_MAPS_HUGE,  /* hugetlbfs, private or shared */
        N_NUMA_MAPS_KINDS,
} NumaMapsKind;

/* Called with each mapping's bytes on each node that has any. */
typedef void (*NumaMapsCallback)(uint32_t node, NumaMapsKind kind, uint64_t bytes, void *userdata);

/* One line, with or without its newline. 0; -EBADMSG: not such a line, nothing was called. */
int numa_maps_parse_line(const char *line, NumaMapsCallback callback, void *userdata);

/* -ESRCH: the process is gone; -EACCES: no permission; -ENOENT: a kernel without numa_maps. */
int numa_maps_read(const ProcHandle *handle, NumaMapsCallback callback, void *userdata);

/* The NUMA policy that a process has set itself, or numactl(8) for it (set_mempolicy(2), numa(7)),
 * out of the first line: "default", "bind:2", "interleave:0-7", … That is of the first mapping, the
 * program itself, which has the policy of the process's first thread. -EBADMSG: no such line;
 * -ENOSPC. */
int memory_policy_parse(const char *text, char *buffer, size_t size);

/* The kernel walks through no more than that mapping for it. -ESRCH: gone; -EACCES; -ENOENT: a
 * kernel without NUMA. */
int memory_policy_read(const ProcHandle *handle, char *buffer, size_t size);
