/* What the backend does for an instance: asking it, and what becomes of the answer. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Why nothing can be done for the instance; NULL: something can. `ret_code` (may be NULL) becomes
 * of what kind that is. */
const char *bind_refuses(const Binder *b, Instance *instance, Reason *ret_code);

/* The same for a scope of its own, where it has no unit to itself. */
const char *bind_refuses_scope(const Binder *b, const Instance *instance, Reason *ret_code);

/* Once the CPUs of one that we bind stand, verified: how long that took since its start goes into
 * its policy's histogram. Of what ran for long before it was first seen nothing is told. */
void bind_note_latency(const Binder *b, Instance *instance, uint64_t now_usec);

/* Carries out a step that sets CPUs or memory nodes. True: it is done, look again; false: an answer
 * will come, or it failed and is due again later. */
bool bind_carry_out(const Binder *b, Instance *instance, const Step *step, uint64_t now_usec);

/* The kernel is to allow these memory nodes as well, before anything else is done; then the backend
 * is told, in place of what it was being asked for. 0; -ENODEV: it may not have them all, -ESRCH:
 * it has ended, -ENOMEM: the kernel had no memory for it; nothing more was done then. */
int bind_widen_now(const Binder *b, Instance *instance, const NodeSet *mems, uint64_t now_usec);

/* Takes away what stands for instances that are gone, as far as it is free already. */
void bind_tidy(Binder *b);

/* The policies in force ask for a backend: chooses it, and tells when it is another one. What the
 * former one did stays; all looks go through the new one. */
void bind_choose_backend(Binder *b);
