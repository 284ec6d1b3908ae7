/* Workers, and processes to ask them about. */
#pragma once

#include "../../support/child-process.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/message.h"
#include "tidbnumad/world/processes.h"

enum { OFFICE_CHILDREN = 12 };

typedef struct Office {
        Sysroot sysroot;
        sd_event *event;
        Workers *workers;
        unsigned n_hung, n_answers;
        ProcessId hung;
        WorkerJob hung_job;
        pid_t answered[OFFICE_CHILDREN]; /* in the order in which it was said */
        pid_t children[OFFICE_CHILDREN]; /* processes to ask about */
        ProcHandle handles[OFFICE_CHILDREN];
} Office;

static inline void on_hung(const ProcessId *process, WorkerJob job, void *userdata) {
        Office *o = userdata;

        o->n_hung++;
        o->hung = *process;
        o->hung_job = job;
}

static inline void on_answer(const ProcessId *process, WorkerJob job, void *userdata) {
        Office *o = userdata;

        (void)job;
        o->answered[o->n_answers++ % OFFICE_CHILDREN] = process->pid;
}

static inline void office_init(Office *o) {
        *o = (Office){ .sysroot = SYSROOT_NONE };
        assert_int_equal(sysroot_open(NULL, &o->sysroot), 0);
        assert_int_equal(sd_event_new(&o->event), 0);
        assert_non_null(getenv("TIDBNUMAD"));
        assert_int_equal(workers_new(getenv("TIDBNUMAD"), o->event, on_hung, o, &o->workers), 0);
        for (WorkerJob job = WORKER_ARGS; job < N_WORKER_JOBS; job++)
                workers_on_answer(o->workers, job, on_answer, o);
        for (unsigned i = 0; i < OFFICE_CHILDREN; i++) {
                o->children[i] = child_start();
                assert_int_equal(proc_open(&o->sysroot, o->children[i], &o->handles[i]), 0);
        }
}

static inline void end_child(Office *o, unsigned i) {
        child_end(o->children[i]);
        o->children[i] = 0;
}

/* A child of this process that serves. */
static inline bool is_worker(pid_t pid) {
        char text[64];

        return path_read(AT_FDCWD, text, sizeof(text), "/proc/%d/comm", pid) > 0 &&
               strcmp(text, "tidbnumad-work") == 0;
}

/* Sends all of them the signal; the number of them. */
static inline unsigned signal_workers(int signal) {
        char path[64];
        unsigned n = 0;
        FILE *f;
        int pid;

        (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
        f = fopen(path, "re");
        assert_non_null(f);
        while (fscanf(f, "%d", &pid) == 1)
                if (is_worker(pid)) {
                        assert_int_equal(kill(pid, signal), 0);
                        n++;
                }
        (void)fclose(f);
        return n;
}

static inline void office_done(Office *o) {
        o->workers = workers_free(o->workers);
        for (unsigned i = 0; i < OFFICE_CHILDREN; i++) {
                end_child(o, i);
                proc_close(&o->handles[i]);
        }
        while (signal_workers(SIGKILL) > 0) /* some are stopped */
                (void)waitpid(-1, NULL, WNOHANG);
        sd_event_unref(o->event);
        sysroot_close(&o->sysroot);
}
#define _cleanup_office_ _cleanup_(office_done)
#define OFFICE_TEST(test) TEST_WITH(test, Office, o, office_init, office_done)

/* A pass of the daemon's loop. */
static inline void office_pass(Office *o) {
        workers_begin_pass(o->workers, true);
        assert_true(sd_event_run(o->event, 10000) >= 0);
}

/* Turns until the call has its answer. */
#define IN_THE_END(o, call)                                                                        \
        ({                                                                                         \
                int _r = (call);                                                                   \
                for (unsigned _n = 0; _n < 1000 && (_r == -EAGAIN || _r == -EBUSY); _n++) {        \
                        office_pass(o);                                                            \
                        _r = (call);                                                               \
                }                                                                                  \
                _r;                                                                                \
        })

static inline int read_args(Office *o, unsigned i, uid_t uid) {
        _cleanup_process_ Process process = { .uid = uid };

        return worker_read_args(o->workers, &o->handles[i], &process);
}
