/* Workers: child processes for jobs that could block the daemon for ever, because they depend on
 * another process or on a file system that a process chose.
 *
 * A worker runs one job at a time. Each job has a deadline, which is put off up to
 * WORKER_EXTENDED_MAX times as long as the worker only waits for a CPU, if the job only reads; a
 * worker that misses it is killed, and left alone if it does not die. The process of that job is
 * remembered, and no job for it runs again before workers_forget(), but see WORKER_EXCUSE_USEC;
 * another worker takes the next job. The daemon waits at most WORKER_TURN_USEC for small facts in
 * one turn of its loop, for all of them together; while it starts, WORKER_CALL_USEC for each. Then
 * the worker is put aside until its deadline, and the caller tries again later: an answer that has
 * come meanwhile is kept for that. At most WORKER_LATE_USER_MAX jobs of one user are put aside at a
 * time, so that thousands of processes that do not answer cost no more. What it waits, also for
 * answers that come in time, is charged to the user of the process: at most WORKER_USER_USEC at
 * once, and one part in WORKER_USER_PART of the time in the long run; then the daemon waits for an
 * answer that is as good as there, and no longer. A job of the daemon itself, as a write to a
 * cgroup, has WORKER_CALL_USEC in any turn. The daemon does not wait for longer work at all.
 *
 * A worker that waits in the kernel and ignores SIGKILL is stuck. Each is a task of the unit, which
 * has TasksMax= of them: with WORKER_STUCK_USER_MAX stuck workers for processes of one user, no
 * more jobs are run for that user's processes; with WORKER_STUCK_MAX in total, no worker is started
 * any more except the guard's.
 *
 * There are no workers without workers_start(), as with --sysroot. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/change/mover.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/ports.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/instances.h"
#include "tidbnumad/world/memory.h"
#include "tidbnumad/world/sampling.h"

/* --- messages --- */

/* Messages to and from workers. Both ends run the same program, so a message is the struct itself,
 * over a SOCK_SEQPACKET socket. */

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

/* --- limits --- */

/* While the daemon starts it waits this long for a fact, once for each process, and half of that
 * for each worker that it already waits for. */
#define WORKER_CALL_USEC (UINT64_C(250) * 1000)

/* From then on it waits this long in one turn of its loop, for all facts together. */
#define WORKER_TURN_USEC (UINT64_C(60) * 1000)

/* What the processes of one user may cost the loop. */
#define WORKER_USER_USEC (UINT64_C(250) * 1000)
enum { WORKER_USER_PART = 10 };

/* An answer is kept this long for a caller that could not wait for it. That a memory map answered
 * is not true for long. */
#define WORKER_KEEP_USEC (UINT64_C(3000) * 1000)
#define WORKER_KEEP_PROBE_USEC (UINT64_C(500) * 1000)

/* A new worker may take this long to start on a busy host. It depends on no other process
 * meanwhile. */
#define WORKER_START_USEC (UINT64_C(1000) * 1000)

enum { WORKER_LATE_MAX = 8, WORKER_LATE_USER_MAX = 3, WORKER_HUNG_MAX = 1024 };
enum { WORKER_STUCK_MAX = 16, WORKER_STUCK_USER_MAX = 4 };
enum { WORKER_EXTENDED_MAX = 5 };
enum { WORKER_PAYERS_MAX = 32, WORKER_KEPT_MAX = 32 };

/* A wait that a process can cause ends when the worker is killed. A worker that took longer than
 * this to die was delayed by the kernel itself, which waits for work on each CPU before it moves
 * pages, or had no CPU: then jobs for the process are tried again, this many times. The same
 * applies if a job that changes the process was running at its deadline. */
#define WORKER_EXCUSE_USEC (UINT64_C(2000) * 1000)
enum { WORKER_EXCUSED_MAX = 3 };

typedef struct Workers Workers;
typedef struct WorkerChild WorkerChild;

/* Called for a process whose job was abandoned. */
typedef void (*WorkerHungHandler)(const ProcessId *process, WorkerJob job, void *userdata);

/* Called when a worker has an answer, or will have none: the caller repeats its request. */
typedef void (*WorkerIdleHandler)(void *userdata);

typedef struct Worker {
        Workers *all;
        WorkerChild *child; /* NULL: none, the next job starts one; owned */
        WorkerReply *reply; /* an answer that the caller has not fetched yet; owned */
        bool has_reply;
        ProcessId reply_of;
        uint64_t reply_usec;
        WorkerIdleHandler on_idle;
        void *userdata;
} Worker;

