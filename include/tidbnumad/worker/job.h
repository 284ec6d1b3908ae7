/* Messages to and from workers. Both ends run the same program, so a message is the struct itself,
 * over a SOCK_SEQPACKET socket. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/enforce/mover.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/ports.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/huge-load.h"
#include "tidbnumad/world/sampler.h"

typedef enum WorkerJob {
        WORKER_HELLO, /* sent by the worker once, when it is ready */
        WORKER_ARGS,  /* the command line */
        WORKER_VFORK, /* is it the child of a vfork(2)? */
        WORKER_EXE,   /* are its root and its executable those of the host at these paths? */
        WORKER_PORTS, /* on which it listens */
        WORKER_DATA_DIR,
        WORKER_STORAGE, /* the disks under a path of the process */
        WORKER_MEMORY_POLICY,
        WORKER_USER,          /* the number of a user, from the name service */
        WORKER_SCRIPT,        /* the text of the script that starts a unit */
        WORKER_HUGE,          /* its mappings of reserved huge pages */
        WORKER_PROBE,         /* does the memory map answer? */
        WORKER_DRAW,          /* where pages are located */
        WORKER_MOVE,          /* a step of the mover */
        WORKER_SWEEP,         /* migrate_pages(2), of what a pass has left */
        WORKER_ONCE,          /* migrate_pages(2), of all at once: `migrate: kernel` */
        WORKER_MEMS,          /* the memory nodes of a control group */
        WORKER_GROUP,         /* another file of a control group */
        WORKER_MAKE_GROUP,    /* cgroup v1: the group of an instance */
        WORKER_REMOVE_GROUPS, /* cgroup v1: those that are not used any more */
        N_WORKER_JOBS,
} WorkerJob;

/* What outside the daemon a job may wait for. */
typedef enum WorkerWait {
        WORKER_WAIT_NAMES,  /* the name service of the host */
        WORKER_WAIT_FILES,  /* the file system of a path that the process chose */
        WORKER_WAIT_MEMORY, /* the memory map of the process, and the server of its page faults */
        WORKER_WAIT_GROUPS, /* the kernel's lock of all control groups */
        N_WORKER_WAITS,
} WorkerWait;

const char *worker_job_to_string(WorkerJob job); /* the metric's label: "data-dir" */
WorkerWait worker_job_wait(WorkerJob job);

/* Does it change anything, or only read? What it changes may be what the process waits for. */
bool worker_job_acts(WorkerJob job);

/* A job that takes this long counts as hung. */
uint64_t worker_job_deadline_usec(WorkerJob job);

/* One pass of the mover over a process; its steps have the same `pass`. */
typedef struct WorkerMove {
        uint64_t pass;
        uint32_t target;
        bool alone, files; /* as in Mover */
} WorkerMove;

enum { WORKER_FILE_MAX = 32 }; /* "cgroup.procs" */

typedef struct WorkerRequest {
        WorkerJob job;
        uint64_t serial;
        pid_t pid; /* the process; its /proc directory and pidfd come with the message. For MEMS the
                      directory is that of its control group */
        uint64_t start_ticks;
        CpuSet cpus;   /* CPUs to run on meanwhile, see affinity_borrow() */
        bool any_text; /* SCRIPT: a file of any kind of text */
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
                char path[PATH_MAX];
        };
} WorkerRequest;

typedef struct WorkerMoved {
        uint64_t paid_bytes;
        MoverCounters counters; /* of this step */
} WorkerMoved;

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
