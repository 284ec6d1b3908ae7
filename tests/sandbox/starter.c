/* What the sandbox suite and the bench start processes with, where it must be at a certain moment,
 * in great numbers, or with a certain PID:
 *
 *     sandbox-starter each EXE CPU THREADS
 *
 * For each line read: one start, see `child.c` bound. Prints the PID, and the microseconds from its
 * exec to the event, to its main(), to its first thread bound as seen from outside and as it sees
 * that itself, to all threads there, to all bound.
 *
 *     sandbox-starter storm EXE OTHER CPU SECONDS PER_SECOND MATCHING
 *
 * Many that end at once, and some that stay.
 *
 *     sandbox-starter as PID PROGRAM ARGUMENT…
 *
 * Runs the program with that PID.
 *
 *     sandbox-starter flood NUMBER
 *
 * So many events of a changed user.
 *
 * All but `as` and `flood` go on until standard input ends, and take their processes with them.
 */
#include <err.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* asm-generic/unistd.h, the same on all architectures; the oldest API hides its name. */
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

enum { NOBODY = 65534, LAST_PID_TRIES = 200, LOOK_NSEC = 20000 };

#define PATIENCE_NSEC 8000000000LL

extern char **environ;

static long long now_nsec(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A listener of its own, so that it cannot share a mistake with the daemon's. */
static int listen_to_kernel(void) {
        const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
        const enum proc_cn_mcast_op operation = PROC_CN_MCAST_LISTEN;
        const struct cn_msg message = { .id = { CN_IDX_PROC, CN_VAL_PROC },
                                        .len = sizeof(operation) };
        char request[NLMSG_HDRLEN + sizeof(message) + sizeof(operation)];
        const struct nlmsghdr header = { .nlmsg_len = sizeof(request), .nlmsg_type = NLMSG_DONE };
        int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR), size = 4 << 20;

        memcpy(request, &header, sizeof(header));
        memcpy(request + NLMSG_HDRLEN, &message, sizeof(message));
        memcpy(request + NLMSG_HDRLEN + sizeof(message), &operation, sizeof(operation));
        if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
            send(fd, request, sizeof(request), 0) < 0)
                err(1, "no process connector here");
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
        return fd;
}

/* When that process exec'd, by the kernel's own time stamp; 0: no waiting event tells. */
static long long exec_of(int fd, pid_t pid) {
        char buffer[4096];
        long long at_nsec = 0;

        while (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0) {
                struct proc_event event;

                memcpy(&event, buffer + NLMSG_HDRLEN + sizeof(struct cn_msg), sizeof(event));
                if (event.what == PROC_EVENT_EXEC && event.event_data.exec.process_tgid == pid)
                        at_nsec = (long long)event.timestamp_ns;
        }
        return at_nsec;
}

/* The time is taken as the last thing before the exec. */
static pid_t start_bound(const char *exe, const char *cpu, const char *threads, int out) {
        pid_t pid = fork();

        if (pid < 0)
                err(1, "fork");
        if (pid == 0) {
                char at[32];

                (void)signal(SIGCHLD, SIG_DFL);
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void)dup2(out, STDOUT_FILENO);
                (void)snprintf(at, sizeof(at), "%lld", now_nsec());
                (void)execl(exe, exe, "bound", cpu, threads, at, (char *)NULL);
                _exit(127);
        }
        return pid;
}

static bool has_input(void) {
        char line; /* an empty one, of which no more is read than one */

        return read(STDIN_FILENO, &line, 1) > 0;
}

