/* Moves memory by migrate_pages(2) in a child process. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/binding/move-kernel.h"
#include "tidbnumad/daemon/placing/room.h"
#include "tidbnumad/worker/ask.h"

/* Sends each node's pages to the node that will have the most room after the moves before it. */
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

int move_kernel_begin(const Binder *b, Instance *i) {
        _cleanup_free_ NodeRoom *rooms = NULL;
        _cleanup_free_ NodeMove *node_moves = NULL;
        size_t n_rooms, n;
        int r;

        binding_end_kernel_moves(i);
        r = room_of(b->placing, i, &rooms, &n_rooms);
        if (r < 0)
                return r;
        node_moves = calloc(b->host->topology.n_nodes, sizeof(*node_moves));
        if (!node_moves)
                return -ENOMEM;
        n = i->sampling.memory_known ? plan_node_moves(b, i, rooms, n_rooms, node_moves) : 0;
        if (n == 0)
                return 0;
        i->binding.kernel = (KernelMoves){ .list = TAKE_PTR(node_moves), .n = n };
        return 1;
}

/* A process whose memory map does not answer would block the worker, and everybody who waits for
 * it, until its deadline. */
static int migrate(const Binder *b, const Member *member, const NodeMove *move) {
        Workers *workers = &b->host->workers;
        int r = 0;

        if (!proc_is_alive(member->handle))
                return -ESRCH;
        if (!workers->program)
                return pages_sweep(member->handle->pid, move->from, move->to);
        if (!worker_is_busy(&workers->once))
                r = worker_probe(workers, member->handle, member->process.uid);
        return r < 0 ? r : worker_migrate(workers, member->handle, move->from, move->to);
}

int move_kernel_step(const Binder *b, Instance *i) {
        KernelMoves *kernel = &i->binding.kernel;
        const NodeMove *move = &kernel->list[kernel->next / i->n_members];
        const Member *member = &i->members[kernel->next % i->n_members];
        int r = migrate(b, member, move);

        if (r == -EAGAIN)
                return r;
        if (r < 0 && r != -ESRCH)
                journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                            "the kernel was not asked to move node %u of process %d: %s",
                            move->from, member->handle->pid, strerror(-r));
        return ++kernel->next < kernel->n * i->n_members;
}
