/* One look at an instance: observe, decide, act. */
#include <math.h>
#include <string.h>

#include "tidbnumad/daemon/bind.h"
#include "tidbnumad/daemon/groups.h"
#include "tidbnumad/daemon/look.h"
#include "tidbnumad/daemon/move.h"
#include "tidbnumad/observe/binding-load.h"
#include "tidbnumad/sample/residency.h"
#include "tidbnumad/sys/clock.h"

#define EFFECT_POLL_USEC (UINT64_C(50) * 1000)
#define SETTLE_USEC (UINT64_C(1000) * 1000)

/* How long what came to an end is left so, unless so much more lies outside. */
#define REST_USEC (UINT64_C(60) * 1000 * 1000)
#define REST_GROWTH_BYTES (UINT64_C(16) << 20)

/* Less room than this is not worth a pass over the whole process. */
#define LEAST_ROOM_BYTES (UINT64_C(8) << 20)

/* Steps of a backend that answers at once, within one look: one that has no effect is tried thrice
 * for the CPUs and thrice for the memory nodes. */
enum { STEPS_AT_ONCE_MAX = 8 };

static const char *state_of(StepKind kind) {
        switch (kind) {
        case STEP_WATCH:
                return "watched";
        case STEP_REFUSE:
                return "refused";
        case STEP_SET_CPUS:
                return "binding";
        case STEP_WIDEN:
        case STEP_NARROW:
                return "narrowing";
        case STEP_PULL:
        case STEP_SWEEP:
                return "moving";
        case STEP_SETTLE:
                return "settling";
        case STEP_DONE:
                return "bound";
        case STEP_PARTLY:
                return "partly";
        }
        return "waiting";
}

static bool is_final(StepKind kind) {
        return kind == STEP_WATCH || kind == STEP_REFUSE || kind == STEP_DONE ||
               kind == STEP_PARTLY;
}

static void say_final(const Instance *i) {
        const JournalFields fields = {
                .instance = i->name,
                .policy = i->policy->name,
                .message_id = i->step.kind == STEP_DONE     ? JOURNAL_BOUND
                              : i->step.kind == STEP_REFUSE ? JOURNAL_REFUSED
                                                            : JOURNAL_PARTLY,
        };
        char nodes[ID_SET_LIST_MAX], cpus[ID_SET_LIST_MAX];

        (void)id_set_render_list(&i->placement.nodes, nodes, sizeof(nodes));
        (void)id_set_render_list(&i->placement.cpus, cpus, sizeof(cpus));
        if (i->step.kind == STEP_DONE)
                journal_log(&i->manager->journal, LOG_INFO, &fields,
                            "%s is bound to node %s (CPUs %s, memory: %s); %.1f MiB were moved in "
                            "%.1f s",
                            i->name, nodes, cpus, memory_mode_to_string(i->placement.memory),
                            (double)i->migrated_bytes / (1 << 20), i->bind_seconds);
        else if (i->step.kind != STEP_WATCH)
                journal_log(
                        &i->manager->journal, LOG_WARNING, &fields, "%s %s node %s: %s", i->name,
                        i->step.kind == STEP_REFUSE ? "is not bound to" : "is only partly bound to",
                        nodes, i->step.reason);
}

static void finish(Instance *i) {
        bool news = i->step.kind != i->said.kind || !i->said.reason ||
                    strcmp(i->step.reason, i->said.reason) != 0;

        instance_set_failure(i, NULL);
        i->rest_until_usec = clock_monotonic_usec() + REST_USEC;
        i->rest_outside_bytes = i->outside_bytes;
        if (news)
                say_final(i);
        i->said = i->step;
}

/* Is what came to an end to be left so for now? */
static bool is_resting(const Instance *i, uint64_t now_usec) {
        return is_final(i->step.kind) && now_usec < i->rest_until_usec &&
               i->outside_bytes < i->rest_outside_bytes + REST_GROWTH_BYTES;
}

/* A pass walks through the whole process: not for a few pages that went astray, and not again and
 * again for pages that do not move. */
static bool is_postponed(const Instance *i, StepKind next, uint64_t now_usec) {
        return (next == STEP_PULL || next == STEP_SETTLE || next == STEP_SWEEP) &&
               is_resting(i, now_usec);
}

static void decide(Instance *i, Step step) {
        bool changed = step.kind != i->step.kind || strcmp(step.reason, i->step.reason) != 0 ||
                       strcmp(i->state, state_of(step.kind)) != 0;

        i->step = step;
        i->state = state_of(step.kind);
        if (!changed)
                return;
        if (step.kind == STEP_DONE && isnan(i->bind_seconds))
                i->bind_seconds = (double)(clock_monotonic_usec() - i->first_seen_usec) / 1e6;
        if (is_final(step.kind))
                finish(i);
        manager_publish_soon(i->manager);
}

