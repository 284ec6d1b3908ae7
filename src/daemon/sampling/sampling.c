#include <errno.h>
#include <math.h>

#include "tidbnumad/daemon/sampling/sample.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/plan/sampling.h"
#include "tidbnumad/sys/clock.h"

/* A timer of the loop may fire this much earlier or later than another one. */
#define ACCURACY_USEC (UINT64_C(500) * 1000)

void sampling_init(Sampling *s, Host *host, const Roster *roster) {
        *s = (Sampling){ .host = host, .roster = roster };
}

void sampling_done(Sampling *s) {
        sd_event_source_unref(s->timer);
        sd_event_source_unref(s->rounds.source);
        access_done(&s->access);
        *s = (Sampling){ .host = NULL };
}

uint64_t sampling_interval_usec(const Sampling *s) {
        return sampling_interval(s->host->policies.sampling_interval_usec,
                                 s->host->policies.sampling_budget_ppm, s->rounds.last_cost_usec);
}

/* One instance a turn, or a part of it, then back to the loop, where a new process may wait. */
static int on_idle(sd_event_source *source, void *userdata) {
        Sampling *s = userdata;

        while (s->rounds.next < s->roster->n_instances) {
                Instance *i = s->roster->instances[s->rounds.next];

                if (i->binding.observed_known && !i->sampling.memory_known &&
                    sample_is_due(i, clock_monotonic_usec())) {
                        if (sample_draw(s, i, clock_monotonic_usec) != -EAGAIN)
                                s->rounds.next++;
                        else if (worker_is_busy(&s->host->workers.sampler))
                                return sd_event_source_set_enabled(source, SD_EVENT_OFF);
                        return 0;
                }
                s->rounds.next++;
        }
        if (access_turn(s))
                return 0;
        host_mark(s->host, HOST_MARK_PUBLISH);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static void on_answer(void *userdata) {
        Sampling *s = userdata;

        (void)sd_event_source_set_enabled(s->rounds.source, SD_EVENT_ON);
}

int sampling_start(Sampling *s) {
        int r = sd_event_add_defer(s->host->event, &s->rounds.source, on_idle, s);

        if (r >= 0)
                r = sd_event_source_set_priority(s->rounds.source, SD_EVENT_PRIORITY_IDLE);
        worker_on_idle(&s->host->workers.sampler, on_answer, s);
        return r < 0 ? r : sd_event_source_set_enabled(s->rounds.source, SD_EVENT_OFF);
}

void sampling_forget_steady(Sampling *s) {
        ROSTER_FOREACH(i, s->roster)
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
        access_begin_round(s);
        if (s->host->sysroot.live && s->rounds.source)
                (void)sd_event_source_set_enabled(s->rounds.source, SD_EVENT_ON);
}
