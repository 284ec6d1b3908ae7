/* Clocks. */
#pragma once

#include <stdint.h>

uint64_t clock_monotonic_usec(void);
uint64_t clock_thread_cpu_usec(void); /* that this thread has used */
uint64_t clock_boottime_ticks(void);  /* as start times in /proc/PID/stat, proc(5) */
double clock_boottime_seconds(void);  /* of which start times of processes are */
double clock_realtime_seconds(void);  /* since the epoch */
