#include <errno.h>
#include <stdlib.h>

#include "tidbnumad/ctl/plan-run-irq.h"
#include "tidbnumad/plan/irq.h"
#include "tidbnumad/world/irq-load.h"

void plan_run_irq_done(PlanRunIrq *irq) {
        irq_plan_done(&irq->plan);
        irq_host_done(&irq->host);
        *irq = (PlanRunIrq){ 0 };
}

/* An instance owns the CPUs of its planned place, not those on which it runs now. */
static size_t find_owners(const PlanRun *planned, IrqOwner *owners) {
        size_t n = 0;

        for (size_t i = 0; i < planned->report.n_instances; i++) {
                const PlanReportInstance *row = &planned->rows[i];

                if (plan_report_places(row))
                        owners[n++] =
                                (IrqOwner){ .name = row->name,
                                            .cpus = row->placement->cpus,
                                            .shared = row->policy->place.share == SHARE_SHARED };
        }
        return n;
}

static int build(const Machine *machine, const PolicySet *policies, const PlanRun *planned,
                 PlanRunIrq *irq) {
        _cleanup_free_ IrqOwner *owners = calloc(planned->report.n_instances + 1, sizeof(*owners));
        IrqPlanInput input = { .topology = &machine->topology,
                               .host = &irq->host,
                               .policies = policies->irqs,
                               .n_policies = policies->n_irqs,
                               .reserved = planned->report.reserved,
                               .reserved_cpus = planned->report.reserved_cpus,
                               .owners = owners };
        int r;

        if (!owners)
                return -ENOMEM;
        input.n_owners = find_owners(planned, owners);
        r = irq_host_load(&machine->sysroot, policies->irqs, policies->n_irqs, &irq->host);
        if (r >= 0)
                r = irq_plan_build(&input, &irq->plan);
        irq->planned = r >= 0;
        return r;
}

int plan_run_irq_build(const Machine *machine, const PolicySet *policies, const PlanRun *planned,
                       PlanRunIrq *ret) {
        int r = 0;

        *ret = (PlanRunIrq){ 0 };
        if (policies->n_irqs > 0 && machine->runs)
                r = build(machine, policies, planned, ret);
        if (r < 0)
                plan_run_irq_done(ret);
        return r;
}
