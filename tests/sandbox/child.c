/* A process of the sandbox suite: it is copied to a name that nobody else has, and does one thing.
 * It never outlives the test that started it. */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
        THREADS_MAX = 64,
        BOUND_PATIENCE_SECONDS = 5,
        BOUND_PAUSE_NSEC = 20000,
        BOUND_PRECISION = 100
};

static void *wait_for_end(void *unused) {
        (void)unused;
        for (;;)
                (void)pause();
        return NULL;
}

static void sleep_ms(long ms) {
        const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

        (void)nanosleep(&t, NULL);
}

static void tell(const char *what, long number) {
        (void)printf("%s %ld\n", what, number);
        (void)fflush(stdout);
}

/* Whoever was executed ends, once it was seen, and so does the process between, at once. */
static void become_daemon(void) {
        sleep_ms(300);
        if (fork() != 0)
                _exit(0);
        (void)setsid();
        if (fork() != 0)
                _exit(0);
        tell("daemon", getpid());
        (void)alarm(60); /* nobody's child */
}

/* A second process without an exec of its own. True: in the first one. */
static bool do_fork(void) {
        pid_t pid = fork();

        if (pid < 0)
                err(1, "fork");
        if (pid == 0)
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        else
                tell("forked", pid);
        return pid > 0;
}

static void start_thread(void *(*run)(void *), void *argument) {
        pthread_attr_t attributes;
        pthread_t thread;

        (void)pthread_attr_init(&attributes);
        (void)pthread_attr_setstacksize(&attributes, (size_t)64 << 10); /* there may be thousands */
        (void)pthread_attr_setguardsize(&attributes, 0); /* nor a mapping of its own for each */
        if (pthread_create(&thread, &attributes, run, argument) != 0)
                errx(1, "cannot start a thread");
        (void)pthread_attr_destroy(&attributes);
}

/* A child that shares the parent's memory, and stops it, until it execs something else. */
static void do_vfork(long ms) {
        pid_t pid =
                (pid_t)syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0);

        if (pid < 0)
                err(1, "clone");
        if (pid == 0) {
                sleep_ms(ms);
                (void)execl("/bin/true", "true", (char *)NULL);
                _exit(127);
        }
        (void)waitpid(pid, NULL, 0);
        tell("vforked", pid);
}

/* On 127.0.0.1; port 0: one that is free. */
static void do_listen(long port) {
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
        socklen_t size = sizeof(address);

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) < 0 ||
            bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1) < 0 ||
            getsockname(fd, (struct sockaddr *)&address, &size) < 0)
                err(1, "cannot listen on port %ld", port);
        tell("listening", ntohs(address.sin_port));
}

typedef struct Crowd {
        long wanted;
        atomic_long started;
        _Atomic(pid_t) tids[THREADS_MAX];
} Crowd;

/* Each thread starts the next, so that some are born while the daemon is at work on the others. */
static void *join_crowd(void *userdata) {
        Crowd *crowd = userdata;
        long mine = atomic_fetch_add(&crowd->started, 1);

        atomic_store(&crowd->tids[mine], (pid_t)syscall(SYS_gettid));
        if (mine + 1 < crowd->wanted)
                start_thread(join_crowd, crowd);
        return wait_for_end(NULL);
}