static void choose_placement(Instance *i) {
        Placement p;

        place_ensure(i);
        p = i->planned.placement;
        if (!id_set_equal(&p.nodes, &i->placement.nodes) || p.memory != i->placement.memory) {
                mover_end(&i->mover);
                i->moving = false;
                i->progress = (Progress){ 0 };
        }
        if (!id_set_equal(&p.cpus, &i->placement.cpus))
                bind_begin_anew(i);
        i->placement = p;
}

static void sample(Instance *i, int cgroup_fd) {
        const Topology *topology = &i->manager->topology;
        const NodeSet *nodes =
                id_set_is_empty(&i->placement.nodes) ? &i->binding.last_nodes : &i->placement.nodes;

        /* A session's or a supervisor's numbers are not the instance's. */
        i->memory_known = cgroup_fd >= 0 && i->binding.alone &&
                          residency_read(topology, cgroup_fd, i->by_node) == 0;
        i->outside_bytes = i->memory_known ? residency_outside(topology, i->by_node, nodes) : 0;
        i->remote_ratio = i->memory_known ? residency_ratio(topology, i->by_node, nodes) : NAN;
}

/* -ESRCH: it has ended. */
static int observe(Instance *i) {
        _cleanup_groups_ Groups open = GROUPS_NONE;
        Manager *m = i->manager;
        int r = groups_open(i, &open);
        const BindingGroups groups = { .group_fd = open.group_fd,
                                       .cpuset_fd = open.cpuset_fd,
                                       .cpuset_path = open.cpuset_path,
                                       .group_path = open.group_path,
                                       .suspect = i->binding.intruder };

        if (r < 0)
                return r;
        r = binding_load(&m->topology, &m->sysroot, i->handles, i->n_processes, &groups,
                         &i->placement.cpus, &i->binding);
        if (r < 0)
                return r;
        i->binding_known = true;
        sample(i, open.group_fd);
        return 0;
}

/* When the room cannot be read, nothing is moved into it. */
static void check_room(const Instance *i, StepInput *in) {
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n_rooms;

        if (!i->memory_known || move_rooms(i, &rooms, &n_rooms) < 0)
                return;
        in->fits = fit_check(rooms, n_rooms, i->outside_bytes, NULL);
        in->has_room = fit_best(rooms, n_rooms, LEAST_ROOM_BYTES) >= 0;
}

static Step plan(Instance *i, uint64_t now_usec) {
        const Manager *m = i->manager;
        const char *cannot = bind_refuses(i);
        StepInput in = {
                .placement = &i->placement,
                .binding = &i->binding,
                .backend = backend_kind(&m->backend),
                .all_nodes = topology_memory_nodes(&m->topology),
                .can_enforce = !cannot,
                .cannot = cannot,
                .cpus_given = bind_cpus_given(i),
                .repairs = bind_repairs(i, now_usec),
                .memory_known = i->memory_known,
                .outside_bytes = i->outside_bytes,
                .we_narrowed = i->we_narrowed || units_did_narrow(m, i->unit),
                .cpu_writes = i->progress.cpu_writes,
                .mem_writes = i->progress.mem_writes,
                .passes = i->progress.passes,
                .pass_found_bytes = i->progress.pass_found_bytes,
                .pass_moved_bytes = i->progress.pass_moved_bytes,
                .sweeps = i->progress.sweeps,
                .settles = i->progress.settles,
        };

        check_room(i, &in);
        i->fits = in.fits;
        i->cpus_stood |= step_cpus_stand(in.backend, in.binding, in.placement);
        return step_next(&in);
}

/* Nothing is read that is not needed for it: until this returns, every thread may run anywhere. */
static void begin_blind(Instance *i, uint64_t now_usec) {
        const Step step = { .kind = STEP_SET_CPUS, .reason = "" };
        const StepInput in = { .placement = &i->placement,
                               .backend = backend_kind(&i->manager->backend),
                               .can_enforce = true,
                               .cpus_given = bind_cpus_given(i) };

        if (manager_enforces(i->manager) && step_begins_blind(&in) && !bind_refuses(i))
                (void)bind_carry_out(i, &step, now_usec);
}

