/* Giving back: what stands in an undo record, put on again and verified; then the record goes. */
#pragma once

#include "tidbnumad/daemon/undo/undoing.h"

/* Adds the timer to the loop. */
int undo_release_start(Undoing *undo);
void undo_release_done(Undoing *undo);

/* Begins, unless that is under way. `why`: a constant. */
void undo_release_begin(Undoing *undo, UndoRecord *record, const char *why);

/* Policies are in force, or were loaded anew: gives back what none of them names any more, or what
 * enforcement.release names. */
void undo_release_unwanted(Undoing *undo);

/* At a scan: processes that are bound and belong to no instance any more, and units that are
 * gone. */
void undo_release_stray(Undoing *undo);

/* Does enforcement.release name it, by one of these? `unit` may be NULL. */
bool undo_release_is_asked(const Host *host, const char *name, const char *unit);

/* Does it name the instance? Then that is given back, also where its name has become known only
 * after it was bound: that of a process without a unit has its port in it. */
void undo_release_if_asked(Undoing *undo, Instance *instance);

/* Its policy, or the machine, gives it no nodes any more: held to its former ones it would be in
 * the way of others, and nobody would guard it. Not so while its port may still give it some. */
void undo_release_without_place(Undoing *undo, Instance *instance);

/* A process of the instance has left: what its record says of that is dropped. With the last one a
 * scope is given back. */
void undo_release_note_left(Undoing *undo, Instance *instance);

/* The daemon is to stop. True: by enforcement.on_stop, all is given back first, and the loop ends
 * then. */
bool undo_release_before_stop(Undoing *undo);

/* Carries on what is due. */
void undo_release_at_due(Undoing *undo, uint64_t now_usec);
