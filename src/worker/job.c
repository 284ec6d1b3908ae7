/* The jobs: what each waits for, how long it may take, and in which lane it runs. */
#include <string.h>

#include "tidbnumad/worker/message.h"

/* Stuck ones included they are fewer than TasksMax= of the unit. With all children at work, a write
 * is refused: what holds its lock may take half a minute, and is no fault. */
static const WorkerLaneLimits lanes[N_WORKER_LANES] = {
        [WORKER_LANE_FACTS] = { 8, 1, .queues = true, .shares = true },
        [WORKER_LANE_SAMPLES] = { 1, 1 },
        [WORKER_LANE_MOVES] = { 1, 1 },
        [WORKER_LANE_ONCE] = { 1, 1 },
        [WORKER_LANE_WRITES] = { 5, 1, .own = true },
        [WORKER_LANE_GUARD] = { 6, 2, .own = true, .shares = true },
};

/* What is sent back beside the result. */
typedef enum JobReply {
        REPLY_NOTHING,
        REPLY_TEXT,
        REPLY_PORTS,
        REPLY_HUGE,
        REPLY_DRAW,
        REPLY_MOVED,
        REPLY_JOINED,
} JobReply;

/* Most jobs take some ms, and a step of the mover moves one huge page. */
#define JOB_USEC (UINT64_C(10) * 1000 * 1000)

/* A write of memory nodes waits for the lock of each memory map: a process for which the kernel
 * reclaims memory can hold its lock for half a minute, and a second write would only wait for the
 * first one. */
#define GROUP_USEC (UINT64_C(60) * 1000 * 1000)

/* Moves a node's memory, up to hundreds of GiB; no other job waits for this child. */
#define ONCE_USEC (UINT64_C(1800) * 1000 * 1000)

typedef struct Job {
        const char *name;
        WorkerLane lane;
        WorkerWait wait;
        bool acts;
        uint64_t deadline_usec;
        JobReply reply;
} Job;

#define FACT(name, wait, reply)                                                                    \
        { name, WORKER_LANE_FACTS, WORKER_WAIT_##wait, false, JOB_USEC, REPLY_##reply }
#define MOVE(name, lane, usec, reply)                                                              \
        { name, WORKER_LANE_##lane, WORKER_WAIT_MEMORY, true, usec, REPLY_##reply }
#define WRITE(name, wait, reply)                                                                   \
        { name, WORKER_LANE_WRITES, WORKER_WAIT_##wait, true, GROUP_USEC, REPLY_##reply }

static const Job jobs[N_WORKER_JOBS] = {
        [WORKER_HELLO] = FACT("start", MEMORY, NOTHING),
        [WORKER_ARGS] = FACT("args", MEMORY, TEXT),
        [WORKER_VFORK] = FACT("vfork", MEMORY, NOTHING),
        [WORKER_EXE] = FACT("exe", FILES, NOTHING),
        [WORKER_PORTS] = FACT("ports", MEMORY, PORTS),
        [WORKER_DATA_DIR] = FACT("data-dir", MEMORY, TEXT),
        [WORKER_STORAGE] = FACT("storage", FILES, TEXT),
        [WORKER_MEMORY_POLICY] = FACT("memory-policy", MEMORY, TEXT),
        [WORKER_USER] = FACT("user", NAMES, TEXT),
        [WORKER_SCRIPT] = FACT("script", FILES, TEXT),
        [WORKER_HUGE] = FACT("huge-pages", MEMORY, HUGE),
        [WORKER_PROBE] = FACT("probe", MEMORY, NOTHING),
        [WORKER_DRAW] = { "sample", WORKER_LANE_SAMPLES, WORKER_WAIT_MEMORY, false, JOB_USEC,
                          REPLY_DRAW },
        [WORKER_MOVE] = MOVE("move", MOVES, JOB_USEC, MOVED),
        [WORKER_SWEEP] = MOVE("sweep", MOVES, JOB_USEC, NOTHING),
        [WORKER_ONCE] = MOVE("migrate", ONCE, ONCE_USEC, NOTHING),
        [WORKER_MEMS] = WRITE("mems", MEMORY, NOTHING),
        [WORKER_GROUP] = WRITE("cgroup", MEMORY, JOINED),
        [WORKER_MAKE_GROUP] = WRITE("make-group", GROUPS, NOTHING),
        [WORKER_REMOVE_GROUPS] = WRITE("remove-groups", GROUPS, NOTHING),
};

const char *worker_job_to_string(WorkerJob job) {
        return jobs[job].name;
}

WorkerWait worker_job_wait(WorkerJob job) {
        return jobs[job].wait;
}

bool worker_job_acts(WorkerJob job) {
        return jobs[job].acts;
}

bool worker_job_is_of_host(WorkerJob job) {
        return job == WORKER_USER || job == WORKER_SCRIPT;
}

uint64_t worker_job_deadline_usec(WorkerJob job) {
        return jobs[job].deadline_usec;
}

WorkerLane worker_job_lane(WorkerJob job) {
        return jobs[job].lane;
}

const WorkerLaneLimits *worker_lane_limits(WorkerLane lane) {
        return &lanes[lane];
}

bool worker_request_is_urgent(const WorkerRequest *request) {
        return request->job == WORKER_MEMS && request->widen;
}

WorkerLane worker_request_lane(const WorkerRequest *request) {
        return worker_request_is_urgent(request) ? WORKER_LANE_GUARD : jobs[request->job].lane;
}

WorkerWait worker_request_wait(const WorkerRequest *request) {
        return request->job == WORKER_GROUP && request->joins ? WORKER_WAIT_GROUPS
                                                              : jobs[request->job].wait;
}

ProcessId worker_request_process(const WorkerRequest *request) {
        return (ProcessId){ .pid = request->pid, .start_ticks = request->start_ticks };
}

/* Steps and samples are drawn up anew each time, and are one question all the same. */
bool worker_request_is_same(const WorkerRequest *a, const WorkerRequest *b) {
        if (a->job != b->job || a->pid != b->pid || a->start_ticks != b->start_ticks)
                return false;
        switch (a->job) {
        case WORKER_STORAGE:
        case WORKER_USER:
        case WORKER_SCRIPT:
                return a->any_text == b->any_text && strcmp(a->path, b->path) == 0;
        case WORKER_VFORK:
                return a->forked_by == b->forked_by;
        case WORKER_EXE:
                return a->foreign == b->foreign;
        case WORKER_HUGE:
                return id_set_equal(&a->nodes, &b->nodes);
        case WORKER_GROUP:
                return a->joins == b->joins &&
                       (!a->joins || (id_set_equal(&a->join.cpus, &b->join.cpus) &&
                                      strcmp(a->join.instance, b->join.instance) == 0));
        default:
                return true;
        }
}

size_t worker_reply_size(const WorkerReply *reply) {
        const size_t head = offsetof(WorkerReply, moved);

        switch (jobs[reply->job].reply) {
        case REPLY_NOTHING:
                break;
        case REPLY_TEXT:
                return head + strlen(reply->text) + 1;
        case REPLY_PORTS:
                return head + sizeof(reply->ports);
        case REPLY_HUGE:
                return head + sizeof(reply->huge);
        case REPLY_DRAW:
                return head + sizeof(reply->draw);
        case REPLY_MOVED:
                return head + sizeof(reply->moved);
        case REPLY_JOINED:
                return head + sizeof(reply->joined);
        }
        return head;
}
