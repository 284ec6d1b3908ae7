/* The full-node guard watches the nodes of strict bindings, widens a binding before its nodes are
 * full, and narrows it again later. Its rules are in plan/guard.h.
 *
 * The guard has its own timer, with the highest priority in the loop, and runs only while there is
 * an instance to watch: one with `memory: bind` whose memory nodes tidbnumad has narrowed. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

typedef struct Guard Guard;

/* Starts the guard; not with --once, and not with --sysroot. */
int guard_start(Binder *b);
void guard_stop(Binder *b);

/* Decides after a reconcile whether the instance is watched from now on. */
void guard_note(const Binder *b, Instance *instance);

/* Room that must remain beside the memory that is pulled back, before a widened instance is
 * narrowed; otherwise its nodes would be full again at once. 0 where nothing is to be pulled: then
 * the guard waits for its minute only. */
uint64_t guard_margin_bytes(const Binder *b, const Instance *instance);

/* Runs one round. Returns the microseconds until the next one; INSTANCE_NEVER: nothing is to be
 * watched. */
uint64_t guard_tick(Binder *b, uint64_t now_usec);
