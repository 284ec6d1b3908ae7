/* Carries out binding steps through the backend, and handles its answers. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Why no backend can bind the instance; NULL: one can. `ret_code`, which may be NULL, gets the
 * reason's code. */
const char *bind_refuses(const Binder *b, Instance *instance, Reason *ret_code);

/* Why no scope can be made for an instance that has no unit to itself; otherwise as bind_refuses().
 */
const char *bind_refuses_scope(const Binder *b, const Instance *instance, Reason *ret_code);

/* Records the time from the start of an instance to its verified CPUs in its policy's histogram. An
 * instance that ran for long before it was first seen is not recorded. */
void bind_note_latency(const Binder *b, Instance *instance, uint64_t now_usec);

/* Its place is known: what it was given at its exec is taken back where it has none, where it
 * cannot be bound, or where a backend binds it that leaves threads alone. */
void bind_check_start(const Binder *b, Instance *instance);

/* Carries out a step that sets CPUs or memory nodes. True: the step is complete, reconcile again at
 * once. False: an answer will come, or the step failed and is retried later. */
bool bind_carry_out(const Binder *b, Instance *instance, const Step *step, uint64_t now_usec);

/* Adds memory nodes in the kernel's cpuset first, then requests them from the backend; this
 * replaces a pending request. -ENODEV: the group may not have all of them; -ESRCH: the instance has
 * ended; -ENOMEM: the kernel had no memory for the change. After an error, nothing is requested
 * from the backend. */
int bind_widen_now(const Binder *b, Instance *instance, const NodeSet *mems, uint64_t now_usec);

/* Removes what the backend made for instances that have ended, unless something uses it. */
void bind_tidy(Binder *b);

/* Chooses the backend of the policies in force, and logs a change, which is returned. What the
 * former backend set stays in force; all later steps go through the new one. */
bool bind_choose_backend(const Binder *b);