static bool is_bound(pid_t tid, int cpu) {
        cpu_set_t set;

        return sched_getaffinity(tid, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1 &&
               CPU_ISSET((size_t)cpu, &set);
}

static long long now_nsec(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static bool all_there(Crowd *crowd) {
        for (long i = 0; i < crowd->wanted; i++)
                if (!atomic_load(&crowd->tids[i]))
                        return false;
        return true;
}

/* When the first thread was seen bound, and when all were seen there. */
typedef struct Seen {
        long long first, there;
} Seen;

static bool all_bound(Crowd *crowd, int cpu, Seen *seen) {
        if (!seen->first && is_bound(0, cpu))
                seen->first = now_nsec();
        if (!seen->there && all_there(crowd))
                seen->there = now_nsec();
        for (long i = 0; i < crowd->wanted; i++)
                if (!atomic_load(&crowd->tids[i]) || !is_bound(atomic_load(&crowd->tids[i]), cpu))
                        return false;
        return is_bound(0, cpu);
}

/* Tells when all threads have this CPU alone: microseconds from `exec_nsec` and from main(), and by
 * the clock main() itself, the first thread's binding, all threads there and all bound. One thread
 * looks for all, and the less often the longer it takes, to a hundredth of the time: what spins
 * takes the CPU that the daemon needs. */
static void do_bound(int cpu, long n_threads, long long exec_nsec) {
        static Crowd crowd;
        long long begin = now_nsec(), now = begin;
        Seen seen = { 0 };
        struct timespec pause = { 0 };

        if (n_threads < 0 || n_threads > THREADS_MAX)
                errx(1, "not more than %d threads", THREADS_MAX);
        crowd.wanted = n_threads;
        (void)prctl(PR_SET_TIMERSLACK, 1);
        if (n_threads > 0)
                start_thread(join_crowd, &crowd);
        while (!all_bound(&crowd, cpu, &seen)) {
                if (now - begin > BOUND_PATIENCE_SECONDS * 1000000000LL) {
                        tell("never", getpid());
                        return;
                }
                pause.tv_nsec = BOUND_PAUSE_NSEC + (long)((now - begin) / BOUND_PRECISION);
                (void)nanosleep(&pause, NULL);
                now = now_nsec();
        }
        now = now_nsec();
        (void)printf("bound %d %lld %lld %lld %lld %lld %lld\n", getpid(), (now - exec_nsec) / 1000,
                     (now - begin) / 1000, begin, seen.first, seen.there, now);
        (void)fflush(stdout);
}

/* --- many processes; each ends with the one that started it --- */

static pid_t fork_or_fail(void) {
        pid_t pid = fork();

        if (pid < 0)
                err(1, "fork");
        if (pid == 0)
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

/* Processes that start one another, and so many children of the last one, which execute the
 * program. */
static void do_tree(long depth, long leaves, char *program) {
        while (depth-- > 0)
                if (fork_or_fail() > 0)
                        (void)wait_for_end(NULL);
        for (long i = 0; i < leaves; i++)
                if (fork_or_fail() == 0) {
                        (void)execl(program, program, "wait", (char *)NULL);
                        _exit(127);
                }
        tell("leaves", leaves);
}

/* So many processes that share so many descriptors. */
static void share_files(long processes, long n) {
        const struct rlimit limit = { (rlim_t)n + 16, (rlim_t)n + 16 };
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || fd < 0)
                err(1, "%ld descriptors", n);
        for (long i = 0; i < n; i++)
                if (dup(fd) < 0)
                        err(1, "dup");
        for (long i = 1; i < processes; i++)
                if (fork_or_fail() == 0)
                        (void)wait_for_end(NULL);
        tell("sharing", n);
}

/* A server with a child that is never old. */
static void breed(long ms) {
        do_listen(0);
        for (;;) {
                pid_t pid = fork_or_fail();

                sleep_ms(ms);
                if (pid == 0)
                        _exit(0);
                (void)waitpid(pid, NULL, 0);
        }
}

static void start_threads(long n) {
        for (long i = 0; i < n; i++)
                start_thread(wait_for_end, NULL);
        tell("threads", n);
}

/* So many mappings: neighbours may be used differently, or the kernel would make them one. */
static void make_mappings(size_t n) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *start = mmap(NULL, n * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (start == MAP_FAILED)
                err(1, "cannot map %zu pages", n);
        for (size_t i = 0; i < n; i += 2) {
                if (i % 128 == 0)
                        start[i * page] = 1;
                if (mprotect(start + i * page, page, PROT_READ) < 0)
                        err(1, "mapping %zu", i);
        }
        tell("mappings", (long)n);
}

/* Threads that make threads, while somebody else may be counting them. */
static void *make_threads(void *number) {
        for (long i = 0; i < (long)number; i++) {
                start_thread(wait_for_end, NULL);
                sleep_ms(1);
        }
        return wait_for_end(NULL);
}

/* One more thread for each SIGUSR1. */
static void grow(long n) {
        sigset_t signals;
        int number;

        (void)sigemptyset(&signals);
        (void)sigaddset(&signals, SIGUSR1);
        (void)sigprocmask(SIG_BLOCK, &signals, NULL);
        start_threads(n);
        while (sigwait(&signals, &number) == 0) {
                start_thread(wait_for_end, NULL);
                tell("grown", 0);
        }
}

static void churn(long n) {
        pthread_t thread;

        for (int i = 0; i < 4; i++)
                if (pthread_create(&thread, NULL, make_threads, (void *)n) != 0)
                        errx(1, "cannot start a thread");
        tell("threads", 4 * n);
}

typedef struct Stuck {
        const char *page; /* of a file whose server never answers */
        int memory_fd;
} Stuck;

/* The kernel holds the memory map's lock while it waits for the page in another's name. */
static void *read_own_memory(void *userdata) {
        const Stuck *stuck = userdata;
        char byte;

        if (pread(stuck->memory_fd, &byte, 1, (off_t)(uintptr_t)stuck->page) == 1)
                tell("read", byte);
        return wait_for_end(NULL);
}

/* The first to wait for writing keeps all readers out who come after it. */
static void *change_memory_map(void *unused) {
        (void)unused;
        sleep_ms(200);
        for (;;)
                (void)munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
        return NULL;
}

static void get_stuck(const char *path) {
        static Stuck stuck;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

        stuck.memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || page == MAP_FAILED || stuck.memory_fd < 0)
                err(1, "%s", path);
        stuck.page = page;
        start_thread(read_own_memory, &stuck);
        start_thread(change_memory_map, NULL);
        tell("stuck", 0);
}

/* A page that is written back when the memory map goes, in an exec that waits for that. */
static void write_page(const char *path) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (fd < 0 || page == MAP_FAILED)
                err(1, "%s", path);
        *page = 1;
}

