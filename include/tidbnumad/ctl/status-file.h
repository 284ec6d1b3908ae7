/* What the daemon publishes of its instances: /run/tidbnumad/status.json, read back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/snapshot.h"

typedef struct StatusMemory {
        uint32_t node;
        uint64_t bytes;
} StatusMemory;

typedef struct StatusInstance {
        char *name, *policy, *exe; /* owned, as the others */
        char *unit, *data_dir;     /* NULL: none */
        char *state, *reason;
        bool cpu_bound, memory_bound; /* false also: an older daemon reports neither */
        char *reason_code, *remedy;   /* NULL: an older daemon tells none */
        char *cpus;                   /* likewise */
        char *bound_by;        /* "unit", "scope", "cgroup1", "affinity"; NULL: not published */
        char *bound_by_reason; /* why by affinity; NULL: no reason is needed */
        pid_t pid;
        uint64_t n_threads;
        uint16_t *ports;
        size_t n_ports;
        NodeSet nodes;
        StatusMemory *memory; /* anonymous memory of the nodes that have any; owned */
        size_t n_memory;
        double remote_ratio;    /* NAN: not known */
        uint64_t pending_bytes; /* still to be moved; 0 also: not known */
        double left_seconds;    /* that this will take; NAN: not known */
} StatusInstance;

/* What is on its way back. */
typedef struct StatusRelease {
        char *name, *unit, *failure; /* NULL: none; owned */
} StatusRelease;

/* That has interrupts. */
typedef struct StatusDevice {
        char *name, *reason_code, *reason, *cpus; /* NULL: not reported; owned */
        int32_t node;                             /* -1: not known */
        uint64_t vectors[N_IRQ_STATES];
} StatusDevice;

/* A process that a policy names and the daemon ignores. */
typedef struct StatusIgnored {
        char *exe, *policy, *reason; /* NULL: not reported; owned */
        pid_t pid;
} StatusIgnored;

typedef struct StatusFile {
        double time_seconds; /* when it was written, since the epoch */
        double sample_interval_seconds;
        bool enforcing;
        StatusInstance *instances; /* owned */
        size_t n_instances;

        /* What an older daemon may leave out: zeros then. */
        char *version; /* NULL; owned */
        char *backend; /* of the host; NULL; owned */
        pid_t pid;     /* of the daemon */
        double load_seconds;
        bool load_failed;
        char **errors; /* of the policies; owned */
        size_t n_errors;
        size_t n_policies, n_warnings;
        char **units; /* names of those that are known before they start; owned */
        size_t n_units;
        uint64_t n_full, n_of_others, n_in_containers; /* processes that are ignored, by reason */
        StatusRelease *releases;                       /* owned */
        size_t n_releases;
        StatusDevice *devices; /* owned */
        size_t n_devices;
        StatusIgnored *ignored; /* some of them; owned */
        size_t n_ignored;
        char *reserved_nodes, *reserved_cpus; /* lists; NULL: an older daemon; owned */
        char *uncounted; /* why accesses to memory are not counted, which somebody asked for; NULL;
                          * owned */
} StatusFile;

void status_file_done(StatusFile *status);
#define _cleanup_status_file_ _cleanup_(status_file_done)

/* -EBADMSG: not what a daemon publishes; -ENOMEM. `ret` is untouched then. */
int status_file_parse(const char *text, size_t size, StatusFile *ret);

/* Of a runtime folder. -ENOENT: no daemon has run there; other negative errno. */
int status_file_read(const char *runtime_dir, StatusFile *ret);

/* Does the daemon that wrote it still run? It writes with every sample. */
bool status_file_is_fresh(const StatusFile *status, double now_seconds);

const StatusInstance *status_file_find(const StatusFile *status, const char *name);
