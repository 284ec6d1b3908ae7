/* One instance: the processes of one unit that one policy names, and how far its binding is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/place.h"
#include "tidbnumad/enforce/mover.h"
#include "tidbnumad/enforce/rate.h"
#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/step.h"
#include "tidbnumad/sys/proc.h"

#define INSTANCE_NEVER UINT64_MAX

/* How far the way to its placement is; begins anew whenever the instance or its policy changes. */
typedef struct Progress {
        unsigned cpu_writes, mem_writes;
        unsigned call_failures;
        unsigned passes, sweeps, settles;
        uint64_t pass_found_bytes, pass_moved_bytes;
} Progress;

typedef struct Instance {
        Manager *manager; /* borrowed */
        char *name;       /* metric label; owned */
        char *first_name; /* as it was found: what backends know it by, for `name` changes when its
                             port becomes known; owned */
        char *unit;       /* NULL: none; owned */
        char *exe;        /* of its oldest process; owned */
        uint16_t *ports;  /* TCP ports that it listens on, ascending, once known; owned */
        size_t n_ports;
        char *data_dir;       /* NULL: none, or not known; owned */
        unsigned n_described; /* times that the two were looked for since a process came */
        uint64_t describe_due_usec;
        const Policy *policy;
        size_t policy_index;

        Process *processes; /* ascending by pid, beside `handles`; owned */
        ProcHandle *handles;
        sd_event_source **exits; /* its end, from its pidfd; beside the two; owned */
        size_t n_processes, processes_allocated, handles_allocated, exits_allocated;
        bool fresh; /* a process has come since the last look */

        Planned planned;     /* where it belongs */
        Placement placement; /* what is being carried out */
        bool binding_known;
        Binding binding;
        NodeMemory *by_node; /* owned; n_nodes of the topology */
        bool memory_known;
        double remote_ratio;
        uint64_t outside_bytes;
        bool fits; /* its nodes have room for all that is outside */

        Progress progress;
        Step step; /* the last decision */
        Step said; /* the last one that was an end, as the log has it */
        uint64_t rest_until_usec, rest_outside_bytes;
        const char *state;             /* a word, a constant */
        char *failure;                 /* what went wrong in the last attempt; NULL; owned */
        sd_bus_slot *call;             /* in flight */
        StepKind call_kind;            /* what it, or the last one, was for */
        uint64_t effect_deadline_usec; /* until then a call that was answered may still take effect
                                        */
        bool we_narrowed;
        bool cpus_stood;    /* at the last look */
        unsigned n_repairs; /* of CPUs that had stood, until `repairs_end_usec` */
        uint64_t repairs_end_usec;

        Mover mover;
        bool moving; /* a pass is under way */
        size_t mover_process;
        Rate rate;

        uint64_t first_seen_usec, due_usec; /* monotonic; due: INSTANCE_NEVER = wait for an event */
        double bind_seconds;                /* NAN until bound for the first time */
        uint64_t bind_attempts, bind_failures, migrated_bytes, failed_pages;
} Instance;

/* Still without a name: the roster gives it one. */
int instance_new(Manager *manager, const Process *first, size_t n_nodes, uint64_t now_usec,
                 Instance **ret);
Instance *instance_free(Instance *instance);

/* The identity that processes of one instance share: their system service, or else the process
 * alone. */
bool instance_owns(const Instance *instance, const Process *process);

/* Takes over both (they are empty afterwards). -ENOMEM: they stay with the caller. */
int instance_add_process(Instance *instance, Process *process, ProcHandle *handle);

/* -1: not one of its processes. */
ssize_t instance_find(const Instance *instance, pid_t pid);
void instance_remove_process(Instance *instance, size_t index);

/* Names by which it can be called, see model/instance-name.h. It needs a process. -ENOMEM. */
int instance_render_name(const Instance *instance, unsigned rank, char **ret);

/* Does it run as a system service, which then is the instance? */
bool instance_is_service(const Instance *instance);

/* Forgets how far it was, so that the next look begins anew. Ends a pass that is under way. */
void instance_restart(Instance *instance, uint64_t now_usec);

/* Keeps the sentence for status; NULL clears it. */
void instance_set_failure(Instance *instance, const char *format, ...) _printf_(2, 3);