int main(int argc, char *argv[]) {
        const char *what = argc > 1 ? argv[1] : "wait";
        long number = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (strcmp(what, "nap") == 0) { /* nap MILLISECONDS */
                sleep_ms(number);
                return 0;
        }
        if (strcmp(what, "fork") == 0) {
                (void)do_fork();
        } else if (strcmp(what, "daemon") == 0) {
                become_daemon();
        } else if (strcmp(what, "threads") == 0) { /* threads NUMBER */
                start_threads(number);
        } else if (strcmp(what, "grow") == 0) { /* grow NUMBER */
                grow(number);
        } else if (strcmp(what, "mappings") == 0) { /* mappings NUMBER */
                make_mappings((size_t)number);
        } else if (strcmp(what, "churn") == 0) { /* churn NUMBER, of each of four threads */
                churn(number);
        } else if (strcmp(what, "become") == 0) { /* become UID, as a server that drops root */
                sleep_ms(500);
                if (setuid((uid_t)number) < 0)
                        err(1, "setuid");
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* setuid() has cleared it */
                tell("became", number);
        } else if (strcmp(what, "bound") == 0 && argc > 4) { /* bound CPU THREADS EXEC_NSEC */
                do_bound((int)number, strtol(argv[3], NULL, 10), strtoll(argv[4], NULL, 10));
        } else if (strcmp(what, "vfork") == 0) { /* vfork MILLISECONDS */
                do_vfork(number);
        } else if (strcmp(what, "listen") == 0) { /* listen PORT…, one every half second */
                for (int i = 2; i < argc; i++) {
                        sleep_ms(i > 2 ? 500 : 0);
                        do_listen(strtol(argv[i], NULL, 10));
                }
        } else if (strcmp(what, "stuck") == 0 && argc > 2) { /* stuck FILE */
                get_stuck(argv[2]);
        } else if (strcmp(what, "exec") == 0 && argc > 3) { /* exec MILLISECONDS FILE */
                sleep_ms(number);
                (void)execl(argv[3], argv[3], "wait", (char *)NULL);
                err(1, "%s", argv[3]);
        } else if (strcmp(what, "fork-exec") == 0 && argc > 3) { /* fork-exec FILE PROGRAM */
                write_page(argv[2]);
                if (do_fork())
                        (void)execl(argv[3], argv[3], (char *)NULL);
        } else if (strcmp(what, "open") == 0 && argc > 2) { /* open FILE, and keep it */
                if (open(argv[2], O_RDONLY) < 0)
                        err(1, "%s", argv[2]);
                tell("opened", 0);
        } else if (strcmp(what, "tree") == 0 && argc > 4) { /* tree DEPTH LEAVES PROGRAM */
                do_tree(number, strtol(argv[3], NULL, 10), argv[4]);
        } else if (strcmp(what, "beside") == 0 && argc > 3) { /* beside PROGRAM ARGUMENT… */
                if (fork_or_fail() == 0) {
                        (void)execv(argv[2], argv + 2);
                        err(1, "%s", argv[2]);
                }
        } else if (strcmp(what, "files") == 0 && argc > 3) { /* files PROCESSES NUMBER */
                share_files(number, strtol(argv[3], NULL, 10));
        } else if (strcmp(what, "breed") == 0) { /* breed MILLISECONDS */
                breed(number);
        } else if (strcmp(what, "leader-ends") == 0) { /* its first thread goes, another stays */
                start_thread(wait_for_end, NULL);
                sleep_ms(500);
                pthread_exit(NULL);
        }
        (void)wait_for_end(NULL);
        return 0;
}
