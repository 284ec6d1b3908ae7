/* Reads /run/tidbnumad/status.json, which the daemon publishes. */
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
        char *reason_code, *remedy;   /* NULL: an older daemon does not report them */
        char *cpus;                   /* likewise */
        char *bound_by;        /* "unit", "scope", "cgroup1", "affinity"; NULL: not published */
        char *bound_by_reason; /* why it is bound by affinity; NULL: not applicable */
        pid_t pid;
        uint64_t n_threads;
        uint16_t *ports;
        size_t n_ports;
        NodeSet nodes;
        StatusMemory *memory; /* anonymous memory by node, for nodes that have any; owned */
        size_t n_memory;
        double remote_ratio;    /* NAN: not known */
        uint64_t pending_bytes; /* still to be moved; 0 also: not known */
        double left_seconds;    /* estimated duration of that; NAN: not known */
} StatusInstance;

/* A release that is under way. */
typedef struct StatusRelease {
        char *name, *unit, *failure; /* NULL: none; owned */
} StatusRelease;

/* A device with interrupts. */
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
        char *backend; /* backend of the host; NULL; owned */
        pid_t pid;     /* the daemon's process */
        double load_seconds;
        bool load_failed;
        char **errors; /* errors of policies; owned */
        size_t n_errors;
        size_t n_policies, n_warnings;
        char **units; /* names of known units; owned */
        size_t n_units;
        uint64_t n_full, n_of_others, n_in_containers; /* processes that are ignored, by reason */
        StatusRelease *releases;                       /* owned */
        size_t n_releases;
        StatusDevice *devices; /* owned */
        size_t n_devices;
        StatusIgnored *ignored; /* some of them; owned */
        size_t n_ignored;
        char *reserved_nodes, *reserved_cpus; /* lists; NULL: an older daemon; owned */
        char *uncounted; /* why memory accesses are not counted although a policy asks for it; NULL;
                            owned */
} StatusFile;

void status_file_done(StatusFile *status);
#define _cleanup_status_file_ _cleanup_(status_file_done)

/* -EBADMSG: not a valid status; -ENOMEM. `ret` is untouched then. */
int status_file_parse(const char *text, size_t size, StatusFile *ret);

/* Reads the status in a runtime folder. -ENOENT: no daemon has run there; other negative errno. */
int status_file_read(const char *runtime_dir, StatusFile *ret);

/* Judged by its age: does the daemon that wrote it still run? The daemon writes it with every
 * sample. */
bool status_file_is_fresh(const StatusFile *status, double now_seconds);

const StatusInstance *status_file_find(const StatusFile *status, const char *name);
