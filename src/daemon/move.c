/* Passes of the mover over all processes of an instance, in slices. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/move.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/node.h"

/* The loop serves others after so long; a piece that was begun is ended first. */
#define SLICE_USEC UINT64_C(5000)

/* Address space looked through at a time when nothing is found in it. */
#define SCAN_BYTES (UINT64_C(64) << 20)

/* What other instances are still pulling to this node, each one's remainder spread over its nodes.
 */
static uint64_t promised_to(const Manager *m, const Instance *self, uint32_t node) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < m->n_instances; i++) {
                const Instance *other = m->instances[i];

                if (other != self && other->moving && id_set_has(&other->placement.nodes, node))
                        bytes += other->outside_bytes / id_set_count(&other->placement.nodes);
        }
        return bytes;
}

static int read_room(const Manager *m, const Instance *self, const Node *node, NodeRoom *ret) {
        const uint64_t watermark = m->high_watermark_bytes[node - m->topology.nodes];
        uint64_t unclean;
        NodeMeminfo info;
        int r;

        r = node_meminfo_read(&m->sysroot, node->id, &info);
        if (r < 0)
                return r;
        unclean = info.dirty_bytes + info.writeback_bytes;
        *ret = (NodeRoom){
                .node = node->id,
                .free_bytes = info.free_bytes,
                .reclaimable_bytes =
                        info.inactive_file_bytes > unclean ? info.inactive_file_bytes - unclean : 0,
                .headroom_bytes = fit_headroom_bytes(info.total_bytes, watermark),
                .promised_bytes = promised_to(m, self, node->id),
        };
        return 0;
}

int move_rooms_on(const Manager *manager, const NodeSet *nodes, const Instance *self,
                  NodeRoom **ret, size_t *ret_n) {
        const Topology *topology = &manager->topology;
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n = 0;

        rooms = calloc(topology->n_nodes, sizeof(*rooms));
        if (!rooms)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                int r;

                if (!id_set_has(nodes, topology->nodes[i].id))
                        continue;
                r = read_room(manager, self, &topology->nodes[i], &rooms[n]);
                if (r < 0 && r != -ENODEV)
                        return r;
                n += r == 0;
        }
        *ret = TAKE_PTR(rooms);
        *ret_n = n;
        return 0;
}

int move_rooms(const Instance *instance, NodeRoom **ret, size_t *ret_n) {
        return move_rooms_on(instance->manager, &instance->placement.nodes, instance, ret, ret_n);
}

static void end_pass(Instance *i, uint64_t now_usec) {
        i->progress.passes++;
        i->progress.pass_found_bytes = i->mover.found_bytes;
        i->progress.pass_moved_bytes = i->mover.moved_bytes;
        i->failed_pages += i->mover.failed_pages;
        mover_end(&i->mover);
        i->moving = false;
        i->due_usec = now_usec;
}

/* The next process that is still there; false when all were walked through. */
static bool begin_process(Instance *i) {
        for (; i->mover_process < i->n_processes; i->mover_process++)
                if (mover_begin(&i->mover, &i->handles[i->mover_process]) == 0)
                        return true;
        return false;
}

void move_begin(Instance *i, uint64_t now_usec) {
        i->moving = true;
        i->mover_process = 0;
        mover_reset_counters(&i->mover);
        rate_init(&i->rate, i->placement.rate_bytes_per_sec, now_usec);
        i->due_usec = now_usec;
        if (!begin_process(i))
                end_pass(i, now_usec);
}

static int choose_target(const Instance *i, uint32_t *ret) {
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n_rooms;
        int r, best;

        r = move_rooms(i, &rooms, &n_rooms);
        if (r < 0)
                return r;
        best = fit_best(rooms, n_rooms, MOVER_CHUNK_BYTES);
        if (best < 0)
                return -ENOSPC;
        *ret = rooms[best].node;
        return 0;
}

/* One piece. Returns 1: go on; 0: the pass is complete; negative: it cannot go on. */
static int move_piece(Instance *i) {
        uint64_t bytes, moved_before = i->mover.moved_bytes;
        uint32_t target;
        int r;

        r = choose_target(i, &target);
        if (r < 0)
                return r;
        r = mover_step(&i->mover, &i->placement.nodes, target, SCAN_BYTES, &bytes);
        rate_take(&i->rate, bytes);
        i->migrated_bytes += i->mover.moved_bytes - moved_before;
        if (r > 0)
                return 1;
        if (r < 0 && r != -ESRCH)
                return r;
        i->mover_process++;
        return begin_process(i) ? 1 : 0;
}

void move_slice(Instance *i, uint64_t now_usec) {
        const uint64_t end = now_usec + SLICE_USEC;
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        _cleanup_affinity_loan_ AffinityLoan loan;

        affinity_borrow(&i->placement.cpus, &loan); /* hidden pages are touched */
        for (uint64_t now = now_usec; now < end; now = clock_monotonic_usec()) {
                uint64_t wait = rate_wait_usec(&i->rate, now);
                int r;

                if (wait > 0) {
                        i->due_usec = now + wait;
                        return;
                }
                r = move_piece(i);
                if (r < 0)
                        journal_log(&i->manager->journal, LOG_DEBUG, &fields,
                                    "the pass over the memory of %s ended early: %s", i->name,
                                    strerror(-r));
                if (r <= 0) {
                        end_pass(i, now);
                        return;
                }
        }
        i->due_usec = clock_monotonic_usec();
}

static void sweep_process(Instance *i, const ProcHandle *process, uint32_t from) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        uint32_t target;
        int r;

        if (choose_target(i, &target) < 0 || !proc_is_alive(process))
                return;
        r = pages_sweep(process->pid, from, target);
        if (r < 0 && r != -ESRCH)
                journal_log(&i->manager->journal, LOG_DEBUG, &fields,
                            "sweeping node %u for process %d: %s", from, process->pid,
                            strerror(-r));
}

void move_sweep(Instance *i, uint64_t now_usec) {
        const Topology *topology = &i->manager->topology;

        i->progress.sweeps++;
        i->progress.settles = 0;
        for (size_t n = 0; n < topology->n_nodes; n++) {
                if (id_set_has(&i->placement.nodes, topology->nodes[n].id) ||
                    i->by_node[n].anon_bytes == 0)
                        continue;
                for (size_t p = 0; p < i->n_processes; p++)
                        sweep_process(i, &i->handles[p], topology->nodes[n].id);
        }
        i->due_usec = now_usec;
}
