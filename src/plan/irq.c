/* The plan of interrupts: which entry counts for a device, what is done with each vector, what
 * is sent to irqbalance. Which CPUs serve a device is irq-pool.c's, which queue gets which of
 * them irq-spread.c's. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/plan/irq-parts.h"
#include "tidbnumad/plan/irq.h"

static bool any_glob(const WordList *globs, const char *name) {
        for (size_t i = 0; name && i < globs->n_words; i++)
                if (fnmatch(globs->words[i], name, 0) == 0)
                        return true;
        return false;
}

static bool any_address(const WordList *addresses, const char *pci) {
        for (size_t i = 0; pci && i < addresses->n_words; i++)
                if (strcasecmp(addresses->words[i], pci) == 0)
                        return true;
        return false;
}

static bool matches(const IrqPolicy *policy, const IrqDevice *device) {
        if (any_address(&policy->pci, device->pci))
                return true;
        switch (device->kind) {
        case IRQ_DEVICE_NET: /* in another namespace its name is not known */
                return !device->in_other_netns && (any_glob(&policy->net, device->name) ||
                                                   any_glob(&policy->net, device->master));
        case IRQ_DEVICE_NVME:
                return any_glob(&policy->nvme, device->name);
        case IRQ_DEVICE_OTHER:
                break;
        }
        return false;
}

const IrqPolicy *irq_policy_find(const IrqPolicy *policies, size_t n_policies,
                                 const IrqDevice *device) {
        for (size_t i = 0; i < n_policies; i++)
                if (matches(&policies[i], device))
                        return &policies[i];
        return NULL;
}

static bool is_managed(const IrqVector *vector) {
        return vector->managed == IRQ_MANAGED_YES || vector->managed == IRQ_MANAGED_LIKELY;
}

static int build_vectors(IrqPlanDevice *device) {
        const IrqDevice *of = device->device;
        bool steers = irq_reason_steers(device->reason);

        device->vectors = calloc(of->n_vectors + 1, sizeof(*device->vectors));
        if (!device->vectors)
                return -ENOMEM;
        for (size_t i = 0; i < of->n_vectors; i++) {
                device->vectors[i].irq = of->vectors[i].irq;
                device->vectors[i].decision = is_managed(&of->vectors[i]) ? IRQ_MANAGED
                                              : steers                    ? IRQ_STEERED
                                                                          : IRQ_LEFT;
        }
        return 0;
}

static int build_device(const IrqPlanInput *input, const IrqCpus *cpus, const IrqDevice *of,
                        IrqPlanDevice *device) {
        IrqPool pool;

        device->device = of;
        device->policy = irq_policy_find(input->policies, input->n_policies, of);
        pool = irq_pool_choose(input, cpus, device->policy, of);
        device->steer = pool.steer;
        device->reason = pool.reason;
        if (irq_reason_steers(pool.reason) && irq_pool_order(input->topology, &pool.cpus, of->node,
                                                             &device->order, &device->n_order) < 0)
                return -ENOMEM;
        return build_vectors(device);
}

static int build_devices(const IrqPlanInput *input, const IrqCpus *cpus, IrqPlan *plan) {
        int r = 0;

        plan->devices = calloc(input->host->n_devices + 1, sizeof(*plan->devices));
        if (!plan->devices)
                return -ENOMEM;
        plan->n_devices = input->host->n_devices;
        for (size_t i = 0; r >= 0 && i < plan->n_devices; i++)
                r = build_device(input, cpus, &input->host->devices[i], &plan->devices[i]);
        if (r >= 0)
                r = irq_spread_vectors(plan);
        for (size_t i = 0; r >= 0 && i < plan->n_devices; i++)
                r = irq_spread_queues(input->topology, &plan->devices[i]);
        return r;
}

/* Is anything done for it, by us or by irqbalance? */
static bool is_cared_for(const IrqPlanDevice *device) {
        return irq_reason_steers(device->reason) || device->reason == IRQ_REASON_IRQBALANCE;
}

/* irqbalance needs at least one CPU: if none is left, the CPUs of shared instances are allowed
 * first, then all. It ignores isolated CPUs by itself. */
static CpuSet cpus_to_ban(const IrqCpus *cpus) {
        CpuSet usual = cpus->online;

        id_set_subtract(&usual, &cpus->isolated);
        if (!id_set_is_subset(&usual, &cpus->owned))
                return cpus->owned;
        if (!id_set_is_subset(&usual, &cpus->exclusive))
                return cpus->exclusive;
        return (CpuSet){ 0 };
}

static int compare(const void *a, const void *b) {
        const uint32_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

/* Bans the interrupts that are steered, because irqbalance would replace their masks in its next
 * round. Managed interrupts, which irqbalance cannot move either, would only fill the list, which
 * is short in old versions of irqbalance. */
static int ban_vectors(const IrqPlanDevice *device, size_t *allocated, IrqPlanBalance *balance) {
        for (size_t i = 0; i < device->device->n_vectors; i++) {
                if (device->vectors[i].decision != IRQ_STEERED)
                        continue;
                if (ARRAY_RESERVE(balance->banned_irqs, *allocated, balance->n_banned_irqs + 1) < 0)
                        return -ENOMEM;
                balance->banned_irqs[balance->n_banned_irqs++] = device->vectors[i].irq;
        }
        return 0;
}

static int build_balance(const IrqCpus *cpus, IrqPlan *plan) {
        IrqPlanBalance *balance = &plan->irqbalance;
        size_t allocated = 0;

        for (size_t i = 0; i < plan->n_devices; i++) {
                const IrqPlanDevice *device = &plan->devices[i];

                if (!is_cared_for(device) || device->policy->irqbalance == IRQBALANCE_IGNORE)
                        continue;
                balance->sent = true;
                if (ban_vectors(device, &allocated, balance) < 0)
                        return -ENOMEM;
        }
        if (balance->sent)
                balance->banned_cpus = cpus_to_ban(cpus);
        if (balance->n_banned_irqs > 1)
                qsort(balance->banned_irqs, balance->n_banned_irqs, sizeof(uint32_t), compare);
        return 0;
}

int irq_plan_build(const IrqPlanInput *input, IrqPlan *ret) {
        const IrqCpus cpus = irq_cpus_divide(input);
        _cleanup_irq_plan_ IrqPlan plan = { 0 };
        int r = build_devices(input, &cpus, &plan);

        if (r >= 0)
                r = build_balance(&cpus, &plan);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(plan);
        return 0;
}
