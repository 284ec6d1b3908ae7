/* Passes of the mover over all processes of an instance, in slices. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/binding/move-kernel.h"
#include "tidbnumad/daemon/binding/move-progress.h"
#include "tidbnumad/daemon/binding/move.h"
#include "tidbnumad/daemon/roster/scope.h"
#include "tidbnumad/observe/node-use.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/clock.h"

/* The loop serves others after so long; a piece that was begun is ended first. */
#define SLICE_USEC UINT64_C(5000)

/* Looks whether the kernel has done what it was asked for. */
#define KERNEL_POLL_USEC UINT64_C(50000)

/* A start script executes two or three programs; one that goes on and on is left to a later pass.
 */
enum { EXECS_MAX = 8 };

/* Address space looked through at a time when nothing is found in it. */
#define SCAN_BYTES (UINT64_C(16) << 20)

uint64_t move_promised_to(const Manager *m, const Instance *self, uint32_t node) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < m->roster.n_instances; i++) {
                const Instance *other = m->roster.instances[i];

                if (other != self && other->binding.moving &&
                    id_set_has(&other->binding.placement.nodes, node))
                        bytes += other->binding.outside_bytes /
                                 id_set_count(&other->binding.placement.nodes);
        }
        return bytes;
}

/* An instance that was bound strictly before its nodes filled up may also count on half of the page
 * cache in use, as the guard does: it would have got that, had it not been widened, and cache that
 * spread while it was away would keep it out for ever. */
static int read_room(const Manager *m, const Instance *self, const Node *node, NodeRoom *ret) {
        const uint64_t watermark = m->host.high_watermark_bytes[node - m->host.topology.nodes];
        NodeUse use;
        int r = node_use_read(&m->host.sysroot, node->id, watermark, &use);

        if (r < 0)
                return r;
        *ret = fit_room(node->id, &use);
        if (self && self->binding.guard.widened)
                ret->reclaimable_bytes += use.active_file_bytes / 2;
        ret->promised_bytes = move_promised_to(m, self, node->id);
        return 0;
}

int move_rooms_on(const Manager *manager, const NodeSet *nodes, const Instance *self,
                  NodeRoom **ret, size_t *ret_n) {
        const Topology *topology = &manager->host.topology;
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
        return move_rooms_on(instance->manager, &instance->binding.placement.nodes, instance, ret,
                             ret_n);
}

void move_forget(Instance *i) {
        mover_end(&i->binding.mover);
        move_kernel_forget(i);
        i->binding.moving = false;
        i->binding.migration = (Migration){ 0 };
}

static void end_pass(Instance *i, bool whole, uint64_t now_usec) {
        i->binding.passed = true;
        i->binding.progress.passes++;
        i->binding.progress.pass_whole = whole && !i->binding.missed;
        i->binding.progress.pass_found_bytes = i->binding.mover.found_bytes;
        i->binding.progress.pass_moved_bytes = i->binding.mover.moved_bytes;
        i->binding.failed_pages += i->binding.mover.failed_pages;
        i->manager->binding.policy_counters[i->policy_index].failed_pages +=
                i->binding.mover.failed_pages;
        mover_end(&i->binding.mover);
        i->binding.moving = false;
        i->binding.due_usec = now_usec;
}

static void note_missed(Instance *i, int error) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };

        i->binding.missed = true;
        journal_log(&i->manager->host.journal, LOG_DEBUG, &fields,
                    "the memory of process %d of %s cannot be looked into: %s",
                    i->processes[i->binding.mover_process].id.pid, i->name, strerror(-error));
}

/* The next process that is still there; false when all were walked through. */
static bool begin_process(Instance *i) {
        i->binding.execs = 0;
        for (; i->binding.mover_process < i->n_processes; i->binding.mover_process++) {
                int r = mover_begin(&i->binding.mover, &i->handles[i->binding.mover_process]);

                if (r == 0)
                        return true;
                if (r != -ESRCH)
                        note_missed(i, r);
        }
        return false;
}

static void begin_kernel(Instance *i, uint64_t now_usec) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        int r = move_kernel_begin(i);

        if (r < 0)
                journal_log(&i->manager->host.journal, LOG_DEBUG, &fields,
                            "the kernel was not asked to move the memory of %s: %s", i->name,
                            strerror(-r));
        if (r < 0 || i->binding.kernel_mover_fd < 0)
                end_pass(i, false, now_usec);
}

/* Its calls cannot be watched; what they moved is what is no longer outside at the next look. */
static void wait_for_kernel(Instance *i, uint64_t now_usec) {
        if (move_kernel_runs(i))
                i->binding.due_usec = now_usec + KERNEL_POLL_USEC;
        else
                end_pass(i, false, now_usec);
}

/* Where the cgroup is not known, nobody has looked who else is in it. */
static bool is_alone(const Instance *i) {
        return i->binding.observed.alone && (i->sampling.memory_known || scope_of(i));
}

