/* Which policy a process belongs to. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/workload.h"

/* Could a process of this executable match any policy? A scan checks this first for every
 * process. */
bool match_wants_exe(const PolicySet *policies, const char *exe);

/* The policy of every process of this executable whose user is the policy's: the first policy that
 * names the executable, if it matches by executable and user alone. NULL: more has to be read. */
const Policy *match_by_exe_alone(const PolicySet *policies, const char *exe);

/* Does any policy for this executable match by the command line? */
bool match_wants_args(const PolicySet *policies, const char *exe);

/* Does any policy name this executable by its path? */
bool match_wants_path(const PolicySet *policies, const char *exe);

typedef enum MatchVerdict {
        MATCH_NONE,       /* no policy names it */
        MATCH_POLICY,     /* it belongs to the policy */
        MATCH_OTHER_USER, /* named by exe and unit, but it is not the policy's user */
        MATCH_FOREIGN,    /* likewise, but the process is in another namespace, as in a container */
        MATCH_FULL, /* it belongs to the policy, which has max_instances of its user already: judged
                       by the caller that counts them, never by match_judge() */
        MATCH_CROWDED, /* likewise, but as many processes of its instance, or of the policy and
                          user, are watched as may be */
} MatchVerdict;

/* The first policy, in file order, whose every key holds. Where none does, but one names the
 * process by executable and unit: that one, and the key that fails. `*ret` is untouched for
 * MATCH_NONE. A policy with a `user` that does not exist on this host matches nothing. */
MatchVerdict match_judge(const PolicySet *policies, const Process *process, const Policy **ret);

/* The keys of a match, in the order in which they are compared. */
typedef enum MatchKey {
        MATCH_KEY_NONE, /* all hold */
        MATCH_KEY_EXE,
        MATCH_KEY_UNIT,
        MATCH_KEY_ARGS,
        MATCH_KEY_USER,
        MATCH_KEY_CONTAINERS,
} MatchKey;

/* The first key that does not hold: why match_judge() passes over a policy, or leaves the process
 * alone. */
MatchKey match_failing_key(const PolicyMatch *match, const Process *process);

/* The policy that it belongs to, or NULL. */
const Policy *match_process(const PolicySet *policies, const Process *process);

/* The nodes that an entry of `instances` gives to this unit (NULL: none) that listens on these
 * ports, or NULL. The first that matches counts. */
const PolicyInstance *match_instance(const Policy *policy, const char *unit, const uint16_t *ports,
                                     size_t n_ports);

/* Does the first entry for this unit match a port as well? Then its place is not known before it
 * listens. */
bool match_needs_port(const Policy *policy, const char *unit);
