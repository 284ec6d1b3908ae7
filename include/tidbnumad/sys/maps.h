/* The mappings of a process and where their pages are: /proc/PID/maps and numa_maps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/sys/proc.h"

typedef enum MappingKind {
        MAPPING_OTHER,       /* nothing that could be moved: reserved, of the kernel, of a device */
        MAPPING_PRIVATE,     /* its own memory, perhaps beside pages of a file */
        MAPPING_SHARED_ANON, /* shared memory without a name, which only a fork can share */
        MAPPING_FILE,        /* a file, or shared memory with a name (memfd, System V, tmpfs) */
} MappingKind;

typedef struct Mapping {
        uint64_t start; /* addresses, page-aligned */
        uint64_t end;
        MappingKind kind;
        bool has_file; /* of MAPPING_PRIVATE: what was not written to is the file's */
        bool on_disk;  /* its file is on a block device: no other process serves it, as with FUSE */
        bool is_shmem; /* of a shared one: its pages count as shared memory, no disk has them */
        dev_t device;  /* of its file, as the next; 0: none */
        uint64_t inode;
        bool is_private;
        bool is_huge; /* of a shared one: huge pages that the host has reserved, hugetlbfs */
} Mapping;

/* The devices of shared memory. A name in maps proves nothing: with a bind mount in a namespace of
 * its own, any user can give any file any path. */
typedef struct ShmemDevices {
        dev_t kernel;  /* the kernel's internal mount: memfd, System V, memory without a name */
        dev_t dev_shm; /* the tmpfs on this host's /dev/shm */
        dev_t huge;    /* as `kernel`, for huge pages of the default size */
        dev_t dev_hugepages; /* the hugetlbfs on this host's /dev/hugepages */
} ShmemDevices;

/* One line of /proc/PID/maps, with or without its newline. 0; -EBADMSG: not such a line. */
int maps_parse_line(const char *line, const ShmemDevices *shmem, Mapping *ret);

/* A window of the file of one address space: after the process has executed another program, or
 * ended, there is nothing more to read. */
typedef struct MapsReader {
        int fd;
        ShmemDevices shmem;
        size_t begin, end; /* what of `window` is not yet read */
        bool cut;          /* the rest of a long line is to be passed over */
        char window[4096 + 1];
} MapsReader;

/* -ESRCH: gone. The caller ends it with maps_close(), also before a failure's next attempt. */
int maps_open(const ProcHandle *handle, MapsReader **ret);
MapsReader *maps_close(MapsReader *reader);

/* The next mapping, ascending. Returns 1, or 0 at the end, or a negative errno. */
int maps_next(MapsReader *reader, Mapping *ret);

/* From the start again, of the same address space. */
int maps_rewind(MapsReader *reader);

/* --- numa_maps --- */

/* Where all pages of a process are: /proc/PID/numa_maps (proc(5)).
 *
 * Exact and expensive: the kernel walks through every page and holds the process's memory map
 * meanwhile, 15.8 ms per GiB were seen. Read on request only. */

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
 * out of the first line: "default", "bind:2", "prefer (many):0-1", … That is of the first mapping,
 * the program itself, which has the policy of the process's first thread. -EBADMSG: no such line;
 * -ENOSPC. */
int memory_policy_parse(const char *text, char *buffer, size_t size);

/* The kernel walks through no more than that mapping for it. -ESRCH: gone; -EACCES; -ENOENT: a
 * kernel without NUMA. */
int memory_policy_read(const ProcHandle *handle, char *buffer, size_t size);
