/* Clocks, and timers of the loop. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"

/* --- clocks --- */

static uint64_t read_usec(clockid_t clock) {
        struct timespec ts;

        (void)clock_gettime(clock, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_monotonic_usec(void) {
        return read_usec(CLOCK_MONOTONIC);
}

uint64_t clock_thread_cpu_usec(void) {
        return read_usec(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_boottime_ticks(void) {
        const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
        struct timespec ts;

        (void)clock_gettime(CLOCK_BOOTTIME, &ts);
        return (uint64_t)ts.tv_sec * hz + (uint64_t)ts.tv_nsec * hz / 1000000000;
}

double clock_boottime_seconds(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_BOOTTIME, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

double clock_realtime_seconds(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_REALTIME, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* --- timers of the loop --- */

/* When that is, or UINT64_MAX for later than the clock can show. */
static int from_now(sd_event *event, uint64_t usec, uint64_t *ret) {
        uint64_t now;
        int r = sd_event_now(event, CLOCK_MONOTONIC, &now);

        if (r < 0)
                return r;
        *ret = usec > UINT64_MAX - now ? UINT64_MAX : now + usec;
        return 0;
}

sd_event_source *event_source_drop(sd_event_source *source) {
        if (source)
                (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return sd_event_source_unref(source);
}

int event_source_add_after(sd_event *event, sd_event_source **ret, uint64_t usec,
                           sd_event_time_handler_t callback, void *userdata) {
        uint64_t at;
        int r = from_now(event, usec, &at);

        return r < 0 ? r
                     : sd_event_add_time(event, ret, CLOCK_MONOTONIC, at, 0, callback, userdata);
}

int event_source_add_off(sd_event *event, sd_event_source **ret, uint64_t accuracy_usec,
                         sd_event_time_handler_t callback, void *userdata) {
        int r = sd_event_add_time(event, ret, CLOCK_MONOTONIC, 0, accuracy_usec, callback,
                                  userdata);

        return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

int event_source_arm(sd_event_source *source, uint64_t usec) {
        int r = sd_event_source_set_time(source, usec);

        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int event_source_arm_after(sd_event_source *source, uint64_t usec) {
        uint64_t at;
        int r = from_now(sd_event_source_get_event(source), usec, &at);

        return r < 0 ? r : event_source_arm(source, at);
}

bool event_source_is_armed(sd_event_source *source) {
        int enabled = SD_EVENT_OFF;

        if (source)
                (void)sd_event_source_get_enabled(source, &enabled);
        return enabled != SD_EVENT_OFF;
}

/* The one moment that a clock of 64 bits never reaches, and the kernel takes. */
#define NEVER_SECONDS (INT64_MAX / 1000000000)

int event_source_add_clock_set(sd_event *event, sd_event_source **ret,
                               sd_event_io_handler_t callback, void *userdata) {
        const struct itimerspec never = { .it_value.tv_sec = NEVER_SECONDS };
        _cleanup_close_ int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        int r;

        if (fd < 0 ||
            timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) < 0)
                return -errno;
        r = sd_event_add_io(event, ret, fd, EPOLLIN, callback, userdata);
        if (r >= 0)
                r = sd_event_source_set_io_fd_own(*ret, true);
        if (r >= 0)
                (void)TAKE_FD(fd);
        return r;
}

void event_clock_set_read(int fd) {
        uint64_t n;

        (void)!read(fd, &n, sizeof(n)); /* -ECANCELED */
}
