/* Rounds of sampling, and their cost. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/sampling/sample.h"
#include "tidbnumad/observe/members-memory.h"
#include "tidbnumad/plan/sampling.h"
#include "tidbnumad/sample/sampler.h"
#include "tidbnumad/sys/clock.h"

/* Of an instance with many processes each gets its part of the pages, and this many at least. Of
 * more processes than that comes to, those that came later are left out and nothing is told. */
enum { PROCESS_PAGES_MIN = 256, PROCESSES_MAX = 64 };

Begun sample_begin(void) {
        return (Begun){ clock_monotonic_usec(), clock_thread_cpu_usec() };
}

/* It costs what it uses of a CPU: on a busy host it lasts longer. */
void sample_pause(Manager *m, Begun begun) {
        if (m->host.sysroot.live) /* files of a dump cost something else */
                m->sampling.rounds.cost_usec += clock_thread_cpu_usec() - begun.cpu_usec;
}

void sample_end(Manager *m, SampleMethod method, Begun begun) {
        sample_pause(m, begun);
        if (m->host.sysroot.live)
                histogram_add(&m->sampling.rounds.durations[method],
                              (double)(clock_monotonic_usec() - begun.usec) / 1e6);
}

uint64_t sample_interval_usec(const Manager *m) {
        return sampling_interval(m->host.policies.sampling_interval_usec,
                                 m->host.policies.sampling_budget_ppm,
                                 m->sampling.rounds.last_cost_usec);
}

static int count(Instance *i, int cgroup_fd) {
        const Members members = instance_members(i);
        int r = members_count_memory(&members, &i->manager->host.topology, cgroup_fd,
                                     i->sampling.by_node);

        if (r >= 0)
                i->sampling.sampled = false;
        return r;
}

void sample_observe(Instance *i) {
        const Members members = instance_members(i);
        InstanceSampling *s = &i->sampling;

        if (i->binding.observed_known || !s->by_node)
                return;
        s->memory_known = members_read_memory(&members, &i->manager->host.topology, s->by_node,
                                              &s->limit_bytes) >= 0;
}

int sample_count(Instance *i, int cgroup_fd) {
        const Begun begun = sample_begin();
        int r = count(i, cgroup_fd);

        if (r >= 0)
                sample_end(i->manager, SAMPLE_NUMA_STAT, begun);
        return r;
}

double sample_ratio(const Instance *i, const NodeSet *nodes) {
        return i->sampling.sampled && id_set_equal(&i->sampling.sampled_nodes, nodes)
                       ? i->sampling.sampled_ratio
                       : (double)NAN;
}

double sample_halfwidth(const Instance *i) {
        return i->sampling.memory_known || !i->sampling.sampled ? 0 : i->sampling.sampled_halfwidth;
}

/* A draw that goes on from turn to turn of the loop. */
struct Drawing {
        NodeSet nodes;
        uint64_t round;
        uint64_t spent_usec; /* by the turns so far */
        size_t next;         /* the process that is drawn next */
        size_t n_nodes;
        Estimate parts[PROCESSES_MAX];
        double weights[PROCESSES_MAX];
        NodeMemory by_node[];
};

static int draw_process(Instance *i, size_t k, Drawing *d) {
        const ProcHandle *process = &i->handles[k];
        const size_t share = SAMPLER_PAGES / i->n_processes;
        Manager *m = i->manager;
        _cleanup_draws_ Draws draws = { 0 };
        ProcMemory memory;
        int r;

        r = sampler_draw(&m->host.topology, process,
                         share > PROCESS_PAGES_MIN ? share : PROCESS_PAGES_MIN,
                         ++m->sampling.rounds.n_draws, &draws);
        if (r >= 0)
                r = proc_memory_read(process, &memory);
        if (r < 0)
                return r;
        sampler_add_bytes(&m->host.topology, &draws, &memory, d->by_node);
        d->parts[k] = sampler_outside(&m->host.topology, &draws, &d->nodes);
        d->weights[k] = (double)(memory.anon_bytes + memory.huge_bytes);
        return 0;
}

/* What stands from a former round is of a former moment. */
static int begin_drawing(Instance *i) {
        const Manager *m = i->manager;
        const size_t n_nodes = m->host.topology.n_nodes;
        Drawing *d = i->sampling.drawing;

        if (i->n_processes == 0 || i->n_processes > PROCESSES_MAX)
                return -E2BIG;
        if (d && d->round == m->sampling.rounds.round && d->n_nodes == n_nodes)
                return 0;
        free(d);
        i->sampling.drawing = d = calloc(1, sizeof(*d) + n_nodes * sizeof(d->by_node[0]));
        if (!d)
                return -ENOMEM;
        d->round = m->sampling.rounds.round;
        d->n_nodes = n_nodes;
        d->nodes = id_set_is_empty(&i->binding.placement.nodes) ? i->binding.observed.last_nodes
                                                                : i->binding.placement.nodes;
        return 0;
}

