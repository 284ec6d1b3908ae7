/* What workers are asked and answer. Both ends run the same program, so a message is the struct
 * itself, over a SOCK_SEQPACKET socket. For the layer itself; others call the functions of
 * worker.h.
 */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/worker/worker.h"

enum { WORKER_FILE_MAX = 32 }; /* "cgroup.procs" */

typedef struct WorkerRequest {
        WorkerJob job;
        uint64_t serial;
        ProcessId process; /* its /proc directory and pidfd come with the message. For MEMS the
                            * directory is that of its control group */
        CpuSet cpus;       /* CPUs to run on meanwhile, see affinity_borrow() */
        bool any_text;     /* SCRIPT: a file of any kind of text */
        bool joins;        /* GROUP: `join` is valid, not `group` */
        NodeSet nodes; /* DRAW: all nodes; HUGE: those to count; MOVE: nodes to stay on; MEMS: nodes
                          to set */
        union {
                WorkerMove move;
                struct {
                        uint64_t n_pages, seed;
                } draw;
                struct {
                        uint32_t from, to;
                } sweep;
                bool widen;      /* MEMS: keep the present nodes as well */
                pid_t forked_by; /* VFORK */
                Foreign foreign; /* EXE: as process_identify() has left it */
                struct {
                        char file[WORKER_FILE_MAX], text[ID_SET_LIST_MAX];
                } group;
                struct {
                        CpuSet cpus;
                        char instance[PATH_MAX - sizeof(CpuSet)];
                } join;
                char path[PATH_MAX];
        };
} WorkerRequest;

typedef struct WorkerMoved {
        uint64_t paid_bytes;
        MoverCounters counters; /* of this step */
} WorkerMoved;

typedef struct WorkerJoined {
        uint64_t n_pid_reuses;
        int refused; /* see worker_join_group() */
} WorkerJoined;

/* Room for the longest text, and for the draws of as many nodes as a kernel supports. */
enum { WORKER_TEXT_MAX = CMDLINE_MAX_BYTES + 2, WORKER_NODES_MAX = 1024 };

typedef struct WorkerReply {
        WorkerJob job;
        uint64_t serial;
        int result;
        uint64_t cpu_usec; /* CPU time of the job */
        NodeSet nodes;     /* STORAGE */
        union {
                WorkerMoved moved;
                WorkerJoined joined;
                HugeMaps huge;
                PortSet ports;
                struct {
                        Draws draws; /* the pointer in it is not valid */
                        NodeDraws by_node[WORKER_NODES_MAX];
                } draw;
                char text[WORKER_TEXT_MAX];
        };
} WorkerReply;

/* Bytes of the reply that are sent: texts are mostly short. */
size_t worker_reply_size(const WorkerReply *reply);

/* --- jobs and lanes: see worker.h --- */

typedef struct WorkerLaneLimits {
        unsigned n_max, n_kept; /* children: at most, and while there is nothing to do */
        bool own;               /* of the daemon itself: nobody takes an answer that is late */
        bool queues;
        bool shares; /* with all at work, the oldest is given up, see WORKER_SHARE_USEC */
} WorkerLaneLimits;

extern const WorkerLaneLimits worker_lanes[N_WORKER_LANES];

/* A binding that has to be widened before the kernel kills. */
bool worker_request_is_urgent(const WorkerRequest *request);
WorkerLane worker_request_lane(const WorkerRequest *request);

/* As the job's. But a join may wait for the lock of all control groups, as the making of a
 * group does, and that is not the process's doing. */
WorkerWait worker_request_wait(const WorkerRequest *request);
bool worker_request_is_same(const WorkerRequest *a, const WorkerRequest *b);

/* --- asking: see worker.h ---
 *
 * Each returns the job's result, with `*reply` then, or an error of worker.h. `uid`: whose process
 * it is; NO_USER: a job of the daemon itself. */
#define NO_USER ((uid_t)-1)

/* `keep`: one question of several, which are all asked again while one of them has no answer: the
 * answer is kept until workers_forget_answer(). */
int workers_ask(Workers *workers, WorkerRequest *request, const ProcHandle *process, uid_t uid,
                bool keep, WorkerReply *reply);
void workers_forget_answer(Workers *workers, WorkerRequest *request, const ProcHandle *process);

/* A write to a control group. -ETIME: see worker.h. */
int workers_write(Workers *workers, WorkerRequest *request, const ProcHandle *process);

/* The same without a wait: 0, it is under way, and the handler of its job takes the answer;
 * -EAGAIN: no child is free. */
int workers_post(Workers *workers, WorkerRequest *request, const ProcHandle *process);

/* The answer to what was posted, as workers_ask(). -ENODATA: there is none. */
int workers_take_answer(Workers *workers, WorkerJob job, const ProcessId *process,
                        WorkerReply *reply);
