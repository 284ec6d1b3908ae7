/* The sampling interval in force. */
#include "tidbnumad/plan/sampling.h"

#include <math.h>

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
