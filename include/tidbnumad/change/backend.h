/* How a placement is put on processes: one table of operations, one implementation a kind of host.
 *
 * - systemd: properties of the unit, on cgroup v2. The whole unit is bound, so it must hold nothing
 *   but the instance; what has no unit to itself is moved to a scope of its own, see scope.h.
 * - cgroup1: a directory tidbnumad/<instance> in the cpuset hierarchy of cgroup v1, into which the
 *   instance's processes are moved. What they fork is born in it.
 * - affinity: the CPUs of every single thread. The kernel has no such thing for the memory of
 *   another process: the memory of an instance can only be pulled.
 *
 * cgroup1 and affinity give each thread of a process exactly the CPUs once, whatever it had before
 * (an operator's taskset too). After that, a thread may choose fewer of these CPUs, and only
 * threads outside are put back. systemd does not change threads that have chosen fewer CPUs
 * themselves: the kernel (6.2 and later) does, and systemd knows of no threads.
 *
 * Neither threads nor cgroup v1's processes can be named by a pidfd. Both backends therefore
 * check afterwards whether the number still was the intended task's, and undo what they did to
 * another one: see sys/affinity.h and cgroup1.c. */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/change/undo.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* What is to be bound. All is borrowed for the call. */
typedef struct BackendTarget {
        const char *instance;
        const char *unit; /* NULL: none */
        const Member *members;
        size_t n_members;
        const UndoRecord *unlimited; /* its unit is to have the limit that it had before; NULL: it
                                      * keeps what it has. Borrowed */
} BackendTarget;

/* An operation that may be answered later. Kept by the caller until then. */
typedef struct BackendCall {
        BusUnitsReply reply; /* called once for each operation that was started */
        void *userdata;
        sd_bus_slot *slot; /* of what was begun; unref it, and no reply comes */

        /* Of a read of present values: for which record; borrowed. */
        const Sysroot *sysroot;
        UndoRecord *record;
} BackendCall;

typedef struct Backend Backend;

typedef struct UndoRestore UndoRestore;

typedef struct BackendOps {
        const char *name;
        BackendKind kind;

        /* 1: done, there is no reply. 0: started, the reply follows. -EINPROGRESS: a part is done,
         * call again in the next pass of the loop. -EALREADY: a worker does it, call again when it
         * has answered; -EAGAIN: it does another. -ESRCH: the process is gone; other negative
         * errno: failed. `set_mems` NULL: the backend cannot set memory nodes. */
        int (*set_cpus)(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                        BackendCall *call);
        int (*set_mems)(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                        BackendCall *call);

        /* Adds the present values of what the two functions above change to the record, unless the
         * record has them already. Returns and replies as these functions do. */
        int (*note)(Backend *backend, const BackendTarget *target, UndoRecord *record,
                    BackendCall *call);

        /* Notes the values before the instance is moved into a scope of its own; the two functions
         * above then apply to the scope. NULL: the backend needs no scopes. */
        int (*note_scope)(Backend *backend, const BackendTarget *target, UndoRecord *record,
                          BackendCall *call);
        int (*start_scope)(Backend *backend, const BackendTarget *target, const UndoRecord *record,
                           BackendCall *call);

        /* Takes back what this backend has done, whichever is in use now: see below. Returns as
         * set_cpus() does. */
        int (*restore)(Backend *backend, UndoRestore *restore, BackendCall *call);

        /* Adds these memory nodes in the kernel at once. set_mems must follow, because the manager
         * of the cpuset (systemd) is not informed. 0; -EINPROGRESS, -ETIME: see BackendWriteMems;
         * -ENODEV: a parent group does not allow all of the nodes; other negative errno. NULL: the
         * backend cannot do this. */
        int (*widen_mems)(Backend *backend, const BackendTarget *target, const NodeSet *mems);

        /* May it act on this target? NULL, or a constant sentence why not. NULL itself: on any. */
        const char *(*refuses)(Backend *backend, const BackendTarget *target,
                               const Placement *placement);

        /* Removes what was made for instances that have ended; NULL: nothing is made. What is
         * still in use is kept, also by exiting threads, so call it again at times. */
        void (*tidy)(Backend *backend);
} BackendOps;

/* Writes the memory nodes of a control group that the target is in; `widen`: in addition to its
 * present nodes. -ETIME: the write is not finished yet; -EINPROGRESS: likewise, but the kernel's
 * file already shows the nodes. */
typedef int (*BackendWriteMems)(const BackendTarget *target, int group_fd, const NodeSet *mems,
                                bool widen, void *userdata);