/* What a dry run would do next. */
static void tell_plan(Instance *i, const Step *step) {
        BackendKind kind = backend_kind(&i->manager->backend);
        bool by_unit = kind == BACKEND_AUTO || kind == BACKEND_SYSTEMD;
        char list[ID_SET_LIST_MAX];

        i->state = "planned";
        i->due_usec = INSTANCE_NEVER;
        switch (step->kind) {
        case STEP_SET_CPUS:
                (void)id_set_render_list(&i->placement.cpus, list, sizeof(list));
                instance_set_failure(i, by_unit ? "would set AllowedCPUs=%s" : "would set CPUs %s",
                                     list);
                break;
        case STEP_WIDEN:
        case STEP_NARROW:
                (void)id_set_render_list(&step->mems, list, sizeof(list));
                instance_set_failure(i,
                                     by_unit ? "would set AllowedMemoryNodes=%s"
                                             : "would set memory nodes %s",
                                     list);
                break;
        default:
                instance_set_failure(i, "would move %s%.1f MiB",
                                     i->fits ? "" : "what its nodes have room for of ",
                                     (double)i->outside_bytes / (1 << 20));
        }
        manager_publish_soon(i->manager);
}

/* True: it is done, look again. */
static bool act(Instance *i, const Step *step, uint64_t now_usec) {
        if (is_final(step->kind)) {
                i->due_usec = INSTANCE_NEVER; /* until an event or the next sample */
                return false;
        }
        if (!manager_enforces(i->manager)) {
                tell_plan(i, step);
                return false;
        }
        switch (step->kind) {
        case STEP_SET_CPUS:
        case STEP_WIDEN:
        case STEP_NARROW:
                if (i->call_kind != step->kind || now_usec >= i->effect_deadline_usec)
                        return bind_carry_out(i, step, now_usec);
                i->due_usec = now_usec + EFFECT_POLL_USEC;
                break;
        case STEP_PULL:
                move_begin(i, now_usec);
                break;
        case STEP_SWEEP:
                move_sweep(i, now_usec);
                break;
        case STEP_SETTLE:
                i->progress.settles++;
                i->due_usec = now_usec + SETTLE_USEC;
                break;
        default:
                break;
        }
        return false;
}

/* What the kernel shows, and the step that follows. True: it was done at once, look again. */
static bool look_once(Instance *i, uint64_t now_usec) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        Step step;
        int r = observe(i);

        if (r == -ESRCH)
                return false; /* its exit event, or the next scan, takes it away */
        if (r < 0) {
                instance_set_failure(i, "its state cannot be read: %s", strerror(-r));
                journal_log(&i->manager->journal, LOG_WARNING, &fields, "%s: %s", i->name,
                            i->failure ? i->failure : strerror(-r));
                return false;
        }
        step = plan(i, now_usec);
        journal_log(&i->manager->journal, LOG_DEBUG, &fields,
                    "%s: %s (%zu threads, %zu off their CPUs, %llu bytes outside) %s", i->name,
                    state_of(step.kind), i->binding.n_threads, i->binding.n_threads_off_cpus,
                    (unsigned long long)i->outside_bytes, step.reason);
        if (is_postponed(i, step.kind, now_usec))
                return false;
        decide(i, step);
        return act(i, &step, now_usec);
}

static void look(Instance *i, uint64_t now_usec) {
        unsigned n = 0;

        if (i->call) { /* its answer brings the next look */
                i->due_usec = INSTANCE_NEVER;
                return;
        }
        if (i->moving) {
                move_slice(i, now_usec);
                return;
        }
        choose_placement(i);
        i->due_usec = INSTANCE_NEVER;
        begin_blind(i, now_usec);
        while (n++ < STEPS_AT_ONCE_MAX && look_once(i, now_usec))
                ;
}

void look_at_due(Manager *m, uint64_t now_usec) {
        for (size_t i = 0; i < m->n_instances; i++)
                if (m->instances[i]->due_usec <= now_usec)
                        look(m->instances[i], now_usec);
}

void look_at_fresh(Manager *m, uint64_t now_usec) {
        for (size_t i = 0; i < m->n_instances; i++) {
                Instance *instance = m->instances[i];

                if (!instance->fresh || instance->due_usec > now_usec)
                        continue;
                instance->fresh = false;
                look(instance, now_usec);
        }
}

void look_at_all(Manager *m, uint64_t now_usec) {
        bind_tidy(m);
        place_read_room(m);
        for (size_t k = 0; k < m->n_instances; k++) {
                Instance *i = m->instances[k];

                /* What is under way goes on; what came to an end is looked at again from the start.
                 */
                if (i->call || i->due_usec != INSTANCE_NEVER)
                        continue;
                i->progress = (Progress){ 0 };
                look(i, now_usec);
        }
        manager_publish_soon(m);
}

bool look_is_settled(const Manager *m) {
        for (size_t i = 0; i < m->n_instances; i++)
                if (m->instances[i]->call || m->instances[i]->due_usec != INSTANCE_NEVER)
                        return false;
        return true;
}
