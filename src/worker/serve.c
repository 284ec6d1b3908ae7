/* The worker's side: a child process that runs jobs that might never end, one after the other. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/change/cgroup1.h"
#include "tidbnumad/change/mover.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/path.h"
#include "tidbnumad/sys/self.h"
#include "tidbnumad/sys/unit-file.h"
#include "tidbnumad/worker/message.h"
#include "tidbnumad/world/memory.h"
#include "tidbnumad/world/processes.h"
#include "tidbnumad/world/storage.h"

/* --- the jobs --- */

/* Address space that one step scans when nothing is found in it. */
#define SCAN_BYTES (UINT64_C(16) << 20)

/* A walk of the mover through one process. */
typedef struct Move {
        uint64_t pass;
        ProcHandle handle; /* the mover has a pointer to it */
        Mover mover;
} Move;

/* The walks of the mover that are under way. */
typedef struct WorkerWalks {
        Move **moves; /* owned, as each element */
        size_t n_moves, allocated;
} WorkerWalks;

static void move_free(Move *move) {
        mover_end(&move->mover);
        proc_close(&move->handle);
        free(move);
}

/* --- facts --- */

static int reply_set_text(WorkerReply *reply, const char *text) {
        if (strlen(text) >= sizeof(reply->text))
                return -E2BIG;
        (void)strcpy(reply->text, text);
        return 0;
}

static int job_draw(const WorkerRequest *request, const ProcHandle *handle, WorkerReply *reply) {
        const size_t n_nodes = id_set_count(&request->nodes);
        _cleanup_free_ Node *nodes = calloc(n_nodes + 1, sizeof(*nodes)); /* 2 KiB each */
        Topology topology = { .nodes = nodes };
        _cleanup_draws_ Draws draws = { 0 };
        int r;

        if (!nodes)
                return -ENOMEM;
        ID_SET_FOREACH(id, &request->nodes)
        if (topology.n_nodes < WORKER_NODES_MAX)
                nodes[topology.n_nodes++].id = (uint32_t)id;
        r = sampler_draw(&topology, handle, request->draw.n_pages, request->draw.seed, &draws);
        if (r < 0)
                return r;
        memcpy(reply->draw.by_node, draws.by_node, topology.n_nodes * sizeof(draws.by_node[0]));
        reply->draw.draws = draws;
        reply->draw.draws.by_node = NULL;
        return 0;
}

/* --- moving --- */

static void drop_move(WorkerWalks *walks, Move *move) {
        ARRAY_DROP(walks->moves, walks->n_moves, move);
        move_free(move);
}

static int job_move(WorkerWalks *w, const WorkerRequest *request, ProcHandle *handle,
                    WorkerReply *reply) {
        Move *move = NULL;
        int r;

        for (size_t i = 0; i < w->n_moves && !move; i++)
                if (w->moves[i]->handle.pid == handle->pid &&
                    w->moves[i]->handle.start_ticks == handle->start_ticks)
                        move = w->moves[i];
        if (move && move->pass != request->move.pass) {
                drop_move(w, move);
                move = NULL;
        }
        if (!move) {
                /* For processes that have ended no next step will be requested. */
                for (size_t i = w->n_moves; i > 0; i--)
                        if (!proc_is_alive(&w->moves[i - 1]->handle))
                                drop_move(w, w->moves[i - 1]);
                if (ARRAY_RESERVE(w->moves, w->allocated, w->n_moves + 1) < 0)
                        return -ENOMEM;
                move = calloc(1, sizeof(*move));
                if (!move)
                        return -ENOMEM;
                *move = (Move){ .pass = request->move.pass,
                                .handle = *handle,
                                .mover = MOVER_NONE };
                *handle = PROC_HANDLE_NONE;
                r = mover_begin(&move->mover, &move->handle);
                if (r < 0) {
                        move_free(move);
                        return r;
                }
                w->moves[w->n_moves++] = move;
        }
        move->mover.counters = (MoverCounters){ 0 };
        move->mover.alone = request->move.alone;
        move->mover.files = request->move.files;
        r = mover_step(&move->mover, &request->nodes, request->move.target, SCAN_BYTES,
                       &reply->moved.paid_bytes);
        reply->moved.counters = move->mover.counters;
        if (r <= 0)
                drop_move(w, move);
        return r;
}

