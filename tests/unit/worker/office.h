/* Workers, and processes to ask them about. */
#pragma once

#include "../../support/child-process.h"
#include "tidbnumad/worker/child.h"
#include "tidbnumad/worker/worker.h"
#include "tidbnumad/world/processes.h"

typedef struct Office {
        Sysroot sysroot;
        sd_event *event;
        Workers workers;
        unsigned n_hung, n_idle;
        ProcessId hung;
        WorkerJob hung_job;
        pid_t children[4]; /* processes to ask about */
        ProcHandle handles[4];
} Office;

static inline void on_hung(const ProcessId *process, WorkerJob job, void *userdata) {
        Office *o = userdata;

        o->n_hung++;
        o->hung = *process;
        o->hung_job = job;
}

static inline void on_idle(void *userdata) {
        Office *o = userdata;

        o->n_idle++;
}

static inline void office_init(Office *o) {
        *o = (Office){ .sysroot = SYSROOT_NONE };
        assert_int_equal(sysroot_open(NULL, &o->sysroot), 0);
        assert_int_equal(sd_event_new(&o->event), 0);
        assert_non_null(getenv("TIDBNUMAD"));
        workers_start(&o->workers, getenv("TIDBNUMAD"), o->event, on_hung, o);
        worker_on_idle(&o->workers.mover, on_idle, o);
        worker_on_idle(&o->workers.sampler, on_idle, o);
        for (unsigned i = 0; i < ELEMENTSOF(o->children); i++) {
                o->children[i] = child_start();
                assert_int_equal(proc_open(&o->sysroot, o->children[i], &o->handles[i]), 0);
        }
}

static inline void end_child(Office *o, unsigned i) {
        child_end(o->children[i]);
        o->children[i] = 0;
}

static inline void office_done(Office *o) {
        workers_done(&o->workers);
        for (unsigned i = 0; i < ELEMENTSOF(o->children); i++) {
                end_child(o, i);
                proc_close(&o->handles[i]);
        }
        sd_event_unref(o->event);
        sysroot_close(&o->sysroot);
}
#define _cleanup_office_ _cleanup_(office_done)
#define OFFICE_TEST(test) TEST_WITH(test, Office, o, office_init, office_done)

static inline int read_args(Office *o, unsigned i, uid_t uid) {
        _cleanup_process_ Process process = { .uid = uid };

        return worker_read_args(&o->workers, &o->handles[i], &process);
}

static inline void stop_worker(const Worker *worker) {
        assert_int_equal(kill(worker->child->pid, SIGSTOP), 0);
}
