/* Preloaded into the daemon: how long a turn of its loop takes, from the return of one
 * epoll_wait(2) to the next call. The file that TIDBNUMAD_LOOP_METER names has the counters of
 * struct Meter; they are written in place, and the test may set them to zero.
 *
 * A turn is charged with the thread's work and with what it waited for. What it waited for a CPU is
 * left out, so that a busy host does not make a turn longer. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_NSEC UINT64_C(100000000)

typedef struct Meter {
        uint64_t most_nsec;      /* charged to the longest turn */
        uint64_t most_cpu_nsec;  /* of these, work of the thread itself */
        uint64_t most_wall_nsec; /* of the same turn, with what it waited for a CPU */
        uint64_t n_turns;
        uint64_t n_over;            /* turns above LIMIT_NSEC */
        volatile uint64_t has_turn; /* one goes on */
} Meter;

typedef struct Moment {
        uint64_t wall_nsec, cpu_nsec, delay_nsec;
} Moment;

static Meter *meter;
static _Thread_local int schedstat = -1;
static _Thread_local Moment begin; /* wall_nsec 0: no turn has begun */

__attribute__((constructor)) static void map_meter(void) {
        const char *path = getenv("TIDBNUMAD_LOOP_METER");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *page;

        if (fd < 0)
                return;
        page = mmap(NULL, sizeof(*meter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        (void)close(fd);
        if (page != MAP_FAILED)
                meter = page;
}

/* The system call itself: another preloaded library may make the clock go faster. */
static uint64_t read_clock(clockid_t clock) {
        struct timespec t = { 0 };

        (void)syscall(SYS_clock_gettime, clock, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* How long the thread waited for a CPU: the second number of its schedstat. A kernel without it
 * charges all waiting. */
static uint64_t read_delay(void) {
        char text[96];
        unsigned long long cpu, delay;
        ssize_t n;

        if (schedstat < 0)
                schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        n = schedstat < 0 ? -1 : pread(schedstat, text, sizeof(text) - 1, 0);
        if (n <= 0)
                return 0;
        text[n] = '\0';
        return sscanf(text, "%llu %llu", &cpu, &delay) == 2 ? delay : 0;
}

static Moment now(void) {
        return (Moment){ .wall_nsec = read_clock(CLOCK_MONOTONIC),
                         .cpu_nsec = read_clock(CLOCK_THREAD_CPUTIME_ID),
                         .delay_nsec = read_delay() };
}

static void end_turn(void) {
        uint64_t wall, cpu, delay, charged;
        Moment end;

        if (!meter || begin.wall_nsec == 0)
                return;
        end = now();
        meter->has_turn = 0;
        wall = end.wall_nsec - begin.wall_nsec;
        cpu = end.cpu_nsec - begin.cpu_nsec;
        delay = end.delay_nsec - begin.delay_nsec;
        charged = wall > delay ? wall - delay : 0;
        meter->n_turns++;
        meter->n_over += charged > LIMIT_NSEC;
        if (charged > meter->most_nsec) {
                meter->most_nsec = charged;
                meter->most_cpu_nsec = cpu;
                meter->most_wall_nsec = wall;
        }
}

static void begin_turn(void) {
        const int error = errno;

        if (meter) {
                meter->has_turn = 1; /* first: it may be stopped at any time */
                begin = now();
        }
        errno = error;
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout) {
        static int (*real)(int, struct epoll_event *, int, int);
        int r;

        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
        end_turn();
        r = real(fd, events, n, timeout);
        begin_turn();
        return r;
}

/* Which of the two libsystemd calls depends on how it was built. */
int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout,
                 const sigset_t *mask) {
        static int (*real)(int, struct epoll_event *, int, const struct timespec *,
                           const sigset_t *);
        int r;

        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "epoll_pwait2");
        end_turn();
        r = real(fd, events, n, timeout, mask);
        begin_turn();
        return r;
}
