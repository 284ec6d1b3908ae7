/* What an instance shows of itself once it runs: the ports it listens on and its data directory.
 * Both come some time after its start, and cost a walk over its open files, so they are looked for
 * a few times only, at growing distances. */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

int describe_start(Roster *roster);

/* A process has come to the instance, or its policy has changed: look for them anew. */
void describe_again(Roster *roster, Instance *instance, uint64_t now_usec);

/* Its data directory and the disks under it, now: for one whose place depends on them. */
void describe_storage(const Roster *roster, Instance *instance);

/* All instances, now: before they are placed for the first time. 0 or -ENOMEM. */
int describe_all(Roster *roster);
