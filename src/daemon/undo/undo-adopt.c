#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/undo/undo-adopt.h"

#define RATE_BYTES_PER_SEC (UINT64_C(256) << 20)

/* A name as a glob that matches it alone. */
static char *escape(const char *name) {
        _cleanup_text_ Text text = { 0 };

        for (; *name; name++) {
                if (strchr("\\*?[", *name))
                        text_append(&text, "\\");
                text_append_bytes(&text, name, 1);
        }
        return text.error < 0 ? NULL : TAKE_PTR(text.data);
}

static int fill_match(const UndoRecord *record, PolicyMatch *match) {
        match->containers = CONTAINERS_INCLUDED; /* it was bound */
        if (record->unit) {
                match->unit = escape(record->unit);
                return match->unit ? 0 : -ENOMEM;
        }
        match->ids = calloc(record->n_processes, sizeof(*match->ids));
        if (!match->ids)
                return -ENOMEM;
        for (; match->n_ids < record->n_processes; match->n_ids++)
                match->ids[match->n_ids] = record->processes[match->n_ids].id;
        return 0;
}

static bool is_by_affinity(const UndoRecord *record) {
        for (size_t i = 0; i < record->n_processes; i++)
                if (record->processes[i].cpuset)
                        return false;
        return record->cpus.ours.n == 0;
}

static int fill(const UndoRecord *record, const NodeSet *nodes, const CpuSet *cpus, Policy *ret) {
        *ret = (Policy){
                .max_instances = UINT32_MAX,
                .place = { .count = 1, .nodes = *nodes, .share = SHARE_SHARED },
                .cpus = { .choice = CPUS_LIST, .list = *cpus },
                /* Without memory nodes it may have been `none`, `preferred`, or not yet bound. */
                .memory = record->mems.ours.n > 0 ? MEMORY_BIND : MEMORY_NONE,
                .migrate = MIGRATE_NONE,
                .rate_bytes_per_sec = RATE_BYTES_PER_SEC,
                .backend = is_by_affinity(record) ? POLICY_BACKEND_AFFINITY : POLICY_BACKEND_AUTO,
                .adopted = true,
                .name = strdup(record->instance),
                .file = strdup(""),
        };
        return !ret->name || !ret->file ? -ENOMEM : fill_match(record, &ret->match);
}

int undo_make_policies(const Undoing *undo, PolicySet *ret) {
        const Topology *topology = &undo->host->topology;
        const CpuSet online = topology_cpus(topology);
        _cleanup_policy_set_ PolicySet set = { 0 };

        policy_set_init(&set);
        set.policies = calloc(undo->records.n_records + 1, sizeof(*set.policies));
        if (!set.policies)
                return -ENOMEM;
        for (size_t i = 0; i < undo->records.n_records; i++) {
                const UndoRecord *record = undo->records.records[i];
                const IdSet last = undo_values_last(record->cpus.ours.n > 0 ? &record->cpus.ours
                                                                            : &record->given);
                CpuSet cpus;
                NodeSet nodes;

                id_set_convert(&last, &cpus);
                id_set_intersect(&cpus, &online);
                nodes = topology_nodes_of(topology, &cpus);
                if (id_set_is_empty(&nodes) || (!record->unit && record->n_processes == 0))
                        continue;
                if (fill(record, &nodes, &cpus, &set.policies[set.n_policies++]) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_STRUCT(set);
        return 0;
}
