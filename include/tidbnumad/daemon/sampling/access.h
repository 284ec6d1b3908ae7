/* Counts memory accesses by hardware counters.
 *
 * Only with `sampling.access: on`. If the host has no such counters, the reason is logged once and
 * nothing else changes. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/daemon/roster/instance.h"
#include "tidbnumad/model/access.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/world/access.h"

typedef struct Sampling Sampling;

#define ACCESS_REASON_MAX 160u

/* Sums over all instances of a policy, also over those that have ended. */
typedef struct AccessCounts {
        uint64_t by[N_LOCALITIES];
} AccessCounts;

/* State of counting accesses. */
typedef struct Access {
        bool wanted, available;
        AccessEvents events; /* events that are counted; valid if counting is available */
        char reason[ACCESS_REASON_MAX]; /* why counting is not available */
        size_t next;                    /* the instance at which the round is */
        AccessCounts *policy_counts;    /* at the same index as the policy; owned */
} Access;

void access_done(Access *access);

/* As binding_carry_counters(). */
int access_carry_counts(Sampling *s, const PolicySet *fresh);

/* Chooses the events by the policies in force, and checks whether this machine has them. */
void access_choose(Sampling *s);

void access_begin_round(Sampling *s);

/* Makes one step of the round. False: the round is complete. */
bool access_turn(Sampling *s);

/* Reads the counters of an instance that has ended for the last time. */
void access_end(Sampling *s, Instance *i);

void access_fill(const Sampling *s, AccessInfo *ret);
void access_fill_instance(const Sampling *s, const Instance *i, InstanceInfo *ret);
