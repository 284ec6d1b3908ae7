/* Counters of threads that come and go. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/world/access.h"

size_t access_codes(const AccessEvents *events, PerfCode codes[static N_LOCALITIES],
                    Locality localities[static N_LOCALITIES]) {
        size_t n = 0;

        for (Locality l = 0; l < N_LOCALITIES; l++) {
                if (!events->events[l].given)
                        continue;
                codes[n] = (PerfCode){ events->events[l].type, events->events[l].config };
                localities[n++] = l;
        }
        return n;
}

typedef struct Listing {
        AccessCounters *counters;
        const ProcHandle *process;
        PerfCode codes[N_LOCALITIES];
        size_t n_codes, n_opens, n_max;
        bool more;
} Listing;

/* Between the listing and the opening a thread may have ended, and its number be another
 * thread's. */
static int open_thread(Listing *l, size_t at, pid_t tid) {
        AccessCounters *c = l->counters;
        AccessThread thread = { .tid = tid, .seen = true };
        int r;

        if (c->n_threads >= l->n_max)
                return -EMFILE;
        r = perf_group_open(tid, l->codes, l->n_codes, &thread.group);
        if (r < 0)
                return r;
        r = proc_has_thread(l->process, tid)
                    ? ARRAY_INSERT(c->threads, c->n_threads, c->allocated, at, &thread)
                    : -ESRCH;
        if (r < 0)
                perf_group_close(&thread.group);
        return r;
}

static int on_thread(pid_t tid, void *userdata) {
        Listing *l = userdata;
        AccessCounters *c = l->counters;
        const size_t at = ARRAY_LOWER_BOUND(c->n_threads, i, c->threads[i].tid < tid);
        int r;

        if (at < c->n_threads && c->threads[at].tid == tid) {
                c->threads[at].seen = true;
                return 0;
        }
        /* What one is refused the others are, too: with the next listing it is tried again. */
        if (c->error == 0 && l->n_opens == 0) {
                l->more = true;
                return 0;
        }
        if (c->error == 0) {
                l->n_opens--;
                r = open_thread(l, at, tid);
                if (r >= 0 || r == -ESRCH) /* ended since it was listed */
                        return 0;
                c->error = r;
        }
        c->n_missing++;
        return 0;
}

int access_attach(AccessCounters *counters, const Member *members, size_t n_members,
                  const AccessEvents *events, size_t n_opens, size_t n_max) {
        Locality localities[N_LOCALITIES];
        Listing listing = { .counters = counters, .n_opens = n_opens, .n_max = n_max };

        listing.n_codes = access_codes(events, listing.codes, localities);
        counters->n_missing = 0;
        counters->error = 0;
        for (size_t i = 0; i < counters->n_threads; i++)
                counters->threads[i].seen = false;
        for (size_t i = 0; i < n_members; i++) {
                int r;

                listing.process = members[i].handle;
                if (proc_held_is_in_exec(listing.process)) /* perf_event_open(2) waits for it too */
                        continue;
                r = proc_foreach_thread(listing.process, on_thread, &listing);
                if (r < 0 && r != -ESRCH)
                        return r;
        }
        return listing.more ? -EAGAIN : 0;
}

/* What is counted twice at the same time is scaled alike: the share is not changed by it. */
static void add_thread(AccessThread *t, const Locality *localities, AccessSample *sample) {
        PerfReading now;
        uint64_t enabled, running;

        if (perf_group_read(&t->group, &now) < 0)
                return;
        enabled = now.enabled_nsec - t->last.enabled_nsec;
        running = now.running_nsec - t->last.running_nsec;
        for (size_t i = 0; i < t->group.n_fds; i++)
                sample->counts[localities[i]] +=
                        perf_scale(now.values[i] - t->last.values[i], enabled, running);
        sample->enabled_nsec += enabled;
        sample->running_nsec += running < enabled ? running : enabled;
        t->last = now;
}

void access_read(AccessCounters *counters, const AccessEvents *events, AccessSample *ret) {
        PerfCode codes[N_LOCALITIES];
        Locality localities[N_LOCALITIES];
        AccessSample sample = { .n_missing = counters->n_missing };
        size_t kept = 0;

        (void)access_codes(events, codes, localities);
        for (size_t i = 0; i < counters->n_threads; i++) {
                AccessThread *t = &counters->threads[i];

                add_thread(t, localities, &sample);
                if (t->seen)
                        counters->threads[kept++] = *t;
                else
                        perf_group_close(&t->group);
        }
        counters->n_threads = sample.n_counted = kept;
        *ret = sample;
}

void access_finish(AccessCounters *counters, const AccessEvents *events, AccessSample *ret) {
        for (size_t i = 0; i < counters->n_threads; i++)
                counters->threads[i].seen = false;
        access_read(counters, events, ret);
        access_close(counters);
}

void access_close(AccessCounters *counters) {
        for (size_t i = 0; i < counters->n_threads; i++)
                perf_group_close(&counters->threads[i].group);
        free(counters->threads);
        *counters = (AccessCounters){ 0 };
}

double access_ratio(const AccessSample *sample, const AccessEvents *events) {
        const double local = (double)sample->counts[LOCALITY_LOCAL];
        const double remote = (double)sample->counts[LOCALITY_REMOTE];

        if (!events->events[LOCALITY_LOCAL].given || !events->events[LOCALITY_REMOTE].given ||
            local + remote <= 0)
                return NAN;
        return remote / (local + remote);
}

double access_coverage(const AccessSample *sample) {
        const size_t n = sample->n_counted + sample->n_missing;
        /* None of them ran: nothing was missed. */
        const double time = sample->enabled_nsec == 0
                                    ? 1
                                    : (double)sample->running_nsec / (double)sample->enabled_nsec;

        return n == 0 ? (double)NAN : time * (double)sample->n_counted / (double)n;
}
