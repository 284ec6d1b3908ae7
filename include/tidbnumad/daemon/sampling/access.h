/* Accesses to memory by hardware counters: whether they can be counted here, and the rounds of it.
 *
 * Only with sampling.access: on. Where it cannot be done that is said once, with the reason, and
 * nothing else changes.
 */
#pragma once

#include <stdbool.h>

#include "tidbnumad/daemon/roster/instance.h"
#include "tidbnumad/model/access.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/sample/access.h"

typedef struct Sampling Sampling;

#define ACCESS_REASON_MAX 160u

/* Counted by all instances of a policy so far, also by those that have ended. */
typedef struct PolicyAccess {
        char *policy; /* its name; owned */
        uint64_t counts[N_LOCALITIES];
} PolicyAccess;

/* The daemon's. */
typedef struct Access {
        bool wanted, available;
        AccessEvents events;            /* while it is available */
        char reason[ACCESS_REASON_MAX]; /* why it is not */
        size_t next;                    /* the instance that the round is at */
        PolicyAccess *policies;         /* owned */
        size_t n_policies, policies_allocated;
} Access;

void access_done(Access *access);

/* By the policies in force: which events, and whether this machine has them. */
void access_choose(Sampling *s);

void access_begin_round(Sampling *s);

/* A step of the round. False: it is over. */
bool access_turn(Sampling *s);

/* The last that is counted of an instance that has ended. */
void access_end(Sampling *s, Instance *i);

void access_fill(const Sampling *s, AccessSnapshot *ret);
void access_fill_instance(const Sampling *s, const Instance *i, InstanceSnapshot *ret);
void access_fill_policy(const Sampling *s, const char *policy, uint64_t ret[static N_LOCALITIES]);
