/* Policies in force, as plain data. The language they are written in is config's business;
 * its reference is tidbnumad.d(5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/workload.h"

/* The name in a release for settings that belong to no instance: those of irqbalance, and
 * kernel.numa_balancing. */
#define RELEASE_HOST "host"

typedef enum MemoryMode {
        MEMORY_BIND,      /* nothing outside the nodes, enforced by the kernel */
        MEMORY_PREFERRED, /* pulled to the nodes while they have room, never pushed out of others */
        MEMORY_NONE,      /* CPUs only */
} MemoryMode;

typedef enum MigrateMode {
        MIGRATE_GENTLE, /* small batches under a rate */
        MIGRATE_KERNEL, /* at once, by the kernel */
        MIGRATE_NONE,   /* what is allocated stays where it is */
} MigrateMode;

typedef enum OnFull {
        ON_FULL_WIDEN, /* a strict binding gets more nodes before its own run out */
        ON_FULL_KEEP,
} OnFull;

typedef enum EnforcementMode {
        ENFORCEMENT_ENFORCE,
        ENFORCEMENT_OBSERVE, /* plan and report, change nothing */
} EnforcementMode;

typedef enum OnStop {
        ON_STOP_KEEP, /* a stop of the daemon changes nothing */
        ON_STOP_RESTORE,
} OnStop;

typedef enum ContainerMode {
        CONTAINERS_EXCLUDED, /* a process in another PID, mount or user namespace does not match */
        CONTAINERS_INCLUDED,
} ContainerMode;

/* By which means a binding is put on a process; see change/backend.h. */
typedef enum BackendKind {
        BACKEND_AUTO, /* what the host has: of a policy only, never of a backend that was chosen */
        BACKEND_SYSTEMD,
        BACKEND_CGROUP1,
        BACKEND_AFFINITY,
} BackendKind;

/* For the instances of one policy. */
typedef enum PolicyBackend {
        POLICY_BACKEND_AUTO,     /* the strongest that each of them can have */
        POLICY_BACKEND_AFFINITY, /* no unit and no cgroup is touched */
} PolicyBackend;

/* Every key that is given must hold. Strings are owned; NULL = not given. */
typedef struct PolicyMatch {
        char *exe;  /* base name, or an absolute path with globs */
        char *unit; /* systemd unit, glob */
        char *user; /* owner by name or number */
        char *args; /* glob over the whole command line, its words joined by single spaces */
        uid_t uid;  /* of `user`, once the daemon has resolved the name */
        bool uid_known;
        bool only_services; /* of a built-in policy: services of the system manager alone. No glob
                             * in `unit`, by which units would be prepared for their start */
        ProcessId *ids;     /* of an adopted policy: these processes alone; NULL: any; owned */
        size_t n_ids;
        ContainerMode containers;
        uint16_t port; /* listening TCP port, of an entry of `instances`; 0 = not given */
} PolicyMatch;

/* An instance with nodes of its own, inside a policy. */
typedef struct PolicyInstance {
        PolicyMatch match;
        NodeSet nodes;
        SourceSpan at, nodes_at; /* in the policy's file */
} PolicyInstance;

typedef enum PlaceNear {
        NEAR_NONE,
        NEAR_STORAGE, /* the device under the instance's data directory */
        NEAR_NIC,     /* the cluster's network card */
} PlaceNear;

typedef enum PlaceShare {
        SHARE_EXCLUSIVE, /* no other exclusive instance on its nodes while free nodes last */
        SHARE_SHARED,
} PlaceShare;

/* What MemoryMax= of an instance's unit is set to: else a size in bytes. */
#define MEMORY_LIMIT_NONE UINT64_C(0)
#define MEMORY_LIMIT_SHARE UINT64_MAX /* its part of its nodes, see plan/limit.h */
#define MEMORY_LIMIT_MIN (UINT64_C(1) << 20)

#define PLACE_COUNT_AUTO 0u
#define WEIGHT_AUTO 0u
#define WEIGHT_MAX 1024u

typedef struct Place {
        uint32_t count;    /* nodes per instance, or PLACE_COUNT_AUTO */
        bool count_is_set; /* else `nodes`, where given, are each instance's, all of them */
        NodeSet nodes;     /* choose among these; empty = all */
        NodeSet avoid;
        PlaceNear near;
        PlaceShare share;
        bool share_is_set;
        bool same_package; /* an instance's nodes are of one socket */
        bool same_package_is_set;
} Place;

typedef enum CpuChoice {
        CPUS_ALL,
        CPUS_ONE_PER_CORE, /* the lowest online CPU of each core */
        CPUS_LIST,
} CpuChoice;

typedef struct PolicyCpus {
        CpuChoice choice;
        CpuSet list; /* of CPUS_LIST; never empty then */
} PolicyCpus;

/* What a program reports of its requests, at http://127.0.0.1:PORT/metrics, in the text format of
 * Prometheus. */
typedef struct PolicyMetrics {
        uint16_t port;  /* 0: not given */
        char *count;    /* a counter of requests; NULL: that of `duration`; owned */
        char *duration; /* a histogram in seconds; NULL: none; owned */
} PolicyMetrics;

