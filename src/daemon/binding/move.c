/* Passes of the mover over all processes of an instance, in slices. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/binding/move-kernel.h"
#include "tidbnumad/daemon/binding/move-progress.h"
#include "tidbnumad/daemon/binding/move.h"
#include "tidbnumad/daemon/placing/room.h"
#include "tidbnumad/daemon/roster/scope.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/ask.h"

/* A slice ends after this time, so that the loop handles other events; a piece that was begun is
 * completed. */
#define SLICE_USEC UINT64_C(5000)

/* A start script executes two or three programs. A process that executes more during one pass is
 * left to a later pass. */
enum { EXECS_MAX = 8 };

/* Interval of polling the worker, in case its answer is missed. */
#define WORKER_POLL_USEC UINT64_C(100000)

/* Address space that is scanned in one piece when nothing is found in it. */
#define SCAN_BYTES (UINT64_C(16) << 20)

static void end_pass(const Binder *b, Instance *i, bool whole, uint64_t now_usec) {
        i->binding.passed = true;
        i->binding.progress.passes++;
        i->binding.progress.pass_whole = whole && !i->binding.missed;
        i->binding.progress.pass_found_bytes = i->binding.mover.found_bytes;
        i->binding.progress.pass_moved_bytes = i->binding.mover.moved_bytes;
        i->binding.failed_pages += i->binding.mover.failed_pages;
        b->policy_counters[i->policy_index].failed_pages += i->binding.mover.failed_pages;
        mover_end(&i->binding.mover);
        i->binding.moving = false;
        i->binding.due_usec = now_usec;
}

static void note_missed(const Binder *b, Instance *i, int error) {
        i->binding.missed = true;
        journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                    "the memory of process %d of %s cannot be read: %s",
                    i->members[i->binding.mover_process].process.id.pid, i->name, strerror(-error));
}

static bool has_worker(const Binder *b) {
        return b->host->workers.program;
}

/* Where a worker walks, it opens the process itself at the first step. */
static int begin_walk(const Binder *b, Instance *i) {
        const size_t k = i->binding.mover_process;

        if (!has_worker(b))
                return mover_begin(&i->binding.mover, i->members[k].handle);
        i->binding.pass = clock_monotonic_usec();
        return workers_is_hung(&b->host->workers, &i->members[k].process.id, WORKER_WAIT_MEMORY)
                       ? -EHOSTDOWN
                       : 0;
}

/* Advances to the next live process; false when all were walked. */
static bool begin_process(const Binder *b, Instance *i) {
        i->binding.execs = 0;
        for (; i->binding.mover_process < i->n_members; i->binding.mover_process++) {
                int r = begin_walk(b, i);

                if (r == 0)
                        return true;
                if (r != -ESRCH)
                        note_missed(b, i, r);
        }
        return false;
}

/* The result of the calls is not reported; the next reconcile sees what they moved. */
static void begin_kernel(const Binder *b, Instance *i, uint64_t now_usec) {
        int r = move_kernel_begin(b, i);

        i->binding.missed = true;
        if (r < 0)
                journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                            "the kernel was not asked to move the memory of %s: %s", i->name,
                            strerror(-r));
        if (r <= 0)
                end_pass(b, i, false, now_usec);
}

/* False where the control group is not known: then nobody has checked who else is in it. */
static bool is_alone(const Instance *i) {
        return i->binding.observed.alone && (i->sampling.memory_known || scope_of(i));
}

void move_begin(const Binder *b, Instance *i, uint64_t now_usec) {
        i->binding.moving = true;
        i->binding.mover.alone = is_alone(i);
        i->binding.mover.files = binding_narrowing_takes_files(b, i);
        i->binding.missed = false;
        i->binding.mover_process = 0;
        mover_reset_counters(&i->binding.mover);
        move_progress_begin(b, i, now_usec);
        rate_init(&i->binding.rate, move_rate_in_force(i), now_usec);
        i->binding.due_usec = now_usec;
        if (step_moves_at_once(i->binding.placement.migrate, i->sampling.memory_known))
                begin_kernel(b, i, now_usec);
        else if (!begin_process(b, i))
                end_pass(b, i, true, now_usec);
}

