/* Rules on network cards, disks and their interrupts. */
#include <inttypes.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/plan/audit-rules.h"

enum { SOFTIRQ_PERCENT = 10, IRQBALANCE_WANTED_MBPS = 10000, IRQBALANCE_UNWANTED_MBPS = 100000 };

static bool holds_data(const AuditInput *input, const Device *disk) {
        for (size_t i = 0; i < input->n_instances; i++)
                if (input->instances[i].disks &&
                    device_list_find(input->instances[i].disks, DEVICE_DISK, disk->name))
                        return true;
        return false;
}

/* Does something of the policies depend on where network cards are? */
static bool wants_cards(const PolicySet *set) {
        if (set->n_irqs > 0 || set->host.reserve.kind == RESERVE_NIC || set->host.reserve.cpus > 0)
                return true;
        for (size_t i = 0; i < set->n_policies; i++)
                if (set->policies[i].place.near == NEAR_NIC)
                        return true;
        return false;
}

static bool is_chosen_card(const PolicySet *set, const Device *card) {
        const WordList *names = &set->host.reserve.devices;

        if (set->n_irqs > 0)
                return true;
        return names->n_words > 0 ? word_list_has(names, card->name) ||
                                            (card->master && word_list_has(names, card->master))
                                  : card->default_route;
}

static bool is_used(const AuditInput *input, const Device *d) {
        return d->kind == DEVICE_DISK
                       ? holds_data(input, d)
                       : wants_cards(input->policies) && is_chosen_card(input->policies, d);
}

/* In a guest no device has a node: one finding for all, and only for those on which something
 * depends. */
static void unknown_nodes(const AuditInput *input, AuditReport *report) {
        _cleanup_text_ Text names = { 0 };
        const Device *first = NULL;

        if (input->topology->n_nodes < 2 || input->devices->n_devices == 0)
                return;
        audit_report_hold(report, AUDIT_DEVICE_NODE);
        for (size_t i = 0; i < input->devices->n_devices; i++) {
                const Device *d = &input->devices->devices[i];

                if (d->node != DEVICE_NODE_UNKNOWN || !d->pci || d->virtual_function ||
                    !is_used(input, d))
                        continue;
                text_appendf(&names, "%s%s", first ? ", " : "", d->name);
                first = first ? first : d;
        }
        if (names.error < 0)
                report->error = names.error;
        if (names.error < 0 || !first)
                return;
        audit_find(report, AUDIT_DEVICE_NODE, AUDIT_WARNING,
                   text_new("/sys/bus/pci/devices/%s/numa_node", first->pci),
                   text_new("update the firmware; until then name the node: host.reserve.nodes for "
                            "a network card, place.nodes for what uses a disk"),
                   "the firmware does not report the node of %s", names.data);
}

static bool has_free_home(const AuditInput *input) {
        NodeSet homes = topology_homes(input->topology);

        for (size_t i = 0; i < input->n_instances; i++)
                if (input->instances[i].placed)
                        id_set_subtract(&homes, &input->instances[i].nodes);
        return !id_set_is_empty(&homes);
}

/* Instances on the node that serves the network's interrupts, although another node is free.
 * Where that node has CPUs for the interrupts, it is meant to be shared. */
static void nic_node(const AuditInput *input, AuditReport *report) {
        const char *remedy = id_set_intersects(&input->reserved, &input->nic_nodes)
                                     ? "its policy names that node: change place.nodes or instances"
                                     : "host: {reserve: {nodes: nic}} in a policy file";
        const CpuSet cpus = topology_cpus_of(input->topology, &input->nic_nodes);

        if (id_set_is_empty(&input->nic_nodes) || input->n_instances == 0)
                return;
        audit_report_hold(report, AUDIT_NIC_NODE);
        if (id_set_intersects(&cpus, &input->reserved_cpus))
                return;
        for (size_t i = 0; i < input->n_instances && has_free_home(input); i++) {
                const AuditInstance *instance = &input->instances[i];

                if (!instance->placed || !id_set_intersects(&instance->nodes, &input->nic_nodes))
                        continue;
                audit_find(report, AUDIT_NIC_NODE, AUDIT_WARNING,
                           text_new("/sys/class/net/*/device/numa_node"), text_new("%s", remedy),
                           "%s is on the node of the network card, and another node is free",
                           instance->name);
        }
}

/* Soft interrupts' share of a node's CPU time between two readings, in percent; negative: not
 * known. */
static double softirq_percent(const NodeCounters *before, const NodeCounters *now) {
        double all = 0;

        for (NodeMode m = 0; m < N_MODES; m++)
                all += now->cpu_seconds[m] - before->cpu_seconds[m];
        if (!before->cpu_known || !now->cpu_known || all <= 0)
                return -1;
        return (now->cpu_seconds[MODE_SOFTIRQ] - before->cpu_seconds[MODE_SOFTIRQ]) * 100 / all;
}

