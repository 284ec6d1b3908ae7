/* The values before we changed anything: of a unit, of the threads of processes, and of the host.
 *
 * A record is about one instance, or about the host's own settings: masks of interrupts and of
 * network queues, sysctls, and what was sent to irqbalance. Its part about a unit is valid until
 * the unit is restored; its part about a process, for this process only (pid and start time). It is
 * written before each change (see undo.h), so that a later reader can undo all of it. Plain data.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/irq.h"

/* The origin of the value that a unit's property had before. */
typedef enum UndoOrigin {
        UNDO_UNSET,
        UNDO_RUNTIME,    /* `systemctl set-property --runtime` */
        UNDO_PERSISTENT, /* a unit file, a drop-in, `systemctl set-property` */
} UndoOrigin;

/* The values that may be ours: the one that is being set is last, and before it those that it
 * may not have replaced yet. A call that failed may have had an effect, and a daemon that was
 * killed does not know how far it got. */
typedef struct UndoValues {
        IdSet *values; /* owned; none: nothing is set by us */
        size_t n, allocated;
} UndoValues;

/* Number of values that are remembered; the oldest are dropped first. */
#define UNDO_VALUES_MAX 8u

/* The properties of a unit that are set by us. */
typedef enum UnitProperty {
        UNIT_CPUS,  /* AllowedCPUs= */
        UNIT_MEMS,  /* AllowedMemoryNodes= */
        UNIT_LIMIT, /* MemoryMax=: the first word of the value are its bytes, which are never 0 */
        N_UNIT_PROPERTIES,
} UnitProperty;

/* The value of UNIT_LIMIT; empty: UINT64_MAX, no limit. */
#define UNIT_BYTES(bytes) ((IdView){ (bytes), *(bytes) == UINT64_MAX ? 0 : 1 })
uint64_t unit_bytes(IdView value);

/* One of them. The CPUs and memory nodes are noted together; on cgroup v1 there is the limit alone.
 */
typedef struct UndoProperty {
        bool noted;    /* what it had is known */
        IdSet *before; /* NULL: it was not set; owned */
        UndoOrigin origin;
        IdSet *file;          /* of UNIT_CPUS and UNIT_MEMS: what the file of the unit's cgroup had;
                               * NULL: it had no cgroup, or without the cpuset controller; owned */
        uint64_t since_ticks; /* when the last of `ours` was set, in ticks since boot: a process
                               * that started later has taken its sizes by it */
        uint64_t brake_before; /* of UNIT_LIMIT: what memory.high had, MemoryHigh= of the admin; 0:
                                * nothing */
        UndoValues ours;
} UndoProperty;

/* What is about to be ours, or was set. Without words: that one is left alone, or has again what it
 * had before. */
typedef struct UndoChange {
        IdView properties[N_UNIT_PROPERTIES];
        IdView given;          /* the CPUs of threads, of these processes */
        const Member *members; /* borrowed */
        size_t n_members;
        bool exclusive; /* all that is ours of the unit, in one write: until its answer nothing else
                         * is written to the unit, and it is not released. A limit without it is the
                         * kernel file's alone, and the property follows later */
} UndoChange;

/* Threads of neighbouring numbers with the same CPUs. */
typedef struct UndoThreads {
        pid_t first, last;
        uint32_t mask; /* index into `masks`, or UNDO_FOLLOWS */
} UndoThreads;

/* The thread could run wherever its cpuset let it: it had chosen nothing itself. */
#define UNDO_FOLLOWS UINT32_MAX

typedef struct UndoProcess {
        ProcessId id;
        uint64_t noted_ticks; /* when its threads were read, in ticks since boot */
        char *cpuset;    /* its path in the cpuset hierarchy of v1; NULL: not moved by us; owned */
        bool masks_set;  /* we set the CPUs of its threads one by one */
        bool given;      /* and each of them got them once */
        uint32_t leader; /* the mask of its first thread, and of all that were made since */
        CpuSet *masks;   /* each different one that threads had chosen; owned */
        size_t n_masks, masks_allocated;
        UndoThreads *threads; /* ascending; owned */
        size_t n_threads, threads_allocated;
} UndoProcess;

/* What the unit of a process is like that is to leave it for a scope of ours. */
typedef struct UndoFormer {
        bool known;
        union {
                struct BusScopeState; /* `limit`: why a scope of ours would be a looser one, a
                                       * constant sentence; NULL: it would not */
                BusScopeState state;
        };
        uint64_t default_tasks_max; /* of a scope without its own TasksMax=; 0: unknown */
} UndoFormer;