/* Makes one step of the walk, by the worker or, without one, in this process. -EAGAIN: the worker
 * is busy with it. */
static int step_walk(const Binder *b, Instance *i, uint32_t target, uint64_t *ret_bytes) {
        const WorkerMove move = { .pass = i->binding.pass,
                                  .scan_bytes = SCAN_BYTES,
                                  .target = target,
                                  .alone = i->binding.mover.alone,
                                  .files = i->binding.mover.files };

        if (!has_worker(b))
                return mover_step(&i->binding.mover, &i->binding.placement.nodes, target,
                                  SCAN_BYTES, ret_bytes);
        return worker_move(&b->host->workers, i->members[i->binding.mover_process].handle, &move,
                           &i->binding.placement.nodes, &i->binding.placement.cpus,
                           &i->binding.mover, ret_bytes);
}

/* True if this process has nothing more to walk; others of the instance may. */
static bool is_end_of_process(int error) {
        return error == -ESRCH || error == -ESTALE || error == -EHOSTDOWN;
}

/* Moves one piece. 1: continue; 0: the pass is complete; negative errno: it cannot continue;
 * -EAGAIN: not yet. */
static int move_piece(const Binder *b, Instance *i) {
        const uint64_t own_before = i->binding.mover.moved_bytes;
        const uint64_t shared_before = i->binding.mover.shared_moved_bytes;
        uint64_t bytes, own;
        uint32_t target;
        int r;

        r = room_choose_node(b->placing, i, &target);
        if (r < 0)
                return r;
        r = step_walk(b, i, target, &bytes);
        rate_take(&i->binding.rate, bytes);
        own = i->binding.mover.moved_bytes - own_before;
        i->binding.outside_bytes -= own < i->binding.outside_bytes ? own : i->binding.outside_bytes;
        move_progress_add(b, i, own + i->binding.mover.shared_moved_bytes - shared_before);
        if (r > 0)
                return 1;
        /* The process executed another program: its memory is new, so walk it from the start. */
        if (r == -ESTALE && i->binding.execs++ < EXECS_MAX && begin_walk(b, i) == 0)
                return 1;
        if (r < 0 && !is_end_of_process(r))
                return r;
        if (r == -EHOSTDOWN)
                note_missed(b, i, r);
        i->binding.mover_process++;
        return begin_process(b, i) ? 1 : 0;
}

static void wait_for_worker(Instance *i) {
        i->binding.at_worker = true;
        i->binding.due_usec = clock_monotonic_usec() + WORKER_POLL_USEC;
}

void move_worker_idle(const Binder *b) {
        const uint64_t now_usec = clock_monotonic_usec();

        ROSTER_FOREACH(i, b->roster) {
                if (i->binding.moving && i->binding.at_worker)
                        i->binding.due_usec = now_usec;
                i->binding.at_worker = false;
        }
}

/* Puts this instance last in the queue for the worker. */
static void give_turn(const Binder *b, Instance *i) {
        move_worker_idle(b);
        i->binding.due_usec = clock_monotonic_usec() + 1;
}

/* Records the peak rate for the guard: a pass may begin and end between two readings of the guard.
 */
static void note_pull(Instance *i) {
        const uint64_t rate = move_rate_in_force(i);

        if (rate > i->binding.pull_peak_bytes_per_sec)
                i->binding.pull_peak_bytes_per_sec = rate;
}

/* -EAGAIN: the worker is busy with it. */
static int sweep_process(const Binder *b, Instance *i, size_t k, uint32_t from) {
        const ProcHandle *process = i->members[k].handle;
        uint32_t target;
        int r;

        if (room_choose_node(b->placing, i, &target) < 0 || !proc_is_alive(process))
                return 0;
        r = has_worker(b) ? worker_sweep(&b->host->workers, process, from, target)
                          : pages_sweep(process->pid, from, target);
        if (r < 0 && r != -ESRCH && r != -EAGAIN)
                journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                            "sweeping node %u for process %d: %s", from, process->pid,
                            strerror(-r));
        return r;
}

