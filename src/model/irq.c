/* Interrupts of devices: their words, and what they have counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/model/irq.h"

static const char *const irq_role_strings[N_IRQ_ROLES] = {
        [IRQ_ROLE_OTHER] = "other", [IRQ_ROLE_RX] = "rx",       [IRQ_ROLE_TX] = "tx",
        [IRQ_ROLE_RXTX] = "rxtx",   [IRQ_ROLE_ADMIN] = "admin",
};
DEFINE_STRING_TABLE(irq_role_to_string, IrqRole, irq_role_strings)

void irq_device_done(IrqDevice *device) {
        for (size_t i = 0; i < device->n_vectors; i++)
                free(device->vectors[i].name);
        free(device->vectors);
        free(device->rx);
        free(device->tx);
        free(device->physfn);
        device_done(&device->device);
        *device = (IrqDevice){ 0 };
}

void irqbalance_facts_done(IrqbalanceFacts *facts) {
        free(facts->banned_irqs);
        *facts = (IrqbalanceFacts){ 0 };
}

void irq_host_done(IrqHost *host) {
        for (size_t i = 0; i < host->n_devices; i++)
                irq_device_done(&host->devices[i]);
        free(host->devices);
        free(host->cpus);
        free(host->counts);
        irqbalance_facts_done(&host->irqbalance);
        *host = (IrqHost){ 0 };
}

const IrqDevice *irq_host_find(const IrqHost *host, DeviceKind kind, const char *name) {
        for (size_t i = 0; i < host->n_devices; i++)
                if (host->devices[i].kind == kind && strcmp(host->devices[i].name, name) == 0)
                        return &host->devices[i];
        return NULL;
}

const IrqDevice *irq_host_find_interface(const IrqHost *host, uint32_t ifindex) {
        for (size_t i = 0; i < host->n_devices; i++)
                if (host->devices[i].kind == DEVICE_NET && host->devices[i].ifindex == ifindex)
                        return &host->devices[i];
        return NULL;
}

const IrqVector *irq_device_vector(const IrqDevice *device, uint32_t irq) {
        for (size_t i = 0; i < device->n_vectors; i++)
                if (device->vectors[i].irq == irq)
                        return &device->vectors[i];
        return NULL;
}

uint32_t irq_vector_count(const IrqHost *host, const IrqVector *vector, const CpuSet *cpus) {
        uint32_t sum = 0;

        for (size_t i = 0; vector->counts && i < host->n_cpus; i++)
                if (id_set_has(cpus, host->cpus[i]))
                        sum += vector->counts[i];
        return sum;
}

uint32_t irq_vector_growth(const IrqHost *before, const IrqVector *old, const IrqHost *now,
                           const IrqVector *vector, const CpuSet *cpus) {
        uint32_t step;

        if (!old->counts || !vector->counts || before->n_cpus != now->n_cpus ||
            (now->n_cpus > 0 &&
             memcmp(before->cpus, now->cpus, now->n_cpus * sizeof(*now->cpus)) != 0))
                return 0;
        step = irq_vector_count(now, vector, cpus) - irq_vector_count(before, old, cpus);
        return step < UINT32_MAX / 2 ? step : 0;
}

/* --- the words of interrupt plans --- */

