/* Rounds of samples of memory: which instance is due, within the budget. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/plan/pace.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"
#include "tidbnumad/world/instances.h"
#include "tidbnumad/world/memory.h"
#include "tidbnumad/world/sampling.h"

/* The pages of a sample are divided among the processes of an instance, at least this many for
 * each. */
enum { PROCESS_PAGES_MIN = 256 };

static bool instance_has_counts(const Sampling *s, Instance *i) {
        if (!i->by_node)
                i->by_node = calloc(s->host->topology.n_nodes, sizeof(NodeMemory));
        return i->by_node;
}

void sample_observe(const Sampling *s, Instance *i) {
        Members members = facts_members(&i->facts, &s->host->sysroot);

        members.intruder = &s->host->intruder;
        if (i->binding.observed_known || !instance_has_counts(s, i))
                return;
        i->memory_known =
                members_read_memory(&members, &s->host->topology, i->by_node, &i->limit_bytes) >= 0;
}

int sample_count(Sampling *s, Instance *i, int cgroup_fd) {
        const Members members = facts_members(&i->facts, &s->host->sysroot);
        const Begun begun = cost_begin();
        int r = instance_has_counts(s, i)
                        ? members_count_memory(&members, &s->host->topology, cgroup_fd, i->by_node)
                        : -ENOMEM;

        if (r < 0)
                return r;
        i->sampling.sampled = false;
        cost_end(s, SAMPLE_NUMA_STAT, begun);
        return r;
}

/* The numbers of a login session's or a supervisor's group are not those of the instance; those of
 * a scope are incomplete, see change/scope.h. */
void sample_update(Sampling *s, Instance *i, int cgroup_fd, const NodeSet *nodes) {
        const bool is_its_own = cgroup_fd >= 0 && i->binding.observed.alone;
        const Topology *topology = &s->host->topology;

        i->limit_bytes = is_its_own ? members_limit_bytes(topology, cgroup_fd) : 0;
        i->memory_known = is_its_own && !scope_of(i) && sample_count(s, i, cgroup_fd) == 0;
        i->sampling.remote_ratio = i->memory_known ? residency_ratio(topology, i->by_node, nodes)
                                                   : sample_ratio(i, nodes);
}

/* Mappings are not read again within this time, and not within the second where they could not be
 * read. */
#define HUGE_AGAIN_USEC (UINT64_C(20) * 1000)
#define HUGE_FAILED_USEC (UINT64_C(1000) * 1000)

void sample_huge(const Sampling *s, Instance *i, const HugePools *pools, bool again) {
        const Members members = facts_members(&i->facts, &s->host->sysroot);
        const uint64_t now = clock_monotonic_usec();
        InstanceHuge *huge = &i->sampling.huge;
        HugeNeed most = huge->most;
        uint64_t n_reserved = 0;
        HugeMaps maps;
        bool is_due;
        int r;

        if (pools->n == 0) {
                *huge = (InstanceHuge){ 0 };
                i->huge = (HugeNeed){ 0 };
                i->huge_known = true;
                return;
        }
        for (size_t k = 0; k < pools->n; k++)
                n_reserved += pools->list[k].n_reserved;
        is_due = huge->read_usec == 0 || huge->n_member_changes != i->n_member_changes ||
                 !id_set_equal(&huge->nodes, &i->binding.placement.nodes) ||
                 ((again || !i->huge_known || n_reserved > huge->n_reserved) &&
                  now >= huge->read_usec + (i->huge_known ? HUGE_AGAIN_USEC : HUGE_FAILED_USEC));
        if (!is_due) {
                if (n_reserved < huge->n_reserved)
                        huge->n_reserved = n_reserved;
                return;
        }
        r = worker_read_huge_maps(s->host->workers, &members, &i->binding.placement.nodes, &maps);
        if (r == -ESRCH)
                return; /* it ends: what it had is what its next start will need */
        if ((r == -EBUSY || r == -EAGAIN) && i->huge_known &&
            id_set_equal(&huge->nodes, &i->binding.placement.nodes))
                return; /* it is read again at once when the answer is there */
        i->huge = r >= 0 ? huge_maps_need(&maps, pools) : huge_need_unknown(pools);
        i->huge_known = r >= 0;
        *huge = (InstanceHuge){ .nodes = i->binding.placement.nodes,
                                .read_usec = r == -EAGAIN ? 0 : now,
                                .n_member_changes = i->n_member_changes,
                                .n_reserved = n_reserved };
        if (i->huge_known)
                huge_need_raise(&most, &i->huge);
        huge->most = most;
}

void sample_end(Instance *i) {
        free(i->sampling.drawing);
        free(i->by_node);
        i->by_node = NULL;
        i->memory_known = i->huge_known = false;
        access_close(&i->sampling.access.counters);
        i->sampling = INSTANCE_SAMPLING_NONE;
}

double sample_ratio(const Instance *i, const NodeSet *nodes) {
        return i->sampling.sampled && id_set_equal(&i->sampling.sampled_nodes, nodes)
                       ? i->sampling.sampled_ratio
                       : (double)NAN;
}

