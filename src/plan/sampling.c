/* The sampling interval in force. */
#include "tidbnumad/plan/sampling.h"

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
