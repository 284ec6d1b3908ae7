/* How fast memory is moved, and how often it is sampled. */
#include <math.h>

#include "tidbnumad/plan/pace.h"

void pace_init(Pace *pace, double usual) {
        *pace = (Pace){ .usual = usual };
}

void pace_note(Pace *pace, double waiting) {
        if (waiting > pace->usual + PACE_MARGIN) {
                const bool vain = pace->lowered && waiting >= pace->at_lowering * PACE_HELPED;

                pace->calm = 0;
                pace->vain = vain ? pace->vain + 1 : 0;
                if (pace->vain >= PACE_VAIN) {
                        pace->usual = waiting;
                        pace->vain = 0;
                        pace->lowered = false;
                        return;
                }
                if (pace->shift < PACE_SHIFT_MAX)
                        pace->shift++;
                pace->at_lowering = waiting;
                pace->lowered = true;
                return;
        }
        pace->vain = 0;
        pace->lowered = false;
        if (++pace->calm < PACE_CALM)
                return;
        pace->calm = 0;
        if (pace->shift > 0)
                pace->shift--;
}

uint64_t pace_rate(const Pace *pace, uint64_t policy_bytes_per_sec) {
        uint64_t rate = policy_bytes_per_sec >> pace->shift;

        return rate > 0 ? rate : 1;
}

double pace_left_seconds(uint64_t bytes, uint64_t bytes_per_sec, uint64_t reached_bytes_per_sec) {
        uint64_t speed = bytes_per_sec;

        if (reached_bytes_per_sec > 0 && reached_bytes_per_sec < speed)
                speed = reached_bytes_per_sec;
        return (double)bytes / (double)(speed > 0 ? speed : 1);
}

void retry_failed(Retry *r, uint64_t first_usec, uint64_t last_usec, uint64_t now_usec) {
        const uint64_t wait = first_usec << (r->failures < 5 ? r->failures : 5);

        r->failures++;
        r->due_usec = now_usec + (wait < last_usec ? wait : last_usec);
}

uint64_t sampling_interval(uint64_t wanted_usec, uint32_t budget_ppm, uint64_t cost_usec) {
        const uint64_t ppm = budget_ppm > 0 ? budget_ppm : 1;
        uint64_t needed;

        if (cost_usec >= SAMPLING_INTERVAL_MAX_USEC)
                needed = SAMPLING_INTERVAL_MAX_USEC;
        else /* rounded up: within the budget, not about it */
                needed = (cost_usec * 1000000 + ppm - 1) / ppm;
        if (needed > SAMPLING_INTERVAL_MAX_USEC)
                needed = SAMPLING_INTERVAL_MAX_USEC;
        return needed > wanted_usec ? needed : wanted_usec;
}

uint64_t sampling_pause(unsigned n_steady, uint64_t interval_usec) {
        uint64_t pause = interval_usec;

        for (unsigned n = SAMPLING_STEADY_DRAWS;
             n <= n_steady && pause > 0 && pause < SAMPLING_PAUSE_MAX_USEC; n++)
                pause *= 2;
        if (pause > SAMPLING_PAUSE_MAX_USEC)
                pause = SAMPLING_PAUSE_MAX_USEC;
        return pause > interval_usec ? pause : interval_usec;
}

bool sampling_has_moved(double before, double before_halfwidth, double ratio, double halfwidth) {
        return !(fabs(ratio - before) <= before_halfwidth + halfwidth);
}
