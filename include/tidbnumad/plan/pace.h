/* How fast memory is moved while its owner is at work: the policy's rate, or less while the owner
 * waits more than it did before.
 *
 * Once a second, the share of time is read for which tasks of its control group waited for memory
 * or for a CPU (pressure stall information). If this share is PACE_MARGIN above its value before
 * the move, the rate is halved, down to a sixteenth, at which the move still completes. After
 * PACE_CALM seconds at the former value, the rate is doubled again. If PACE_VAIN consecutive
 * halvings have not reduced the waiting, the mover is not its cause: the present share is the
 * reference from then on, because a slower move would only keep memory remote for longer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A twentieth of each second: the pressure of an idle server varies by less than this. */
#define PACE_MARGIN 0.05

/* A halving has helped if the owner then waits less than this part of its former waiting time. */
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

/* Delay before the next attempt after this many consecutive failures: a second, doubled each time,
 * up to half a minute. */
uint64_t pace_backoff_usec(unsigned failures);
