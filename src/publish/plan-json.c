#include "tidbnumad/publish/plan-json.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/publish/status.h"

/* --- instances --- */

void plan_json_instance(Json *json, const char *key, const PlanReportInstance *i) {
        const bool runs = i->pid > 0, refused = i->choice->refusal != REFUSAL_NONE;
        _cleanup_text_ Text why = { 0 };

        plan_words_why(i, &why);
        JSON_OBJECT(json, key) {
                json_put_string(json, "name", i->in->name);
                json_put_string(json, "policy", i->in->policy->name);
                json_put_string(json, "policy_file", i->in->policy->file);
                json_put_integer(json, "policy_line", i->in->policy->at.line);
                json_put_string(json, "unit", i->in->unit);
                json_put_string(json, "storage", i->storage);
                json_put_ids(json, "device_nodes", ID_VIEW(&i->in->device_nodes));
                json_put_count_if(json, "need_bytes", i->in->need_bytes > 0, i->in->need_bytes);
                json_put_ids(json, "nodes", ID_VIEW(&i->choice->placement.nodes));
                json_put_ids(json, "cpus", ID_VIEW(&i->choice->placement.cpus));
                json_put_string(json, "memory_mode",
                                memory_mode_to_string(i->choice->placement.memory));
                json_put_string(json, "basis", placement_basis_to_string(i->choice->basis));
                json_put_string(json, "refusal",
                                refused ? placement_refusal_to_id(i->choice->refusal) : NULL);
                json_put_text(json, "why", &why);
                status_put_warnings(json, "warnings", i->choice->warnings);
                json_put_ids(json, "reserved_nodes", ID_VIEW(&i->choice->reserved));
                json_put_count(json, "open", i->choice->n_feasible);
                JSON_ARRAY(json, "alternatives", k, i->choice->n_alternatives)
                        JSON_OBJECT(json, NULL) {
                                const PlacementAlternative *a = &i->choice->alternatives[k];

                                json_put_ids(json, "nodes", ID_VIEW(&a->nodes));
                                json_put_string(json, "criterion",
                                                placement_criterion_to_string(a->criterion));
                                json_put_string(json, "rule",
                                                placement_criterion_to_rule(a->criterion));
                                json_put_count(json, "chosen", a->chosen);
                                json_put_count(json, "other", a->other);
                        }
                json_put_count_if(json, "pid", runs, (uint64_t)i->pid);
                json_put_ids_if(json, "in_force", runs, ID_VIEW(&i->in_force));
                json_put_count_if(json, "move_bytes", i->cost_known, i->cost_bytes);
                json_put_string(json, "bound_by", runs ? i->bound_by : NULL);
                json_put_string(json, "bound_by_reason", i->bound_by_reason);
                json_put_string(json, "memory_policy", i->memory_policy);
                /* Null where no daemon reports it. */
                json_put_string(json, "state",
                                i->published ? instance_state_to_string(i->published->state)
                                             : NULL);
                json_put_string(json, "state_reason", i->published ? i->published->reason : NULL);
                json_put_bool_if(json, "cpu_bound", i->published,
                                 i->published && i->published->cpu_bound);
                json_put_bool_if(json, "memory_bound", i->published,
                                 i->published && i->published->memory_bound);
        }
}

/* --- the machine --- */

void plan_json_report(Json *json, const PlanReport *report) {
        const size_t n_devices = report->devices ? report->devices->n_devices : 0;
        const Topology *topology = report->topology;

        json_put_string(json, "source", report->source);
        JSON_ARRAY(json, "instances", i, report->n_instances)
                plan_json_instance(json, NULL, &report->instances[i]);
        JSON_ARRAY(json, "nodes", i, topology->n_nodes)
                JSON_OBJECT(json, NULL) {
                        const Node *node = &topology->nodes[i];
                        const bool home = topology_is_home(node);

                        status_put_node(json, node);
                        json_put_string(json, "kind", node_kind_to_string(node->kind));
                        json_put_count_if(json, "free_bytes",
                                          report->free_bytes && !node->memory_unknown,
                                          report->free_bytes ? report->free_bytes[i] : 0);
                        json_put_bool(json, "home", home);
                        json_put_string(json, "why_no_home",
                                        home ? NULL : topology_why_no_home(node));
                        json_put_bool(json, "reserved", id_set_has(&report->reserved, node->id));
                        JSON_ARRAY(json, "devices", k, n_devices)
                                if (report->devices->devices[k].node == (int32_t)node->id)
                                        json_put_string(json, NULL,
                                                        report->devices->devices[k].name);
                        JSON_ARRAY(json, "instances", k, report->n_instances)
                                if (id_set_has(&report->instances[k].choice->placement.nodes,
                                               node->id))
                                        json_put_string(json, NULL, report->instances[k].in->name);
                }
        JSON_ARRAY(json, "devices", i, n_devices)
                JSON_OBJECT(json, NULL) {
                        const Device *device = &report->devices->devices[i];

                        json_put_string(json, "name", device->name);
                        json_put_string(
                                json, "kind",
                                device_kind_to_string(device->nvme ? DEVICE_NVME : device->kind));
                        json_put_count_if(json, "node", device->node != DEVICE_NODE_UNKNOWN,
                                          (uint64_t)device->node);
                        json_put_string(json, "pci", device->pci);
                        json_put_string(json, "driver", device->driver);
                        json_put_string(json, "master", device->master);
                        json_put_count_if(json, "speed_mbps", device->speed_mbps > 0,
                                          device->speed_mbps);
                        json_put_bool(json, "default_route", device->default_route);
                        json_put_bool(json, "virtual_function", device->virtual_function);
                }
        json_put_ids(json, "reserved_nodes", ID_VIEW(&report->reserved));
        json_put_ids(json, "reserved_cpus", ID_VIEW(&report->reserved_cpus));
        json_put_ids(json, "nic_nodes", ID_VIEW(&report->nic_nodes));
        JSON_OBJECT(json, "score")
                for (PlacementCriterion c = 0; c < N_CRITERIA; c++)
                        json_put_count(json, placement_criterion_to_string(c), report->score.by[c]);
        json_put_strings(json, "notes", (const char *const *)report->notes.words,
                         report->notes.n_words);
}

