/* Restores the values of a record, in the reverse order of the changes. Each kind of change has
 * its own part (`BackendOps.restore`); a record may have several, for the backend may have been
 * changed between. Pages stay where they are. */
#pragma once

#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/enforce/undo.h"

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
        UndoRecord *record; /* borrowed */
        Undo *undo;         /* where it is written down; NULL: nowhere; borrowed */
        UndoRestoreStage stage;
        bool writes_cpus, writes_mems;
        char *group;       /* of the unit, NULL: it does not run; owned */
        BackendCall *call; /* in flight; borrowed */

        /* What could not be as it was; constants, NULL: nothing. */
        const char *shortfall;
} UndoRestore;

void undo_restore_begin(UndoRestore *restore, UndoRecord *record);
void undo_restore_done(UndoRestore *restore);

/* The CPUs of each thread of a process. 0; -ESRCH: it is gone; another error of reading or setting
 * the CPUs of a thread, as -EPERM or -ENOMEM: some may be set, and it is to be called again. */
int undo_restore_threads(Backend *backend, const UndoRecord *record, const UndoProcess *entry,
                         const ProcHandle *handle);

/* The parts. 1: done; 0: begun, and the reply will come, after which it is to be called again;
 * -EAGAIN: it was written, and does not show yet; other negative errno: it failed. */
int undo_restore_unit(Backend *backend, UndoRestore *restore, BackendCall *call);
int undo_restore_cpuset(Backend *backend, UndoRestore *restore, BackendCall *call);
int undo_restore_masks(Backend *backend, UndoRestore *restore, BackendCall *call);
