/* How many instances and processes each policy has of each user, for max_instances and for the
 * descriptors that processes take: an ordinary user can start any number of processes that are
 * named like a database, and a server can fork any number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Processes of one instance that are watched. TiDB's servers have one, HAProxy a few dozen. */
enum { INSTANCE_PROCESSES_MAX = 512 };

/* Limits that are logged when they are reached. */
typedef enum InstanceLimit {
        INSTANCE_LIMIT_INSTANCES = 1 << 0, /* max_instances */
        INSTANCE_LIMIT_PROCESSES = 1 << 1, /* INSTANCE_PROCESSES_MAX */
        INSTANCE_LIMIT_PLACES = 1 << 2,    /* instance_counts_have_place() */
} InstanceLimit;

typedef struct InstanceCount {
        size_t policy; /* index */
        uid_t uid;     /* of the first process of each instance */
        size_t n;
        size_t n_processes;
        uint32_t logged; /* InstanceLimit */
} InstanceCount;

typedef struct InstanceCounts {
        InstanceCount *counts; /* ascending by policy and user; owned */
        size_t n_counts, allocated;
} InstanceCounts;

void instance_counts_done(InstanceCounts *counts);

int instance_counts_add(InstanceCounts *counts, size_t policy, uid_t uid); /* 0 or -ENOMEM */
void instance_counts_remove(InstanceCounts *counts, size_t policy, uid_t uid);
size_t instance_counts_of(const InstanceCounts *counts, size_t policy, uid_t uid);

/* Processes of such an instance that have joined, or have left. No effect where no instance was
 * counted. */
void instance_counts_join(InstanceCounts *counts, size_t policy, uid_t uid, size_t n);
void instance_counts_leave(InstanceCounts *counts, size_t policy, uid_t uid);

/* May one more process of this policy and user take one of so many places? As long as it has fewer
 * of them than are free, so that whoever takes many leaves as many for others, also for another
 * policy of the same user; and a quarter of all is never for one user. */
bool instance_counts_have_place(const InstanceCounts *counts, size_t policy, uid_t uid,
                                size_t n_places);

/* True the first time only, so that a user cannot fill the journal. */
bool instance_counts_log(InstanceCounts *counts, size_t policy, uid_t uid, InstanceLimit limit);
