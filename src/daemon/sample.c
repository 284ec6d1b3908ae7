/* Rounds of sampling, and their cost. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/sample.h"
#include "tidbnumad/plan/sampling.h"
#include "tidbnumad/sample/residency.h"
#include "tidbnumad/sample/sampler.h"
#include "tidbnumad/sys/clock.h"

/* Of an instance with many processes each gets its part of the pages, and this many at least. Of
 * more processes than that comes to, those that came later are left out and nothing is told. */
enum { PROCESS_PAGES_MIN = 256, PROCESSES_MAX = 64 };

typedef struct Begun {
        uint64_t usec, cpu_usec;
} Begun;

static Begun begin(void) {
        return (Begun){ clock_monotonic_usec(), clock_thread_cpu_usec() };
}

/* It costs what it uses of a CPU: on a busy host it lasts longer. */
static void note_cost(Manager *m, SampleMethod method, Begun begun) {
        if (!m->sysroot.live) /* files of a dump cost something else */
                return;
        m->sampling.cost_usec += clock_thread_cpu_usec() - begun.cpu_usec;
        histogram_add(&m->sampling.durations[method],
                      (double)(clock_monotonic_usec() - begun.usec) / 1e6);
}

uint64_t sample_interval_usec(const Manager *m) {
        return sampling_interval(m->policies.sampling_interval_usec,
                                 m->policies.sampling_budget_ppm, m->sampling.last_cost_usec);
}

int sample_count(Instance *i, int cgroup_fd) {
        const Begun begun = begin();
        int r = residency_read(&i->manager->topology, cgroup_fd, i->by_node);

        if (r < 0)
                return r;
        i->sampled = false;
        note_cost(i->manager, SAMPLE_NUMA_STAT, begun);
        return 0;
}

double sample_ratio(const Instance *i, const NodeSet *nodes) {
        return i->sampled && id_set_equal(&i->sampled_nodes, nodes) ? i->sampled_ratio
                                                                    : (double)NAN;
}

double sample_halfwidth(const Instance *i) {
        return i->memory_known || !i->sampled ? 0 : i->sampled_halfwidth;
}

static int draw_process(Instance *i, const ProcHandle *process, const NodeSet *nodes,
                        NodeMemory *by_node, Estimate *ret, double *ret_weight) {
        const size_t share = SAMPLER_PAGES / i->n_processes;
        Manager *m = i->manager;
        _cleanup_draws_ Draws draws = { 0 };
        ProcMemory memory;
        int r;

        r = sampler_draw(&m->topology, process,
                         share > PROCESS_PAGES_MIN ? share : PROCESS_PAGES_MIN,
                         ++m->sampling.n_draws, &draws);
        if (r >= 0)
                r = proc_memory_read(process, &memory);
        if (r < 0)
                return r;
        sampler_add_bytes(&m->topology, &draws, &memory, by_node);
        *ret = sampler_outside(&m->topology, &draws, nodes);
        *ret_weight = (double)(memory.anon_bytes + memory.huge_bytes);
        return 0;
}

static int draw_all(Instance *i, const NodeSet *nodes, NodeMemory *by_node, Estimate *ret) {
        Estimate parts[PROCESSES_MAX];
        double weights[PROCESSES_MAX];

        if (i->n_processes == 0 || i->n_processes > PROCESSES_MAX)
                return -E2BIG;
        for (size_t k = 0; k < i->n_processes; k++) {
                int r = draw_process(i, &i->handles[k], nodes, by_node, &parts[k], &weights[k]);

                if (r < 0) /* one that has just ended: the next round knows */
                        return r;
        }
        *ret = estimate_combine(parts, weights, i->n_processes);
        return 0;
}

int sample_draw(Instance *i) {
        const Begun begun = begin();
        const size_t n_nodes = i->manager->topology.n_nodes;
        const NodeSet nodes =
                id_set_is_empty(&i->placement.nodes) ? i->binding.last_nodes : i->placement.nodes;
        _cleanup_free_ NodeMemory *by_node = calloc(n_nodes, sizeof(*by_node));
        Estimate estimate;
        int r;

        if (!by_node)
                return -ENOMEM;
        i->sampled = false;
        i->remote_ratio = NAN;
        r = draw_all(i, &nodes, by_node, &estimate);
        note_cost(i->manager, SAMPLE_DRAWN, begun);
        if (r < 0)
                return r;
        memcpy(i->by_node, by_node, n_nodes * sizeof(*by_node));
        i->sampled = true;
        i->sampled_nodes = nodes;
        i->sampled_ratio = i->remote_ratio = estimate.ratio;
        i->sampled_halfwidth = estimate_halfwidth(&estimate);
        return 0;
}

static int on_idle(sd_event_source *source, void *userdata) {
        Manager *m = userdata;

        while (m->sampling.next < m->n_instances) {
                Instance *i = m->instances[m->sampling.next++];

                if (!i->binding_known || i->memory_known)
                        continue;
                (void)sample_draw(i);
                return 0; /* and back to the loop: a new process may wait */
        }
        manager_publish_soon(m);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

int sample_start(Manager *m) {
        int r = sd_event_add_defer(m->event, &m->sampling.source, on_idle, m);

        if (r >= 0)
                r = sd_event_source_set_priority(m->sampling.source, SD_EVENT_PRIORITY_IDLE);
        return r < 0 ? r : sd_event_source_set_enabled(m->sampling.source, SD_EVENT_OFF);
}

void sample_begin_round(Manager *m) {
        m->sampling.last_cost_usec = m->sampling.cost_usec;
        m->sampling.cost_usec = 0;
        m->sampling.next = 0;
        if (m->sysroot.live && m->sampling.source)
                (void)sd_event_source_set_enabled(m->sampling.source, SD_EVENT_ON);
}
