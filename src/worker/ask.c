/* The jobs as functions: a request of each, and what its answer means. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/unit-file.h"
#include "tidbnumad/worker/message.h"
#include "tidbnumad/world/processes.h"

static int copy_text(const WorkerReply *reply, char **ret) {
        char *text = strdup(reply->text);

        if (!text)
                return -ENOMEM;
        free(*ret);
        *ret = text;
        return 0;
}

int worker_read_args(Workers *workers, const ProcHandle *handle, Process *process) {
        WorkerRequest request = { .job = WORKER_ARGS };
        WorkerReply reply;
        int r;

        if (!workers)
                return process_read_args(handle, process);
        r = workers_ask(workers, &request, handle, process->uid, false, &reply);
        return r < 0 ? r : copy_text(&reply, &process->args);
}

int worker_is_vforked(Workers *workers, const ProcHandle *handle, const Process *process) {
        WorkerRequest request = { .job = WORKER_VFORK, .forked_by = process->forked_by };
        WorkerReply reply;

        if (!workers || process->forked_by == 0)
                return process_is_vforked(handle, process);
        return workers_ask(workers, &request, handle, process->uid, false, &reply);
}

int worker_check_mounts(Workers *workers, const Sysroot *sysroot, const ProcHandle *handle,
                        Process *process) {
        WorkerRequest request = { .job = WORKER_EXE, .foreign = process->foreign };
        WorkerReply reply;
        int r;

        if (!workers || (process->foreign != FOREIGN_NONE && process->foreign != FOREIGN_ROOT))
                return process_check_mounts(sysroot, handle, process);
        r = workers_ask(workers, &request, handle, process->uid, false, &reply);
        if (r >= 0)
                process->foreign = (Foreign)r;
        return r < 0 ? r : 0;
}

static int request_set_path(WorkerRequest *request, const char *path) {
        if (strlen(path) >= sizeof(request->path))
                return -ENAMETOOLONG;
        (void)strcpy(request->path, path);
        return 0;
}

static bool asks_again(int r) {
        return r == -ENOMEM || r == -EAGAIN || r == -EBUSY;
}

/* They were all had. */
static void forget_answers(Workers *workers, const Members *m, WorkerRequest *request) {
        for (size_t p = 0; p < members_n_asked(m); p++)
                workers_forget_answer(workers, request, m->list[p].handle);
}

int worker_read_ports(Workers *workers, const Members *m, ListenPorts *ret) {
        WorkerRequest request = { .job = WORKER_PORTS };
        WorkerReply reply;
        PortSet all = { 0 };

        if (!workers)
                return members_read_ports(m, ret);
        for (size_t p = 0; p < members_n_asked(m); p++) {
                int r = workers_ask(workers, &request, m->list[p].handle, m->list[p].process.uid,
                                    true, &reply);

                if (asks_again(r))
                        return r;
                if (r >= 0)
                        port_set_merge(&all, &reply.ports);
        }
        forget_answers(workers, m, &request);
        return port_set_list(&all, ret);
}

/* Queries the processes in turn until one has an answer, or one is too slow. */
static int ask_members(Workers *workers, const Members *m, WorkerRequest *request,
                       WorkerReply *reply) {
        int r = -ENODATA;

        for (size_t p = 0; p < members_n_asked(m); p++) {
                r = workers_ask(workers, request, m->list[p].handle, m->list[p].process.uid, true,
                                reply);
                if (r >= 0 || asks_again(r))
                        break;
        }
        if (!asks_again(r))
                forget_answers(workers, m, request);
        return r;
}

int worker_read_data_dir(Workers *workers, const Members *members, const CpuSet *cpus, char **ret) {
        WorkerRequest request = { .job = WORKER_DATA_DIR, .cpus = *cpus };
        _cleanup_affinity_loan_ AffinityLoan loan = { 0 };
        WorkerReply reply;
        int r;

        if (!workers) {
                affinity_borrow(cpus, &loan);
                return members_read_data_dir(members, ret);
        }
        r = ask_members(workers, members, &request, &reply);
        return r < 0 ? r : copy_text(&reply, ret);
}

int worker_read_storage(Workers *workers, const Members *members, const char *data_dir,
                        StorageDevices *ret) {
        WorkerRequest request = { .job = WORKER_STORAGE };
        StorageDevices storage = { 0 };
        WorkerReply reply;
        int r;

        if (!workers)
                return members_read_storage(members, data_dir, ret);
        r = request_set_path(&request, data_dir);
        if (r < 0)
                return r;
        r = ask_members(workers, members, &request, &reply);
        if (r >= 0)
                r = copy_text(&reply, &storage.chain);
        if (r < 0)
                return r;
        storage.nodes = reply.nodes;
        *ret = storage;
        return 0;
}

