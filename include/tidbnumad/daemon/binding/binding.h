/* The room of binding: each instance on its way to its place. Here are its state and what makes an
 * instance start again; reconcile.h decides the steps. */
#pragma once

#include "tidbnumad/daemon/units/units.h"

/* Beside the policies, by index. */
typedef struct PolicyCounters {
        Histogram bind_latency;
        uint64_t bind_attempts, bind_failures[N_REASONS];
        uint64_t drift_repairs[N_DRIFTS];
        /* As those of the instances, which end: counted beside them. */
        uint64_t memory_widenings, migrated_bytes, failed_pages;
} PolicyCounters;

/* Looks at all instances read the threads of some of them, in turn. */
typedef struct ThreadRounds {
        size_t next;    /* the instance that the next look begins with */
        size_t n_ahead; /* threads that the last one read beyond its share */
} ThreadRounds;

/* Each instance on its way to its place. */
typedef struct Binder {
        Host *host;     /* borrowed, as the next five */
        Roster *roster; /* of whose instances it writes `binding` alone */
        Sampling *sampling;
        Undoing *undo;
        Placing *placing;
        Units *units;

        sd_event_source *work_timer;
        struct Guard *guard; /* see guard.h; NULL: not started; owned */
        int drift_fd;        /* inotify(7) on what instances are bound by; -EBADF: none */
        sd_event_source *drift_source;
        PolicyCounters *policy_counters; /* n_policies; owned */
        ThreadRounds thread_rounds[2];   /* of instances without a cpuset, with one */
} Binder;

/* Counters go with a policy's name, so that a reload does not set them back. Behind the last are
 * those of instances that no policy names any more. Called before `fresh` is in force. -ENOMEM. */
int binding_carry_counters(Binder *b, const PolicySet *fresh);

/* A process has come: it is bound before everything else. */
void binding_note_joined(Instance *instance);

/* Forgets the progress, so that the next look begins anew. Ends a pass that is under way. */
void binding_restart(Instance *instance, uint64_t now_usec);

/* Nothing that was done to it is relied on any more: its record is being given back, or is gone. */
void binding_reset(Instance *instance, uint64_t now_usec);

/* It has ended: frees what binding keeps of it. */
void binding_end(Instance *instance);

/* The plan in force has another place for some of them: these are looked at now. */
void binding_follow_plan(Binder *b, uint64_t now_usec);

/* Did each of its processes get its CPUs once? Not so after a change of placement or backend. */
bool binding_cpus_applied(const Instance *instance);
void binding_reset_cpus(Instance *instance);

/* Takes over from its record what was done to it already, also by an earlier life of the daemon. */
void binding_adopt_record(Instance *instance);

/* Gives up a pass that is under way, and forgets its progress. */
void binding_end_migration(Instance *instance);

/* Lets the kernel's mover make no further call; the one that it is in goes on. */
void binding_end_kernel_moves(Instance *instance);

/* The nodes that the guard widened it to are no longer needed. */
void binding_end_widening(Instance *instance);

/* Keeps the sentence for status, and of what kind it is. */
void binding_set_failure(Instance *instance, Reason code, const char *format, ...) _printf_(3, 4);
void binding_clear_failure(Instance *instance);
