/* A process of the sandbox suite: it is copied to a name that nobody else has, and does one thing.
 * It never outlives the test that started it. */
#include <err.h>
#include <pthread.h>
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

int main(int argc, char *argv[]) {
        const char *what = argc > 1 ? argv[1] : "wait";
        long number = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (strcmp(what, "nap") == 0) { /* nap MILLISECONDS */
                sleep_ms(number);
                return 0;
        }
        if (strcmp(what, "fork") == 0) {
                do_fork();
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