static int ask_huge_maps(const Member *member, const NodeSet *nodes, void *userdata,
                         HugeMaps *ret) {
        WorkerRequest request = { .job = WORKER_HUGE, .nodes = *nodes };
        Workers *workers = userdata;
        WorkerReply reply;
        int r = workers_ask(workers, &request, member->handle, member->process.uid, true, &reply);

        if (r >= 0)
                *ret = reply.huge;
        return r < 0 ? r : 0;
}

int worker_read_huge_maps(Workers *workers, const Members *members, const NodeSet *nodes,
                          HugeMaps *ret) {
        WorkerRequest request = { .job = WORKER_HUGE, .nodes = *nodes };
        int r;

        if (!workers)
                return members_read_huge_maps(members, nodes, ret);
        r = members_collect_huge_maps(members, nodes, ask_huge_maps, workers, ret);
        if (!asks_again(r))
                forget_answers(workers, members, &request);
        return r;
}

int worker_read_memory_policy(Workers *workers, const ProcHandle *handle, uid_t uid, char *buffer,
                              size_t size) {
        WorkerRequest request = { .job = WORKER_MEMORY_POLICY };
        WorkerReply reply;
        int r;

        if (!workers)
                return memory_policy_read(handle, buffer, size);
        r = workers_ask(workers, &request, handle, uid, false, &reply);
        if (r < 0)
                return r;
        if (strlen(reply.text) >= size)
                return -ENOSPC;
        (void)strcpy(buffer, reply.text);
        return 0;
}

/* Each job needs a process: here the daemon itself. */
static int ask_for_host(Workers *workers, const Sysroot *sysroot, WorkerRequest *request,
                        WorkerReply *reply) {
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        int r = proc_open(sysroot, getpid(), &self);

        if (r >= 0)
                r = workers_ask(workers, request, &self, NO_USER,
                                request->job == WORKER_SCRIPT && !request->any_text, reply);
        return r == -EAGAIN || r == -EBUSY ? -ETIME : r;
}

int worker_look_up_user(Workers *workers, const Sysroot *sysroot, const char *user, uid_t *ret) {
        WorkerRequest request = { .job = WORKER_USER };
        WorkerReply reply;
        uint64_t uid;
        int r;

        if (!workers)
                return user_to_uid(user, ret);
        if (user_is_local(user, ret) == 0)
                return 0;
        r = request_set_path(&request, user);
        if (r < 0)
                return r;
        r = ask_for_host(workers, sysroot, &request, &reply);
        if (r < 0)
                return r == -EHOSTDOWN ? -ETIME : r;
        if (parse_u64(reply.text, &uid) < 0)
                return -EBADMSG;
        *ret = (uid_t)uid;
        return 0;
}

int worker_read_script(Workers *workers, const Sysroot *sysroot, const char *path, bool any,
                       char **ret) {
        WorkerRequest request = { .job = WORKER_SCRIPT, .any_text = any };
        WorkerReply reply;
        int r;

        if (!workers)
                return script_read(sysroot, path, any, ret);
        r = request_set_path(&request, path);
        if (r < 0)
                return r;
        r = ask_for_host(workers, sysroot, &request, &reply);
        return r < 0 ? r : copy_text(&reply, ret);
}

void worker_forget_script(Workers *workers, const Sysroot *sysroot, const char *path) {
        WorkerRequest request = { .job = WORKER_SCRIPT };
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;

        if (workers && request_set_path(&request, path) >= 0 &&
            proc_open(sysroot, getpid(), &self) >= 0)
                workers_forget_answer(workers, &request, &self);
}

int worker_write_mems(Workers *workers, const ProcHandle *process, int group_fd,
                      const NodeSet *mems, bool widen) {
        WorkerRequest request = { .job = WORKER_MEMS, .nodes = *mems, .widen = widen };
        ProcHandle group = *process;
        int r;

        if (!proc_is_alive(process)) /* the worker is not given its directory */
                return -ESRCH;
        group.dir_fd = group_fd;
        r = workers_write(workers, &request, &group);
        if (widen)
                workers_prepare_guard(workers);
        return r;
}

int worker_write_group(Workers *workers, const ProcHandle *process, int group_fd, const char *file,
                       const char *text) {
        WorkerRequest request = { .job = WORKER_GROUP };
        ProcHandle group = *process;

        if (!proc_is_alive(process))
                return -ESRCH;
        if (strlen(file) >= sizeof(request.group.file) ||
            strlen(text) >= sizeof(request.group.text))
                return -ENAMETOOLONG;
        (void)strcpy(request.group.file, file);
        (void)strcpy(request.group.text, text);
        group.dir_fd = group_fd;
        return workers_write(workers, &request, &group);
}

int worker_make_group(Workers *workers, const ProcHandle *process, const char *instance) {
        WorkerRequest request = { .job = WORKER_MAKE_GROUP };
        int r = request_set_path(&request, instance);

        return r < 0 ? r : workers_write(workers, &request, process);
}

int worker_remove_groups(Workers *workers, const Sysroot *sysroot) {
        WorkerRequest request = { .job = WORKER_REMOVE_GROUPS };
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        int r = proc_open(sysroot, getpid(), &self);

        return r < 0 ? r : workers_write(workers, &request, &self);
}

