/* What the backend does for an instance: asking it, and what becomes of the answer. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* systemd answers before it has written the cgroup files: so long what it was asked for may take to
 * show. The longest answer that was seen took 2 s. */
#define BIND_SHOW_TIMEOUT_USEC (UINT64_C(15) * 1000 * 1000)

/* Why nothing can be done for the instance; NULL: something can. `ret_code` (may be NULL) becomes
 * of what kind that is. */
const char *bind_refuses(Instance *instance, Reason *ret_code);

/* Did each of its processes get its CPUs once? Not so after a change of placement or backend. */
bool bind_cpus_given(const Instance *instance);
void bind_begin_anew(Instance *instance);

/* Once the CPUs of one that we bind stand, verified: how long that took since its start goes into
 * its policy's histogram. Of what ran for long before it was first seen nothing is told. */
void bind_note_latency(Instance *instance, uint64_t now_usec);

/* Carries out a step that sets CPUs or memory nodes. True: it is done, look again; false: an answer
 * will come, or it failed and is due again later. */
bool bind_carry_out(Instance *instance, const Step *step, uint64_t now_usec);

/* The kernel is to allow these memory nodes as well, before anything else is done; then the backend
 * is told, in place of what it was being asked for. 0; -ENODEV: it may not have them all, -ESRCH:
 * it has ended; nothing more was done then. */
int bind_widen_now(Instance *instance, const NodeSet *mems, uint64_t now_usec);

/* Takes away what stands for instances that are gone, as far as it is free already. */
void bind_tidy(Manager *manager);

/* The policies in force ask for a backend: chooses it, and tells when it is another one. What the
 * former one did stays; all looks go through the new one. */
void bind_choose_backend(Manager *manager);
