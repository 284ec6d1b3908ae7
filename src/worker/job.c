/* The names of the jobs, and what each of them waits for. */
#include <string.h>

#include "tidbnumad/worker/job.h"

static const char *const names[N_WORKER_JOBS] = {
        [WORKER_HELLO] = "start",
        [WORKER_ARGS] = "args",
        [WORKER_VFORK] = "vfork",
        [WORKER_EXE] = "exe",
        [WORKER_PORTS] = "ports",
        [WORKER_DATA_DIR] = "data-dir",
        [WORKER_STORAGE] = "storage",
        [WORKER_MEMORY_POLICY] = "memory-policy",
        [WORKER_USER] = "user",
        [WORKER_SCRIPT] = "script",
        [WORKER_HUGE] = "huge-pages",
        [WORKER_PROBE] = "probe",
        [WORKER_DRAW] = "sample",
        [WORKER_MOVE] = "move",
        [WORKER_SWEEP] = "sweep",
        [WORKER_ONCE] = "migrate",
        [WORKER_MEMS] = "mems",
        [WORKER_GROUP] = "cgroup",
        [WORKER_MAKE_GROUP] = "make-group",
        [WORKER_REMOVE_GROUPS] = "remove-groups",
};

const char *worker_job_to_string(WorkerJob job) {
        return names[job];
}

WorkerWait worker_job_wait(WorkerJob job) {
        switch (job) {
        case WORKER_USER:
                return WORKER_WAIT_NAMES;
        case WORKER_STORAGE:
        case WORKER_EXE:
        case WORKER_SCRIPT:
                return WORKER_WAIT_FILES;
        case WORKER_MAKE_GROUP:
        case WORKER_REMOVE_GROUPS:
                return WORKER_WAIT_GROUPS;
        default:
                return WORKER_WAIT_MEMORY;
        }
}

bool worker_job_acts(WorkerJob job) {
        switch (job) {
        case WORKER_MOVE:
        case WORKER_SWEEP:
        case WORKER_ONCE:
        case WORKER_MEMS:
        case WORKER_GROUP:
        case WORKER_MAKE_GROUP:
        case WORKER_REMOVE_GROUPS:
                return true;
        default:
                return false;
        }
}

/* Most jobs take some ms, and a step of the mover moves one huge page. A write of memory nodes
 * waits for the lock of each memory map: a process for which the kernel reclaims memory can hold
 * its lock for half a minute, and a second write would only wait for the first one. */
uint64_t worker_job_deadline_usec(WorkerJob job) {
        switch (job) {
        case WORKER_MEMS:
        case WORKER_GROUP:
        case WORKER_MAKE_GROUP:
        case WORKER_REMOVE_GROUPS:
                return 60 * UINT64_C(1000000);
        case WORKER_ONCE: /* moves a node's memory, up to hundreds of GiB; no other job waits for
                           * this worker */
                return 1800 * UINT64_C(1000000);
        default:
                return 10 * UINT64_C(1000000);
        }
}

size_t worker_reply_size(const WorkerReply *reply) {
        const size_t head = offsetof(WorkerReply, moved);

        switch (reply->job) {
        case WORKER_ARGS:
        case WORKER_DATA_DIR:
        case WORKER_STORAGE:
        case WORKER_MEMORY_POLICY:
        case WORKER_USER:
        case WORKER_SCRIPT:
                return head + strlen(reply->text) + 1;
        case WORKER_PORTS:
                return head + sizeof(reply->ports);
        case WORKER_HUGE:
                return head + sizeof(reply->huge);
        case WORKER_DRAW:
                return head + sizeof(reply->draw);
        default:
                return head + sizeof(reply->moved);
        }
}
