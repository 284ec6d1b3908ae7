/* Reads what an instance reveals once it runs: its listening ports and its data directory. Both
 * become known some time after its start, and reading them costs a walk over its open files, so
 * they are read only a few times, at growing intervals. */
#pragma once

#include "tidbnumad/daemon/registry/registry.h"

int describe_start(Registry *registry);

/* Starts reading them again, after a process joined the instance or its policy changed. */
void describe_again(Registry *registry, Instance *instance, uint64_t now_usec);

/* Reads the data directory and its disks at once, for an instance whose place depends on them.
 * -ETIME, -EBUSY: not now. */
int describe_storage(const Registry *registry, Instance *instance);

/* Reads all instances at once, before they are placed for the first time. 0 or -ENOMEM. */
int describe_all(Registry *registry);
