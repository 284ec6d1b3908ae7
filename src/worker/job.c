/* The jobs: what each waits for, how long it may take, and in which lane it runs. */
#include <string.h>

#include "tidbnumad/worker/message.h"

/* Stuck ones included they are fewer than TasksMax= of the unit. With all children at work, a write
 * is refused: what holds its lock may take half a minute, and is no fault. */
const WorkerLaneLimits worker_lanes[N_WORKER_LANES] = {
        [WORKER_LANE_FACTS] = { 8, 1, .queues = true, .shares = true },
        [WORKER_LANE_SAMPLES] = { 1, 1 },
        [WORKER_LANE_MOVES] = { 1, 1 },
        [WORKER_LANE_ONCE] = { 1, 1 },
        [WORKER_LANE_WRITES] = { 5, 1, .own = true },
        [WORKER_LANE_GUARD] = { 6, 2, .own = true, .shares = true },
};

/* Most jobs take some ms, and a step of the mover moves one huge page. */
#define JOB_USEC (UINT64_C(10) * 1000 * 1000)

/* A write of memory nodes waits for the lock of each memory map: a process for which the kernel
 * reclaims memory can hold its lock for half a minute, and a second write would only wait for the
 * first one. */
#define GROUP_USEC (UINT64_C(60) * 1000 * 1000)

/* Moves a node's memory, up to hundreds of GiB; no other job waits for this child. */
#define ONCE_USEC (UINT64_C(1800) * 1000 * 1000)

/* What is sent back beside the result: a part of the reply, or a text. */
#define REPLY(part) sizeof(((WorkerReply *)NULL)->part)
#define REPLY_TEXT SIZE_MAX

#define FACT(name, wait, reply, ...)                                                               \
        { name, WORKER_LANE_FACTS, WORKER_WAIT_##wait, JOB_USEC, reply, __VA_ARGS__ }
#define MOVE(name, lane, usec, reply)                                                              \
        { name, WORKER_LANE_##lane, WORKER_WAIT_MEMORY, usec, reply, .acts = true }
#define WRITE(name, wait, reply)                                                                   \
        { name, WORKER_LANE_WRITES, WORKER_WAIT_##wait, GROUP_USEC, reply, .acts = true }

const WorkerJobInfo worker_jobs[N_WORKER_JOBS] = {
        [WORKER_HELLO] = FACT("start", MEMORY, 0),
        [WORKER_ARGS] = FACT("args", MEMORY, REPLY_TEXT),
        [WORKER_VFORK] = FACT("vfork", MEMORY, 0),
        [WORKER_EXE] = FACT("exe", FILES, 0),
        [WORKER_PORTS] = FACT("ports", MEMORY, REPLY(ports)),
        [WORKER_DATA_DIR] = FACT("data-dir", MEMORY, REPLY_TEXT),
        [WORKER_STORAGE] = FACT("storage", FILES, REPLY_TEXT),
        [WORKER_MEMORY_POLICY] = FACT("memory-policy", MEMORY, REPLY_TEXT),
        [WORKER_USER] = FACT("user", NAMES, REPLY_TEXT, .of_host = true),
        [WORKER_SCRIPT] = FACT("script", FILES, REPLY_TEXT, .of_host = true),
        [WORKER_HUGE] = FACT("huge-pages", MEMORY, REPLY(huge)),
        [WORKER_PROBE] = FACT("probe", MEMORY, 0),
        [WORKER_DRAW] = { "sample", WORKER_LANE_SAMPLES, WORKER_WAIT_MEMORY, JOB_USEC,
                          REPLY(draw) },
        [WORKER_MOVE] = MOVE("move", MOVES, JOB_USEC, REPLY(moved)),
        [WORKER_SWEEP] = MOVE("sweep", MOVES, JOB_USEC, 0),
        [WORKER_ONCE] = MOVE("migrate", ONCE, ONCE_USEC, 0),
        [WORKER_MEMS] = WRITE("mems", MEMORY, 0),
        [WORKER_GROUP] = WRITE("cgroup", MEMORY, REPLY(joined)),
        [WORKER_MAKE_GROUP] = WRITE("make-group", GROUPS, 0),
        [WORKER_REMOVE_GROUPS] = WRITE("remove-groups", GROUPS, 0),
};

bool worker_request_is_urgent(const WorkerRequest *request) {
        return request->job == WORKER_MEMS && request->widen;
}

WorkerLane worker_request_lane(const WorkerRequest *request) {
        return worker_request_is_urgent(request) ? WORKER_LANE_GUARD
                                                 : worker_jobs[request->job].lane;
}

WorkerWait worker_request_wait(const WorkerRequest *request) {
        return request->job == WORKER_GROUP && request->joins ? WORKER_WAIT_GROUPS
                                                              : worker_jobs[request->job].wait;
}

/* Steps and samples are drawn up anew each time, and are one question all the same. */
bool worker_request_is_same(const WorkerRequest *a, const WorkerRequest *b) {
        if (a->job != b->job || !process_id_equal(&a->process, &b->process))
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
        const size_t n = worker_jobs[reply->job].reply_bytes;

        return offsetof(WorkerReply, moved) + (n == REPLY_TEXT ? strlen(reply->text) + 1 : n);
}
