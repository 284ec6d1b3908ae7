/* What each key allows for itself, and what still cannot be meant. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/config/policy-loader.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

/* Warns of network cards that decide nothing, and of a number of CPUs that has no effect or exceeds
 * every node. With `topology` NULL the machine is not checked. */
void policy_check_reserve(const Reserve *reserve, const PolicyPlace places[static POLICY_KEYS_MAX],
                          const PolicyMerge *merge, const Topology *topology,
                          Diagnostics *warnings);

/* Warns of entries of `irq` that an earlier one shadows, and of `steer: reserved` without a
 * reserve.
 */
void policy_check_irqs(const PolicySet *set, const SourceFileList *files, Diagnostics *warnings);

/* A file beside the missing file, as policy_dir_find_beside(); the caller owns it. NULL: none. */
typedef char *(*PolicyFindBeside)(const char *path);

/* Compares policies that were loaded with those in force before them: an error for each file that
 * has lost its policies without a word, so that an empty or cut file, or one that an editor has
 * just renamed, releases nothing. Fine are: other policies in the same file, `policies: []`, a
 * policy of that name in another file, a file that is removed or masked and has left nothing beside
 * it. `files` gave `fresh`. */
void policy_check_lost(const PolicySet *former, const PolicySet *fresh, const SourceFileList *files,
                       PolicyFindBeside find_beside, Diagnostics *errors);

/* Contradictions inside of each policy and between two of them, and what is allowed but probably
 * a mistake. Policies with an error are left out. With `topology` NULL the machine is not
 * checked. */
void policy_check_drafts(const PolicyMerge *merge, const Topology *topology, Diagnostics *errors,
                         Diagnostics *warnings);

/* So begins a warning about nodes on which the planner refuses every instance. `tidbnumactl
 * validate` fails for it. */
#define POLICY_PLACES_NOTHING "nothing can be placed on node"

/* Does a process of this host match the policy, and this entry of its `instances` (NULL: any)? */
typedef bool (*PolicyIsMatched)(const Policy *policy, const PolicyInstance *entry, void *userdata);

/* Warns of policies that match nothing on this host, and of entries of `instances` that match none
 * of their policy's processes. `files`, those that were loaded, give the excerpts; NULL: no
 * excerpts. */
void policy_check_matched(const PolicySet *set, PolicyIsMatched is_matched, void *userdata,
                          const SourceFileList *files, Diagnostics *warnings);
