/* Rounds of reading counters, under the same budget as samples of memory. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/self.h"
#include "tidbnumad/world/host-facts.h"

/* --- what sampling costs --- */

Begun cost_begin(void) {
        return (Begun){ clock_monotonic_usec(), clock_thread_cpu_usec() };
}

/* CPU time, because on a busy host a sample takes longer but costs no more. */
void cost_pause(Sampling *s, Begun begun) {
        if (s->host->sysroot.live) /* the cost of reading a dump's files means nothing */
                s->rounds.cost_usec += clock_thread_cpu_usec() - begun.cpu_usec;
}

void cost_end(Sampling *s, SampleMethod method, Begun begun) {
        cost_pause(s, begun);
        if (s->host->sysroot.live)
                histogram_add(&s->rounds.durations[method],
                              (double)(clock_monotonic_usec() - begun.usec) / 1e6);
}

/* --- rounds --- */

/* Opening a counter takes some 20 us, plus an interrupt of the CPU where the thread runs: a pass
 * ends after 2 ms. */
enum { OPENS_A_PASS = 64 };

static const char *open_reason(int error) {
        switch (error) {
        case -EACCES:
                return capability_is_effective(CAP_PERFMON) ||
                                       capability_is_effective(CAP_SYS_ADMIN)
                               ? "the kernel does not allow it: set kernel.perf_event_paranoid to 2"
                               : "the daemon does not have CAP_PERFMON: install the drop-in "
                                 "sampling-access.conf, see tidbnumad-metrics(7)";
        case -EOPNOTSUPP:
                return "this machine has no such counters, as most virtual machines";
        case -EMFILE:
                return "the limit of open files leaves no room (LimitNOFILE=)";
        default:
                return strerror(-error);
        }
}

/* --- which events --- */

/* Returns why there are no events; NULL: `ret` has them. */
static const char *find_events(const Sampling *s, AccessEvents *ret) {
        const AccessEvent *given = s->host->policies.sampling_events;
        Processor processor;
        int r;

        if (given[LOCALITY_LOCAL].given || given[LOCALITY_REMOTE].given) {
                *ret = (AccessEvents){ .source = "policy", .coverage = "policy" };
                memcpy(ret->events, given, sizeof(ret->events));
                return NULL;
        }
        r = processor_load(&s->host->sysroot, &processor);
        if (r < 0)
                return "/proc/cpuinfo does not identify the processor";
        r = access_events_find(&processor, ret);
        if (r == -EOPNOTSUPP)
                return "this processor counts them by die, and not by thread";
        return r < 0 ? "the processor is not known; sampling.events can name its events" : NULL;
}

void access_choose(Sampling *s) {
        Access now = { .wanted = s->host->policies.sampling_access, .next = s->access.next };
        Locality localities[N_LOCALITIES];
        PerfCode codes[N_LOCALITIES];
        const char *reason = "";
        PerfGroup group;
        int r;

        if (now.wanted && !s->host->sysroot.live)
                reason = "this is a dump of a machine, which counts nothing";
        else if (now.wanted) {
                reason = find_events(s, &now.events);
                if (!reason) { /* they are tried with a thread that surely exists: this one */
                        r = perf_group_open(0, codes, access_codes(&now.events, codes, localities),
                                            &group);
                        if (r < 0)
                                reason = open_reason(r);
                        else
                                perf_group_close(&group);
                }
        }
        now.available = !reason;
        if (reason) {
                now.events = (AccessEvents){ .source = NULL };
                (void)snprintf(now.reason, sizeof(now.reason), "%s", reason);
        }
        if (now.wanted == s->access.wanted && now.available == s->access.available &&
            access_events_equal(&now.events, &s->access.events) &&
            strcmp(now.reason, s->access.reason) == 0)
                return;
        if (!access_events_equal(&now.events, &s->access.events)) {
                /* Sums of other events cannot be continued. */
                REGISTRY_FOREACH(i, s->registry) {
                        access_close(&i->sampling.access.counters);
                        i->sampling.access = (InstanceAccess){ .logged = false };
                }
                for (size_t i = 0; i <= s->host->policies.n_policies; i++)
                        memset(s->host->policy_counters[i].accesses, 0,
                               sizeof(s->host->policy_counters[i].accesses));
        }
        s->access = now;
        if (now.available)
                journal_log(&s->host->journal, LOG_INFO, NULL,
                            "Accesses to memory are counted, by events of %s (%s)",
                            now.events.source, now.events.coverage);
        else if (now.wanted)
                journal_log(&s->host->journal, LOG_NOTICE, NULL,
                            "Memory accesses are not counted: %s. Nothing else is affected",
                            now.reason);
}