static const struct {
        const char *id, *rule, *sentence;
} irq_reasons[N_IRQ_REASONS] = {
        [IRQ_REASON_RESERVED] = { "reserved", "R2", "to the reserved CPUs" },
        [IRQ_REASON_LOCAL] = { "local", "", "to CPUs of its own node" },
        [IRQ_REASON_AWAY] = { "away", "", "to CPUs that no instance owns, nearest first" },
        [IRQ_REASON_LISTED] = { "listed", "", "its policy lists the CPUs" },
        [IRQ_REASON_SHARED] = { "shared", "",
                                "instances own every CPU that may serve it: to CPUs of "
                                "shared instances" },
        [IRQ_REASON_OWNED] = { "owned", "",
                               "exclusive instances own every CPU that may serve it: to "
                               "their CPUs; reserve some for it: host.reserve: {cpus: "
                               "auto}" },
        [IRQ_REASON_NO_ENTRY] = { "no-entry", "", "no entry of irq matches it" },
        [IRQ_REASON_POLICY] = { "policy", "", "its policy leaves it alone" },
        [IRQ_REASON_RELEASED] = { "released", "", "its release was requested" },
        [IRQ_REASON_IRQBALANCE] = { "irqbalance", "R11",
                                    "irqbalance distributes its interrupts, except to CPUs "
                                    "of instances" },
        [IRQ_REASON_OTHER_NETNS] = { "other-netns", "", "it is in another network namespace" },
        [IRQ_REASON_BUNDLE] = { "bundle", "", "its members have the interrupts" },
        [IRQ_REASON_NO_VECTORS] = { "no-vectors", "", "it has no interrupt to steer" },
        [IRQ_REASON_NOTHING_RESERVED] = { "nothing-reserved", "",
                                          "its policy has steer: reserved, but no node "
                                          "with CPUs is reserved; see host.reserve" },
        [IRQ_REASON_NODE_UNKNOWN] = { "node-unknown", "",
                                      "its policy has steer: local, but its node is "
                                      "unknown or has no CPU; list CPUs in steer" },
        [IRQ_REASON_CPUS_ABSENT] = { "cpus-absent", "",
                                     "none of the CPUs that its policy lists is online" },
};

const char *irq_reason_to_id(IrqReason reason) {
        return irq_reasons[reason].id;
}

const char *irq_reason_to_string(IrqReason reason) {
        return irq_reasons[reason].sentence;
}

const char *irq_reason_to_rule(IrqReason reason) {
        return irq_reasons[reason].rule;
}

bool irq_reason_steers(IrqReason reason) {
        return reason < IRQ_REASON_NO_ENTRY;
}

static const char *const irq_decision_strings[] = {
        [IRQ_LEFT] = "left",
        [IRQ_MANAGED] = "managed",
        [IRQ_STEERED] = "steered",
};
DEFINE_STRING_TABLE(irq_decision_to_string, IrqDecision, irq_decision_strings)

void irq_plan_done(IrqPlan *plan) {
        for (size_t i = 0; i < plan->n_devices; i++) {
                free(plan->devices[i].order);
                free(plan->devices[i].vectors);
                free(plan->devices[i].xps);
                free(plan->devices[i].rps);
        }
        free(plan->devices);
        free(plan->irqbalance.banned_irqs);
        *plan = (IrqPlan){ 0 };
}

static const char *const setting_kind_strings[N_SETTING_KINDS] = {
        [SETTING_VECTOR] = "vector",
        [SETTING_XPS] = "xps",
        [SETTING_RPS] = "rps",
        [SETTING_NUMA_BALANCING] = "numa-balancing",
};
DEFINE_STRING_TABLE(setting_kind_to_string, SettingKind, setting_kind_strings)

int setting_kind_from_string(const char *word, SettingKind *ret) {
        for (unsigned i = 0; i < N_SETTING_KINDS; i++)
                if (strcmp(setting_kind_strings[i], word) == 0) {
                        *ret = (SettingKind)i;
                        return 0;
                }
        return -EINVAL;
}

bool setting_is_queue(SettingKind kind) {
        return kind == SETTING_XPS || kind == SETTING_RPS;
}

bool setting_key_equal(const SettingKey *a, const SettingKey *b) {
        return a->kind == b->kind && a->number == b->number && a->ifindex == b->ifindex &&
               (setting_is_queue(a->kind) || strcmp(a->device, b->device) == 0);
}

bool setting_value_equal(const SettingValue *a, const SettingValue *b) {
        return a->number == b->number && id_set_equal(&a->cpus, &b->cpus);
}
