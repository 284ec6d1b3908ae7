/* The room of binding brings each instance to its place. This header has its state and what
 * restarts an instance; reconcile.h decides the steps. */
#pragma once

#include "tidbnumad/daemon/units/units.h"

/* Counters of one policy, at the same index as the policy. */
typedef struct PolicyCounters {
        Histogram bind_latency;
        uint64_t bind_attempts, bind_failures[N_REASONS];
        uint64_t drift_repairs[N_DRIFTS];
        /* Sums over all instances of the policy, also over those that have ended. */
        uint64_t memory_widenings, migrated_bytes, failed_pages;
} PolicyCounters;

/* Each round over all instances reads the threads of only some of them; see thread-rounds.h. */
typedef struct ThreadRounds {
        size_t next;    /* the instance at which the next round begins */
        size_t n_ahead; /* threads that the last round read beyond its share */
} ThreadRounds;

typedef struct Binder {
        Host *host;     /* borrowed, as the next five */
        Roster *roster; /* binding writes only the part `binding` of its instances */
        Sampling *sampling;
        Undoing *undo;
        Placing *placing;
        Units *units;

        sd_event_source *work_timer;
        size_t next_due;     /* index of the instance at which reconcile_due() begins */
        struct Guard *guard; /* see guard.h; NULL: not started; owned */
        int drift_fd;        /* inotify(7) on the cpuset files of bound instances; -EBADF: none */
        sd_event_source *drift_source;
        PolicyCounters *policy_counters; /* n_policies; owned */
        ThreadRounds thread_rounds[2];   /* [0]: instances without a cpuset; [1]: with one */
        size_t n_found_bound;            /* see reconcile_log_found(); not logged yet */
} Binder;

/* Counters belong to a policy's name, so that a reload keeps them. The last element counts for
 * instances that no policy names any more. To be called before `fresh` is in force. 0 or -ENOMEM.
 */
int binding_carry_counters(Binder *b, const PolicySet *fresh);

/* A new process has joined the instance: it is bound before everything else. */
void binding_note_joined(Instance *instance);

/* An operator has asked for it: the instance is brought to its place also while the daemon is
 * paused. Ends when it is there. */
void binding_ask(Instance *instance, uint64_t now_usec);

/* That is not wanted any more. */
void binding_forget_asked(Instance *instance);

/* May the daemon change this instance now? */
bool binding_may_change(const Binder *b, const Instance *instance);

/* Resets the progress, so that the next reconcile starts from the beginning. Ends a pass that is
 * under way. */
void binding_restart(Instance *instance, uint64_t now_usec);

/* Resets all that is known of the binding, because the undo record is being released or is gone. */
void binding_reset(Instance *instance, uint64_t now_usec);

/* Frees what binding keeps of an instance that has ended. */
void binding_end(Instance *instance);

/* The interval at which instances at rest are observed again: the sampling interval in force, but
 * at most a minute, because samples that the budget makes rarer must not delay the search for
 * drift. */
uint64_t binding_interval_usec(const Binder *b);

/* Reconciles the instances to which the plan in force gives another place. */
void binding_follow_plan(Binder *b, uint64_t now_usec);

/* Were the CPUs applied to each of its processes? False again after a change of placement or
 * backend. */
bool binding_cpus_applied(const Instance *instance);
void binding_reset_cpus(Instance *instance);

/* Will the kernel move pages of files, all at once, when the instance's memory nodes are narrowed?
 */
bool binding_narrowing_takes_files(const Binder *b, const Instance *instance);

/* Takes over what the undo record shows to be applied, also by an earlier run of the daemon. */
void binding_adopt_record(Instance *instance);

/* Aborts a pass that is under way, and resets its progress. */
void binding_end_migration(Instance *instance);

/* Cancels the migrate_pages(2) calls that were not made yet. */
void binding_end_kernel_moves(Instance *instance);

/* Forgets the nodes that the guard added, because they are no longer needed. */
void binding_end_widening(Instance *instance);

/* Keeps the failure's sentence and its code for status. */
void binding_set_failure(Instance *instance, Reason code, const char *format, ...) _printf_(3, 4);

/* There was no memory to plan the instance: its present binding stays, and the plan is repeated
 * soon. */
void binding_await_plan(Instance *instance, uint64_t now_usec);
void binding_clear_failure(Instance *instance);
