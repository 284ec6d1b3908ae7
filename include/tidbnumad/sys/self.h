/* What this process itself costs. */
#pragma once

#include <stdint.h>

/* CPU time so far, resident bytes, open descriptors, start time since the epoch. */
int self_read(double *ret_cpu_seconds, uint64_t *ret_resident_bytes, uint64_t *ret_open_fds,
              double *ret_start_seconds);