double sample_halfwidth(const Instance *i) {
        return i->memory_known || !i->sampling.sampled ? 0 : i->sampling.sampled_halfwidth;
}

/* A sample that continues over several passes of the loop. */
struct Drawing {
        NodeSet nodes;
        uint64_t round, n_member_changes;
        uint64_t spent_usec; /* by the passes so far, and by the worker, in CPU time */
        size_t next;         /* the process that is sampled next */
        Estimate parts[OTHERS_SAMPLED_MAX];
        double weights[OTHERS_SAMPLED_MAX];
        NodeMemory by_node[];
};

/* Is the series of samples one of the present processes and of these nodes? */
static bool steady_holds(const Instance *i, const NodeSet *nodes) {
        const Steady *steady = &i->sampling.steady;

        return i->sampling.sampled && steady->n_member_changes == i->n_member_changes &&
               steady->migrated_bytes == i->binding.migrated_bytes &&
               id_set_equal(&i->sampling.sampled_nodes, nodes);
}

bool sample_is_due(const Instance *i, uint64_t now_usec) {
        return i->sampling.drawing || now_usec >= i->sampling.steady.due_usec ||
               !steady_holds(i, instance_nodes(i));
}

/* -EAGAIN: the worker is busy with it. */
static int drawing_add_process(Sampling *s, const Instance *i, size_t k, Drawing *d) {
        const Topology *topology = &s->host->topology;
        const ProcHandle *process = i->members[k].handle;
        const size_t share = SAMPLER_PAGES / i->n_members;
        const size_t n_pages = share > PROCESS_PAGES_MIN ? share : PROCESS_PAGES_MIN;
        const uint64_t seed = ++s->rounds.n_draws;
        _cleanup_draws_ Draws draws = { 0 };
        uint64_t cpu_usec = 0;
        ProcMemory memory;
        int r;

        if (s->host->workers)
                r = worker_draw(s->host->workers, topology, process, n_pages, seed, &draws,
                                &cpu_usec);
        else
                r = sampler_draw(topology, process, n_pages, seed, &draws);
        if (r < 0)
                return r;
        s->rounds.cost_usec += cpu_usec;
        d->spent_usec += cpu_usec;
        r = proc_memory_read(process, &memory);
        if (r < 0)
                return r;
        sampler_add_bytes(topology, &draws, &memory, d->by_node);
        d->parts[k] = sampler_outside(topology, &draws, &d->nodes);
        d->weights[k] = (double)(memory.anon_bytes + memory.huge_bytes);
        return 0;
}

/* Starts a new sample; one of a former round or of other processes is discarded. */
static int drawing_begin(const Sampling *s, Instance *i) {
        const size_t n_nodes = s->host->topology.n_nodes;
        Drawing *d = i->sampling.drawing;

        if (i->n_members == 0 || i->n_members > OTHERS_SAMPLED_MAX)
                return -E2BIG;
        if (!instance_has_counts(s, i))
                return -ENOMEM;
        if (d && d->round == s->rounds.round && d->n_member_changes == i->n_member_changes)
                return 0;
        free(d);
        i->sampling.drawing = d = calloc(1, sizeof(*d) + n_nodes * sizeof(d->by_node[0]));
        if (!d)
                return -ENOMEM;
        d->round = s->rounds.round;
        d->n_member_changes = i->n_member_changes;
        d->nodes = *instance_nodes(i);
        return 0;
}

static const char *not_drawn_reason(int error) {
        switch (error) {
        case -E2BIG:
                return "it has too many processes to sample all of them";
        case -EHOSTDOWN:
                return "the memory map of a process does not answer";
        case -EPERM:
        case -EACCES:
                return "the kernel does not allow its pages to be queried (CAP_SYS_PTRACE, SELinux "
                       "or AppArmor)";
        default:
                return strerror(-error);
        }
}

