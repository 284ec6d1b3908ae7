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

/* The loop serves others after so long; a piece that was begun is ended first. */
#define SLICE_USEC UINT64_C(5000)

/* Looks whether the kernel has done what it was asked for. */
#define KERNEL_POLL_USEC UINT64_C(50000)

/* A start script executes two or three programs; one that goes on and on is left to a later pass.
 */
enum { EXECS_MAX = 8 };

/* Address space looked through at a time when nothing is found in it. */
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
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };

        i->binding.missed = true;
        journal_log(&b->host->journal, LOG_DEBUG, &fields,
                    "the memory of process %d of %s cannot be looked into: %s",
                    i->processes[i->binding.mover_process].id.pid, i->name, strerror(-error));
}

/* The next process that is still there; false when all were walked through. */
static bool begin_process(const Binder *b, Instance *i) {
        i->binding.execs = 0;
        for (; i->binding.mover_process < i->n_processes; i->binding.mover_process++) {
                int r = mover_begin(&i->binding.mover, &i->handles[i->binding.mover_process]);

                if (r == 0)
                        return true;
                if (r != -ESRCH)
                        note_missed(b, i, r);
        }
        return false;
}

static void begin_kernel(const Binder *b, Instance *i, uint64_t now_usec) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        int r = move_kernel_begin(b, i);

        if (r < 0)
                journal_log(&b->host->journal, LOG_DEBUG, &fields,
                            "the kernel was not asked to move the memory of %s: %s", i->name,
                            strerror(-r));
        if (r < 0 || i->binding.kernel_mover_fd < 0)
                end_pass(b, i, false, now_usec);
}

/* Its calls cannot be watched; what they moved is what is no longer outside at the next look. */
static void wait_for_kernel(const Binder *b, Instance *i, uint64_t now_usec) {
        if (move_kernel_runs(i))
                i->binding.due_usec = now_usec + KERNEL_POLL_USEC;
        else
                end_pass(b, i, false, now_usec);
}

/* Where the cgroup is not known, nobody has looked who else is in it. */
static bool is_alone(const Instance *i) {
        return i->binding.observed.alone && (i->sampling.memory_known || scope_of(i));
}

void move_begin(const Binder *b, Instance *i, uint64_t now_usec) {
        i->binding.moving = true;
        i->binding.mover.alone = is_alone(i);
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

/* One piece. Returns 1: go on; 0: the pass is complete; negative: it cannot go on. */
static int move_piece(const Binder *b, Instance *i) {
        const uint64_t own_before = i->binding.mover.moved_bytes;
        const uint64_t shared_before = i->binding.mover.shared_moved_bytes;
        uint64_t bytes, own;
        uint32_t target;
        int r;

        r = room_choose_node(b->placing, i, &target);
        if (r < 0)
                return r;
        r = mover_step(&i->binding.mover, &i->binding.placement.nodes, target, SCAN_BYTES, &bytes);
        rate_take(&i->binding.rate, bytes);
        own = i->binding.mover.moved_bytes - own_before;
        i->binding.outside_bytes -= own < i->binding.outside_bytes ? own : i->binding.outside_bytes;
        move_progress_add(b, i, own + i->binding.mover.shared_moved_bytes - shared_before);
        if (r > 0)
                return 1;
        /* Another program in the same process: another memory, gone through from the start. */
        if (r == -ESTALE && i->binding.execs++ < EXECS_MAX &&
            mover_begin(&i->binding.mover, &i->handles[i->binding.mover_process]) == 0)
                return 1;
        if (r < 0 && r != -ESRCH && r != -ESTALE)
                return r;
        i->binding.mover_process++;
        return begin_process(b, i) ? 1 : 0;
}

/* A pass may begin and end between two readings of the guard. */
static void note_pull(Instance *i) {
        const uint64_t rate = move_rate_in_force(i);

        if (rate > i->binding.pull_peak_bytes_per_sec)
                i->binding.pull_peak_bytes_per_sec = rate;
}

void move_slice(const Binder *b, Instance *i, uint64_t now_usec) {
        const uint64_t end = now_usec + SLICE_USEC;
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        _cleanup_affinity_loan_ AffinityLoan loan = { 0 };

        if (i->binding.kernel_mover_fd >= 0) {
                wait_for_kernel(b, i, now_usec);
                return;
        }
        move_progress_note(b, i, now_usec);
        note_pull(i);
        affinity_borrow(&i->binding.placement.cpus, &loan); /* hidden pages are touched */
        for (uint64_t now = now_usec; now < end; now = clock_monotonic_usec()) {
                uint64_t wait = rate_wait_usec(&i->binding.rate, now);
                int r;

                if (wait > 0) {
                        i->binding.due_usec = now + wait;
                        return;
                }
                r = move_piece(b, i);
                if (r < 0)
                        journal_log(&b->host->journal, LOG_DEBUG, &fields,
                                    "the pass over the memory of %s ended early: %s", i->name,
                                    strerror(-r));
                if (r <= 0) {
                        end_pass(b, i, r == 0, now);
                        return;
                }
        }
        i->binding.due_usec = clock_monotonic_usec();
}

Instance *move_next(const Binder *b, uint64_t now_usec) {
        Instance *next = NULL;

        for (size_t k = 0; k < b->roster->n_instances; k++) {
                Instance *i = b->roster->instances[k];

                if (i->binding.moving && i->binding.due_usec <= now_usec &&
                    (!next || i->binding.due_usec < next->binding.due_usec))
                        next = i;
        }
        return next;
}

static void sweep_process(const Binder *b, Instance *i, const ProcHandle *process, uint32_t from) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        uint32_t target;
        int r;

        if (room_choose_node(b->placing, i, &target) < 0 || !proc_is_alive(process))
                return;
        r = pages_sweep(process->pid, from, target);
        if (r < 0 && r != -ESRCH)
                journal_log(&b->host->journal, LOG_DEBUG, &fields,
                            "sweeping node %u for process %d: %s", from, process->pid,
                            strerror(-r));
}

void move_sweep(const Binder *b, Instance *i, uint64_t now_usec) {
        const Topology *topology = &b->host->topology;

        i->binding.progress.sweeps++;
        i->binding.progress.settles = 0;
        for (size_t n = 0; n < topology->n_nodes; n++) {
                if (id_set_has(&i->binding.placement.nodes, topology->nodes[n].id) ||
                    !i->sampling.memory_known || i->sampling.by_node[n].anon_bytes == 0)
                        continue;
                for (size_t p = 0; p < i->n_processes; p++)
                        sweep_process(b, i, &i->handles[p], topology->nodes[n].id);
        }
        i->binding.due_usec = now_usec;
}
