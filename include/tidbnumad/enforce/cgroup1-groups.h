/* Creates and removes our groups in the cpuset hierarchy of cgroup v1. Each call waits while
 * another process changes any group of the host. */
#pragma once

#include "tidbnumad/sys/sysroot.h"

/* Our directory below the root of the hierarchy. */
#define CGROUP1_FOLDER "tidbnumad"

/* The group of an instance, ready for processes: with the memory nodes that the root has, where
 * there is no process in it yet. 0, or a negative errno. */
int cgroup1_groups_make(const Sysroot *sysroot, const char *instance);

/* All that no process is in, and then our directory. -EBUSY: some are in use; -ENOENT: there is
 * none; other negative errno. */
int cgroup1_groups_remove(const Sysroot *sysroot);