typedef struct Policy {
        char *name; /* owned */
        PolicyMatch match;
        uint32_t max_instances; /* of each user; further ones are ignored */
        Place place;
        PolicyCpus cpus; /* of the nodes' CPUs, those that are used */
        MemoryMode memory;
        OnFull on_full;
        uint64_t memory_limit; /* bytes, MEMORY_LIMIT_NONE or MEMORY_LIMIT_SHARE */
        MigrateMode migrate;
        uint64_t rate_bytes_per_sec; /* ceiling for moved bytes, per instance */
        PolicyBackend backend;
        PolicyInstance *instances; /* in file order; owned */
        size_t n_instances;
        PolicyMetrics metrics; /* for tidbnumactl trial */
        uint32_t weight;       /* beside others on a node; WEIGHT_AUTO: see placement_weight() */
        bool built_in; /* of a host without any policy: watched and reported, never placed */
        bool adopted;  /* nobody wrote it: it holds what an earlier run bound, where no policies
                        * are in force */
        char *file;    /* where it was defined, for messages; owned; "" of a built-in one */
        SourceSpan at; /* line 0: of a built-in one */
} Policy;

typedef enum NumaBalancing {
        NUMA_BALANCING_LEAVE,
        NUMA_BALANCING_OFF,
        NUMA_BALANCING_ON,
} NumaBalancing;

typedef enum ReserveKind {
        RESERVE_NONE,
        RESERVE_NIC,  /* the nodes of the cluster's network cards */
        RESERVE_LIST, /* `nodes` */
} ReserveKind;

/* A list of words, such as the names of network cards. */
typedef struct WordList {
        char **words; /* with a NULL behind the last, or NULL alone; owned, as each word */
        size_t n_words;
} WordList;

int word_list_add(WordList *list, const char *word); /* a copy; 0 or -ENOMEM */
void word_list_done(WordList *list);

bool word_list_has(const WordList *list, const char *word);

/* Is it what an operator calls so, by its name or its unit, which may be NULL? Either as it is, for
 * both may have characters that a glob uses: systemd writes "a-b" as "a\x2db"; or by a glob. */
bool instance_is_named(const char *glob, const char *name, const char *unit);

/* Does one of the globs match the name of an instance or its unit, of a card or its bond? The
 * second one may be NULL. */
bool word_list_names(const WordList *globs, const char *name, const char *unit);

#define RESERVE_CPUS_AUTO UINT32_MAX

typedef struct Reserve {
        ReserveKind kind;
        NodeSet nodes;    /* of RESERVE_LIST */
        WordList devices; /* the cards that decide for RESERVE_NIC; none: that of the default route
                           */
        bool strict;      /* not even in need */
        uint32_t cpus;    /* whole cores of the cards' nodes, where these are not reserved */
} Reserve;

typedef struct HostPolicy {
        NumaBalancing numa_balancing;
        Reserve reserve;
} HostPolicy;

typedef enum IrqSteer {
        STEER_AUTO,
        STEER_RESERVED,
        STEER_LOCAL,
        STEER_AWAY,
        STEER_LEAVE,
        STEER_CPUS, /* `cpus` */
} IrqSteer;

typedef enum IrqbalanceMode {
        IRQBALANCE_COOPERATE,
        IRQBALANCE_BAN,
        IRQBALANCE_IGNORE,
} IrqbalanceMode;

typedef enum RpsMode {
        RPS_AUTO,
        RPS_ON,
        RPS_OFF,
} RpsMode;

/* An entry of `irq`: the first that matches a device counts. */
typedef struct IrqPolicy {
        WordList net;  /* globs of interfaces */
        WordList nvme; /* globs of controllers */
        WordList pci;  /* addresses, "0000:3b:00.0" */
        IrqSteer steer;
        CpuSet cpus; /* of STEER_CPUS */
        IrqbalanceMode irqbalance;
        bool xps;
        RpsMode rps;
        char *file; /* owned */
        SourceSpan at;
} IrqPolicy;

typedef struct PolicySet {
        Policy *policies; /* in file order: the first that matches counts; owned */
        size_t n_policies;
        HostPolicy host;
        IrqPolicy *irqs; /* in file order; owned */
        size_t n_irqs;
        EnforcementMode mode;
        BackendKind backend;
        OnStop on_stop;
        uint64_t sampling_interval_usec;
        uint32_t sampling_budget_ppm; /* of one CPU */
        bool sampling_access;         /* hardware counters */
        WordList listing; /* paths of the files that have the key `policies`, also an empty one */
        AccessEvent sampling_events[N_LOCALITIES]; /* replace the built-in events */
} PolicySet;

/* The defaults of tidbnumad.d(5): no policy, enforce, any backend, 10 s, 1 %. */
void policy_set_init(PolicySet *set);
void policy_set_done(PolicySet *set);
#define _cleanup_policy_set_ _cleanup_(policy_set_done)

void policy_done(Policy *policy);
void irq_policy_done(IrqPolicy *irq);

/* Policies that somebody wrote: without the built-in and the adopted ones. */
size_t policy_set_count_written(const PolicySet *set);

/* NULL: there is none of that name. */
const Policy *policy_set_find(const PolicySet *set, const char *name);

const char *memory_mode_to_string(MemoryMode mode);
