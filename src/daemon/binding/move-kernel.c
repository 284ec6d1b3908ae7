/* The kernel's own way of moving memory, made by a child. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/binding/move-kernel.h"
#include "tidbnumad/daemon/placing/room.h"

/* Address space that the mover looks through at a time. */
#define SCAN_BYTES (UINT64_C(64) << 20)

/* What lies on one node, and where it goes. */
typedef struct NodeMove {
        uint32_t from, to;
} NodeMove;

/* Nobody reads any more: the daemon has ended, or wants no more of it. */
static bool is_unwanted(int fd) {
        struct pollfd p = { .fd = fd };

        return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP));
}

/* The kernel's call leaves what a fork still shares, for asked to take that along it would also
 * take the libraries of others. The mover tells the two apart. */
static void pull_the_rest(const Binder *b, Instance *i, const ProcHandle *process, int fd) {
        uint64_t bytes;
        uint32_t target;
        int r = mover_begin(&i->binding.mover, process);

        for (r = r < 0 ? r : 1; r > 0 && !is_unwanted(fd);)
                r = room_choose_node(b->placing, i, &target) < 0
                            ? -ENOSPC
                            : mover_step(&i->binding.mover, &i->binding.placement.nodes, target,
                                         SCAN_BYTES, &bytes);
        mover_end(&i->binding.mover);
}

static void run_node_moves(const Binder *b, Instance *i, const NodeMove *node_moves, size_t n,
                           int fd) {
        for (size_t k = 0; k < n; k++)
                for (size_t p = 0; p < i->n_members; p++)
                        if (!is_unwanted(fd) && proc_is_alive(i->members[p].handle))
                                (void)pages_sweep(i->members[p].handle->pid, node_moves[k].from,
                                                  node_moves[k].to);
        for (size_t p = 0; p < i->n_members; p++)
                if (!is_unwanted(fd) && proc_is_alive(i->members[p].handle))
                        pull_the_rest(b, i, i->members[p].handle, fd);
}

/* Each node's pages go to the node that has the most room when those before it have come. */
static size_t plan_node_moves(const Binder *b, const Instance *i, NodeRoom *rooms, size_t n_rooms,
                              NodeMove *node_moves) {
        const Topology *topology = &b->host->topology;
        size_t n = 0;

        for (size_t k = 0; k < topology->n_nodes; k++) {
                const uint64_t bytes = i->sampling.by_node[k].anon_bytes;
                int best;

                if (bytes == 0 || id_set_has(&i->binding.placement.nodes, topology->nodes[k].id))
                        continue;
                best = fit_best(rooms, n_rooms, bytes);
                if (best < 0)
                        continue;
                rooms[best].free_bytes -=
                        bytes < rooms[best].free_bytes ? bytes : rooms[best].free_bytes;
                node_moves[n++] =
                        (NodeMove){ .from = topology->nodes[k].id, .to = rooms[best].node };
        }
        return n;
}

/* Twice, so that the one which works is init's to wait for. Its end shows in the pipe, whose other
 * side it holds. */
static int start(const Binder *b, Instance *i, const NodeMove *node_moves, size_t n) {
        int ends[2];
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        pid = fork();
        if (pid == 0) {
                (void)close(ends[0]);
                if (fork() == 0)
                        run_node_moves(b, i, node_moves, n, ends[1]);
                _exit(0);
        }
        (void)close(ends[1]);
        if (pid < 0) {
                (void)close(ends[0]);
                return -EAGAIN;
        }
        (void)waitpid(pid, NULL, 0);
        i->binding.kernel_mover_fd = ends[0];
        return 0;
}

int move_kernel_begin(const Binder *b, Instance *i) {
        _cleanup_free_ NodeRoom *rooms = NULL;
        _cleanup_free_ NodeMove *node_moves = NULL;
        size_t n_rooms, n;
        int r;

        binding_end_kernel_mover(i);
        r = room_of(b->placing, i, &rooms, &n_rooms);
        if (r < 0)
                return r;
        node_moves = calloc(b->host->topology.n_nodes, sizeof(*node_moves));
        if (!node_moves)
                return -ENOMEM;
        n = i->sampling.memory_known ? plan_node_moves(b, i, rooms, n_rooms, node_moves) : 0;
        return n > 0 ? start(b, i, node_moves, n) : 0;
}

bool move_kernel_runs(Instance *i) {
        char byte;

        if (i->binding.kernel_mover_fd < 0)
                return false;
        if (read(i->binding.kernel_mover_fd, &byte, 1) < 0 && errno == EAGAIN)
                return true;
        binding_end_kernel_mover(i);
        return false;
}
