/* This process: what it costs, and what it may do. */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

/* CPU time so far, resident bytes, open descriptors. `start_seconds`: the start time since the
 * epoch; in: what was read before (0: nothing); unchanged unless the clock was set. */
int self_read(double *ret_cpu_seconds, uint64_t *ret_resident_bytes, uint64_t *ret_open_fds,
              double *start_seconds);

/* Locks all present and future pages of this process in memory once they are used (MCL_ONFAULT), so
 * that the daemon can continue when memory has run out. Only without a limit: with a small limit, a
 * malloc(3) would fail later. -EPERM: there is a limit that this process may not raise. */
int self_lock_memory(void);

/* --- capabilities --- */

/* Capabilities of this thread, capabilities(7). libcap would be a library for two system calls. */

/* Linux 5.8. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

bool capability_is_effective(unsigned capability);

/* Sets or clears one in the effective set. 1: that changed it; 0: it was so before; or a negative
 * errno: -EPERM: it is not permitted. */
int capability_set_effective(unsigned capability, bool on);

/* Keeps no others than these, a mask of 1 << CAP_…, for good. */
int capability_keep(uint64_t mask);
