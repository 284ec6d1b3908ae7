/* What this process itself costs. */
#pragma once

#include <stdint.h>

/* CPU time so far, resident bytes, open descriptors. `start_seconds`: the start time since the
 * epoch; in: what was read before (0: nothing); unchanged unless the clock was set. */
int self_read(double *ret_cpu_seconds, uint64_t *ret_resident_bytes, uint64_t *ret_open_fds,
              double *start_seconds);

/* Locks all present and future pages of this process in memory once they are used (MCL_ONFAULT), so
 * that the daemon can continue when memory has run out. Only without a limit: with a small limit, a
 * malloc(3) would fail later. -EPERM: there is a limit that this process may not raise. */
int self_lock_memory(void);
