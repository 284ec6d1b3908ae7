/* Rounds of reading counters, under the same budget as those of memory. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/sampling/access.h"
#include "tidbnumad/observe/processor.h"

/* To open one takes some 20 us, and a look at the CPU where the thread runs: a turn of the loop is
 * over after 2 ms. */
enum { OPENS_A_TURN = 64 };

static const char *open_reason(int error) {
        switch (error) {
        case -EACCES:
                return "the kernel does not allow it (CAP_PERFMON, kernel.perf_event_paranoid or a "
                       "filter of system calls)";
        case -EOPNOTSUPP:
                return "this machine has no such counters, as most virtual machines";
        case -EMFILE:
                return "the limit of open files leaves no room (LimitNOFILE=)";
        default:
                return strerror(-error);
        }
}

/* NULL: they are known. */
static const char *find_events(const Manager *m, AccessEvents *ret) {
        const AccessEvent *given = m->host.policies.sampling_events;
        Processor processor;
        int r;

        if (given[LOCALITY_LOCAL].given || given[LOCALITY_REMOTE].given) {
                *ret = (AccessEvents){ .source = "policy", .coverage = "policy" };
                memcpy(ret->events, given, sizeof(ret->events));
                return NULL;
        }
        r = processor_load(&m->host.sysroot, &processor);
        if (r == -EXDEV)
                return "the processors are of several kinds";
        if (r < 0)
                return "/proc/cpuinfo does not tell what the processor is";
        r = access_events_find(&processor, ret);
        if (r == -EOPNOTSUPP)
                return "this processor counts them by die, and not by thread";
        return r < 0 ? "the processor is not known; sampling.events can name its events" : NULL;
}

/* With a thread that is there for certain: this one. */
static const char *try_events(const AccessEvents *events) {
        Locality localities[N_LOCALITIES];
        PerfCode codes[N_LOCALITIES];
        PerfGroup group;
        int r = perf_group_open(0, codes, access_codes(events, codes, localities), &group);

        if (r < 0)
                return open_reason(r);
        perf_group_close(&group);
        return NULL;
}

static const char *choose(const Manager *m, AccessEvents *ret) {
        const char *reason = m->host.sysroot.live
                                     ? find_events(m, ret)
                                     : "this is a dump of a machine, which counts nothing";

        return reason ? reason : try_events(ret);
}

/* Sums of other events are no beginning for these. */
static void begin_anew(Manager *m) {
        for (size_t i = 0; i < m->roster.n_instances; i++) {
                access_close(&m->roster.instances[i]->sampling.access.counters);
                m->roster.instances[i]->sampling.access = (InstanceAccess){ .told = false };
        }
        for (size_t i = 0; i < m->host.policies.n_policies; i++)
                memset(m->binding.policy_counters[i].accesses, 0,
                       sizeof(m->binding.policy_counters[i].accesses));
}

static void say(const Manager *m) {
        const Access *a = &m->sampling.access;

        if (!a->wanted)
                return;
        if (a->available)
                journal_log(&m->host.journal, LOG_INFO, NULL,
                            "Accesses to memory are counted, by events of %s (%s)",
                            a->events.source, a->events.coverage);
        else
                journal_log(&m->host.journal, LOG_NOTICE, NULL,
                            "Accesses to memory are not counted: %s. Everything else goes on",
                            a->reason);
}

void access_choose(Manager *m) {
        Access now = { .wanted = m->host.policies.sampling_access };
        const char *reason = now.wanted ? choose(m, &now.events) : "";
        const bool changed = now.wanted != m->sampling.access.wanted;

        now.available = !reason;
        now.next = m->sampling.access.next;
        if (reason)
                now.events = (AccessEvents){ .source = NULL };
        (void)snprintf(now.reason, sizeof(now.reason), "%s", reason ? reason : "");
        if (!changed && now.available == m->sampling.access.available &&
            access_events_equal(&now.events, &m->sampling.access.events) &&
            strcmp(now.reason, m->sampling.access.reason) == 0)
                return;
        if (!access_events_equal(&now.events, &m->sampling.access.events))
                begin_anew(m);
        m->sampling.access = now;
        say(m);
}

