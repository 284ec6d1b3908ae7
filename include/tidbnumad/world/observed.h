/* The running instances, each with the values that the kernel shows, for a program that reads them
 * once. The daemon reads them repeatedly, so it keeps its own list, and fills it by the same
 * functions: members.h, members-memory.h. */
#pragma once

#include "tidbnumad/world/huge-load.h"
#include "tidbnumad/world/members-memory.h"
#include "tidbnumad/world/members.h"
#include "tidbnumad/world/processes.h"

typedef struct Observed {
        char *name;           /* owned, like all that is not marked as borrowed */
        const Policy *policy; /* borrowed */
        char *unit;           /* NULL: none */
        Member *members;      /* ascending by pid */
        size_t n_members, members_allocated;
        ListenPorts ports;
        char *data_dir;         /* NULL: none, or not known */
        StorageDevices storage; /* under it; without a chain: not known */
        CpuSet cpus;            /* that it is bound to, see members_read_cpus(); empty: not known */
        CpuSet unit_cpus;       /* the cpuset of its unit; empty: none */
        CpuSet thread_cpus;     /* that its threads may use, all together; empty: not known */
        NodeSet mems;           /* see members_read_mems(); empty: not known */
        CpuSet allowed_cpus;    /* by its parent cgroup; empty: everything */
        NodeSet allowed_nodes;
        char allowed_by[MEMBERS_GROUP_MAX]; /* the group that allows no more; "": not known */
        NodeMemory *by_node; /* by index of the topology's nodes; NULL: not counted */
        uint64_t limit_bytes;
        HugeNeed huge;       /* reserved huge pages that it has mapped */
        bool huge_known;     /* these were read: the host has some */
        bool shared;         /* unrelated processes are in its unit */
        uint32_t cpus_used;  /* see members_read_cpus_used() */
        char *memory_policy; /* the first that one of its processes has set; NULL: none is seen */
} Observed;

typedef struct ObservedList {
        Observed *instances; /* owned */
        size_t n_instances, allocated;
        size_t n_denied; /* processes that this user may not read */
} ObservedList;

void observed_list_done(ObservedList *list);
#define _cleanup_observed_list_ _cleanup_(observed_list_done)

/* Which processes are wanted, and by which policy. Policies are matched by a layer above. */
typedef struct ObservedRules {
        ExeFilter wants_exe;  /* its executable */
        ExeFilter wants_args; /* also its command line */
        ExeFilter wants_path; /* also whether its executable is at its path */
        const Policy *(*policy_of)(const Process *process, void *userdata); /* NULL: by none */
        void *userdata;
} ObservedRules;

/* All processes that are wanted, by the instances that they form. 0, -ENOMEM, or another negative
 * errno: /proc cannot be read at all. */
int observed_list_find(const Sysroot *sysroot, const ObservedRules *rules, ObservedList *ret);

/* One process more, found otherwise. Takes over both, but for -ENOMEM. */
int observed_list_add(ObservedList *list, const Policy *policy, Process *process,
                      ProcHandle *handle);

/* Reads what the kernel shows of each, names those without a name, and sorts them by name, numbers
 * in names by value. What cannot be read stays unknown. 0 or -ENOMEM. */
int observed_list_describe(const Sysroot *sysroot, const Topology *topology, ObservedList *list);

/* By process number. NULL: none. */
Observed *observed_list_find_pid(const ObservedList *list, pid_t pid);

/* The instance of that name, unit (with or without suffix) or process number, or NULL. */
const Observed *observed_list_find_subject(const ObservedList *list, const char *subject);
