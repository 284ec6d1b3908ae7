/* From exec to the daemon's own line about the process, and beside it the process connector's event
 * for the same exec, as received by a listener that does nothing else. Prints both as
 * "delivery MEDIAN P99 daemon MEDIAN P99", in microseconds.
 *
 *     bench-probe EXE STARTS DAEMON ARGUMENT…     the daemon's arguments include --debug
 */
#include <err.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc-connector.h"

enum { STARTS_MAX = 10000, PATIENCE_MS = 2000, PAUSE_USEC = 3000 };

typedef struct Probe {
        int connector_fd, log_fd;
        char line[4096]; /* of the log, as far as it came */
        size_t length;
        bool ready;
        pid_t pid; /* that is waited for */
        uint64_t delivered_usec, seen_usec;
} Probe;

static void on_event(const ProcEvent *event, void *userdata) {
        Probe *probe = userdata;

        if (event->kind == PROC_KIND_EXEC && event->pid == probe->pid && !probe->delivered_usec)
                probe->delivered_usec = clock_monotonic_usec();
}

static void take_line(Probe *probe) {
        int pid;

        if (strncmp(probe->line, "tidbnumad ", strlen("tidbnumad ")) == 0)
                probe->ready = true; /* the line that tells its version and what it found */
        if (sscanf(probe->line, "process %d (", &pid) == 1 && pid == probe->pid &&
            !probe->seen_usec)
                probe->seen_usec = clock_monotonic_usec();
}

static void read_log(Probe *probe) {
        char text[4096];
        ssize_t n = read(probe->log_fd, text, sizeof(text));

        if (n <= 0)
                errx(1, "the daemon has ended");
        for (ssize_t i = 0; i < n; i++) {
                if (text[i] != '\n') {
                        if (probe->length < sizeof(probe->line) - 1)
                                probe->line[probe->length++] = text[i];
                        continue;
                }
                probe->line[probe->length] = '\0';
                take_line(probe);
                probe->length = 0;
        }
}

/* One turn of the loop; 0: nothing came in time. */
static int turn(Probe *probe, int timeout_ms) {
        struct pollfd fds[] = { { .fd = probe->connector_fd, .events = POLLIN },
                                { .fd = probe->log_fd, .events = POLLIN } };

        if (poll(fds, 2, timeout_ms) <= 0)
                return 0;
        if (fds[0].revents)
                (void)proc_connector_read(probe->connector_fd, on_event, probe);
        if (fds[1].revents)
                read_log(probe);
        return 1;
}

/* The time is taken by the child itself, as the last thing before its exec. */
static pid_t start(const char *exe, volatile uint64_t *at_usec) {
        pid_t pid = fork();

        if (pid < 0)
                err(1, "fork");
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                *at_usec = clock_monotonic_usec();
                (void)execl(exe, exe, "wait", (char *)NULL);
                _exit(127);
        }
        return pid;
}

static pid_t start_daemon(char *argv[], int *ret_log_fd) {
        int fds[2];
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                err(1, "pipe");
        pid = fork();
        if (pid < 0)
                err(1, "fork");
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void)dup2(fds[1], STDERR_FILENO);
                (void)execv(argv[0], argv);
                _exit(127);
        }
        (void)close(fds[1]);
        *ret_log_fd = fds[0];
        return pid;
}

static int compare(const void *a, const void *b) {
        const uint64_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

static void print(const char *what, uint64_t *values, size_t n) {
        qsort(values, n, sizeof(*values), compare);
        (void)printf("%s %llu %llu ", what, (unsigned long long)values[n / 2],
                     (unsigned long long)values[n * 99 / 100]);
}

static void measure(Probe *probe, const char *exe, volatile uint64_t *at_usec,
                    uint64_t *ret_delivery, uint64_t *ret_seen) {
        uint64_t deadline = clock_monotonic_usec() + PATIENCE_MS * 1000;

        probe->delivered_usec = probe->seen_usec = 0;
        probe->pid = start(exe, at_usec);
        while (!probe->delivered_usec || !probe->seen_usec)
                if (clock_monotonic_usec() > deadline || turn(probe, PATIENCE_MS) == 0)
                        errx(1, "a start was not seen within %d ms", PATIENCE_MS);
        *ret_delivery = probe->delivered_usec - *at_usec;
        *ret_seen = probe->seen_usec - *at_usec;
        (void)kill(probe->pid, SIGKILL);
        (void)waitpid(probe->pid, NULL, 0);
        (void)usleep(PAUSE_USEC);
}

int main(int argc, char *argv[]) {
        static uint64_t delivery[STARTS_MAX], seen[STARTS_MAX];
        volatile uint64_t *at_usec = mmap(NULL, sizeof(*at_usec), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        Probe probe = { .connector_fd = -1 };
        size_t n = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
        pid_t daemon;

        if (at_usec == MAP_FAILED || n == 0 || n > STARTS_MAX)
                errx(1, "usage: bench-probe EXE STARTS DAEMON ARGUMENT…");
        if (proc_connector_open((size_t)1 << 20, &probe.connector_fd) < 0)
                errx(1, "no process connector here");
        daemon = start_daemon(argv + 3, &probe.log_fd);
        while (!probe.ready)
                if (turn(&probe, PATIENCE_MS) == 0)
                        errx(1, "the daemon was not ready within %d ms", PATIENCE_MS);
        for (size_t i = 0; i < n; i++)
                measure(&probe, argv[1], at_usec, &delivery[i], &seen[i]);
        print("delivery", delivery, n);
        print("daemon", seen, n);
        (void)puts("");
        (void)kill(daemon, SIGTERM);
        (void)waitpid(daemon, NULL, 0);
        return 0;
}