typedef struct WorkerHung {
        ProcessId process;
        WorkerWait wait;
        unsigned n;   /* how often a job for it was abandoned */
        bool excused; /* jobs for it may be tried again */
        bool at_mems; /* the job was a write of its memory nodes: the guard is refused as well */
} WorkerHung;

/* A child that was let go and is not reaped yet. */
typedef struct WorkerLeaving {
        pid_t pid;
        bool stuck; /* it was killed in the middle of a job; of the others, below */
        uid_t uid;
        WorkerJob job;
        ProcessId process;
        uint64_t since_usec;
} WorkerLeaving;

/* A user whose processes were waited for. */
typedef struct WorkerPayer {
        uid_t uid;
        uint64_t debt_usec; /* what was waited, less what has been paid back until at_usec */
        uint64_t at_usec;
} WorkerPayer;

/* An answer for a caller that will ask again. */
typedef struct WorkerKept {
        WorkerRequest *request; /* NULL: none; owned, as the reply */
        WorkerReply *reply;
        uint64_t at_usec;
} WorkerKept;

struct Workers {
        const char *program; /* NULL: not started */
        sd_event *event;     /* borrowed */
        Worker facts, mover, sampler, mems;
        Worker once;     /* of `migrate: kernel` alone: its jobs take minutes */
        Worker guard[2]; /* for the full-node guard only: one, and another in reserve */
        WorkerChild *late[WORKER_LATE_MAX]; /* children that were put aside; owned */
        bool has_turns;                     /* the start is complete */
        uint64_t turn_usec;                 /* what is left of the turn's WORKER_TURN_USEC */
        WorkerPayer payers[WORKER_PAYERS_MAX];
        WorkerKept kept[WORKER_KEPT_MAX];
        WorkerLeaving *leaving; /* owned */
        size_t n_leaving, leaving_allocated;
        sd_event_source *reap_timer;      /* while there are any */
        WorkerHung hung[WORKER_HUNG_MAX]; /* a ring: the next one replaces the oldest */
        size_t n_hung, next_hung;
        uint64_t n_timeouts[N_WORKER_JOBS];
        WorkerHungHandler on_hung;
        void *userdata;
};

/* Makes workers run jobs from now on, as "PROGRAM --worker" with the socket as descriptor
 * WORKER_FD. The pointers are borrowed. */
enum { WORKER_FD = 3 };
void workers_start(Workers *workers, const char *program, sd_event *event,
                   WorkerHungHandler on_hung, void *userdata);
void workers_done(Workers *workers);

/* A turn of the loop begins. */
void workers_begin_turn(Workers *workers);

/* What root asks for is under way, such as a reload: until the next turn begins, each answer is
 * waited for as while the daemon starts. */
void workers_end_turns(Workers *workers);

/* Was as much waited in this turn as one may? Then worker_call() returns -EBUSY. */
bool workers_turn_is_spent(const Workers *workers);

/* Starts the worker without waiting, so that the next job needs no memory for that. */
void worker_prepare(Worker *worker);

/* Has the worker reported that it is ready? */
bool worker_is_ready(Worker *worker);

/* Does the worker run a job of worker_ask()? */
bool worker_is_busy(const Worker *worker);

/* Sets the handler that is called when an answer to worker_ask() has come, or none will. */
void worker_on_idle(Worker *worker, WorkerIdleHandler handler, void *userdata);

/* Is the process known not to answer? */
bool workers_is_hung(Workers *workers, const ProcessId *process, WorkerWait wait);

/* Does a worker wait for that already, which all processes have in common? */
bool workers_wait_for(const Workers *workers, WorkerWait wait);

/* Is a worker that was put aside, or that no signal ends, still at a write of a control group for
 * this process, worker_write_group()? It may be done at any time. */
bool workers_write_group_of(const Workers *workers, const ProcessId *process);

/* The process executed another program: jobs for it may run again. */
void workers_forget(Workers *workers, pid_t pid);

/* Waits for the answer and returns the job's result. -ETIME: not in time, try again later; -EBUSY:
 * the same, as too much was waited in this turn or for the same user, or too many processes are
 * being waited for; -EHOSTDOWN: the process does not answer; -ECHILD: the worker ended, or none can
 * be started. NO_USER: a job of the daemon itself, as a write to a cgroup. At most one of these is
 * late for each process, so that some processes whose memory maps are locked do not keep all others
 * from being bound; in total they leave places for the jobs of a user. */
#define NO_USER ((uid_t)-1)
int worker_call(Worker *worker, WorkerRequest *request, const ProcHandle *process, uid_t uid,
                WorkerReply *reply);

/* The same for one question of several, which are all asked again if one of them has no answer yet:
 * the answer is kept until worker_forget_answer(). */