static double softirq_limit(const AuditInput *input, const Node *node) {
        CpuSet reserved = node->cpus;

        id_set_intersect(&reserved, &input->reserved_cpus);
        return SOFTIRQ_PERCENT + 100.0 * id_set_count(&reserved) / id_set_count(&node->cpus);
}

static bool is_lived_on(const AuditInput *input, uint32_t node) {
        for (size_t i = 0; i < input->n_instances; i++)
                if (id_set_has(&input->instances[i].nodes, node))
                        return true;
        return false;
}

static void softirq(const AuditInput *input, AuditReport *report) {

        for (size_t i = 0; input->nodes && i < input->topology->n_nodes; i++) {
                const double percent = softirq_percent(&input->nodes_before[i], &input->nodes[i]);
                const uint32_t id = input->topology->nodes[i].id;

                if (percent < 0 || !is_lived_on(input, id))
                        continue;
                audit_report_hold(report, AUDIT_SOFTIRQ);
                if (percent <= softirq_limit(input, &input->topology->nodes[i]))
                        continue;
                audit_find(report, AUDIT_SOFTIRQ, AUDIT_WARNING, text_new("/proc/stat"),
                           text_new("host.reserve and an entry of irq in a policy file: the "
                                    "network gets CPUs of its own"),
                           "soft interrupts take %.0f %% of the CPU time of node %" PRIu32
                           ", where instances are",
                           percent, id);
        }
}

static uint32_t count_on(const IrqDevice *device, const CpuSet *cpus) {
        uint32_t n = 0;

        for (size_t i = 0; i < device->n_vectors; i++) {
                const IrqVector *v = &device->vectors[i];

                n += v->effective_known && id_set_intersects(&v->effective, cpus);
        }
        return n;
}

static void interrupts(const AuditInput *input, AuditReport *report) {
        CpuSet cpus = { 0 };

        if (!input->irqs || input->n_instances == 0)
                return;
        audit_report_hold(report, AUDIT_IRQ);
        for (size_t i = 0; i < input->n_instances; i++)
                if (input->instances[i].placed)
                        id_set_union(&cpus, &input->instances[i].cpus);
        id_set_subtract(&cpus, &input->reserved_cpus);
        for (size_t i = 0; i < input->irqs->n_devices; i++) {
                const IrqDevice *d = &input->irqs->devices[i];
                const uint32_t n = d->kind == IRQ_DEVICE_NET ? count_on(d, &cpus) : 0;

                if (n == 0 || input->policies->n_irqs > 0)
                        continue;
                audit_find(
                        report, AUDIT_IRQ, AUDIT_WARNING,
                        text_new("/proc/irq/*/effective_affinity_list"),
                        text_new("an entry in a policy file: irq: [{match: {net: %s}}]", d->name),
                        "%" PRIu32 " interrupts of %s are served by CPUs of instances, and "
                        "no policy steers them",
                        n, d->name);
        }
}

static uint32_t fastest_mbps(const DeviceList *devices) {
        uint32_t fastest = 0;

        for (size_t i = 0; i < devices->n_devices; i++)
                if (devices->devices[i].kind == DEVICE_NET &&
                    devices->devices[i].speed_mbps > fastest)
                        fastest = devices->devices[i].speed_mbps;
        return fastest;
}

static void irqbalance(const AuditInput *input, AuditReport *report) {
        const uint32_t mbps = fastest_mbps(input->devices);
        bool wanted, runs;

        if (!input->facts || !input->facts->irqbalance_known || mbps == 0)
                return;
        audit_report_hold(report, AUDIT_IRQBALANCE);
        runs = input->facts->irqbalance;
        wanted = mbps <= IRQBALANCE_WANTED_MBPS;
        if (input->policies->n_irqs > 0 || runs == wanted ||
            (!wanted && mbps < IRQBALANCE_UNWANTED_MBPS))
                return;
        audit_find(report, AUDIT_IRQBALANCE, AUDIT_WARNING, text_new("/proc"),
                   wanted ? text_new("systemctl enable --now irqbalance")
                          : text_new("an entry of irq in a policy file, which bans the "
                                     "card's interrupts at irqbalance"),
                   "irqbalance %s, with a network card of %" PRIu32 " Gbit/s",
                   runs ? "runs" : "does not run", mbps / 1000);
}

void audit_devices(const AuditInput *input, AuditReport *report) {
        unknown_nodes(input, report);
        nic_node(input, report);
        softirq(input, report);
        interrupts(input, report);
        irqbalance(input, report);
}
