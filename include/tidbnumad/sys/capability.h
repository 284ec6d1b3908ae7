/* Capabilities of this thread, capabilities(7). libcap would be a library for two system calls. */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

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
