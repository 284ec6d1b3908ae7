/* The jobs themselves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/enforce/cgroup1-groups.h"
#include "tidbnumad/enforce/mover.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/unit-file.h"
#include "tidbnumad/worker/serve.h"
#include "tidbnumad/world/huge-load.h"
#include "tidbnumad/world/processes.h"
#include "tidbnumad/world/storage.h"

/* Address space that one step scans when nothing is found in it. */
#define SCAN_BYTES (UINT64_C(16) << 20)

/* A walk of the mover through one process. */
typedef struct Move {
        uint64_t pass;
        ProcHandle handle; /* the mover has a pointer to it */
        Mover mover;
} Move;

struct WorkerWalks {
        Move **moves; /* owned, as each element */
        size_t n_moves, allocated;
};

static void move_free(Move *move) {
        mover_end(&move->mover);
        proc_close(&move->handle);
        free(move);
}

WorkerWalks *worker_walks_free(WorkerWalks *walks) {
        if (walks)
                for (size_t i = 0; i < walks->n_moves; i++)
                        move_free(walks->moves[i]);
        if (walks)
                free(walks->moves);
        free(walks);
        return NULL;
}

/* --- facts --- */

static int keep_text(WorkerReply *reply, const char *text) {
        if (strlen(text) >= sizeof(reply->text))
                return -E2BIG;
        (void)strcpy(reply->text, text);
        return 0;
}

static int read_args(const ProcHandle *handle, WorkerReply *reply) {
        _cleanup_process_ Process process = { 0 };
        int r = process_read_args(handle, &process);

        return r < 0 ? r : keep_text(reply, process.args);
}

/* Returns the Foreign that its mounts show. */
static int check_mounts(const Sysroot *sysroot, const ProcHandle *handle, Foreign before) {
        Process process = { .foreign = before };
        int r = process_check_mounts(sysroot, handle, &process);

        return r < 0 ? r : (int)process.foreign;
}

static int read_data_dir(const Sysroot *sysroot, const ProcHandle *handle, WorkerReply *reply) {
        _cleanup_free_ char *path = NULL;
        int r = data_dir_read(sysroot, handle, &path);

        return r < 0 ? r : keep_text(reply, path);
}

static int read_storage(const Sysroot *sysroot, const ProcHandle *handle, const char *path,
                        WorkerReply *reply) {
        _cleanup_storage_devices_ StorageDevices storage = { 0 };
        int r = storage_find_process(sysroot, handle->dir_fd, path, &storage);

        if (r < 0)
                return r;
        reply->nodes = storage.nodes;
        return keep_text(reply, storage.chain ? storage.chain : "");
}

static int read_script(const Sysroot *sysroot, const WorkerRequest *request, WorkerReply *reply) {
        _cleanup_free_ char *text = NULL;
        int r = script_read(sysroot, request->path, request->any_text, &text);

        return r < 0 ? r : keep_text(reply, text);
}

static int look_up_user(const char *user, WorkerReply *reply) {
        uid_t uid;
        int r = user_to_uid(user, &uid);

        if (r >= 0)
                (void)snprintf(reply->text, sizeof(reply->text), "%u", uid);
        return r;
}

static int probe(const ProcHandle *handle) {
        MapsReader *maps;
        Mapping mapping;
        int r = maps_open(handle, &maps);

        if (r < 0)
                return r;
        r = maps_next(maps, &mapping);
        (void)maps_close(maps);
        return r < 0 ? r : 0;
}