/* Looks from outside, for the process itself cannot look before its main(). */
static bool is_bound(pid_t pid, long cpu) {
        cpu_set_t set;

        return sched_getaffinity(pid, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1 &&
               CPU_ISSET((size_t)cpu, &set);
}

static void one_start(int connector, const int told[2], char *argv[]) {
        long long delivered = 0, exec = 0, seen = 0, main_at = 0, first = 0, there = 0, all = 0;
        const long long begin = now_nsec();
        const long cpu = strtol(argv[1], NULL, 10);
        pid_t pid = start_bound(argv[0], argv[1], argv[2], told[1]);
        char line[256] = { 0 };

        /* The child's answer may come before the event: both are waited for. Each of its threads
         * makes an event as well: whoever waits for the answer by a queue that is not empty spins
         * on the CPU that the child is bound to. */
        while (!line[0] || !delivered) {
                struct pollfd fds[] = { { .fd = delivered ? -1 : connector, .events = POLLIN },
                                        { .fd = line[0] ? -1 : told[0], .events = POLLIN } };

                const struct timespec pause = { .tv_nsec = seen ? 1000000 : LOOK_NSEC };

                if (ppoll(fds, 2, &pause, NULL) == 0 && now_nsec() - begin > PATIENCE_NSEC)
                        errx(1, "%d told nothing within %lld s", pid, PATIENCE_NSEC / 1000000000);
                if (!seen && is_bound(pid, cpu))
                        seen = now_nsec();
                if (fds[0].revents && (exec = exec_of(connector, pid)))
                        delivered = now_nsec();
                if (fds[1].revents && read(told[0], line, sizeof(line) - 1) <= 0)
                        errx(1, "%d ended", pid);
        }
        (void)sscanf(line, "bound %*d %*d %*d %lld %lld %lld %lld", &main_at, &first, &there, &all);
        (void)printf("%d", pid);
        for (size_t i = 0; i < 6; i++) {
                const long long at[] = { delivered, main_at, seen, first, there, all };

                (void)printf(" %lld", at[i] ? (at[i] - exec) / 1000 : -1);
        }
        (void)printf("\n");
        (void)fflush(stdout);
        (void)has_input();
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        (void)exec_of(connector, pid); /* its end is nobody's wakeup in the next turn */
}

static void do_each(char *argv[]) {
        int connector = listen_to_kernel(), told[2];

        if (pipe(told) < 0)
                err(1, "pipe");
        while (has_input())
                one_start(connector, told, argv);
}

static void sleep_until(long long at_nsec) {
        const struct timespec t = { .tv_sec = at_nsec / 1000000000,
                                    .tv_nsec = at_nsec % 1000000000 };

        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Short ones that nobody asked for, and among them some that stay. */
static void do_storm(char *argv[]) {
        const char *exe = argv[0], *other = argv[1], *cpu = argv[2];
        long seconds = strtol(argv[3], NULL, 10), per_second = strtol(argv[4], NULL, 10);
        long matching = strtol(argv[5], NULL, 10), total = seconds * per_second;
        char *const command[] = { (char *)other, NULL };
        long long begin = now_nsec();
        pid_t pid;

        (void)signal(SIGCHLD, SIG_IGN); /* no zombies */
        for (long i = 0; i < total; i++) {
                if (i % (total / matching) == 0 && i / (total / matching) < matching)
                        (void)start_bound(exe, cpu, "0", STDOUT_FILENO);
                if (posix_spawn(&pid, other, NULL, NULL, command, environ) != 0)
                        errx(1, "cannot start %s", other);
                sleep_until(begin + (i + 1) * 1000000000LL / per_second);
        }
        (void)printf("storm %ld %lld\n", total + matching, (now_nsec() - begin) / 1000);
        (void)fflush(stdout);
        while (has_input()) {
        }
}

/* The kernel gives the PID that is asked for; before 5.5, or where that is not allowed, the next
 * free one above the last. */
static pid_t fork_as(pid_t wanted) {
        struct clone_args arguments = { .exit_signal = SIGCHLD,
                                        .set_tid = (uintptr_t)&wanted,
                                        .set_tid_size = 1 };
        pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

        if (pid >= 0 || errno == EEXIST)
                return pid;
        for (int i = 0; i < LAST_PID_TRIES; i++) {
                FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "we");

                if (!file || fprintf(file, "%d", wanted - 1) < 0 || fclose(file) != 0)
                        return -1;
                pid = fork();
                if (pid == 0 && getpid() != wanted)
                        _exit(0);
                if (pid <= 0 || pid == wanted)
                        return pid;
                (void)waitpid(pid, NULL, 0);
        }
        errno = EAGAIN;
        return -1;
}

static int do_as(char *argv[]) {
        pid_t wanted = (pid_t)strtol(argv[0], NULL, 10), pid = fork_as(wanted);

        if (pid < 0)
                err(1, "no process can be given the PID %d", wanted);
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (argv[1])
                        (void)execv(argv[1], argv + 1);
                _exit(127);
        }
        (void)printf("as %d\n", pid);
        (void)fflush(stdout);
        (void)waitpid(pid, NULL, 0);
        return 0;
}

static void do_flood(long n) {
        for (long i = 0; i < n; i++)
                if (seteuid(i % 2 ? 0 : NOBODY) < 0)
                        err(1, "seteuid");
        (void)printf("flooded %ld\n", n);
}

int main(int argc, char *argv[]) {
        const char *what = argc > 1 ? argv[1] : "";

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (strcmp(what, "each") == 0 && argc == 5)
                do_each(argv + 2);
        else if (strcmp(what, "storm") == 0 && argc == 8)
                do_storm(argv + 2);
        else if (strcmp(what, "as") == 0 && argc > 2)
                return do_as(argv + 2);
        else if (strcmp(what, "flood") == 0 && argc == 3)
                do_flood(strtol(argv[2], NULL, 10));
        else
                errx(1, "see the head of starter.c");
        return 0;
}
