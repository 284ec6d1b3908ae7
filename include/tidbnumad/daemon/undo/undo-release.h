/* Restores the values of undo records, verifies them, and then deletes the records. */
#pragma once

#include "tidbnumad/daemon/undo/undoing.h"

/* Adds the timer to the loop. */
int undo_release_start(Undoing *undo);
void undo_release_done(Undoing *undo);

/* Begins a release, unless one is under way. `why`: a constant. */
void undo_release_begin(Undoing *undo, UndoRecord *record, const char *why);

/* After policies were loaded: releases what no policy matches any more, and whose
 * release was requested. */
void undo_release_unwanted(Undoing *undo);

/* At each scan: releases bound processes that belong to no instance any more, and units that are
 * gone. */
void undo_release_stray(Undoing *undo);

/* Was the release of an instance or device requested, by its name or its unit? `unit` may be NULL.
 */
bool undo_release_is_asked(const Host *host, const char *name, const char *unit);

/* What has become of an instance whose release was requested, in words for its status. */
const char *undo_release_explain(const Undoing *undo);

/* Releases the instance if that was requested. The name of a process without a unit
 * contains its port, so it may become known only after it was bound. */
void undo_release_if_asked(Undoing *undo, Instance *instance);

/* Releases an instance to which policy and machine give no nodes any more: bound to its former ones
 * it would disturb others, and nothing would guard it. Does nothing while its port may still give
 * it a place. */
void undo_release_without_place(Undoing *undo, Instance *instance);

/* Drops the part of the record that concerns a process that has left. With the last process a scope
 * is released. */
void undo_release_note_left(Undoing *undo, Instance *instance);

/* To be called when the daemon stops. True: by enforcement.on_stop everything is released first,
 * and the loop exits then. */
bool undo_release_before_stop(Undoing *undo);

/* Continues the releases that are due. */
void undo_release_at_due(Undoing *undo, uint64_t now_usec);
