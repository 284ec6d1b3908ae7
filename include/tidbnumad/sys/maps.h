/* The mappings of a process, /proc/PID/maps, read piece by piece: a process may have 50,000 of
 * them. */
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
