/* How fast memory is moved while its owner is at work: the policy's rate, or less while the owner
 * waits more than it did before.
 *
 * Once a second comes the share of time for which tasks of its control group had to wait, for
 * memory and for a CPU (pressure stall information). When it is PACE_MARGIN above what was usual
 * before the move, the rate is halved, down to a sixteenth: at that it still ends. When it has been
 * as usual for PACE_CALM seconds, the rate is doubled again. And when PACE_VAIN halvings in a row
 * have not made the owner wait less, it is not the mover that makes it wait: what there is counts
 * as usual from then on, for a move that creeps would only keep its memory remote for longer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A twentieth of a second in each: below that the pressure of an idle server wanders by itself. */
#define PACE_MARGIN 0.05

/* It helped when the owner waits less than this part of what it did. */
#define PACE_HELPED 0.75

#define PACE_WINDOW_USEC UINT64_C(1000000)

enum { PACE_SHIFT_MAX = 4, PACE_CALM = 3, PACE_VAIN = 2 };

typedef struct Pace {
        double usual; /* share of waiting, 0..2 */
        double at_lowering;
        unsigned shift; /* the rate is the policy's through 2^shift */
        unsigned calm;  /* windows in a row */
        unsigned vain;  /* windows in a row that were no better than before a lowering */
        bool lowered;   /* and not as usual since */
} Pace;

/* `usual`: the share of time that its tasks have waited lately, while nothing was moved. */
void pace_init(Pace *pace, double usual);

/* The share of the last window, in which memory was moved. */
void pace_note(Pace *pace, double waiting);

/* At least 1. */
uint64_t pace_rate(const Pace *pace, uint64_t policy_bytes_per_sec);

/* Seconds until `bytes` are moved, at `bytes_per_sec` or, where it is known (not 0), at the speed
 * that was reached if that is lower. */
double pace_left_seconds(uint64_t bytes, uint64_t bytes_per_sec, uint64_t reached_bytes_per_sec);

/* How long after so many failures in a row the next attempt is: a second, doubled each time, up to
 * half a minute. */
uint64_t pace_backoff_usec(unsigned failures);
