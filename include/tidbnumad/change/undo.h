/* The records of all instances and of the host, in memory and in the folder undo/ of the runtime
 * folder: one file each, replaced by a rename before the change that it is about. That folder is in
 * /run, so a record is never older than the boot. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/change/record.h"
#include "tidbnumad/sys/sysroot.h"

/* The CPUs that processes are given at their exec, before a record of each is written: one record
 * for all, with an entry "start" for each set, written before the first process is given any.
 *
 * A daemon that is killed between such a change and its record leaves a process without one. The
 * next daemon recognizes it by this list: see start_cpus_recall(). */
#define UNDO_STARTS_FILE "starts.record"

typedef struct UndoStarts {
        CpuSet *cpus; /* each once; owned */
        size_t n, allocated;
} UndoStarts;

void undo_starts_done(UndoStarts *starts);
#define _cleanup_undo_starts_ _cleanup_(undo_starts_done)

/* -ENOMEM. */
int undo_starts_add(UndoStarts *starts, const CpuSet *cpus);

/* Writes the list down, or takes the file away where it is empty. Nothing may be given unless this
 * returned 0. */
int undo_starts_write(int dir_fd, const UndoStarts *starts);

/* -ENOENT: there is none; -EBADMSG, -ENOTSUP as record_parse(). */
int undo_starts_read(int dir_fd, UndoStarts *ret);
int undo_starts_parse(const char *text, size_t size, UndoStarts *ret);

typedef struct Undo {
        const Sysroot *sysroot; /* borrowed */
        int dir_fd;             /* -EBADF: not opened; nothing may be changed then */
        UndoRecord **records;   /* owned */
        size_t n_records, allocated;
        char **leftovers; /* files of forgotten records that could not be removed yet; owned */
        size_t n_leftovers, allocated_leftovers;
        UndoStarts former; /* of the run before this one; owned */
        UndoRecord host;   /* of the host's own settings; it has a file unless it is empty; owned */
} Undo;

#define UNDO_FOLDER "undo"

/* The file of the host's record; an instance's ends with .json. */
#define UNDO_HOST_FILE "host.record"

void undo_init(Undo *undo, const Sysroot *sysroot);
void undo_done(Undo *undo); /* the files stay */

/* Opens the folder below the runtime folder, and makes it where it is not there. */
int undo_open(Undo *undo, int runtime_fd);

/* Writes again what somebody else has removed or changed since: the folder itself, or files in it.
 * 1: something was; 0: all is as it was written; negative errno: it cannot be written. */
int undo_repair(Undo *undo, int runtime_fd);

/* Hears of each file that is no record: `error` as of private_file_read() and undo_text_parse().
 * Such a file is put aside (".NAME.bad"), unless it could not be read for a reason that may pass,
 * or is of a newer version (-ENOTSUP). */
typedef void (*UndoBadFile)(const char *name, int error, void *userdata);

/* Reads the records of an earlier run of the daemon. Entries of processes that have ended are
 * dropped, and a record without other entries too. -ENOMEM, or that the folder cannot be read. */
int undo_load(Undo *undo, UndoBadFile bad_file, void *userdata);

/* Finds the record of a service by its unit, of any other instance by one of its processes; NULL:
 * there is none. */
UndoRecord *undo_find(const Undo *undo, const char *unit, const ProcessId *id);

/* The record of the instance that was moved into this scope of ours. NULL: none. */
UndoRecord *undo_find_scope(const Undo *undo, const char *scope);

/* The record, or a new one that no file has yet. -ENOMEM. */
int undo_get(Undo *undo, const char *instance, const char *unit, const ProcessId *id,
             UndoRecord **ret);

/* Writes the record to its file, if it has changed. The caller may change the instance only after
 * this returned 0. -EBADF: there is no folder; -EEXIST: there is a file of a newer version;
 * -ENOSPC, -EROFS, … */
int undo_write(Undo *undo, UndoRecord *record);

/* All is given back, or nothing was ever changed: takes its file away, and the record itself. A
 * file that cannot be removed now is removed by undo_remove_leftovers() or overwritten. */
void undo_forget(Undo *undo, UndoRecord *record);
void undo_remove_leftovers(Undo *undo);

/* Drops the entries of processes that have ended. True: nothing is left in it. */
bool undo_prune(const Undo *undo, UndoRecord *record);