static int draw(const WorkerRequest *request, const ProcHandle *handle, WorkerReply *reply) {
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

static Move *find_move(WorkerWalks *walks, const ProcHandle *handle) {
        for (size_t i = 0; i < walks->n_moves; i++)
                if (walks->moves[i]->handle.pid == handle->pid &&
                    walks->moves[i]->handle.start_ticks == handle->start_ticks)
                        return walks->moves[i];
        return NULL;
}

static void drop_move(WorkerWalks *walks, const Move *move) {
        for (size_t i = 0; i < walks->n_moves; i++)
                if (walks->moves[i] == move) {
                        move_free(walks->moves[i]);
                        ARRAY_REMOVE(walks->moves, walks->n_moves, i);
                        return;
                }
}

static int add_move(WorkerWalks *walks, const WorkerRequest *request, ProcHandle *handle,
                    Move **ret) {
        Move *move;
        int r;

        /* For processes that have ended no next step will be requested. */
        for (size_t i = walks->n_moves; i > 0; i--)
                if (!proc_is_alive(&walks->moves[i - 1]->handle))
                        drop_move(walks, walks->moves[i - 1]);
        if (ARRAY_RESERVE(walks->moves, walks->allocated, walks->n_moves + 1) < 0)
                return -ENOMEM;
        move = calloc(1, sizeof(*move));
        if (!move)
                return -ENOMEM;
        *move = (Move){ .pass = request->move.pass, .handle = *handle, .mover = MOVER_NONE };
        *handle = PROC_HANDLE_NONE;
        r = mover_begin(&move->mover, &move->handle);
        if (r < 0) {
                move_free(move);
                return r;
        }
        walks->moves[walks->n_moves++] = move;
        *ret = move;
        return 0;
}

static int step(WorkerWalks **walks, const WorkerRequest *request, ProcHandle *handle,
                WorkerReply *reply) {
        Move *move;
        int r = 0;

        if (!*walks)
                *walks = calloc(1, sizeof(**walks));
        if (!*walks)
                return -ENOMEM;
        move = find_move(*walks, handle);
        if (move && move->pass != request->move.pass) {
                drop_move(*walks, move);
                move = NULL;
        }
        if (!move)
                r = add_move(*walks, request, handle, &move);
        if (r < 0)
                return r;
        move->mover.counters = (MoverCounters){ 0 };
        move->mover.alone = request->move.alone;
        move->mover.files = request->move.files;
        r = mover_step(&move->mover, &request->nodes, request->move.target, SCAN_BYTES,
                       &reply->moved.paid_bytes);
        reply->moved.counters = move->mover.counters;
        if (r <= 0)
                drop_move(*walks, move);
        return r;
}

/* --- */

static int run(const Sysroot *sysroot, WorkerWalks **walks, const WorkerRequest *request,
               ProcHandle *handle, WorkerReply *reply) {
        switch (request->job) {
        case WORKER_ARGS:
                return read_args(handle, reply);
        case WORKER_VFORK:
                return process_is_vforked(handle, &(Process){ .forked_by = request->forked_by });
        case WORKER_EXE:
                return check_mounts(sysroot, handle, request->foreign);
        case WORKER_PORTS:
                return listen_ports_read(sysroot, handle, &reply->ports);
        case WORKER_DATA_DIR:
                return read_data_dir(sysroot, handle, reply);
        case WORKER_STORAGE:
                return read_storage(sysroot, handle, request->path, reply);
        case WORKER_MEMORY_POLICY:
                return memory_policy_read(handle, reply->text, sizeof(reply->text));
        case WORKER_USER:
                return look_up_user(request->path, reply);
        case WORKER_SCRIPT:
                return read_script(sysroot, request, reply);
        case WORKER_HUGE:
                return huge_maps_read(sysroot, handle, &request->nodes, &reply->huge);
        case WORKER_PROBE:
                return probe(handle);
        case WORKER_DRAW:
                return draw(request, handle, reply);
        case WORKER_MOVE:
                return step(walks, request, handle, reply);
        case WORKER_MEMS:
                return request->widen ? cgroup_mems_widen(handle->dir_fd, &request->nodes)
                                      : cgroup_mems_write(handle->dir_fd, &request->nodes);
        case WORKER_GROUP:
                return cgroup_write(handle->dir_fd, request->group.file, request->group.text);
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

void worker_run(const Sysroot *sysroot, WorkerWalks **walks, const WorkerRequest *request,
                ProcHandle *handle, WorkerReply *reply) {
        const uint64_t begun_usec = clock_thread_cpu_usec();
        _cleanup_affinity_loan_ AffinityLoan loan = { 0 };

        affinity_borrow(&request->cpus, &loan);
        memset(reply, 0, offsetof(WorkerReply, draw.by_node));
        reply->job = request->job;
        reply->serial = request->serial;
        reply->result = run(sysroot, walks, request, handle, reply);
        reply->cpu_usec = clock_thread_cpu_usec() - begun_usec;
}
