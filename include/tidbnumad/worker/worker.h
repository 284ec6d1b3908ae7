/* Workers: child processes for jobs that could block the daemon for ever, because they depend on
 * another process or on a file system that a process chose.
 *
 * A job is asked for, and its answer fetched by asking for the same again. Where the answer is not
 * there at once, -EAGAIN is returned, and the handler of its job, workers_on_answer(), is called
 * from the loop when it is. So the loop waits for nobody: at most WORKER_PASS_USEC in one pass, for
 * all answers together that are as good as there, which saves an exec the way through the loop.
 * The daemon's own writes to control groups are waited for longer, WORKER_OWN_USEC each.
 *
 * The children are one pool, in lanes: facts, samples, moves, writes and so on do not keep each
 * other waiting. A child runs one job at a time. What reads waits in a queue that takes the users
 * of the processes in turn, the daemon itself first, until a child of its lane is free; another
 * child is started only where all of them take long. What changes something is not queued: it would
 * be done when nobody wants it any more. For one process one job runs at a time, samples and moves
 * aside, so that some processes whose memory maps are locked do not hold up the children of all.
 *
 * Each job has a deadline, which is put off up to WORKER_EXTENDED_MAX times as long as the child
 * only waits for a CPU, or the loop itself did not run, if the job only reads. A child that misses
 * it is killed, and left alone if it does not die. The process of that job is remembered, and no
 * job for it runs again before workers_forget(), but see WORKER_EXCUSE_USEC. Where all children of
 * a lane are taken, one that has run for WORKER_SHARE_USEC is given up likewise. At most
 * WORKER_LATE_USER_MAX facts of one user take long at a time, so that thousands of processes that
 * do not answer cost no more.
 *
 * A child that waits in the kernel and ignores SIGKILL is stuck. Each is a task of the unit, which
 * has TasksMax= of them: with WORKER_STUCK_USER_MAX stuck ones for processes of one user, no more
 * jobs are run for that user's processes; with WORKER_STUCK_MAX in total, none is started any more
 * except the guard's.
 *
 * There are none below a --sysroot: a pointer to Workers may be NULL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "tidbnumad/change/mover.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/ports.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/instances.h"
#include "tidbnumad/world/memory.h"
#include "tidbnumad/world/sampling.h"

/* --- jobs --- */

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
        WORKER_GROUP,         /* another file of a control group; or all of cgroup1_join() */
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

/* Children that do not keep those of another lane waiting. */
typedef enum WorkerLane {
        WORKER_LANE_FACTS,
        WORKER_LANE_SAMPLES,
        WORKER_LANE_MOVES, /* one child, which keeps the walks that are under way */
        WORKER_LANE_ONCE,  /* takes minutes */
        WORKER_LANE_WRITES,
        WORKER_LANE_GUARD, /* writes that widen: two children are ready, no memory is needed */
        N_WORKER_LANES,
} WorkerLane;

typedef struct WorkerJobInfo {
        const char *name; /* the metric's label: "data-dir" */
        WorkerLane lane;
        WorkerWait wait;
        uint64_t deadline_usec; /* a job that takes this long counts as hung */
        size_t reply_bytes;     /* see worker_reply_size() */
        bool acts;    /* it changes something, that the process may wait for; else it only reads */
        bool of_host; /* whatever process the request names */
} WorkerJobInfo;

extern const WorkerJobInfo worker_jobs[N_WORKER_JOBS];

/* One pass of the mover over a process; its steps have the same `pass`. */
typedef struct WorkerMove {
        uint64_t pass;
        uint32_t target;
        bool alone, files; /* as in Mover */
} WorkerMove;

/* --- limits --- */

/* So long the loop waits in one pass for what is as good as there. An answer takes some 0.1 ms. */
#define WORKER_PASS_USEC (UINT64_C(5) * 1000)

/* While the daemon starts, and while root's reload is under way, it waits so long for one answer
 * and for all of them together: an answer that is late leaves the first plan incomplete. */
#define WORKER_CALL_USEC (UINT64_C(250) * 1000)
#define WORKER_START_USEC (UINT64_C(1000) * 1000)

/* Likewise for each of its own writes, as what takes longer counts as failed, and for what it reads
 * for itself. */
#define WORKER_OWN_USEC (UINT64_C(250) * 1000)

/* So long a process may be on its way into its group, for which the loop does not wait: the kernel
 * takes some 10 ms, and with hundreds of threads on a busy host half a second. */
#define WORKER_JOIN_USEC (UINT64_C(2000) * 1000)

/* A job that takes this long does not keep those behind it waiting: another child is started. */
#define WORKER_LATE_USEC (UINT64_C(20) * 1000)

/* With all children of a lane taken, one that takes this long is given up for the next job. */
#define WORKER_SHARE_USEC (UINT64_C(1000) * 1000)

/* An answer is kept this long for its caller, who may have ended or changed its plans. That a
 * memory map answered is not true for long. */
#define WORKER_KEEP_USEC (UINT64_C(3000) * 1000)
#define WORKER_KEEP_PROBE_USEC (UINT64_C(500) * 1000)

enum { WORKER_LATE_USER_MAX = 3, WORKER_HUNG_MAX = 1024, WORKER_EXTENDED_MAX = 5 };
enum { WORKER_STUCK_MAX = 16, WORKER_STUCK_USER_MAX = 4 };

/* Jobs that wait or run, of one user and in all; a user who has more of them than are free gets no
 * further one. A job that waits holds two descriptors. With answers that are kept likewise. */
