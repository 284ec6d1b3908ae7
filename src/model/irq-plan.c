/* The words of interrupt plans. */
#include <stdlib.h>

#include "tidbnumad/model/irq-plan.h"

typedef struct ReasonText {
        const char *id, *rule, *sentence;
} ReasonText;

static const ReasonText *reason_text(IrqReason reason) {
        static const ReasonText texts[N_IRQ_REASONS] = {
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
                [IRQ_REASON_OTHER_NETNS] = { "other-netns", "",
                                             "it is in another network namespace" },
                [IRQ_REASON_BUNDLE] = { "bundle", "", "its members have the interrupts" },
                [IRQ_REASON_NO_VECTORS] = { "no-vectors", "", "it has no interrupt to steer" },
                [IRQ_REASON_NOTHING_RESERVED] = { "nothing-reserved", "",
                                                  "its policy has steer: reserved, but no node "
                                                  "with CPUs "
                                                  "is reserved; see host.reserve" },
                [IRQ_REASON_NODE_UNKNOWN] = { "node-unknown", "",
                                              "its policy has steer: local, but its node is "
                                              "unknown or "
                                              "has no CPU; list CPUs in steer" },
                [IRQ_REASON_CPUS_ABSENT] = { "cpus-absent", "",
                                             "none of the CPUs that its policy lists is online" },
        };

        return &texts[reason];
}

const char *irq_reason_to_id(IrqReason reason) {
        return reason_text(reason)->id;
}

const char *irq_reason_to_string(IrqReason reason) {
        return reason_text(reason)->sentence;
}

const char *irq_reason_to_rule(IrqReason reason) {
        return reason_text(reason)->rule;
}

bool irq_reason_steers(IrqReason reason) {
        return reason < IRQ_REASON_NO_ENTRY;
}

const char *irq_decision_to_string(IrqDecision decision) {
        switch (decision) {
        case IRQ_STEERED:
                return "steered";
        case IRQ_MANAGED:
                return "managed";
        case IRQ_LEFT:
                break;
        }
        return "left";
}

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
