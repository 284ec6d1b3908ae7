/* Clocks, and timers of the loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

uint64_t clock_monotonic_usec(void);
uint64_t clock_thread_cpu_usec(void); /* that this thread has used */
uint64_t clock_boottime_ticks(void);  /* as start times in /proc/PID/stat, proc(5) */
double clock_boottime_seconds(void);  /* of which start times of processes are */
double clock_realtime_seconds(void);  /* since the epoch */

/* --- timers of the loop --- */

/* What sd-event of newer versions of libsystemd offers, by the functions of version 239. */

/* Takes it out of its loop, and the reference away, as sd_event_source_disable_unref(3) does.
 * Always NULL; also takes NULL. */
sd_event_source *event_source_drop(sd_event_source *source);

/* A timer `usec` from now, by the monotonic clock. As sd_event_add_time_relative(3). */
int event_source_add_after(sd_event *event, sd_event_source **ret, uint64_t usec,
                           sd_event_time_handler_t callback, void *userdata);

/* A timer of the monotonic clock that is off until it is armed. */
int event_source_add_off(sd_event *event, sd_event_source **ret, uint64_t accuracy_usec,
                         sd_event_time_handler_t callback, void *userdata);

/* Lets a timer of the monotonic clock fire once: at that time, or `usec` from now. */
int event_source_arm(sd_event_source *source, uint64_t usec);
int event_source_arm_after(sd_event_source *source, uint64_t usec);

/* Will it fire? Also takes NULL. */
bool event_source_is_armed(sd_event_source *source);

/* Calls back whenever the clock of the day is set. The callback has to read the descriptor. */
int event_source_add_clock_set(sd_event *event, sd_event_source **ret,
                               sd_event_io_handler_t callback, void *userdata);
void event_clock_set_read(int fd);
