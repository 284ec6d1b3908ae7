/* Creates and removes our groups in the cpuset hierarchy of cgroup v1. Each call waits while
 * another process changes any group of the host. */
#pragma once

#include "tidbnumad/sys/sysroot.h"

/* Our directory below the root of the hierarchy. */
#define CGROUP1_FOLDER "tidbnumad"

/* Creates the group of an instance, ready for processes: a group without processes gets the memory
 * nodes of the root. 0, or a negative errno. */
int cgroup1_groups_make(const Sysroot *sysroot, const char *instance);

/* Removes all groups without processes, and then our directory. -EBUSY: some groups are in use;
 * -ENOENT: there is no group; other negative errno. */
int cgroup1_groups_remove(const Sysroot *sysroot);
