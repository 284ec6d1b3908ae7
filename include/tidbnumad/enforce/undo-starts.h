/* The CPUs that processes are given at their exec, before a record of each is written: one list for
 * all, in the folder of the records (undo.h), written before the first process is given any:
 *
 *     {"version": 2, "cpus": ["0-7", "8-15"]}
 *
 * A daemon that is killed between such a change and its record leaves a process without one. The
 * next daemon recognizes it by this list: see start_cpus_recall(). */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

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

/* -ENOENT: there is none; -EBADMSG, -ENOTSUP as undo_json_parse(). */
int undo_starts_read(int dir_fd, UndoStarts *ret);
int undo_starts_parse(const char *text, size_t size, UndoStarts *ret);