/* A setting of the host. It keeps the kernel's own text, so that it is put back byte for byte. It
 * is dropped together with its subject: a vector, an interface. */
typedef struct UndoSetting {
        SettingKey key; /* `device` is owned here */
        char *before;   /* owned */
        char *pci;      /* the card of a queue, where it has an address; NULL: none. Owned */
} UndoSetting;

/* What irqbalance itself had before. */
typedef struct UndoBalance {
        bool known;
        ProcessId id; /* of this process; another one knows nothing of us */
        IrqbalanceSetup own;
} UndoBalance;

/* Shows whether a file was changed or replaced. */
typedef struct UndoFileState {
        uint64_t inode, size, changed_nsec;
} UndoFileState;

typedef struct UndoRecord {
        char *instance; /* as backends know it (a cgroup1 folder has its name); NULL: the record is
                         * the host's, and has only the next two parts; owned */
        UndoSetting *settings; /* owned */
        size_t n_settings, settings_allocated;
        UndoBalance irqbalance;

        char *unit;  /* the service that the instance is; NULL: none; owned */
        char *scope; /* a scope of ours that its processes were moved to, or are about to be; NULL:
                        none. The values of the unit are then those of the scope; owned */
        char *home;  /* the cgroup that they came from, with `scope`; that of the scope itself:
                      * not known; owned */

        union {
                UndoProperty properties[N_UNIT_PROPERTIES];
                struct {
                        UndoProperty cpus, mems, limit;
                };
        };

        UndoValues given;       /* the CPUs that threads were given */
        UndoProcess *processes; /* owned */
        size_t n_processes, processes_allocated;

        /* Not written down. */
        bool releasing;   /* it is being restored: nothing else may change the instance */
        bool restoring;   /* the first value of that may have been written */
        bool busy;        /* a write of the unit's properties is under way */
        bool limit_unset; /* the last of the limits is in the kernel's files, to reclaim page cache
                           * by it, and not in the property (yet) */
        bool read_again;  /* what unit files set besides is to be read */
        bool read_late;   /* the same, as soon as a worker has answered */
        bool stale;       /* not yet all in the file */
        UndoFormer former;
        char *file;            /* its name; NULL: not written yet; owned */
        UndoFileState written; /* what it was like when we wrote or read it */
} UndoRecord;

/* `unit` may be NULL. -ENOMEM. */
int undo_record_new(const char *instance, const char *unit, UndoRecord **ret);
UndoRecord *undo_record_free(UndoRecord *record);
void undo_record_done(UndoRecord *record); /* what it owns */
DEFINE_CLEANUP(UndoRecord *, undo_record_free)

UndoProcess *undo_record_find(const UndoRecord *record, const ProcessId *id);

/* An entry for a process that has none. -ENOMEM. */
int undo_record_add(UndoRecord *record, const ProcessId *id, UndoProcess **ret);
void undo_record_remove(UndoRecord *record, size_t index);

/* The next thread, of a higher number than all before. `mask` NULL: it followed its cpuset.
 * -ENOMEM. */
int undo_process_add_thread(UndoProcess *process, pid_t tid, const CpuSet *mask);

/* UNDO_FOLLOWS where the process has UNDO_MASKS_MAX others already. -ENOMEM: `*ret` is untouched.
 */
int undo_process_find_mask(UndoProcess *process, const CpuSet *mask, uint32_t *ret);

/* The CPUs that a thread had, or, when it was made later, those of the first one. NULL: it followed
 * its cpuset. */
const CpuSet *undo_process_mask(const UndoProcess *process, pid_t tid, uint64_t start_ticks);

/* For a process that was forked by a bound process and has inherited its binding: without tidbnumad
 * the child would have had the parent's former values, so these are recorded. -ENOMEM. */
int undo_process_inherit(UndoProcess *process, const UndoProcess *from);

/* What the property had; empty: it was not set. */
IdView undo_property_before(const UndoProperty *property);

/* It is noted then. Of the empty set the origin is UNDO_UNSET, whatever is given. -ENOMEM: the
 * property is as it was. */
int undo_property_set(UndoProperty *property, IdView before, UndoOrigin origin);

/* The value is about to be set. 1: it is to be written down before; 0: it is known; -ENOMEM. */
int undo_values_add(UndoValues *values, IdView value);

/* May this value be ours? */
bool undo_values_have(const UndoValues *values, IdView value);

/* The value that is wanted; empty: none. */
IdSet undo_values_last(const UndoValues *values);

/* It does: the former ones are gone. */
void undo_values_confirm(UndoValues *values);
void undo_values_clear(UndoValues *values);

