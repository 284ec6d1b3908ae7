/* Reads /run/tidbnumad/status.json, which the daemon publishes. */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/plan/start-limits.h"

typedef struct StatusMemory {
        uint32_t node;
        uint64_t bytes;
} StatusMemory;

typedef struct StatusInstance {
        const char *name, *policy, *exe; /* all strings belong to the StatusFile */
        const char *unit, *data_dir;     /* NULL: none */
        const char *storage;             /* the disks under `data_dir`; NULL: not published */
        NodeSet storage_nodes;
        const char *state, *reason;
        bool cpu_bound, memory_bound;     /* false also: an older daemon reports neither */
        bool bound_after_start;           /* see InstanceInfo */
        const char *reason_code, *remedy; /* NULL: an older daemon does not report them */
        const char *cpus;                 /* likewise */
        const char *bound_by; /* "unit", "scope", "cgroup1", "affinity"; NULL: not published */
        const char *bound_by_reason;      /* why it is bound by affinity; NULL: not applicable */
        const char *bound_by_reason_code; /* likewise */
        bool start_known;                 /* so are the next two */
        StartSource start_cpus_by, start_memory_by; /* see InstanceInfo */
        pid_t pid;
        uint64_t n_threads;
        NodeSet nodes;
        CpuSet cpu_set; /* `cpus` */
        MemoryMode memory_mode;
        PlacementBasis basis;
        uint32_t warnings;    /* PlacementWarning */
        StatusMemory *memory; /* anonymous memory by node, for nodes that have any; owned */
        size_t n_memory;
        double remote_ratio;    /* NAN: not known */
        uint64_t pending_bytes; /* still to be moved; 0 also: not known */
        double left_seconds;    /* estimated duration of that; NAN: not known */
} StatusInstance;

/* A unit that the daemon knows by name. */
typedef struct StatusUnit {
        json_t *published;                               /* all of it; borrowed */
        const char *name, *state, *reason, *cpus, *mems; /* "": nothing */
        const char *policy;                              /* NULL: none */
        const char *reason_code, *remedy;                /* "": no failure */
        NodeSet nodes;
        bool runs; /* one of the instances is in it */
} StatusUnit;

/* A release that is under way. */
typedef struct StatusRelease {
        const char *name, *unit, *failure; /* NULL: none */
} StatusRelease;

/* A device with interrupts. */
typedef struct StatusDevice {
        const char *name, *reason_code, *reason, *cpus; /* NULL: not reported */
        int32_t node;                                   /* -1: not known */
        uint64_t vectors[N_IRQ_STATES];
} StatusDevice;

/* A process that a policy names and the daemon ignores. */
typedef struct StatusIgnored {
        const char *exe, *policy, *reason; /* NULL: not reported */
        pid_t pid;
} StatusIgnored;

typedef struct StatusFile {
        json_t *root;        /* the whole, which owns the strings; owned */
        double time_seconds; /* when it was written, since the epoch */
        double sample_interval_seconds;
        bool enforcing;
        StatusInstance *instances; /* owned */
        size_t n_instances;

        /* What an older daemon may leave out: zeros then. */
        const char *version;        /* NULL */
        const char *backend;        /* of the host; NULL */
        const char *backend_reason; /* why it is not a stronger one; NULL: the host has none */
        pid_t pid;                  /* the daemon's process */
        double load_seconds;
        bool load_failed;
        bool none_in_force; /* no policy is, see tidbnumad(8) */
        bool kept_in_force; /* those of before the start are */
        uint64_t n_adopted;
        const char **errors; /* of policies; owned */
        size_t n_errors;
        size_t n_policies, n_warnings;
        StatusUnit *units; /* ascending by name; owned */
        size_t n_units;
        /* Processes that are ignored, by reason. */
        uint64_t n_full, n_crowded, n_of_others, n_in_containers;
        StatusRelease *releases; /* owned */
        size_t n_releases;
        StatusDevice *devices; /* owned */
        size_t n_devices;
        StatusIgnored *ignored; /* some of them; owned */
        size_t n_ignored;
        const char *reserved_nodes, *reserved_cpus; /* lists; NULL */
        const char *uncounted; /* why memory accesses are not counted although a policy enables it;
                                * NULL */
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

/* What an instance in the unit is called. */
void status_unit_label(const StatusUnit *unit, char ret[static NAME_MAX]);

/* The glob matches the name of the unit, or that of an instance in it. */
bool status_unit_is_named(const StatusUnit *unit, const char *name);

/* NULL: no such unit is known. */
const StatusUnit *status_file_find_unit(const StatusFile *status, const char *name);
