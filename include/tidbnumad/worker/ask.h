/* What the daemon asks of its workers. The first group waits for the answer, WORKER_CALL_USEC at
 * most for a process; the second does not wait: -EAGAIN until the answer has come. Errors beside
 * those of the function that the job stands for are those of worker_call() and worker_ask().
 * Without workers the first group does the job itself. */
#pragma once

#include "tidbnumad/enforce/mover.h"
#include "tidbnumad/observe/members.h"
#include "tidbnumad/worker/worker.h"

/* process_read_args(). */
int worker_read_args(Workers *workers, const ProcHandle *handle, Process *process);

/* members_read_data_dir() and members_read_storage(); of the storage the nodes and the chain alone.
 * `cpus`: those of the processes, for the command line is a page of theirs. */
int worker_read_data_dir(Workers *workers, const Members *members, const CpuSet *cpus, char **ret);
int worker_read_storage(Workers *workers, const Members *members, const char *data_dir,
                        StorageDevices *ret);

/* memory_policy_read(). */
int worker_read_memory_policy(Workers *workers, const ProcHandle *handle, uid_t uid, char *buffer,
                              size_t size);

/* user_to_uid(), without the wait for a name service where the host's own file knows the user. The
 * name service gets WORKER_CALL_USEC like everybody else, and as often as it is asked. */
int worker_look_up_user(Workers *workers, const Sysroot *sysroot, const char *user, uid_t *ret);

/* cgroup_mems_widen() or cgroup_mems_write() for the group, which the process is in. A widening has
 * workers of its own: -ETIME of one that waits for a lock leaves the other one ready. */
int worker_write_mems(Workers *workers, const ProcHandle *process, int group_fd,
                      const NodeSet *mems, bool widen);

/* cgroup_write(): of the CPUs of the group, or of the number of the process, which is to be in it.
 */
int worker_write_group(Workers *workers, const ProcHandle *process, int group_fd, const char *file,
                       const char *text);

/* The workers for a widening are started, for when there is no memory to start one. */
void worker_prepare_guard(Workers *workers);

/* Does the memory map of the process answer? 0, or as above. */
int worker_probe(Workers *workers, const ProcHandle *handle, uid_t uid);

/* --- without waiting; there have to be workers --- */

/* sampler_draw(), and the CPU time that it took. */
int worker_draw(Workers *workers, const Topology *topology, const ProcHandle *handle,
                size_t n_pages, uint64_t seed, Draws *ret, uint64_t *ret_cpu_usec);

/* mover_step(), from the start where the process was not walked through in this pass yet. Adds
 * to the counters of `mover`. */
int worker_move(Workers *workers, const ProcHandle *handle, const WorkerMove *move,
                const NodeSet *nodes, const CpuSet *cpus, Mover *mover, uint64_t *ret_bytes);

/* pages_sweep(). */
int worker_sweep(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to);

/* pages_sweep() of a whole node's memory, by a worker of its own. */
int worker_migrate(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to);