/* Before a change: the record has what it had before, and now also what will be ours, and is to be
 * written down. -ENOMEM. After the change: the former values are gone, and with an exclusive one
 * that does not set it, what is known of the memory limit. */
int undo_record_will_change(UndoRecord *record, const UndoChange *change, uint64_t now_ticks);
void undo_record_did_change(UndoRecord *record, const UndoChange *change);

/* May this value, which systemd has of the property, be ours? `record` NULL: it is not. */
bool undo_record_is_ours(const UndoRecord *record, UnitProperty property, IdView value);

/* What others have set, where systemd has this value. Borrowed from either. */
IdView undo_record_own(const UndoRecord *record, UnitProperty property, IdView value);

/* The memory limit: what it was, UINT64_MAX: none; which is wanted, 0: none. */
uint64_t undo_record_limit_before(const UndoRecord *record);
uint64_t undo_record_limit_last(const UndoRecord *record);

/* Nothing of it is known any more. */
void undo_record_forget_limit(UndoRecord *record);

/* Its processes are about to be moved, or were. Once for a record. -ENOMEM. */
int undo_record_set_scope(UndoRecord *record, const char *scope, const char *home);

/* A setting of the host: its value before the first change. `pci` may be NULL. -ENOMEM. */
int undo_record_add_setting(UndoRecord *record, const SettingKey *key, const char *pci,
                            const char *before);
UndoSetting *undo_record_find_setting(const UndoRecord *record, const SettingKey *key);
void undo_record_remove_setting(UndoRecord *record, size_t index);

/* Takes over what is in `balance`. */
void undo_record_set_irqbalance(UndoRecord *record, UndoBalance *balance);
void undo_record_forget_irqbalance(UndoRecord *record);

/* The unit whose properties it holds: the scope or the service. NULL: none. */
const char *undo_record_unit(const UndoRecord *record);

/* Is anything of ours set on the unit? */
bool undo_record_has_unit(const UndoRecord *record);

/* Has it CPUs or memory nodes of ours? Else it keeps only why it has none. */
bool undo_record_has_changes(const UndoRecord *record);

/* Nothing is left that could be given back. */
bool undo_record_is_empty(const UndoRecord *record);

/* 50,000 threads with a mask each of their own are 3 MiB; 4,000 vectors and as many queues of a
 * machine of 8,192 CPUs are 20 MiB, of 256 CPUs 2 MiB. */
#define UNDO_TEXT_MAX_BYTES ((size_t)32 << 20)

/* The caller owns the text. -ENOMEM. */
int undo_text_render(const UndoRecord *record, char **ret, size_t *ret_size);

/* Without names it is the host's. Errors as of record_parse() below, and -ENOMEM. */
int undo_text_parse(const char *text, size_t size, UndoRecord **ret);

/* --- the form of all files in the folder ---
 *
 * An object in one line. An entry of `settings` is something that was changed: which kind of thing,
 * which of them, what it had before, and the values that may be ours:
 *
 *     {"version": 1, "instance": "tikv-20160", "unit": "tikv-20160.service", "settings": [
 *       {"kind": "unit-cpus", "target": "tikv-20160.service", "before": {…}, "ours": ["0-7"]}, …]}
 *
 * `target`, `before` and `ours` are as the kind needs them, null where it has none. Only records of
 * instances have the two names. Out of JSON, all that does not fit is -EBADMSG. */
#define RECORD_VERSION 1

typedef struct RecordEntry {
        const char *kind;
        const json_t *target, *before, *ours;
} RecordEntry;

/* Takes an entry: 0 or negative errno, which ends the reading. */
typedef int (*RecordReader)(const RecordEntry *entry, void *userdata);

/* Adds an entry, and takes over its three parts; NULL: there was no memory for it. `*list` is NULL
 * then, and stays so. */
void record_append(json_t **list, const char *kind, json_t *target, json_t *before, json_t *ours);

/* Takes over `settings`. Without `instance` there are no names. The caller owns the text. -ENOMEM.
 */
int record_render(const char *instance, const char *unit, json_t *settings, char **ret,
                  size_t *ret_size);

/* The object, which the caller owns. -EBADMSG: the text is no record; -ENOTSUP: a newer version
 * wrote it. Then its entries. */
int record_parse(const char *text, size_t size, json_t **ret);
int record_read(const json_t *root, RecordReader reader, void *userdata);

/* A set as its list, and back. */
json_t *record_from_set(IdView set);
int record_to_set(const json_t *json, IdTarget ret);
