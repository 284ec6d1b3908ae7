#include "tidbnumad/daemon/sampling/cost.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/sys/clock.h"

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