/* At least one process a turn, or it would never end. */
static int draw_some(Instance *i, uint64_t (*clock_usec)(void)) {
        const uint64_t begun = clock_usec();
        Drawing *d = i->sampling.drawing;

        do {
                int r = draw_process(i, d->next, d);

                if (r < 0) /* one that has just ended: the next round knows */
                        return r;
        } while (++d->next < i->n_processes && clock_usec() - begun < SAMPLE_TURN_USEC);
        return d->next < i->n_processes ? -EAGAIN : 0;
}

static void finish_drawing(Instance *i) {
        const Drawing *d = i->sampling.drawing;
        const Estimate estimate = estimate_combine(d->parts, d->weights, i->n_processes);

        memcpy(i->sampling.by_node, d->by_node, d->n_nodes * sizeof(d->by_node[0]));
        i->sampling.sampled = true;
        i->sampling.sampled_nodes = d->nodes;
        i->sampling.sampled_ratio = i->sampling.remote_ratio = estimate.ratio;
        i->sampling.sampled_halfwidth = estimate_halfwidth(&estimate);
}

static const char *not_drawn_reason(int error) {
        switch (error) {
        case -E2BIG:
                return "it has too many processes to ask them all";
        case -EPERM:
        case -EACCES:
                return "the kernel does not let its pages be looked at (CAP_SYS_PTRACE, SELinux or "
                       "AppArmor)";
        default:
                return strerror(-error);
        }
}

/* Not of one that ends, or begins another program: the next round knows. */
static void say_not_drawn(Instance *i, int error) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };

        if (i->sampling.not_drawn_told || i->n_processes == 0 || error == -ESRCH ||
            error == -ESTALE)
                return;
        i->sampling.not_drawn_told = true;
        journal_log(&i->manager->host.journal, LOG_NOTICE, &fields,
                    "Where the memory of %s lies cannot be sampled: %s", i->name,
                    not_drawn_reason(error));
}

void sample_drop(Instance *i) {
        free(i->sampling.drawing);
        i->sampling.drawing = NULL;
}

int sample_draw(Instance *i, uint64_t (*clock_usec)(void)) {
        Begun begun = sample_begin();
        int r = begin_drawing(i);

        if (r >= 0)
                r = draw_some(i, clock_usec);
        if (i->sampling
                    .drawing) /* the turns of a sample are told as one, without what came between */
                begun.usec -= i->sampling.drawing->spent_usec;
        if (r == -EAGAIN) {
                i->sampling.drawing->spent_usec = clock_monotonic_usec() - begun.usec;
                sample_pause(i->manager, begun);
                return r;
        }
        sample_end(i->manager, SAMPLE_DRAWN, begun);
        if (r >= 0) {
                finish_drawing(i);
                i->sampling.not_drawn_told = false;
        } else {
                i->sampling.sampled = false;
                i->sampling.remote_ratio = NAN;
                say_not_drawn(i, r);
        }
        sample_drop(i);
        return r;
}

/* One instance a turn, or a part of one, and back to the loop: a new process may wait. */
static int on_idle(sd_event_source *source, void *userdata) {
        Manager *m = userdata;

        while (m->sampling.rounds.next < m->roster.n_instances) {
                Instance *i = m->roster.instances[m->sampling.rounds.next];

                if (i->binding.observed_known && !i->sampling.memory_known) {
                        if (sample_draw(i, clock_monotonic_usec) != -EAGAIN)
                                m->sampling.rounds.next++;
                        return 0;
                }
                m->sampling.rounds.next++;
        }
        if (access_turn(m))
                return 0;
        host_mark(&m->host, HOST_MARK_PUBLISH);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

int sample_start(Manager *m) {
        int r = sd_event_add_defer(m->host.event, &m->sampling.rounds.source, on_idle, m);

        if (r >= 0)
                r = sd_event_source_set_priority(m->sampling.rounds.source, SD_EVENT_PRIORITY_IDLE);
        return r < 0 ? r : sd_event_source_set_enabled(m->sampling.rounds.source, SD_EVENT_OFF);
}

void sample_begin_round(Manager *m) {
        m->sampling.rounds.last_cost_usec = m->sampling.rounds.cost_usec;
        m->sampling.rounds.cost_usec = 0;
        m->sampling.rounds.next = 0;
        m->sampling.rounds.round++;
        access_begin_round(m);
        if (m->host.sysroot.live && m->sampling.rounds.source)
                (void)sd_event_source_set_enabled(m->sampling.rounds.source, SD_EVENT_ON);
}
