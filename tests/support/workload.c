/* Stands in for tidb-server, tikv-server and pd-server in tests: holds memory where asked, has
 * threads, listens on a port, and takes the real servers' options so that their start scripts run
 * unchanged. Memory is in workload-memory.c, the command line in workload-options.c. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "workload-memory.h"
#include "workload-options.h"

enum {
        STACK_BYTES = 64 * 1024,
};

/* --- what it does ------------------------------------------------------------------------------
 */

/* In one line: who it is, and where it may run and have memory. */
static void print_status(void) {
        char line[4096];
        FILE *f = fopen("/proc/self/status", "re");

        if (!f)
                err(1, "/proc/self/status");
        while (fgets(line, sizeof(line), f))
                if (strncmp(line, "Pid:", 4) == 0 || strstr(line, "s_allowed_list:")) {
                        line[strcspn(line, "\n")] = ' ';
                        (void)fputs(line, stdout);
                }
        (void)fclose(f);
        (void)puts("");
        (void)fflush(stdout);
}

/* --- sizes, as TiKV takes them (components/tikv_util/src/sys: SysQuota, cgroup.rs)
 * --------------------
 */

/* The folder of its own group: of v2, or of one controller of v1. */
static bool find_group(const char *controller, char *ret, size_t size) {
        FILE *f = fopen("/proc/self/cgroup", "re");
        bool found = false;
        char line[4096];

        if (!f)
                err(1, "/proc/self/cgroup");
        while (!found && fgets(line, sizeof(line), f)) {
                char *controllers = strchr(line, ':'), *path;

                if (!controllers || !(path = strchr(controllers + 1, ':')))
                        continue;
                *path++ = '\0';
                path[strcspn(path, "\n")] = '\0';
                controllers++;
                /* v1 lists each controller once, some together; of v2 the list is empty. */
                if (*controllers == '\0' && access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
                        found = snprintf(ret, size, "/sys/fs/cgroup%s", path) > 0;
                else if (strstr(controllers, controller))
                        found = snprintf(ret, size, "/sys/fs/cgroup/%s%s", controller, path) > 0;
        }
        (void)fclose(f);
        return found;
}

static bool read_file(const char *group, const char *name, char *ret, size_t size) {
        char path[8192];
        FILE *f;

        (void)snprintf(path, sizeof(path), "%s/%s", group, name);
        f = fopen(path, "re");
        if (!f)
                return false;
        if (!fgets(ret, (int)size, f))
                *ret = '\0';
        (void)fclose(f);
        return true;
}

static unsigned count_list(const char *list) {
        unsigned n = 0;
        char *end;

        for (const char *p = list; *p >= '0' && *p <= '9'; p = *end == ',' ? end + 1 : end) {
                const long first = strtol(p, &end, 10);
                const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;

                n += (unsigned)(last - first + 1);
        }
        return n;
}

/* The least of affinity, its group's cpuset.cpus and cpu.max; the least of the host's memory and
 * its group's memory.max. The memory nodes do not count. */
static void print_sizes(void) {
        uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
                 limit;
        char group[4096], text[4096];
        long long quota, period;
        cpu_set_t affinity;
        unsigned cpus, n;

        if (sched_getaffinity(0, sizeof(affinity), &affinity) < 0)
                err(1, "sched_getaffinity");
        cpus = (unsigned)CPU_COUNT(&affinity);
        if (find_group("cpuset", group, sizeof(group)) &&
            read_file(group, "cpuset.cpus", text, sizeof(text)) && (n = count_list(text)) > 0 &&
            n < cpus)
                cpus = n;
        if (find_group("cpu", group, sizeof(group)) &&
            read_file(group, "cpu.max", text, sizeof(text)) &&
            sscanf(text, "%lld %lld", &quota, &period) == 2 && period > 0 &&
            (unsigned)((quota + period - 1) / period) < cpus)
                cpus = (unsigned)((quota + period - 1) / period);
        if (find_group("memory", group, sizeof(group)) &&
            (read_file(group, "memory.max", text, sizeof(text)) ||
             read_file(group, "memory.limit_in_bytes", text, sizeof(text))) &&
            (limit = strtoull(text, NULL, 10)) > 0 && limit < memory)
                memory = limit;
        (void)printf("sizes: cpus=%u memory=%" PRIu64 " block-cache=%" PRIu64 "\n", cpus, memory,
                     memory / 100 * 45);
        (void)fflush(stdout);
}

static void hold_file(const char *dir) {
        char path[4096];

        (void)snprintf(path, sizeof(path), "%s/workload.data", dir);
        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
                err(1, "--data-dir %s: cannot make it", dir);
        /* Open until the end: that is what ties the process to the disk. */
        if (open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) < 0)
                err(1, "%s: cannot open", path);
}

