/* Which policy a process belongs to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/product.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"

/* Could a process of this executable match any policy? A scan checks this first for every
 * process. */
bool match_wants_exe(const PolicySet *policies, const char *exe);

/* The policy of every process of this executable whose user is the policy's: the first policy that
 * names the executable, if it matches by executable and user alone. NULL: more has to be read. */
const Policy *match_by_exe_alone(const PolicySet *policies, const char *exe);

/* Does any policy for this executable match by the command line? */
bool match_wants_args(const PolicySet *policies, const char *exe);

/* Must process_check_mounts() decide on the process: may its root be its own, or does any policy
 * name its executable by its path? */
bool match_wants_mounts(const PolicySet *policies, const Process *process);

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

/* What an instance is: by its executable (NULL: not known, as of an imagined one), its policy
 * (NULL: none) and its unit (NULL: none). */
Product match_product(const char *exe, const PolicyMatch *match, const char *unit);

/* The weight that its policy (NULL: none) gives it; with `auto`, or without a policy, its
 * product's. */
uint32_t match_weight(const char *exe, const Policy *policy, const char *unit);

/* The policy that it belongs to, or NULL. */
const Policy *match_process(const PolicySet *policies, const Process *process);

/* The nodes that an entry of `instances` gives to this unit (NULL: none) that listens on these
 * ports, or NULL. The first that matches counts. */
const PolicyInstance *match_instance(const Policy *policy, const char *unit, const uint16_t *ports,
                                     size_t n_ports);

/* Does the first entry for this unit match a port as well? Then its place is not known before it
 * listens. */
bool match_needs_port(const Policy *policy, const char *unit);

/* Units that a policy knows by name before they run, and what is to be set on them.
 *
 * The program and the user of a process are known only when it runs; a unit's name and User= are
 * known before. So a unit is prepared only if its name and User= determine the policy of its
 * processes. */

/* Can this be prepared at all? A service with a name of its own: no template, no user's manager. */
bool known_unit_is_service(const char *unit);

/* Is it the daemon's own unit (may be NULL), or one of its package, such as
 * tidbnumad-exporter.service beside tidbnumad.service? A glob such as "tidb*.service" means TiDB's
 * servers, and their places are not to be taken by these. */
bool known_unit_is_own(const char *own, const char *unit);

/* Does a policy name this unit, in `match` or in an entry of `instances`? A glob with fewer than
 * two letters or digits of its own ("*.service") names nothing: that is half the host. */
bool known_unit_is_named(const PolicySet *policies, const char *unit);

/* What policies name. */
typedef struct UnitPatterns {
        WordList names; /* without any wildcard: there before their unit file is */
        WordList globs; /* for fnmatch(3) with FNM_NOESCAPE, as systemd calls it; may match more
                         * than the policy does */
} UnitPatterns;

int known_unit_patterns(const PolicySet *policies, UnitPatterns *ret);
void unit_patterns_done(UnitPatterns *patterns);
#define _cleanup_unit_patterns_ _cleanup_(unit_patterns_done)

/* The policy that the processes of this unit will belong to, or NULL and why not ("": no policy
 * names it). `uid`: of its User=; not known: it has a user that this host does not know yet.
 * `container`: it gives its processes another root or other namespaces. */
const Policy *known_unit_policy(const PolicySet *policies, const char *unit, bool uid_known,
                                uid_t uid, bool container, const char **ret_reason);

/* The room above their headroom that the nodes must have together before a unit gets them alone: an
 * eighth of their memory, and half of that for one that has them already, so that it does not go to
 * and fro. What a unit will need is not known before it runs; too little is an OOM kill later,
 * while without it the process begins on its CPUs and is narrowed once it is seen to fit. */
uint64_t known_unit_room_bytes(const Topology *topology, const NodeSet *nodes, bool narrow);

/* How many instances and processes each policy has of each user, for max_instances and for the
 * descriptors that processes take: an ordinary user can start any number of processes that are
 * named like a database, and a server can fork any number. */

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