int worker_join_group(Workers *workers, const Member *member, const char *instance,
                      const CpuSet *cpus) {
        WorkerRequest request = { .job = WORKER_GROUP, .joins = true, .join = { .cpus = *cpus } };

        /* The kernel waits for the lock of its memory map as well. */
        if (workers_is_hung(workers, &member->process.id, WORKER_WAIT_MEMORY))
                return -EHOSTDOWN;
        if (strlen(instance) >= sizeof(request.join.instance))
                return -ENAMETOOLONG;
        (void)strcpy(request.join.instance, instance);
        return workers_post(workers, &request, member->handle);
}

int worker_take_joined(Workers *workers, const ProcessId *process, uint64_t *n_pid_reuses,
                       int *ret_refused) {
        WorkerReply reply;
        int r;

        reply.joined = (WorkerJoined){ 0 }; /* where the job was not run */
        r = workers_take_answer(workers, WORKER_GROUP, process, &reply);
        *n_pid_reuses += reply.joined.n_pid_reuses;
        *ret_refused = reply.joined.refused;
        return r;
}

int worker_probe(Workers *workers, const ProcHandle *handle, uid_t uid) {
        WorkerRequest request = { .job = WORKER_PROBE };
        WorkerReply reply;

        return workers ? workers_ask(workers, &request, handle, uid, false, &reply) : 0;
}

int worker_probe_members(Workers *workers, const Members *m) {
        WorkerRequest request = { .job = WORKER_PROBE };
        WorkerReply reply;

        assert(workers);
        for (size_t p = 0; p < members_n_asked(m); p++) {
                int r = workers_ask(workers, &request, m->list[p].handle, m->list[p].process.uid,
                                    true, &reply);

                if (r == -EAGAIN || r == -EBUSY || r == -EHOSTDOWN)
                        return r;
        }
        forget_answers(workers, m, &request);
        return 0;
}

/* --- samples and moves --- */

/* The owner of its folder is who it runs as, or root where it hides its memory. */
static int ask_owner(Workers *workers, WorkerRequest *request, const ProcHandle *process,
                     WorkerReply *reply) {
        struct stat st;
        const uid_t uid = fstat(process->dir_fd, &st) < 0 ? 0 : st.st_uid;

        return workers_ask(workers, request, process, uid, false, reply);
}

int worker_draw(Workers *workers, const Topology *topology, const ProcHandle *handle,
                size_t n_pages, uint64_t seed, Draws *ret, uint64_t *ret_cpu_usec) {
        WorkerRequest request = { .job = WORKER_DRAW,
                                  .draw = { .n_pages = n_pages, .seed = seed } };
        NodeDraws *by_node;
        WorkerReply reply;
        int r;

        for (size_t i = 0; i < topology->n_nodes; i++)
                id_set_add(&request.nodes, topology->nodes[i].id);
        r = ask_owner(workers, &request, handle, &reply);
        if (r < 0)
                return r;
        by_node = calloc(topology->n_nodes, sizeof(*by_node));
        if (!by_node)
                return -ENOMEM;
        memcpy(by_node, reply.draw.by_node, topology->n_nodes * sizeof(*by_node));
        *ret_cpu_usec = reply.cpu_usec;
        *ret = reply.draw.draws;
        ret->by_node = by_node;
        return 0;
}

int worker_move(Workers *workers, const ProcHandle *handle, const WorkerMove *move,
                const NodeSet *nodes, const CpuSet *cpus, MoverCounters *counters,
                uint64_t *ret_bytes) {
        WorkerRequest request = {
                .job = WORKER_MOVE, .nodes = *nodes, .cpus = *cpus, .move = *move
        };
        WorkerReply reply;
        int r = ask_owner(workers, &request, handle, &reply);

        *ret_bytes = 0;
        if (r == -EAGAIN || r == -EBUSY || r == -EHOSTDOWN || r == -ECHILD || r == -ENOMEM)
                return r;
        *ret_bytes = reply.moved.paid_bytes;
        counters->found_bytes += reply.moved.counters.found_bytes;
        counters->moved_bytes += reply.moved.counters.moved_bytes;
        counters->failed_pages += reply.moved.counters.failed_pages;
        counters->shared_moved_bytes += reply.moved.counters.shared_moved_bytes;
        return r;
}

static int ask_sweep(Workers *workers, WorkerJob job, const ProcHandle *handle, uint32_t from,
                     uint32_t to) {
        WorkerRequest request = { .job = job, .sweep = { .from = from, .to = to } };
        WorkerReply reply;

        return ask_owner(workers, &request, handle, &reply);
}

int worker_sweep(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to) {
        return ask_sweep(workers, WORKER_SWEEP, handle, from, to);
}

int worker_migrate(Workers *workers, const ProcHandle *handle, uint32_t from, uint32_t to) {
        return ask_sweep(workers, WORKER_ONCE, handle, from, to);
}
