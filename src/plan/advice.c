/* Sizing advice: what is each instance's own of the CPUs and the memory where it is placed. The
 * rules that are applied to that are in advice-rules.c. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/plan/advice-rules.h"
#include "tidbnumad/plan/advice.h"

AdviceProduct advice_product_of(const char *exe) {
        for (unsigned i = PRODUCT_OTHER + 1; exe && i < N_PRODUCTS; i++)
                if (strcmp(basename(exe), advice_product_to_string(i)) == 0)
                        return i;
        return PRODUCT_OTHER;
}

AdviceProduct advice_product_of_pattern(const char *pattern) {
        AdviceProduct found = PRODUCT_OTHER;

        for (unsigned i = PRODUCT_OTHER + 1; pattern && i < N_PRODUCTS; i++) {
                if (fnmatch(basename(pattern), advice_product_to_string(i), 0) != 0)
                        continue;
                if (found != PRODUCT_OTHER)
                        return PRODUCT_OTHER;
                found = i;
        }
        return found;
}

/* A running program is recognized by its own name: the pattern may fit others too. */
static AdviceProduct product_of(const AdviceInstance *instance) {
        if (instance->exe || !instance->policy)
                return advice_product_of(instance->exe);
        return advice_product_of_pattern(instance->policy->match.exe);
}

static const char *unplaced(const PlacementChoice *choice) {
        const char *reason = choice->placement.reason;

        if (!id_set_is_empty(&choice->placement.nodes))
                return "";
        if (choice->refusal != REFUSAL_NONE)
                return placement_refusal_to_string(choice->refusal);
        return reason && reason[0] != '\0' ? reason : "it has no place";
}

/* 0: not known; a part of it is no size to give advice on. */
static uint64_t memory_of(const Topology *topology, const NodeSet *nodes) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_has(nodes, topology->nodes[i].id) && topology->nodes[i].memory_unknown)
                        return 0;
        return topology_memory_bytes(topology, nodes);
}

static void init_subject(const AdviceInput *input, size_t i, AdviceSubject *subject) {
        const AdviceInstance *instance = &input->instances[i];
        const Placement *placement = &input->plan->choices[i].placement;
        const CpuSet all = topology_cpus_of(input->topology, &placement->nodes);
        const CpuSet *place = id_set_is_empty(&placement->cpus) ? &all : &placement->cpus;

        *subject = (AdviceSubject){
                .name = instance->name,
                .product = product_of(instance),
                .ports = instance->ports,
                .n_ports = instance->n_ports,
                .unplaced = unplaced(&input->plan->choices[i]),
                .nodes = placement->nodes,
                .cpus = by_hand_left(&instance->by_hand, place),
                .memory = placement->memory,
                .memory_bytes = memory_of(input->topology, &placement->nodes),
                .device = instance->device && instance->device[0] ? instance->device : NULL,
                .resident_bytes = instance->resident_bytes,
                .running = instance->running,
                .gomaxprocs = instance->gomaxprocs,
                .go = instance->go,
                .bound_after_start = instance->bound_after_start,
                .card = instance->card,
                .address = instance->address,
        };
        subject->whole_nodes = id_set_equal(&subject->cpus, &all);
        subject->n_cpus = id_set_count(&subject->cpus);
}

/* TiDB and TiKV instances that are placed share the memory and CPUs of their nodes. */
static bool is_sharer(const AdviceSubject *subject) {
        return advice_product_is_heavy(subject->product) && subject->unplaced[0] == '\0';
}

static size_t sharers_of_node(const AdviceReport *report, uint32_t node) {
        size_t n = 0;

        for (size_t i = 0; i < report->n_subjects; i++)
                n += is_sharer(&report->subjects[i]) &&
                     id_set_has(&report->subjects[i].nodes, node);
        return n;
}

/* Each CPU that `k` instances share is a k-th of a CPU for each of them. */
static uint32_t cpu_share(const AdviceReport *report, const AdviceSubject *subject) {
        double share = 0;

        ID_SET_FOREACH(cpu, &subject->cpus) {
                size_t k = 0;

                for (size_t i = 0; i < report->n_subjects; i++)
                        k += is_sharer(&report->subjects[i]) &&
                             id_set_has(&report->subjects[i].cpus, (uint32_t)cpu);
                share += 1 / (double)k; /* the instance itself is one of the sharers */
        }
        /* Three thirds are one; no sum of parts of 8192 CPUs is off by as much. */
        return share < 1 ? 1 : (uint32_t)(share + 1e-6);
}

