/* Jobs for workers as functions. Those of the first two groups wait for the answer, at most
 * as long as worker.h allows; those of the third do not wait: -EAGAIN until the answer is
 * there. Beside the errors of the function that the job runs, they return those of worker_call()
 * and worker_ask(). Without workers, as for a dump, the first group runs the job in this process.
 */
#pragma once

#include "tidbnumad/worker/worker.h"
#include "tidbnumad/world/members.h"

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