static void instance_add_sample(Sampling *s, Instance *i, const AccessSample *sample) {
        for (Locality l = 0; l < N_LOCALITIES; l++) {
                i->sampling.access.counts[l] += sample->counts[l];
                s->host->policy_counters[i->policy_index].accesses[l] += sample->counts[l];
        }
}

bool access_pass(Sampling *s) {
        const AccessEvents *events = &s->access.events;
        const Begun begun = cost_begin();
        InstanceAccess *own;
        AccessSample sample;
        Locality localities[N_LOCALITIES];
        PerfCode codes[N_LOCALITIES];
        size_t n_others = 0, n_max;
        Instance *i;
        int r;

        if (!s->access.available || s->access.next >= s->registry->n_instances)
                return false;
        i = s->registry->instances[s->access.next];
        own = &i->sampling.access;
        /* As many threads as there are descriptors left for. */
        n_max = perf_descriptors_max() / access_codes(events, codes, localities);
        REGISTRY_FOREACH(other, s->registry)
        if (other != i)
                n_others += other->sampling.access.counters.n_threads;
        r = access_attach(&own->counters, i->members, i->n_members, events, OPENS_A_PASS,
                          n_others < n_max ? n_max - n_others : 0);
        if (r < 0) {
                cost_pause(s, begun);
                if (r != -EAGAIN) /* else the next pass continues with it */
                        s->access.next++;
                return true;
        }
        access_read(&own->counters, events, &sample);
        instance_add_sample(s, i, &sample);
        own->known = own->known || sample.n_counted > 0;
        own->ratio = access_ratio(&sample, events);
        own->coverage = access_coverage(&sample);
        if (sample.n_missing > 0 && !own->logged) {
                own->logged = true;
                journal_log(&s->host->journal, LOG_NOTICE, &INSTANCE_FIELDS(i),
                            "Accesses of %zu of the %zu threads of %s are not counted: %s",
                            sample.n_missing, sample.n_missing + sample.n_counted, i->name,
                            open_reason(own->counters.error));
        }
        cost_end(s, SAMPLE_COUNTERS, begun);
        s->access.next++;
        return true;
}

void access_end(Sampling *s, Instance *i) {
        AccessSample sample;

        if (!s->access.available)
                return;
        access_finish(&i->sampling.access.counters, &s->access.events, &sample);
        instance_add_sample(s, i, &sample);
}

void access_fill(const Sampling *s, AccessInfo *ret) {
        const Access *a = &s->access;

        *ret = (AccessInfo){ .wanted = a->wanted,
                             .available = a->available,
                             .reason = a->reason,
                             .source = a->events.source,
                             .coverage = a->events.coverage };
        for (Locality l = 0; l < N_LOCALITIES; l++)
                ret->counted[l] = a->available && a->events.events[l].given;
}

void access_fill_instance(const Sampling *s, const Instance *i, InstanceInfo *ret) {
        const InstanceAccess *own = &i->sampling.access;

        ret->access_known = s->access.available && own->known;
        ret->remote_access_ratio = ret->access_known ? own->ratio : (double)NAN;
        ret->access_coverage = ret->access_known ? own->coverage : (double)NAN;
        memcpy(ret->accesses, own->counts, sizeof(ret->accesses));
}