int worker_call_again(Worker *worker, WorkerRequest *request, const ProcHandle *process, uid_t uid,
                      WorkerReply *reply);
void worker_forget_answer(Workers *workers, const WorkerRequest *request,
                          const ProcHandle *process);

/* Does not wait: -EAGAIN until the answer is there, for which the same request has to be repeated.
 * Other requests get -EAGAIN meanwhile as well. Otherwise as worker_call(). */
int worker_ask(Worker *worker, WorkerRequest *request, const ProcHandle *process,
               WorkerReply *reply);

/* --- the jobs as functions --- */

/* Jobs for workers as functions. Those of the first two groups wait for the answer, at most
 * as long as worker.h allows; those of the third do not wait: -EAGAIN until the answer is
 * there. Beside the errors of the function that the job runs, they return those of worker_call()
 * and worker_ask(). Without workers, as for a dump, the first group runs the job in this process.
 */

/* process_read_args(). */
int worker_read_args(Workers *workers, const ProcHandle *handle, Process *process);

/* process_is_vforked(). */
int worker_is_vforked(Workers *workers, const ProcHandle *handle, const Process *process);

/* process_check_mounts(). */
int worker_check_mounts(Workers *workers, const Sysroot *sysroot, const ProcHandle *handle,
                        Process *process);

/* members_read_ports(): a process may have any number of descriptors, which are read one by one. */
int worker_read_ports(Workers *workers, const Members *members, ListenPorts *ret);

/* members_read_data_dir() and members_read_storage(); of the storage only the nodes and the chain.
 * `cpus`: CPUs of the processes, because reading a command line touches a page of theirs. */
int worker_read_data_dir(Workers *workers, const Members *members, const CpuSet *cpus, char **ret);
int worker_read_storage(Workers *workers, const Members *members, const char *data_dir,
                        StorageDevices *ret);

/* memory_policy_read(). */
int worker_read_memory_policy(Workers *workers, const ProcHandle *handle, uid_t uid, char *buffer,
                              size_t size);

/* members_read_huge_maps(). -ETIME, -EBUSY and -ENOMEM: ask again later. */
int worker_read_huge_maps(Workers *workers, const Members *members, const NodeSet *nodes,
                          HugeMaps *ret);

/* As script_read(). The file system of the path is somebody's: -ETIME, it does not answer. */
int worker_read_script(Workers *workers, const Sysroot *sysroot, const char *path, bool any,
                       char **ret);

/* user_to_uid(), without a wait if the host's own file has the user. A name service gets
 * no more time than a process. */
int worker_look_up_user(Workers *workers, const Sysroot *sysroot, const char *user, uid_t *ret);

/* Starts the workers for widening in advance, because there may be no memory to start one later. */
void worker_prepare_guard(Workers *workers);

/* Does the memory map of the process answer? 0, or as above. */
int worker_probe(Workers *workers, const ProcHandle *handle, uid_t uid);
int worker_probe_members(Workers *workers, const Members *members);

/* --- control groups; these and the next need workers --- */

/* cgroup_mems_widen() or cgroup_mems_write() for the group of the process. Widening has workers of
 * its own: if one waits for a lock and returns -ETIME, the other one is ready. */
int worker_write_mems(Workers *workers, const ProcHandle *process, int group_fd,
                      const NodeSet *mems, bool widen);

/* cgroup_write(): of the CPUs of the group, or of the number of the process, which is to be in it.
 */
int worker_write_group(Workers *workers, const ProcHandle *process, int group_fd, const char *file,
                       const char *text);

/* cgroup1_groups_make() for the process's instance, and cgroup1_groups_remove(). */
int worker_make_group(Workers *workers, const ProcHandle *process, const char *instance);
int worker_remove_groups(Workers *workers, const Sysroot *sysroot);

/* --- without waiting --- */

/* sampler_draw(), with the CPU time that it took. */
int worker_draw(Workers *workers, const Topology *topology, const ProcHandle *handle,
                size_t n_pages, uint64_t seed, Draws *ret, uint64_t *ret_cpu_usec);

/* mover_step(), from the start of a process that was not walked in this pass yet. Adds to the
 * counters. */
int worker_move(Workers *workers, const ProcHandle *handle, const WorkerMove *move,
                const NodeSet *nodes, const CpuSet *cpus, MoverCounters *counters,
                uint64_t *ret_bytes);

/* pages_sweep(). */
int worker_sweep(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to);

/* pages_sweep() of a whole node's memory, by a worker of its own. */
int worker_migrate(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to);

/* --- the other end --- */

/* Runs the jobs that come over the socket until the other end is closed. The process is killed when
 * its parent ends. Returns an exit status. */
int worker_serve(int fd);