/* Writes another file of a control group for this process: cgroup_write(). -ETIMEDOUT: the write is
 * not finished yet. */
typedef int (*BackendWriteGroup)(const ProcHandle *process, int group_fd, const char *file,
                                 const char *text, void *userdata);

/* cgroup1: makes the group of an instance, for this process: cgroup1_groups_make(). NULL for both:
 * cgroup1_groups_remove(). -ETIMEDOUT: not yet, as above. */
typedef int (*BackendMakeGroup)(const ProcHandle *process, const char *instance, void *userdata);

/* cgroup1: puts one of the processes into the group of its instance, with these CPUs:
 * cgroup1_join(). The kernel takes some 10 ms for that, and the loop does not wait. -EALREADY: it
 * is under way; call again. -EAGAIN: another one is. */
typedef int (*BackendJoinGroup)(const Member *member, const char *instance, const CpuSet *cpus,
                                void *userdata);

struct Backend {
        const BackendOps *ops; /* NULL: nothing can be enforced here, for the reason `why_not` */
        const char *why_not;   /* a constant sentence */
        const BackendOps *const *all; /* by kind; constant */
        const Sysroot *sysroot;       /* borrowed */
        sd_event *event;              /* borrowed */
        CpuSet all_cpus; /* of the host, also those that may come: for what is to be opened fully */
        NodeSet all_nodes;
        BackendWriteMems write_mems;   /* NULL: by ourselves, waiting */
        BackendWriteGroup write_group; /* likewise */
        BackendMakeGroup make_group;   /* likewise */
        BackendJoinGroup join_group;   /* likewise */
        void *write_userdata;
        sd_bus *bus;         /* systemd: owned; opened again when it was lost */
        int root_fd;         /* cgroup1: of the cpuset hierarchy; -EBADF: not opened */
        int cgroup1_error;   /* with which the kernel refused us its hierarchy; 0: it did not */
        const char *weaker;  /* why `ops` is not a stronger one, where the host seems to have that;
                              * a constant sentence, NULL: it has not */
        bool threads_whole;  /* the next call changes all of them: see OTHERS_PASSES_MAX */
        size_t threads_left; /* how many threads the call may still change, of
                                OTHERS_THREADS_AT_ONCE */
        uint64_t n_pid_reuses; /* processes that were changed because a number was reused, and were
                                 restored */
};

/* Chooses nothing yet. */
void backend_init(Backend *backend, const Sysroot *sysroot, sd_event *event);
void backend_done(Backend *backend);

/* Chooses what this host lets us use, for BACKEND_AUTO: systemd, else cgroup1, else affinity; or
 * the requested one, if the host has it. Never fails: a backend without `ops` has a reason. Returns
 * whether it is another one than before. What the former one has set is kept. A command asks the
 * same function: by backend_choose_for(). */
bool backend_choose(Backend *backend, BackendKind kind);

/* What a daemon would choose in its unit, or chose on the machine of a dump: the unit's sandbox
 * makes everything outside /sys read-only. BACKEND_AUTO: none, or of a dump without control groups:
 * it is not known. `ret_weaker` (may be NULL): as in Backend. */
BackendKind backend_choose_for(const Sysroot *sysroot, BackendKind kind, const char **ret_weaker);

/* Our group could not be made in the hierarchy of cgroup1. Where it is one that refuses every
 * write, it is not chosen any more: "mounted" is not "usable". */
void backend_note_refusal(Backend *backend, int error);

/* The kind in use; BACKEND_AUTO: none. "none" is also the name then. */
BackendKind backend_kind(const Backend *backend);

/* Does it set the CPUs of the threads themselves, whose former ones are then in its records? */
bool backend_sets_threads(BackendKind kind);

const char *backend_name(const Backend *backend);

/* Calls `write_mems` if it is set, else writes directly. */
int backend_write_mems(const Backend *backend, const BackendTarget *target, int group_fd,
                       const NodeSet *mems, bool widen);

/* Calls `write_group` if it is set, else writes directly. */
int backend_write_group(const Backend *backend, const ProcHandle *process, int group_fd,
                        const char *file, const char *text);

/* Has each process of a group sent elsewhere, until none is left in it: one that forks faster than
 * it is moved has children that are born inside. 1: it is empty; -EAGAIN: not yet; other negative
 * errno: of reading the group (-ESRCH: it is gone), or the first one of `send`, whose -ESRCH says
 * that the process has ended. */
int backend_empty_group(int group_fd, int (*send)(pid_t pid, void *userdata), void *userdata);