static int job_join(const Sysroot *sysroot, const WorkerRequest *request, const ProcHandle *handle,
                    WorkerReply *reply) {
        Backend backend;
        int r;

        backend_init(&backend, sysroot, NULL);
        r = cgroup1_join(&backend, request->join.instance, &request->join.cpus, handle);
        reply->joined = (WorkerJoined){ .n_pid_reuses = backend.n_pid_reuses,
                                        .refused = backend.cgroup1_error };
        backend_done(&backend);
        return r;
}

/* --- all jobs --- */

/* Takes over the handle, leaving it empty, if the job begins a walk of the mover. */
static int job_run(const Sysroot *sysroot, WorkerWalks *walks, const WorkerRequest *request,
                   ProcHandle *handle, WorkerReply *reply) {
        _cleanup_storage_devices_ StorageDevices storage = { 0 };
        _cleanup_process_ Process process = { 0 };
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        uint64_t entry;
        uid_t uid;
        int r;

        switch (request->job) {
        case WORKER_ARGS:
                r = process_read_args(handle, &process);
                return r < 0 ? r : reply_set_text(reply, process.args);
        case WORKER_VFORK:
                return process_is_vforked(handle, &(Process){ .forked_by = request->forked_by });
        case WORKER_EXE:
                process.foreign = request->foreign;
                r = process_check_mounts(sysroot, handle, &process);
                return r < 0 ? r : (int)process.foreign; /* that its mounts show */
        case WORKER_PORTS:
                return listen_ports_read(sysroot, handle, &reply->ports);
        case WORKER_DATA_DIR:
                r = data_dir_read(sysroot, handle, &text);
                return r < 0 ? r : reply_set_text(reply, text);
        case WORKER_STORAGE:
                r = storage_find_process(sysroot, handle->dir_fd, request->path, &storage);
                if (r < 0)
                        return r;
                reply->nodes = storage.nodes;
                return reply_set_text(reply, storage.chain ? storage.chain : "");
        case WORKER_MEMORY_POLICY:
                return memory_policy_read(handle, reply->text, sizeof(reply->text));
        case WORKER_USER:
                r = user_to_uid(request->path, &uid);
                if (r >= 0)
                        (void)snprintf(reply->text, sizeof(reply->text), "%u", uid);
                return r;
        case WORKER_SCRIPT:
                r = script_read(sysroot, request->path, request->any_text, &text);
                return r < 0 ? r : reply_set_text(reply, text);
        case WORKER_HUGE:
                return huge_maps_read(sysroot, handle, &request->nodes, &reply->huge);
        case WORKER_PROBE: /* not by `maps`, which Linux 6.17 shows without the lock */
                r = pagemap_open(handle, &fd);
                return r < 0 ? r : pagemap_read(fd, 0, 1, &entry);
        case WORKER_DRAW:
                return job_draw(request, handle, reply);
        case WORKER_MOVE:
                return job_move(walks, request, handle, reply);
        case WORKER_MEMS:
                return request->widen ? cgroup_mems_widen(handle->dir_fd, &request->nodes)
                                      : cgroup_mems_write(handle->dir_fd, &request->nodes);
        case WORKER_GROUP:
                return request->joins ? job_join(sysroot, request, handle, reply)
                                      : cgroup_write(handle->dir_fd, request->group.file,
                                                     request->group.text);
        case WORKER_MAKE_GROUP:
                return cgroup1_groups_make(sysroot, request->path);
        case WORKER_REMOVE_GROUPS:
                return cgroup1_groups_remove(sysroot);
        case WORKER_SWEEP:
        case WORKER_ONCE:
                return pages_sweep(handle->pid, request->sweep.from, request->sweep.to);
        default:
                return -EINVAL;
        }
}

/* --- the process that runs them --- */

/* For reading processes and their folders, and for moving their pages; not for sockets or counters.
 */
#define CAPABILITIES                                                                               \
        (UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_SYS_NICE |                             \
         UINT64_C(1) << CAP_DAC_READ_SEARCH)

enum { FDS_MAX = 2 };

/* A directory of /proc is empty once its process has ended, and the pid may be reused: so system
 * calls that take a number act on the right process. Its start time is read of its first thread:
 * for the whole process the kernel sums up all threads, which takes half a millisecond for 500. */
