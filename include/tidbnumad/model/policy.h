/* Policies in force, as plain data. The language they are written in is config's business;
 * its reference is tidbnumad.d(5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

typedef enum MemoryMode {
        MEMORY_BIND,      /* nothing outside the nodes, enforced by the kernel */
        MEMORY_PREFERRED, /* pulled to the nodes while they have room, never pushed out of others */
        MEMORY_NONE,      /* CPUs only */
} MemoryMode;

typedef enum MigrateMode {
        MIGRATE_GENTLE, /* small batches under a rate */
        MIGRATE_NONE,   /* what is allocated stays where it is */
} MigrateMode;

typedef enum EnforcementMode {
        ENFORCEMENT_ENFORCE,
        ENFORCEMENT_OBSERVE, /* plan and report, change nothing */
} EnforcementMode;

typedef enum ContainerMode {
        CONTAINERS_EXCLUDED, /* a process in another PID, mount or user namespace does not match */
        CONTAINERS_INCLUDED,
} ContainerMode;

/* By which means a binding is put on a process; see enforce/backend.h. */
typedef enum BackendKind {
        BACKEND_AUTO, /* what the host has: of a policy only, a backend that was chosen never says
                         it */
        BACKEND_SYSTEMD,
        BACKEND_CGROUP1,
        BACKEND_AFFINITY,
} BackendKind;

/* Every key that is given must hold. Strings are owned; NULL = not given. */
typedef struct PolicyMatch {
        char *exe;  /* base name, or an absolute path with globs */
        char *unit; /* systemd unit, glob */
        char *user; /* owner by name or number */
        uid_t uid;  /* of `user`, once the daemon has looked it up */
        bool uid_known;
        ContainerMode containers;
        uint16_t port; /* listening TCP port, of an entry of `instances`; 0 = not given */
} PolicyMatch;

/* An instance with nodes of its own, inside a policy. */
typedef struct PolicyInstance {
        PolicyMatch match;
        NodeSet nodes;
} PolicyInstance;

typedef struct Policy {
        char *name; /* owned */
        PolicyMatch match;
        NodeSet nodes; /* place.nodes; empty = not given */
        CpuSet cpus;   /* of the nodes' CPUs, those that are used; empty = all */
        MemoryMode memory;
        MigrateMode migrate;
        uint64_t rate_bytes_per_sec; /* ceiling for moved bytes, per instance */
        PolicyInstance *instances;   /* in file order; owned */
        size_t n_instances;
        char *file; /* where it was defined, for messages; owned */
        uint32_t line;
} Policy;

typedef struct PolicySet {
        Policy *policies; /* in file order: the first that matches counts; owned */
        size_t n_policies;
        EnforcementMode mode;
        BackendKind backend;
        uint64_t sampling_interval_usec;
} PolicySet;

/* The defaults of tidbnumad.d(5): no policy, enforce, any backend, 10 s. */
void policy_set_init(PolicySet *set);
void policy_set_done(PolicySet *set);
#define _cleanup_policy_set_ _cleanup_(policy_set_done)

void policy_done(Policy *policy);

const char *memory_mode_to_string(MemoryMode mode);