static uint64_t memory_share(const AdviceInput *input, const AdviceReport *report,
                             const AdviceSubject *subject) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < input->topology->n_nodes; i++) {
                const Node *node = &input->topology->nodes[i];

                if (id_set_has(&subject->nodes, node->id) &&
                    __builtin_add_overflow(
                            bytes, node->memory_bytes / sharers_of_node(report, node->id), &bytes))
                        return UINT64_MAX;
        }
        return bytes;
}

static bool shares_nodes(const AdviceSubject *a, const AdviceSubject *b) {
        return is_sharer(b) && id_set_intersects(&a->nodes, &b->nodes);
}

static bool shares_device(const AdviceSubject *a, const AdviceSubject *b) {
        return a->device && b->device && strcmp(a->device, b->device) == 0;
}

static int find_sharers(const AdviceReport *report, size_t index,
                        bool (*shares)(const AdviceSubject *, const AdviceSubject *),
                        size_t **ret_sharers, size_t *ret_n) {
        size_t *sharers = calloc(report->n_subjects, sizeof(*sharers));
        size_t n = 0;

        if (!sharers)
                return -ENOMEM;
        for (size_t i = 0; i < report->n_subjects; i++)
                if (i != index && shares(&report->subjects[index], &report->subjects[i]))
                        sharers[n++] = i;
        *ret_sharers = sharers;
        *ret_n = n;
        return 0;
}

static int weigh(const AdviceInput *input, AdviceReport *report, size_t index) {
        AdviceSubject *subject = &report->subjects[index];
        int r;

        subject->cpu_share = subject->n_cpus;
        subject->memory_share_bytes = subject->memory_bytes;
        if (is_sharer(subject)) {
                subject->cpu_share = cpu_share(report, subject);
                if (subject->memory_bytes > 0)
                        subject->memory_share_bytes = memory_share(input, report, subject);
        }
        r = find_sharers(report, index, shares_nodes, &subject->sharers, &subject->n_sharers);
        if (r < 0)
                return r;
        return find_sharers(report, index, shares_device, &subject->device_sharers,
                            &subject->n_device_sharers);
}

/* The known memory of PD, HAProxy, JVMs and others on the subject's nodes, divided by the number of
 * instances that share these nodes. */
static uint64_t light_bytes(const AdviceReport *report, const AdviceSubject *subject) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *other = &report->subjects[i];
                const NodeSet both = id_set_and(&subject->nodes, &other->nodes);
                const uint64_t common = id_set_count(&both);

                if (advice_product_is_heavy(other->product) || common == 0)
                        continue;
                if (__builtin_add_overflow(
                            bytes, other->resident_bytes / id_set_count(&other->nodes) * common,
                            &bytes))
                        return UINT64_MAX;
        }
        return bytes / (subject->n_sharers + 1);
}

static int build(const AdviceInput *input, AdviceReport *report) {
        int r = 0;

        report->subjects = calloc(input->n_instances, sizeof(*report->subjects));
        if (!report->subjects && input->n_instances > 0)
                return -ENOMEM;
        report->n_subjects = input->n_instances;
        report->daemon_binds = input->daemon_binds;
        for (size_t i = 0; i < report->n_subjects; i++)
                init_subject(input, i, &report->subjects[i]);
        for (size_t i = 0; i < report->n_subjects && r >= 0; i++)
                r = weigh(input, report, i);
        for (size_t i = 0; i < report->n_subjects && r >= 0; i++) {
                const AdviceSubject *subject = &report->subjects[i];

                if (subject->unplaced[0] == '\0' && subject->n_cpus > 0)
                        r = advice_rules_apply(report, i, light_bytes(report, subject));
        }
        return r;
}

int advice_build(const AdviceInput *input, AdviceReport *ret) {
        _cleanup_advice_report_ AdviceReport report = { 0 };
        int r;

        if (input->plan->n_choices != input->n_instances)
                return -EINVAL;
        r = build(input, &report);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(report);
        return 0;
}