/* systemd: the bus, opened again where it was lost. -ENOTCONN: it was lost just now; try later. */
int backend_systemd_ensure_bus(Backend *backend);

/* systemd, for a record: the unit's properties, and the files of its cgroup. -ENOMEM. */
int undo_note_unit(const Sysroot *sysroot, UndoRecord *record, const BusUnit *unit);

/* For a record: MemoryMax= of the unit, unless it is noted already. -ENOMEM. */
int undo_note_limit(const Sysroot *sysroot, UndoRecord *record, uint64_t memory_max);

/* What systemd has of a property of a unit; empty: it is not set. Borrowed from `unit`. */
IdView unit_property_of(const BusUnit *unit, UnitProperty property);

/* Has systemd set those properties of a unit that have words here; the empty value resets one. In
 * one call: all of them or none. MemoryMax= is on either version of cgroups: systemd has it as
 * memory.limit_in_bytes on v1 (cgroup_context_apply() of systemd 231 to 257). 0: the reply follows;
 * negative errno. */
int unit_set_properties(sd_bus *bus, const char *unit, const IdView values[N_UNIT_PROPERTIES],
                        BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot);

/* The same of one property, over the bus of the backend; and of the limit, see `unlimited`. */
int backend_set_property(Backend *backend, const BackendTarget *target, UnitProperty property,
                         IdView value, BackendCall *call);

/* The files of a group, without systemd: what they have of this record is as before. Lifting never
 * waits; 0 or negative errno. The property stays. */
int backend_limit_lift(int group_fd, const UndoRecord *record);

/* What memory.high has before the brake, unless that is one of ours: lifting gives it back. */
void backend_limit_note_brake(UndoRecord *record, uint64_t brake_bytes);

/* Reclaims page cache by the brake, of v1 by the limit itself, which never kills; then the brake
 * stays. By the worker, as the kernel reclaims within the write: -ETIMEDOUT, not finished yet. */
int backend_limit_brake(const Backend *backend, const ProcHandle *process, int group_fd,
                        uint64_t limit_bytes);

extern const BackendOps backend_systemd_ops;
extern const BackendOps backend_cgroup1_ops;
extern const BackendOps backend_affinity_ops;

/* Is it the host's service manager? */
bool backend_systemd_runs(const Sysroot *sysroot);

/* Does the host have it? NULL, or a constant sentence why not. */
const char *backend_systemd_why_not(const Sysroot *sysroot);

/* Can it be used? -ENOENT: no cpuset hierarchy of cgroup v1 is mounted; -EROFS, -EACCES: we cannot
 * write there; another error: that cannot be read now. `in_unit`: by the daemon in its unit, of
 * which this process is no part. */
int backend_cgroup1_probe(const Sysroot *sysroot, bool in_unit);

/* Restores the values of a record, in the reverse order of the changes. Each kind of change has
 * its own part (`BackendOps.restore`); a record may have several, for the backend may have been
 * changed between. Pages stay where they are. */

typedef enum UndoRestoreStage {
        RESTORE_READ,     /* what does systemd have? */
        RESTORE_WIDEN,    /* the full sets, or the former values */
        RESTORE_WIDENING, /* systemd has answered: does the kernel show it? */
        RESTORE_CLEAR,    /* what was not set is not set again */
        RESTORE_CHECK,    /* what does systemd have now? */
        RESTORE_CHECKED,  /* and is the cgroup still wide? */
} UndoRestoreStage;

/* The progress of one record. Kept until all parts are done; zeroed at the beginning and to
 * start again. */
typedef struct UndoRestore {
        UndoRecord *record;     /* borrowed */
        Undo *undo;             /* where it is written down; NULL: nowhere; borrowed */
        const Sysroot *sysroot; /* borrowed */
        UndoRestoreStage stage;
        bool writes[N_UNIT_PROPERTIES];
        char *group;       /* of the unit, NULL: it does not run; owned */
        BackendCall *call; /* in flight; borrowed */

        /* What could not be as it was; constants, NULL: nothing. */
        const char *shortfall;
} UndoRestore;

void undo_restore_begin(UndoRestore *restore, UndoRecord *record);
void undo_restore_done(UndoRestore *restore);

/* The parts. 1: done; 0: begun, and the reply will come, after which it is to be called again;
 * -EAGAIN: it was written, and does not show yet; other negative errno: it failed. */
int undo_restore_unit(Backend *backend, UndoRestore *restore, BackendCall *call);
int undo_restore_cpuset(Backend *backend, UndoRestore *restore, BackendCall *call);
int undo_restore_masks(Backend *backend, UndoRestore *restore, BackendCall *call);