static int listen_on(uint16_t port) {
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons(port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
            bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 128) < 0)
                err(1, "cannot listen on 127.0.0.1:%u", port);
        return fd;
}

static void start_thread(void *(*function)(void *), void *argument) {
        pthread_attr_t attributes;
        pthread_t thread;
        int r;

        (void)pthread_attr_init(&attributes);
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        r = pthread_create(&thread, &attributes, function, argument);
        (void)pthread_attr_destroy(&attributes);
        errno = r;
        if (r != 0)
                err(1, "cannot start a thread");
}

static _Noreturn void *sleeping_thread(void *argument) {
        (void)argument;
        for (;;)
                (void)pause();
}

static void *short_thread(void *argument) {
        return argument;
}

static _Noreturn void *churn_thread(void *argument) {
        const unsigned *hz = argument;
        struct timespec next;

        (void)clock_gettime(CLOCK_MONOTONIC, &next);
        for (;;) {
                next.tv_nsec += 1000000000L / *hz;
                next.tv_sec += next.tv_nsec / 1000000000L;
                next.tv_nsec %= 1000000000L;
                (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
                start_thread(short_thread, NULL);
        }
}

static void answer_caller(int listening) {
        int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
                return;
        (void)dprintf(fd, "%s %d\n", program_invocation_short_name, (int)getpid());
        (void)close(fd);
}

/* Until SIGTERM or SIGINT. */
static void serve(int signals, int listening) {
        struct pollfd polled[] = { { .fd = signals, .events = POLLIN },
                                   { .fd = listening, .events = POLLIN } };
        struct signalfd_siginfo got;

        for (;;) {
                if (poll(polled, 2, -1) < 0)
                        err(1, "poll");
                if (polled[1].revents)
                        answer_caller(listening);
                if (!polled[0].revents || read(signals, &got, sizeof(got)) != sizeof(got))
                        continue;
                if (got.ssi_signo == SIGUSR2) {
                        memory_touch_rest();
                        memory_grow_turn();
                        continue;
                }
                stall_report();
                if (got.ssi_signo != SIGUSR1)
                        return;
        }
}

int main(int argc, char **argv) {
        WorkloadOptions o = workload_options_parse(argc, argv);
        int signals, listening;
        sigset_t set;

        if (o.status_first)
                print_status();
        if (o.sizes_first)
                print_sizes();
        /* Blocked before any thread starts, so that only the descriptor gets them. A caller that
         * hangs up early is no reason to end. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigaddset(&set, SIGUSR1);
        (void)sigaddset(&set, SIGUSR2);
        if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
                errx(1, "cannot block signals");
        signals = signalfd(-1, &set, SFD_CLOEXEC);
        if (signals < 0)
                err(1, "signalfd");

        if (o.data_dir)
                hold_file(o.data_dir);
        for (RegionKind kind = REGION_ANON; kind < N_REGION_KINDS; kind++)
                memory_hold(kind, o.hold_bytes[kind],
                            kind >= REGION_RESERVED && o.reserved_touch > 0 ? o.reserved_touch
                                                                            : SIZE_MAX,
                            o.data_dir ?: "/var/tmp", &o.spread);
        for (unsigned i = 0; i < o.threads; i++)
                start_thread(sleeping_thread, NULL);
        if (o.churn_hz > 0)
                start_thread(churn_thread, &o.churn_hz);
        if (o.stall_report)
                stall_watch_start();
        if (o.grow_max > 0)
                memory_grow_prepare(o.grow_bytes_per_sec, o.grow_max);
        listening = o.port > 0 ? listen_on(o.port) : -1;
        (void)puts("ready");
        (void)fflush(stdout);
        serve(signals, listening);
        return 0;
}