void access_begin_round(Manager *m) {
        m->sampling.access.next = 0;
}

/* As many threads as the descriptors that the others leave suffice for. */
static size_t room(const Instance *i) {
        const Manager *m = i->manager;
        Locality localities[N_LOCALITIES];
        PerfCode codes[N_LOCALITIES];
        const size_t n_max = perf_descriptors_max() /
                             access_codes(&m->sampling.access.events, codes, localities);
        size_t others = 0;

        for (size_t k = 0; k < m->roster.n_instances; k++)
                if (m->roster.instances[k] != i)
                        others += m->roster.instances[k]->sampling.access.counters.n_threads;
        return others < n_max ? n_max - others : 0;
}

static void add(Instance *i, const AccessSample *sample) {
        PolicyCounters *policy = &i->manager->binding.policy_counters[i->policy_index];

        for (Locality l = 0; l < N_LOCALITIES; l++) {
                i->sampling.access.counts[l] += sample->counts[l];
                policy->accesses[l] += sample->counts[l];
        }
}

static void say_missing(Instance *i, const AccessSample *sample) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };

        if (sample->n_missing == 0 || i->sampling.access.told)
                return;
        i->sampling.access.told = true;
        journal_log(&i->manager->host.journal, LOG_NOTICE, &fields,
                    "Accesses of %zu of the %zu threads of %s are not counted: %s",
                    sample->n_missing, sample->n_missing + sample->n_counted, i->name,
                    open_reason(i->sampling.access.counters.error));
}

static void read_counters(Instance *i) {
        const AccessEvents *events = &i->manager->sampling.access.events;
        AccessSample sample;

        access_read(&i->sampling.access.counters, events, &sample);
        add(i, &sample);
        i->sampling.access.known = i->sampling.access.known || sample.n_counted > 0;
        i->sampling.access.ratio = access_ratio(&sample, events);
        i->sampling.access.coverage = access_coverage(&sample);
        say_missing(i, &sample);
}

/* -EAGAIN: it goes on with the next turn. */
static int step(Instance *i) {
        Manager *m = i->manager;
        const Begun begun = sample_begin();
        int r = access_attach(&i->sampling.access.counters, i->handles, i->n_processes,
                              &m->sampling.access.events, OPENS_A_TURN, room(i));

        if (r < 0) {
                sample_pause(m, begun);
                return r;
        }
        read_counters(i);
        sample_end(m, SAMPLE_COUNTERS, begun);
        return 0;
}

bool access_turn(Manager *m) {
        if (!m->sampling.access.available || m->sampling.access.next >= m->roster.n_instances)
                return false;
        if (step(m->roster.instances[m->sampling.access.next]) != -EAGAIN)
                m->sampling.access.next++;
        return true;
}

void access_end(Instance *i) {
        AccessSample sample;

        if (!i->manager->sampling.access.available)
                return;
        access_finish(&i->sampling.access.counters, &i->manager->sampling.access.events, &sample);
        add(i, &sample);
}

void access_fill(const Manager *m, AccessSnapshot *ret) {
        const Access *a = &m->sampling.access;

        *ret = (AccessSnapshot){ .wanted = a->wanted,
                                 .available = a->available,
                                 .reason = a->reason,
                                 .source = a->events.source,
                                 .coverage = a->events.coverage };
        for (Locality l = 0; l < N_LOCALITIES; l++)
                ret->counted[l] = a->available && a->events.events[l].given;
}

void access_fill_instance(const Instance *i, InstanceSnapshot *s) {
        s->access_known = i->manager->sampling.access.available && i->sampling.access.known;
        s->remote_access_ratio = s->access_known ? i->sampling.access.ratio : (double)NAN;
        s->access_coverage = s->access_known ? i->sampling.access.coverage : (double)NAN;
        memcpy(s->accesses, i->sampling.access.counts, sizeof(s->accesses));
}
