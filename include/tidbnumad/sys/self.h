/* What this process itself costs. */
#pragma once

#include <stdint.h>

/* CPU time so far, resident bytes, open descriptors. `start_seconds`: the start time since the
 * epoch; in: what was read before (0: nothing); unchanged unless the clock was set. */
int self_read(double *ret_cpu_seconds, uint64_t *ret_resident_bytes, uint64_t *ret_open_fds,
              double *start_seconds);

/* Keeps all that this process has touched, and will, in memory (MCL_ONFAULT: no more than that), so
 * that it can go on where memory has run out. Only where that has no limit: a small one would be
 * reached later, by a malloc(3) that fails. -EPERM: there is a limit, and it is not ours to lift.
 */
int self_lock_memory(void);