void move_begin(Instance *i, uint64_t now_usec) {
        i->binding.moving = true;
        i->binding.mover.alone = is_alone(i);
        i->binding.missed = false;
        i->binding.mover_process = 0;
        mover_reset_counters(&i->binding.mover);
        move_progress_begin(i, now_usec);
        rate_init(&i->binding.rate, move_rate_in_force(i), now_usec);
        i->binding.due_usec = now_usec;
        if (step_moves_at_once(i->binding.placement.migrate, i->sampling.memory_known))
                begin_kernel(i, now_usec);
        else if (!begin_process(i))
                end_pass(i, true, now_usec);
}

int move_choose_target(const Instance *i, uint32_t *ret) {
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
        const uint64_t own_before = i->binding.mover.moved_bytes;
        const uint64_t shared_before = i->binding.mover.shared_moved_bytes;
        uint64_t bytes, own;
        uint32_t target;
        int r;

        r = move_choose_target(i, &target);
        if (r < 0)
                return r;
        r = mover_step(&i->binding.mover, &i->binding.placement.nodes, target, SCAN_BYTES, &bytes);
        rate_take(&i->binding.rate, bytes);
        own = i->binding.mover.moved_bytes - own_before;
        i->binding.outside_bytes -= own < i->binding.outside_bytes ? own : i->binding.outside_bytes;
        move_progress_add(i, own + i->binding.mover.shared_moved_bytes - shared_before);
        if (r > 0)
                return 1;
        /* Another program in the same process: another memory, gone through from the start. */
        if (r == -ESTALE && i->binding.execs++ < EXECS_MAX &&
            mover_begin(&i->binding.mover, &i->handles[i->binding.mover_process]) == 0)
                return 1;
        if (r < 0 && r != -ESRCH && r != -ESTALE)
                return r;
        i->binding.mover_process++;
        return begin_process(i) ? 1 : 0;
}

/* A pass may begin and end between two readings of the guard. */
static void note_pull(Instance *i) {
        const uint64_t rate = move_rate_in_force(i);

        if (rate > i->binding.pull_peak_bytes_per_sec)
                i->binding.pull_peak_bytes_per_sec = rate;
}

void move_slice(Instance *i, uint64_t now_usec) {
        const uint64_t end = now_usec + SLICE_USEC;
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        _cleanup_affinity_loan_ AffinityLoan loan = { 0 };

        if (i->binding.kernel_mover_fd >= 0) {
                wait_for_kernel(i, now_usec);
                return;
        }
        move_progress_note(i, now_usec);
        note_pull(i);
        affinity_borrow(&i->binding.placement.cpus, &loan); /* hidden pages are touched */
        for (uint64_t now = now_usec; now < end; now = clock_monotonic_usec()) {
                uint64_t wait = rate_wait_usec(&i->binding.rate, now);
                int r;

                if (wait > 0) {
                        i->binding.due_usec = now + wait;
                        return;
                }
                r = move_piece(i);
                if (r < 0)
                        journal_log(&i->manager->host.journal, LOG_DEBUG, &fields,
                                    "the pass over the memory of %s ended early: %s", i->name,
                                    strerror(-r));
                if (r <= 0) {
                        end_pass(i, r == 0, now);
                        return;
                }
        }
        i->binding.due_usec = clock_monotonic_usec();
}

Instance *move_next(const Manager *m, uint64_t now_usec) {
        Instance *next = NULL;

        for (size_t k = 0; k < m->roster.n_instances; k++) {
                Instance *i = m->roster.instances[k];

                if (i->binding.moving && i->binding.due_usec <= now_usec &&
                    (!next || i->binding.due_usec < next->binding.due_usec))
                        next = i;
        }
        return next;
}

static void sweep_process(Instance *i, const ProcHandle *process, uint32_t from) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        uint32_t target;
        int r;

        if (move_choose_target(i, &target) < 0 || !proc_is_alive(process))
                return;
        r = pages_sweep(process->pid, from, target);
        if (r < 0 && r != -ESRCH)
                journal_log(&i->manager->host.journal, LOG_DEBUG, &fields,
                            "sweeping node %u for process %d: %s", from, process->pid,
                            strerror(-r));
}

void move_sweep(Instance *i, uint64_t now_usec) {
        const Topology *topology = &i->manager->host.topology;

        i->binding.progress.sweeps++;
        i->binding.progress.settles = 0;
        for (size_t n = 0; n < topology->n_nodes; n++) {
                if (id_set_has(&i->binding.placement.nodes, topology->nodes[n].id) ||
                    i->sampling.by_node[n].anon_bytes == 0)
                        continue;
                for (size_t p = 0; p < i->n_processes; p++)
                        sweep_process(i, &i->handles[p], topology->nodes[n].id);
        }
        i->binding.due_usec = now_usec;
}
