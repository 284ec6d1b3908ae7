/* The words of placements: refusals, criteria, warnings. */
#include <string.h>

#include "tidbnumad/model/placement.h"

static const struct {
        const char *id, *sentence;
} refusals[N_REFUSALS] = {
        [REFUSAL_NONE] = { "", "" },
        [REFUSAL_WATCH_ONLY] = { "watch-only", "no policy: only reported" },
        [REFUSAL_NO_PORT_YET] = { "no-port-yet", "its policy places it by its port, and it does "
                                                 "not listen on a port yet" },
        [REFUSAL_TOO_MANY_NODES] = { "too-many-nodes",
                                     "this machine has more than 128 NUMA nodes, for which "
                                     "tidbnumad does not plan; set AllowedCPUs= and "
                                     "AllowedMemoryNodes= of its unit" },
        [REFUSAL_NODE_ABSENT] = { "node-absent", "its policy names a node that this machine does "
                                                 "not have; correct place.nodes or instances" },
        [REFUSAL_NO_CPU] = { "no-cpu", "its nodes have no online CPU; name a node with CPUs" },
        [REFUSAL_NO_MEMORY] = { "no-memory",
                                "its nodes have no memory, which memory: bind needs; name a node "
                                "with memory, or set memory: preferred or none" },
        [REFUSAL_CPUS_ABSENT] = { "cpus-absent",
                                  "its policy names CPUs that are not online CPUs of its nodes; "
                                  "correct cpus, or bring the CPUs online" },
        [REFUSAL_NO_HOME] = { "no-home", "no node of this machine has both CPUs and memory; check "
                                         "the memory of its nodes with numactl --hardware" },
        [REFUSAL_NO_NODE_LEFT] = { "no-node-left",
                                   "place.nodes and place.avoid leave no node with CPUs and "
                                   "memory; widen place.nodes or shorten place.avoid" },
        [REFUSAL_TOO_FEW_NODES] = { "too-few-nodes",
                                    "fewer nodes are available to it than place.count asks for; "
                                    "lower place.count or widen place.nodes" },
        [REFUSAL_NO_PACKAGE] = { "no-package",
                                 "no socket has as many available nodes as place.count asks for; "
                                 "lower place.count or set place.same_package to false" },
        [REFUSAL_ISOLATED] = { "isolated",
                               "all CPUs of its nodes are isolated (isolcpus=, nohz_full=): "
                               "threads are not balanced over them; name these CPUs in cpus, or "
                               "the nodes in instances, if they are meant for it" },
        [REFUSAL_TAKEN] = { "taken",
                            "a cpuset partition has taken the CPUs of its nodes; end the partition "
                            "(tidbnumactl check names it), or choose other nodes" },
        [REFUSAL_CGROUP_NODES] = { "cgroup-nodes",
                                   "its unit or the cgroup above it does not allow enough of the "
                                   "nodes that its policy leaves; widen AllowedMemoryNodes= of the "
                                   "unit or its slice, or place.nodes" },
        [REFUSAL_CGROUP_CPUS] = { "cgroup-cpus",
                                  "its unit or the cgroup above it does not allow the CPUs of the "
                                  "nodes that its policy leaves; widen AllowedCPUs= of the unit or "
                                  "its slice, or place.nodes" },
        [REFUSAL_OWN_MEMORY] = { "own-memory",
                                 "its own memory policy takes its memory from other nodes than "
                                 "those of its place; take numactl, or what else sets it, out of "
                                 "its start (TiUP: numa_node), or name its nodes in the policy" },
        [REFUSAL_RESERVED] = { "reserved",
                               "only reserved nodes are available to it, and host.reserve.strict "
                               "is true; widen place.nodes or set host.reserve.strict to false" },
};

const char *placement_refusal_to_id(PlacementRefusal refusal) {
        return refusals[refusal].id;
}

const char *placement_refusal_to_string(PlacementRefusal refusal) {
        return refusals[refusal].sentence;
}

