/* Units that a policy knows by name before they run, and what is to be set on them.
 *
 * The program and the user of a process are known only when it runs; a unit's name and User= are
 * known before. So a unit is prepared only if its name and User= determine the policy of its
 * processes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

/* Can this be prepared at all? A service with a name of its own: no template, no user's manager. */
bool known_unit_is_service(const char *unit);

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
 * names it). `uid`: of its User=; not known: it has a user that this host does not know yet. */
const Policy *known_unit_policy(const PolicySet *policies, const char *unit, bool uid_known,
                                uid_t uid, const char **ret_reason);

/* The room above their headroom that the nodes must have together before a unit gets them alone: an
 * eighth of their memory, and half of that for one that has them already, so that it does not go to
 * and fro. What a unit will need is not known before it runs; too little is an OOM kill later,
 * while without it the process begins on its CPUs and is narrowed once it is seen to fit. */
uint64_t known_unit_room_bytes(const Topology *topology, const NodeSet *nodes, bool narrow);

/* One property of a unit: its value, and its value before ours. */
typedef struct KnownProperty {
        IdSet value;  /* empty: not set */
        IdSet before; /* where `ours` */
        bool ours;    /* `value` was set by us */
} KnownProperty;

/* Takes a value that was read from systemd. `ours`: the value is the one that tidbnumad has set,
 * and `before` is the value before that. */
void known_property_read(KnownProperty *property, IdView value, bool ours, const IdSet *before);

/* What others have set; empty: nothing. */
const IdSet *known_property_own(const KnownProperty *property);

/* What to set, so that it is `want` (empty: the value before ours). Returns false where nothing
 * is to be written. */
bool known_property_plan(const KnownProperty *property, const IdSet *want, IdSet *ret);

/* `value`, as planned for `want`, is set: written by us, or found so. What was found as wanted
 * is never ours to remove. */
void known_property_done(KnownProperty *property, const IdSet *want, const IdSet *value);