static int handle_check(const WorkerRequest *request, const ProcHandle *handle) {
        ProcStat stat;
        int r;

        if (request->job == WORKER_MEMS || (request->job == WORKER_GROUP && !request->joins))
                /* of a control group, by descriptor */
                return handle->pidfd < 0 || proc_is_alive(handle) ? 0 : -ESRCH;
        r = proc_stat_read(handle, handle->pid, &stat);
        if (r < 0)
                return r;
        return stat.start_ticks == handle->start_ticks && proc_is_alive(handle) ? 0 : -ESRCH;
}

/* Linux 5.9; the same number on all architectures, and glibc 2.31 has no name for it. */
#define NR_CLOSE_RANGE 436

/* What the daemon did not mark to be closed on exec, such as sockets that it was given. */
static void fds_close_above(int last) {
        _cleanup_numbers_ Numbers all = { .dir_fd = -EBADF };
        pid_t fd;

        if (syscall(NR_CLOSE_RANGE, (unsigned)last + 1, ~0U, 0U) == 0)
                return;
        numbers_begin(path_open(AT_FDCWD, O_RDONLY | O_DIRECTORY, "/proc/self/fd"), &all);
        while (numbers_next(&all, &fd) > 0)
                if (fd > last && fd != all.dir_fd)
                        (void)close(fd);
}

static int reply_send(int fd, const WorkerReply *reply) {
        return send(fd, reply, worker_reply_size(reply), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Receives a message, runs its job and sends the answer. 1; 0: the other end is closed. */
static int request_serve(int fd, const Sysroot *sysroot, WorkerWalks *walks, WorkerReply *reply) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))];
        WorkerRequest request;
        struct iovec iov = { .iov_base = &request, .iov_len = sizeof(request) };
        struct msghdr message = { .msg_iov = &iov,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        int fds[FDS_MAX] = { -EBADF, -EBADF }, r;
        const struct cmsghdr *header;
        size_t size;
        ssize_t n;

        do
                n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
                return n < 0 ? -errno : 0;
        /* What came with it: the directory, and a pidfd where the kernel has these. */
        header = CMSG_FIRSTHDR(&message);
        size = header ? header->cmsg_len - CMSG_LEN(0) : 0;
        if ((size != sizeof(int) && size != FDS_MAX * sizeof(int)) || (size_t)n != sizeof(request))
                return -EBADMSG;
        memcpy(fds, CMSG_DATA(header), size);
        handle = (ProcHandle){ .live = true,
                               .pid = request.process.pid,
                               .dir_fd = fds[0],
                               .pidfd = fds[1],
                               .start_ticks = request.process.start_ticks };
        r = handle_check(&request, &handle);
        memset(reply, 0, offsetof(WorkerReply, draw.by_node));
        reply->job = request.job;
        reply->serial = request.serial;
        if (r >= 0) {
                const uint64_t begun_usec = clock_thread_cpu_usec();
                _cleanup_affinity_loan_ AffinityLoan loan = { 0 };

                affinity_borrow(&request.cpus, &loan);
                reply->result = job_run(sysroot, walks, &request, &handle, reply);
                reply->cpu_usec = clock_thread_cpu_usec() - begun_usec;
        }
        /* If the process ended meanwhile, the result may be that of another one with its pid. */
        if (r >= 0 && reply->result >= 0 && handle.dir_fd >= 0)
                r = handle_check(&request, &handle);
        if (r < 0) {
                memset(reply, 0, offsetof(WorkerReply, draw.by_node));
                reply->job = request.job;
                reply->serial = request.serial;
                reply->result = r;
        }
        r = reply_send(fd, reply);
        return r < 0 ? r : 1;
}

int worker_serve(int fd) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_free_ WorkerReply *reply = calloc(1, sizeof(*reply));
        WorkerWalks walks = { 0 };
        int r;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NAME, "tidbnumad-work");
        (void)self_lock_memory(); /* used pages only; the guard must not swap */
        fds_close_above(fd);
        /* fails for users other than root, who have no capabilities */
        (void)capability_keep(CAPABILITIES);
        if (!reply || sysroot_open(NULL, &sysroot) < 0)
                return EXIT_FAILURE;
        reply->job = WORKER_HELLO;
        r = reply_send(fd, reply);
        while (r >= 0 && (r = request_serve(fd, &sysroot, &walks, reply)) > 0)
                ;
        for (size_t i = 0; i < walks.n_moves; i++)
                move_free(walks.moves[i]);
        free(walks.moves);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
