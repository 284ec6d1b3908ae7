/* The NUMA policy that a process has set itself, or numactl(8) for it: set_mempolicy(2). */
#pragma once

#include <stddef.h>

#include "tidbnumad/sys/proc.h"

/* The policy out of the first line of /proc/PID/numa_maps (numa(7)): "default", "bind:2",
 * "interleave:0-7", … That is of the first mapping, the program itself, which has the policy of the
 * process's first thread. -EBADMSG: no such line; -ENOSPC. */
int memory_policy_parse(const char *text, char *buffer, size_t size);

/* The kernel walks through no more than that mapping for it. -ESRCH: gone; -EACCES; -ENOENT: a
 * kernel without NUMA. */
int memory_policy_read(const ProcHandle *handle, char *buffer, size_t size);