enum { WORKER_TICKETS_USER_MAX = 32, WORKER_TICKETS_MAX = 128 };

/* A wait that a process can cause ends when the child is killed. One that took longer than this to
 * die was delayed by the kernel itself, which waits for work on each CPU before it moves pages, or
 * had no CPU: then jobs for the process are tried again, this many times. The same applies if a job
 * that changes the process was running at its deadline. */
#define WORKER_EXCUSE_USEC (UINT64_C(2000) * 1000)
enum { WORKER_EXCUSED_MAX = 3 };

/* --- all of them --- */

typedef struct Workers Workers;

/* Called for a process whose job was abandoned. */
typedef void (*WorkerHungHandler)(const ProcessId *process, WorkerJob job, void *userdata);

/* The answer of a job that was not there at once can be fetched, or another job of its lane can
 * run: the caller repeats its request. */
typedef void (*WorkerAnswerHandler)(const ProcessId *process, WorkerJob job, void *userdata);

/* Workers run "PROGRAM --worker" with a socket as descriptor WORKER_FD. The pointers are borrowed.
 */
enum { WORKER_FD = 3 };
int workers_new(const char *program, sd_event *event, WorkerHungHandler on_hung, void *userdata,
                Workers **ret);
Workers *workers_free(Workers *workers);

/* Each worker that is started has a copy of the descriptor, if it is none that is negative, as its
 * standard input. The pointer is borrowed. */
void workers_hold(Workers *workers, const int *fd);

/* Sets the handler of a job. It is called from the loop only, not while something is asked for. */
void workers_on_answer(Workers *workers, WorkerJob job, WorkerAnswerHandler handler,
                       void *userdata);

/* For tests: deadlines are this much shorter. */
void workers_hurry(Workers *workers, unsigned divisor);

/* A pass of the loop begins. Before the first one that `has_started`, and after
 * workers_end_passes(), as for a reload, the loop waits as while the daemon starts. */
void workers_begin_pass(Workers *workers, bool has_started);
void workers_end_passes(Workers *workers);

/* Does a child run a job of the lane of this one? */
bool workers_are_busy(const Workers *workers, WorkerJob job);

/* Is the process known not to answer? */
bool workers_is_hung(const Workers *workers, const ProcessId *process, WorkerWait wait);

/* Is a child that is late, or that no signal ends, still at a write of a control group for this
 * process, worker_write_group() or worker_join_group()? It may be done at any time. */
bool workers_write_group_of(const Workers *workers, const ProcessId *process);

/* The process executed another program: jobs for it may run again. */
void workers_forget(Workers *workers, pid_t pid);

uint64_t workers_count_timeouts(const Workers *workers, WorkerJob job);

/* Starts the guard's children in advance, because there may be no memory to start one later. */
void workers_prepare_guard(Workers *workers);

/* --- the jobs as functions --- */

/* Beside the errors of the function that the job runs: -EAGAIN: the answer is not there yet;
 * -EBUSY: as many jobs wait, or are stuck, as may: try again later; -EHOSTDOWN: the process does
 * not answer; -ECHILD: the child ended, or none can be started. Without workers, as for a dump,
 * what reads is done in this process. */

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

/* members_read_huge_maps(). -EAGAIN, -EBUSY and -ENOMEM: ask again later. */
int worker_read_huge_maps(Workers *workers, const Members *members, const NodeSet *nodes,
                          HugeMaps *ret);

/* As script_read(). The file system of the path is somebody's: -ETIME, the answer is not there yet.
 * This and the next are of the daemon itself: they are waited for as its writes are. Without `any`
 * the answer is kept for a while, or until worker_forget_script(). */
int worker_read_script(Workers *workers, const Sysroot *sysroot, const char *path, bool any,
                       char **ret);

void worker_forget_script(Workers *workers, const Sysroot *sysroot, const char *path);

/* user_to_uid(), without a wait if the host's own file has the user. A name service gets
 * no more time than a process. */
int worker_look_up_user(Workers *workers, const Sysroot *sysroot, const char *user, uid_t *ret);

/* Does the memory map of the process answer? 0, or as above. The function for several processes
 * must not be called without workers. */
int worker_probe(Workers *workers, const ProcHandle *handle, uid_t uid);
int worker_probe_members(Workers *workers, const Members *members);

/* --- control groups; these and the next need workers ---
 *
 * -ETIME: not in time, or a job for the process is under way; the effect in the kernel counts. */

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

/* cgroup1_join(). Not waited for: 0 is returned when it is under way; -EAGAIN or -EBUSY: try again
 * later, for the kernel does one at a time; -ETIME: another process holds the kernel's lock of all
 * control groups. The handler of WORKER_GROUP takes the result, -ENODATA: it was another write's.
 * Another process than ours that was moved, and was put right, is added to `*n_pid_reuses`;
 * `*ret_refused`: the error with which the hierarchy refused us a group, or 0. */
int worker_join_group(Workers *workers, const Member *member, const char *instance,
                      const CpuSet *cpus);
int worker_take_joined(Workers *workers, const ProcessId *process, uint64_t *n_pid_reuses,
                       int *ret_refused);

/* --- samples and moves: one at a time --- */

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

/* pages_sweep() of a whole node's memory, by a child of its own. */
int worker_migrate(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to);

/* --- the other end --- */

/* Runs the jobs that come over the socket until the other end is closed. The process is killed when
 * its parent ends. Returns an exit status. */
int worker_serve(int fd);
