/* The full-node guard: watches the nodes of strict bindings, widens these before a node is full,
 * and lets them become narrow again. What it goes by is in plan/guard.h.
 *
 * It runs by a timer of its own, before everything else in the loop, and only while there is an
 * instance to be watched: one with memory: bind whose memory nodes are narrow by our doing. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

typedef struct Guard Guard;

/* Not for a single run, and not for the dump of another machine. */
int guard_start(Binder *b);
void guard_stop(Binder *b);

/* The instance was looked at: is it to be watched from now on? */
void guard_note(const Binder *b, Instance *instance);

/* Room that must be left beside what is pulled back, before one that was widened is narrowed, so
 * that it is not full again at once. Where nothing is to be pulled, the guard's own minute is all.
 */
uint64_t guard_margin_bytes(const Binder *b, const Instance *instance);

/* One round. Returns the microseconds until the next; INSTANCE_NEVER: nothing is to be watched. */
uint64_t guard_tick(Binder *b, uint64_t now_usec);