static bool is_swept(const Binder *b, const Instance *i, size_t node) {
        return !id_set_has(&i->binding.placement.nodes, b->host->topology.nodes[node].id) &&
               i->sampling.memory_known && i->sampling.by_node[node].anon_bytes > 0;
}

/* Sweeps each process, one node at a time. */
static void sweep_slice(const Binder *b, Instance *i) {
        InstanceBinding *own = &i->binding;

        for (; own->sweep_node < b->host->topology.n_nodes;
             own->sweep_node++, own->sweep_process = 0)
                for (; is_swept(b, i, own->sweep_node) && own->sweep_process < i->n_members;
                     own->sweep_process++)
                        if (sweep_process(b, i, own->sweep_process,
                                          b->host->topology.nodes[own->sweep_node].id) == -EAGAIN) {
                                wait_for_worker(i);
                                return;
                        }
        own->sweeping = own->moving = false;
        own->due_usec = clock_monotonic_usec();
}

/* migrate_pages(2) leaves pages that are still shared after a fork: with MPOL_MF_MOVE_ALL it would
 * also move the libraries of other processes. The pass of the mover that follows can tell the two
 * apart. */
static void kernel_slice(const Binder *b, Instance *i, uint64_t now_usec) {
        int r = move_kernel_step(b, i);

        i->binding.due_usec = now_usec;
        if (r == -EAGAIN)
                wait_for_worker(i);
        if (r != 0)
                return;
        binding_end_kernel_moves(i);
        if (!begin_process(b, i))
                end_pass(b, i, false, now_usec);
}

void move_slice(const Binder *b, Instance *i, uint64_t now_usec) {
        const uint64_t end = now_usec + SLICE_USEC;
        _cleanup_affinity_loan_ AffinityLoan loan = { 0 };

        i->binding.at_worker = false;
        if (i->binding.kernel.list) {
                kernel_slice(b, i, now_usec);
                return;
        }
        if (i->binding.sweeping) {
                sweep_slice(b, i);
                return;
        }
        move_progress_note(b, i, now_usec);
        note_pull(i);
        /* The walk touches pages that NUMA balancing has hidden: do that on the instance's CPUs. */
        if (!has_worker(b))
                affinity_borrow(&i->binding.placement.cpus, &loan);
        for (uint64_t now = now_usec; now < end; now = clock_monotonic_usec()) {
                uint64_t wait = rate_wait_usec(&i->binding.rate, now);
                int r;

                if (wait > 0) {
                        i->binding.due_usec = now + wait;
                        return;
                }
                r = move_piece(b, i);
                if (r == -EAGAIN) {
                        wait_for_worker(i);
                        return;
                }
                if (r < 0)
                        journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                                    "the pass over the memory of %s ended early: %s", i->name,
                                    strerror(-r));
                if (r <= 0) {
                        end_pass(b, i, r == 0, now);
                        return;
                }
                if (has_worker(b)) {
                        give_turn(b, i);
                        return;
                }
        }
        i->binding.due_usec = clock_monotonic_usec();
}

Instance *move_next(const Binder *b, uint64_t now_usec) {
        Instance *next = NULL;

        ROSTER_FOREACH(i, b->roster)
                if (i->binding.moving && i->binding.due_usec <= now_usec &&
                    (!next || i->binding.due_usec < next->binding.due_usec))
                        next = i;
        return next;
}

void move_sweep(const Binder *b, Instance *i, uint64_t now_usec) {
        i->binding.progress.sweeps++;
        i->binding.progress.settles = 0;
        i->binding.sweeping = i->binding.moving = true;
        i->binding.sweep_node = i->binding.sweep_process = 0;
        i->binding.due_usec = now_usec;
        sweep_slice(b, i);
}
