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

/* Attempts of one change. Zeroed at the beginning, and when one has succeeded. */
typedef struct Retry {
        unsigned failures; /* in a row */
        uint64_t due_usec; /* monotonic: the next is not made before */
} Retry;

/* Of what a backend is asked for: after a second, doubled each time, up to half a minute. */
#define RETRY_FIRST_USEC (UINT64_C(1000) * 1000)
#define RETRY_LAST_USEC (UINT64_C(30) * 1000 * 1000)

/* One has failed: the next is due after `first_usec`, doubled with each failure in a row, up to
 * `last_usec`. */
void retry_failed(Retry *retry, uint64_t first_usec, uint64_t last_usec, uint64_t now_usec);

/* How often to sample, so that all of it stays within its budget. */

/* The interval in force after a round that has cost `cost_usec`: the one that is wanted, or as much
 * longer as it takes for such rounds to use no more than `budget_ppm` of one CPU. One round that
 * was dear by accident does not outlast the next. A budget of 0 counts as one part in a million;
 * the interval is at most SAMPLING_INTERVAL_MAX_USEC, or the one that is wanted if that is longer.
 */
#define SAMPLING_INTERVAL_MAX_USEC (UINT64_C(3600) * 1000 * 1000)
uint64_t sampling_interval(uint64_t wanted_usec, uint32_t budget_ppm, uint64_t cost_usec);

/* The pause of an instance after this many consecutive draws with the same result: until the next
 * round, and from SAMPLING_STEADY_DRAWS on twice as long for each further draw, up to
 * SAMPLING_PAUSE_MAX_USEC. */
#define SAMPLING_STEADY_DRAWS 10
#define SAMPLING_PAUSE_MAX_USEC (UINT64_C(600) * 1000 * 1000)
uint64_t sampling_pause(unsigned n_steady, uint64_t interval_usec);

/* Is the share `ratio` another one than `before`, beyond what two draws of the same differ by? The
 * half-widths are those of the two, at 95 %. An unknown ratio (NAN) is another one. */
bool sampling_has_moved(double before, double before_halfwidth, double ratio, double halfwidth);