int sample_draw(Sampling *s, Instance *i, uint64_t (*clock_usec)(void)) {
        Steady *steady = &i->sampling.steady;
        Begun begun = cost_begin();
        Estimate estimate;
        double halfwidth;
        Drawing *d;
        int r = drawing_begin(s, i);
        const uint64_t pass_usec = clock_usec();

        d = i->sampling.drawing;
        /* At least one process a pass, otherwise the sample would never complete. A process that
         * has just ended is no longer in the next round. */
        if (r >= 0)
                do
                        r = drawing_add_process(s, i, d->next, d);
                while (r >= 0 && ++d->next < i->n_members &&
                       clock_usec() - pass_usec < SAMPLE_PASS_USEC);
        if (r >= 0 && d->next < i->n_members)
                r = -EAGAIN;
        if (d)
                begun.usec -= d->spent_usec;
        if (r == -EAGAIN) {
                d->spent_usec = clock_monotonic_usec() - begun.usec;
                cost_pause(s, begun);
                return r;
        }
        cost_end(s, SAMPLE_DRAWN, begun);
        if (r >= 0) {
                estimate = estimate_combine(d->parts, d->weights, i->n_members);
                halfwidth = estimate_halfwidth(&estimate);
                /* Compares with the first sample of the series, so that a slow drift of the ratio
                 * is noticed as well. */
                if (!steady_holds(i, &d->nodes) ||
                    sampling_has_moved(steady->ratio, steady->halfwidth, estimate.ratio, halfwidth))
                        *steady = (Steady){ .ratio = estimate.ratio,
                                            .halfwidth = halfwidth,
                                            .n_member_changes = i->n_member_changes,
                                            .migrated_bytes = i->binding.migrated_bytes };
                steady->n_draws++;
                /* The timer of the round may fire a little early. */
                steady->due_usec = clock_monotonic_usec() +
                                   sampling_pause(steady->n_draws, s->rounds.interval_usec) -
                                   s->rounds.interval_usec / 2;
                memcpy(i->by_node, d->by_node, s->host->topology.n_nodes * sizeof(d->by_node[0]));
                i->sampling.sampled = true;
                i->sampling.sampled_nodes = d->nodes;
                i->sampling.sampled_ratio = i->sampling.remote_ratio = estimate.ratio;
                i->sampling.sampled_halfwidth = halfwidth;
                i->sampling.not_drawn_logged = false;
        } else {
                i->sampling.sampled = false;
                i->sampling.remote_ratio = NAN;
                /* Not for a process that ends or executes another program: the next round samples
                 * it. */
                if (!i->sampling.not_drawn_logged && i->n_members > 0 && r != -ESRCH &&
                    r != -ESTALE) {
                        i->sampling.not_drawn_logged = true;
                        journal_log(&s->host->journal, LOG_NOTICE, &INSTANCE_FIELDS(i),
                                    "The location of the memory of %s cannot be sampled: %s",
                                    i->name, not_drawn_reason(r));
                }
        }
        free(d);
        i->sampling.drawing = NULL;
        return r;
}

/* --- start, rounds and end --- */

/* A timer of the loop may fire this much earlier or later than another one. */
#define ACCURACY_USEC (UINT64_C(500) * 1000)

void sampling_done(Sampling *s) {
        sd_event_source_unref(s->timer);
        sd_event_source_unref(s->rounds.source);
        *s = (Sampling){ .host = NULL };
}

uint64_t sampling_interval_usec(const Sampling *s) {
        return sampling_interval(s->host->policies.sampling_interval_usec,
                                 s->host->policies.sampling_budget_ppm, s->rounds.last_cost_usec);
}

/* One instance a pass, or a part of it, then back to the loop, where a new process may wait. */
static int on_idle(sd_event_source *source, void *userdata) {
        Sampling *s = userdata;

        while (s->rounds.next < s->registry->n_instances) {
                Instance *i = s->registry->instances[s->rounds.next];

                if (i->binding.observed_known && !i->memory_known &&
                    sample_is_due(i, clock_monotonic_usec())) {
                        if (sample_draw(s, i, clock_monotonic_usec) != -EAGAIN)
                                s->rounds.next++;
                        else if (workers_are_busy(s->host->workers, WORKER_DRAW))
                                return sd_event_source_set_enabled(source, SD_EVENT_OFF);
                        return 0;
                }
                s->rounds.next++;
        }
        if (access_pass(s))
                return 0;
        host_queue(s->host, HOST_WORK_PUBLISH);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static void on_draw_answer(_unused_ const ProcessId *process, _unused_ WorkerJob job,
                           void *userdata) {
        Sampling *s = userdata;

        (void)sd_event_source_set_enabled(s->rounds.source, SD_EVENT_ON);
}

int sampling_start(Sampling *s) {
        int r = sd_event_add_defer(s->host->event, &s->rounds.source, on_idle, s);

        if (r >= 0)
                r = sd_event_source_set_priority(s->rounds.source, SD_EVENT_PRIORITY_IDLE);
        workers_on_answer(s->host->workers, WORKER_DRAW, on_draw_answer, s);
        return r < 0 ? r : sd_event_source_set_enabled(s->rounds.source, SD_EVENT_OFF);
}

void sampling_forget_steady(Sampling *s) {
        REGISTRY_FOREACH(i, s->registry)
        i->sampling.steady = (Steady){ .ratio = NAN };
}

bool sampling_is_due(const Sampling *s, uint64_t now_usec) {
        return now_usec + ACCURACY_USEC >= s->rounds.begun_usec + s->rounds.interval_usec;
}

void sampling_begin_round(Sampling *s, uint64_t now_usec) {
        s->rounds.begun_usec = now_usec;
        s->rounds.last_cost_usec = s->rounds.cost_usec;
        s->rounds.cost_usec = 0;
        s->rounds.next = 0;
        s->rounds.round++;
        s->rounds.interval_usec = sampling_interval_usec(s);
        s->access.next = 0;
        if (s->host->sysroot.live && s->rounds.source)
                (void)sd_event_source_set_enabled(s->rounds.source, SD_EVENT_ON);
}
