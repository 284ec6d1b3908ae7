/* A process of the sandbox suite: it is copied to a name that nobody else has, and does one thing.
 * It never outlives the test that started it. */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

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

/* A second process without an exec of its own. */
static void do_fork(void) {
        pid_t pid = fork();

        if (pid < 0)
                err(1, "fork");
        if (pid == 0)
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        else
                tell("forked", pid);
}

static void start_thread(void) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
                errx(1, "cannot start a thread");
}

static void start_threads(long n) {
        for (long i = 0; i < n; i++)
                start_thread();
        tell("threads", n);
}

/* Threads that make threads, while somebody else may be counting them. */
static void *make_threads(void *number) {
        for (long i = 0; i < (long)number; i++) {
                start_thread();
                sleep_ms(1);
        }
        return wait_for_end(NULL);
}

static void churn(long n) {
        pthread_t thread;

        for (int i = 0; i < 4; i++)
                if (pthread_create(&thread, NULL, make_threads, (void *)n) != 0)
                        errx(1, "cannot start a thread");
        tell("threads", 4 * n);
}

static long now_usec(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Becomes the program, which tells how long after that it had one CPU left. */
static void become(const char *program) {
        char number[32];

        (void)snprintf(number, sizeof(number), "%ld", now_usec());
        (void)execl(program, program, "latency", number, NULL);
        err(1, "%s", program);
}

static void await_one_cpu(long start_usec) {
        cpu_set_t cpus;

        do
                if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
                        err(1, "sched_getaffinity");
        while (CPU_COUNT(&cpus) != 1 && now_usec() - start_usec < 10000000);
        tell("bound", now_usec() - start_usec);
}

int main(int argc, char *argv[]) {
        const char *what = argc > 1 ? argv[1] : "wait";
        long number = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (strcmp(what, "nap") == 0) { /* nap MILLISECONDS */
                sleep_ms(number);
                return 0;
        }
        if (strcmp(what, "launch") == 0 && argc > 2) /* launch PROGRAM */
                become(argv[2]);
        if (strcmp(what, "latency") == 0) { /* latency START */
                await_one_cpu(number);
                return 0;
        }
        if (strcmp(what, "fork") == 0) {
                do_fork();
        } else if (strcmp(what, "threads") == 0) { /* threads NUMBER */
                start_threads(number);
        } else if (strcmp(what, "churn") == 0) { /* churn NUMBER, of each of four threads */
                churn(number);
        } else if (strcmp(what, "become") == 0) { /* become UID, as a server that drops root */
                sleep_ms(500);
                if (setuid((uid_t)number) < 0)
                        err(1, "setuid");
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* setuid() has cleared it */
                tell("became", number);
        } else if (strcmp(what, "leader-ends") == 0) { /* its first thread goes, another stays */
                start_thread();
                sleep_ms(500);
                pthread_exit(NULL);
        }
        (void)wait_for_end(NULL);
        return 0;
}
