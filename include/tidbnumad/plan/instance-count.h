/* How many instances each policy has of each user, for max_instances: an ordinary user can start
 * any number of processes that are named like a database. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct InstanceCount {
        size_t policy; /* index */
        uid_t uid;
        size_t n;
        bool full_logged;
} InstanceCount;

typedef struct InstanceCounts {
        InstanceCount *counts; /* ascending by policy and user; owned */
        size_t n_counts, allocated;
} InstanceCounts;

void instance_counts_done(InstanceCounts *counts);

int instance_counts_add(InstanceCounts *counts, size_t policy, uid_t uid); /* 0 or -ENOMEM */
void instance_counts_remove(InstanceCounts *counts, size_t policy, uid_t uid);
size_t instance_counts_of(const InstanceCounts *counts, size_t policy, uid_t uid);

/* True the first time only, so that a user cannot fill the journal. */
bool instance_counts_log_full(InstanceCounts *counts, size_t policy, uid_t uid);