void plan_json_changes(Json *json, const PlanChange *changes, size_t n_changes) {
        JSON_ARRAY(json, "changes", i, n_changes)
                JSON_OBJECT(json, NULL) {
                        const PlanReportInstance *before = changes[i].before,
                                                 *after = changes[i].after;

                        json_put_string(json, "name", changes[i].name);
                        json_put_string(json, "policy_before",
                                        before ? before->in->policy->name : NULL);
                        json_put_string(json, "policy_after",
                                        after ? after->in->policy->name : NULL);
                        json_put_ids(json, "from", ID_VIEW(&changes[i].from));
                        json_put_ids(json, "to", ID_VIEW(&changes[i].to));
                        json_put_count_if(json, "move_bytes", after && after->cost_known,
                                          after ? after->cost_bytes : 0);
                }
}

/* --- interrupts --- */

static void put_masks(Json *json, const char *key, const CpuSet *sets, size_t n) {
        if (!sets)
                json_put_null(json, key);
        else
                JSON_ARRAY(json, key, i, n)
                        json_put_ids(json, NULL, ID_VIEW(&sets[i]));
}

static void put_irq_device(Json *json, const IrqPlanDevice *d) {
        static const char *const steer_strings[] = {
                [STEER_AUTO] = "auto", [STEER_RESERVED] = "reserved", [STEER_LOCAL] = "local",
                [STEER_AWAY] = "away", [STEER_LEAVE] = "leave",       [STEER_CPUS] = "cpus",
        };
        const IrqDevice *device = d->device;

        JSON_OBJECT(json, NULL) {
                json_put_string(json, "name", device->name);
                json_put_string(json, "kind", device_kind_to_string(device->kind));
                json_put_count_if(json, "node", device->node >= 0, (uint64_t)device->node);
                json_put_string(json, "pci", device->pci);
                json_put_string(json, "driver", device->driver);
                json_put_string(json, "master", device->master);
                json_put_string(json, "virtual_function_of", device->physfn);
                json_put_count_if(json, "speed_mbps", device->speed_mbps > 0, device->speed_mbps);
                json_put_bool_if(json, "link", device->link != IRQ_LINK_UNKNOWN,
                                 device->link == IRQ_LINK_UP);
                json_put_bool(json, "in_other_netns", device->in_other_netns);
                json_put_string(json, "policy_file", d->policy ? d->policy->file : NULL);
                json_put_count_if(json, "policy_line", d->policy,
                                  d->policy ? (uint64_t)d->policy->at.line : 0);
                json_put_string(json, "steer", steer_strings[d->steer]);
                json_put_string(json, "reason", irq_reason_to_id(d->reason));
                json_put_string(json, "rule", irq_reason_to_rule(d->reason));
                json_put_string(json, "why", irq_reason_to_string(d->reason));
                JSON_ARRAY(json, "cpus", i, d->n_order)
                        json_put_count(json, NULL, d->order[i]);
                JSON_ARRAY(json, "vectors", i, device->n_vectors)
                        JSON_OBJECT(json, NULL) {
                                const IrqVector *v = &device->vectors[i];
                                const IrqPlanVector *planned = &d->vectors[i];

                                json_put_count(json, "irq", v->irq);
                                json_put_string(json, "handler", v->name);
                                json_put_string(json, "role", irq_role_to_string(v->role));
                                json_put_count_if(json, "queue", v->queue >= 0, (uint64_t)v->queue);
                                json_put_ids_if(json, "now", v->mask_known, ID_VIEW(&v->requested));
                                json_put_ids_if(json, "effective", v->effective_known,
                                                ID_VIEW(&v->effective));
                                json_put_string(json, "decision",
                                                irq_decision_to_string(planned->decision));
                                json_put_ids_if(json, "cpus", planned->decision == IRQ_STEERED,
                                                ID_VIEW(&planned->cpus));
                        }
                put_masks(json, "xps", d->xps, device->n_tx);
                put_masks(json, "rps", d->rps, device->n_rx);
        }
}

void plan_json_interrupts(Json *json, const IrqHost *host, const IrqPlan *plan) {
        const IrqPlanBalance *balance = &plan->irqbalance;

        JSON_OBJECT(json, "interrupts") {
                JSON_ARRAY(json, "devices", i, plan->n_devices)
                        put_irq_device(json, &plan->devices[i]);
                JSON_OBJECT(json, "irqbalance") {
                        json_put_bool(json, "runs", host->irqbalance.pid > 0);
                        json_put_bool(json, "sent", balance->sent);
                        json_put_ids(json, "banned_cpus", ID_VIEW(&balance->banned_cpus));
                        JSON_ARRAY(json, "banned_irqs", i, balance->n_banned_irqs)
                                json_put_count(json, NULL, balance->banned_irqs[i]);
                }
        }
}
