/* Preloaded into the daemon and so into its workers: CLOCK_MONOTONIC and the timers by it go so
 * many times as fast, so that a day passes in minutes. TIDBNUMAD_CLOCK is "SINCE_NSEC FACTOR";
 * before SINCE both clocks agree. What a process waits for by poll(2) takes as long as ever. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>

enum { FDS_MAX = 4096 };

#define NSEC_PER_SEC INT64_C(1000000000)

static int64_t since_nsec;
static int64_t factor = 1;
static bool is_fast[FDS_MAX]; /* a timer by CLOCK_MONOTONIC, by its descriptor */

__attribute__((constructor)) static void read_factor(void) {
        const char *text = getenv("TIDBNUMAD_CLOCK");
        long long since, times;

        if (text && sscanf(text, "%lld %lld", &since, &times) == 2 && times > 0) {
                since_nsec = since;
                factor = times;
        }
}

static int64_t to_nsec(const struct timespec *t) {
        return t->tv_sec * NSEC_PER_SEC + t->tv_nsec;
}

static struct timespec from_nsec(int64_t nsec) {
        return (struct timespec){ .tv_sec = nsec / NSEC_PER_SEC, .tv_nsec = nsec % NSEC_PER_SEC };
}

int clock_gettime(clockid_t clock, struct timespec *ret) {
        static int (*real)(clockid_t, struct timespec *);
        int r;

        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
        r = real(clock, ret);
        if (r == 0 && clock == CLOCK_MONOTONIC && to_nsec(ret) > since_nsec)
                *ret = from_nsec(since_nsec + (to_nsec(ret) - since_nsec) * factor);
        return r;
}

int timerfd_create(clockid_t clock, int flags) {
        static int (*real)(clockid_t, int);
        int fd;

        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "timerfd_create");
        fd = real(clock, flags);
        if (fd >= 0 && fd < FDS_MAX)
                is_fast[fd] = clock == CLOCK_MONOTONIC;
        return fd;
}

/* A moment of the fast clock by the real one; none, 0, stays none. */
static void slow_down(struct timespec *t, bool absolute) {
        const int64_t nsec = to_nsec(t);

        if (nsec == 0)
                return;
        if (!absolute)
                *t = from_nsec(nsec / factor + 1);
        else if (nsec > since_nsec)
                *t = from_nsec(since_nsec + (nsec - since_nsec) / factor + 1);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *ret_old) {
        static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
        struct itimerspec slow = *value;

        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "timerfd_settime");
        if (fd >= 0 && fd < FDS_MAX && is_fast[fd]) {
                slow_down(&slow.it_value, flags & TFD_TIMER_ABSTIME);
                slow_down(&slow.it_interval, false);
        }
        return real(fd, flags, &slow, ret_old);
}