void placement_refusal_append(PlacementRefusal refusal, const PlacementInstance *in, Text *text) {
        const char *sentence = placement_refusal_to_string(refusal);
        const size_t before_remedy = strcspn(sentence, ";");

        text_append_bytes(text, sentence, before_remedy);
        if ((refusal == REFUSAL_CGROUP_NODES || refusal == REFUSAL_CGROUP_CPUS) && in->allowed_by &&
            *in->allowed_by) {
                const char *cpus = id_set_list(&in->allowed_cpus),
                           *nodes = id_set_list(&in->allowed_nodes);

                text_appendf(text, " (%s allows CPUs %s and memory nodes %s)", in->allowed_by,
                             *cpus ? cpus : "of all nodes", *nodes ? nodes : "without a limit");
        }
        if (refusal == REFUSAL_OWN_MEMORY && !id_set_is_empty(&in->own_nodes))
                text_appendf(text, " (node %s)", id_set_list(&in->own_nodes));
        text_append(text, sentence + before_remedy);
}

static const char *const placement_criterion_strings[N_CRITERIA] = {
        [WEIGH_STABILITY] = "stability", [WEIGH_DEVICE] = "device",
        [WEIGH_EXCLUSIVE] = "exclusive", [WEIGH_POLICY] = "policy",
        [WEIGH_RESERVED] = "reserved",   [WEIGH_SPREAD] = "spread",
        [WEIGH_MEMORY] = "memory",       [WEIGH_ROOM] = "room",
        [WEIGH_DISTANCE] = "distance",   [WEIGH_ASIDE] = "aside",
        [WEIGH_LOAD] = "load",           [WEIGH_MOVE] = "move",
        [WEIGH_NUMBER] = "number",
};
DEFINE_STRING_TABLE(placement_criterion_to_string, PlacementCriterion, placement_criterion_strings)

static const char *const placement_criterion_rules[N_CRITERIA] = {
        [WEIGH_STABILITY] = "", [WEIGH_DEVICE] = "R4",   [WEIGH_EXCLUSIVE] = "R3",
        [WEIGH_POLICY] = "R3",  [WEIGH_RESERVED] = "R2", [WEIGH_SPREAD] = "",
        [WEIGH_MEMORY] = "R10", [WEIGH_ROOM] = "R8",     [WEIGH_DISTANCE] = "R13",
        [WEIGH_ASIDE] = "",     [WEIGH_LOAD] = "",       [WEIGH_MOVE] = "",
        [WEIGH_NUMBER] = "",
};
DEFINE_STRING_TABLE(placement_criterion_to_rule, PlacementCriterion, placement_criterion_rules)

static const char *const placement_basis_strings[] = {
        [BASIS_REFUSED] = "refused",
        [BASIS_EXPLICIT] = "explicit",
        [BASIS_KEPT] = "kept",
        [BASIS_CHOSEN] = "chosen",
};
DEFINE_STRING_TABLE(placement_basis_to_string, PlacementBasis, placement_basis_strings)

/* By the number of the bit. */
static const struct {
        const char *rule, *sentence;
} warnings[N_PLACEMENT_WARNINGS] = {
        { "R2", "it uses a reserved node: no other node was free when it was placed, or "
                "its device is there" },
        { "R3", "it is exclusive but shares a node with another exclusive instance: there "
                "are too few nodes, or their devices are on the same node" },
        { "R4", "it is not on the node of its device" },
        { "R4", "its policy places it near a device, but the device or its node is unknown" },
        { "R10", "its memory does not fit on its nodes with memory: bind; use memory: preferred" },
        { "R5", "its nodes belong to several sockets" },
        { "R3", "a tidb-server on more than one node; several servers on one node each are "
                "faster" },
        { "", "it is bound to other nodes than the plan gives it: it moves" },
        { "R2", "its policy or its numa_node names a reserved node, which it shares with the "
                "network card's interrupts" },
        { "", "its nodes have no memory: only its CPUs are bound, and all of its memory is "
              "remote" },
        { "", "its nodes have few online CPUs for a server of its kind; bring CPUs online "
              "(tidbnumactl check lists those that are offline), or use place.avoid" },
};

const char *placement_warning_to_string(PlacementWarning warning) {
        return warnings[__builtin_ctz(warning)].sentence;
}

const char *placement_warning_to_rule(PlacementWarning warning) {
        return warnings[__builtin_ctz(warning)].rule;
}
