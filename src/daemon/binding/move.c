/* Passes of the mover over all processes of an instance, in slices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"
#include "tidbnumad/world/instances.h"

/* --- rate and progress of a migration, from its first pass until the instance reaches a final step
 * --- */

void observe_memory(const Binder *b, Instance *i, int cgroup_fd) {
        const Topology *topology = &b->host->topology;
        const NodeSet *nodes = instance_nodes(i);
        const uint64_t outside_before = i->binding.outside_bytes;
        NodeMemory outside = { 0 };

        sample_update(b->sampling, i, cgroup_fd, nodes);
        if (i->memory_known)
                outside = residency_outside(topology, i->by_node, nodes);
        i->binding.outside_bytes = outside.anon_bytes;
        i->binding.mapped_outside_bytes = outside.mapped_bytes;
        /* Bytes that the counters of the kernel still show where the last pass saw every page and
         * found none outside. Not on cgroup v1, which counts shared memory as anonymous. */
        if (instance_backend(i, &b->host->backend) != BACKEND_CGROUP1 &&
            i->binding.progress.passes > 0 && i->binding.progress.pass_whole &&
            i->binding.progress.pass_found_bytes == 0 &&
            i->binding.outside_bytes <= residency_uncounted_max(topology))
                i->binding.outside_bytes = 0;
        if (i->binding.passed || i->binding.mapped_outside_bytes < i->binding.mapped_left_bytes)
                i->binding.mapped_left_bytes = i->binding.mapped_outside_bytes;
        i->binding.passed = false;
        /* Memory that migrate_pages(2) moved is visible only in this difference. */
        if (i->binding.migration.under_way && i->binding.placement.migrate == MIGRATE_KERNEL &&
            i->binding.outside_bytes < outside_before)
                move_progress_add(b, i, outside_before - i->binding.outside_bytes);
}

/* The pressure of a login session's or a supervisor's group is not that of the instance. */
static int read_pressure(const Binder *b, Instance *i, Pressure *ret) {
        _cleanup_groups_ BindingGroups open = GROUPS_NONE;
        int r;

        if (!i->binding.observed.alone)
                return -EOPNOTSUPP;
        r = groups_open(b, i, &open);
        if (r < 0)
                return r;
        return open.group_fd >= 0 ? pressure_read(open.group_fd, ret) : -EOPNOTSUPP;
}

static void migration_begin_window(Migration *m, const Pressure *pressure, uint64_t now_usec) {
        m->window_usec = now_usec;
        m->waited_usec = pressure->total_usec;
}

void move_progress_add(const Binder *b, Instance *i, uint64_t bytes) {
        i->binding.migrated_bytes += bytes;
        b->host->policy_counters[i->policy_index].migrated_bytes += bytes;
        i->binding.migration.moved_bytes += bytes;
}

static double mib(uint64_t bytes) {
        return (double)bytes / (1 << 20);
}

/* What the daemon did not move and is gone from the other nodes was freed by the process, or moved
 * by the kernel: by its NUMA balancing, or where a write of memory nodes moves pages. */
void move_progress_describe(const Instance *i, uint64_t now_usec, Text *text) {
        const Migration *m = &i->binding.migration;
        const uint64_t left = i->binding.outside_bytes, moved = m->moved_bytes;
        /* What came there since the start of the move, and shared memory, count too. */
        const uint64_t found = m->begun_bytes > moved + left ? m->begun_bytes : moved + left;

        text_appendf(text,
                     "of %.1f MiB on other nodes, tidbnumad moved %.1f MiB within %.1f s of the "
                     "start of the move",
                     mib(found), mib(moved), (double)(now_usec - m->begun_usec) / 1e6);
        if (found > moved + left)
                text_appendf(text,
                             "; the process freed, or the kernel itself moved, the other %.1f MiB",
                             mib(found - moved - left));
        if (left > 0)
                text_appendf(text, "; %.1f MiB are on other nodes now", mib(left));
}

void move_progress_end(const Binder *b, Instance *i, bool bound_logged, uint64_t now_usec) {
        _cleanup_text_ Text text = { 0 };

        if (i->binding.migration.logged && !bound_logged) {
                move_progress_describe(i, now_usec, &text);
                journal_log(&b->host->journal, LOG_INFO,
                            &INSTANCE_FIELDS(i, .message_id = JOURNAL_MOVED), "%s: %s", i->name,
                            text.data ? text.data : "");
        }
        i->binding.migration = (Migration){ 0 };
}

uint64_t move_rate_in_force(const Instance *i) {
        return i->binding.state == INSTANCE_MOVING
                       ? pace_rate(&i->binding.migration.pace,
                                   i->binding.placement.rate_bytes_per_sec)
                       : 0;
}

double move_left_seconds(const Instance *i, uint64_t now_usec) {
        const uint64_t took_usec = now_usec - i->binding.migration.begun_usec;
        uint64_t reached = 0;

        if (i->binding.state != INSTANCE_MOVING)
                return NAN;
        if (took_usec >= PACE_WINDOW_USEC)
                reached = (uint64_t)((double)i->binding.migration.moved_bytes * 1e6 /
                                     (double)took_usec);
        return pace_left_seconds(i->binding.outside_bytes, move_rate_in_force(i), reached);
}

/* A start script executes two or three programs. A process that executes more during one pass is
 * left to a later pass. */
enum { EXECS_MAX = 8 };

/* Interval of polling the worker, in case its answer is missed. */
#define WORKER_POLL_USEC UINT64_C(100000)

static void end_move_pass(const Binder *b, Instance *i, bool whole, uint64_t now_usec) {
        i->binding.passed = true;
        i->binding.progress.passes++;
        i->binding.progress.pass_whole = whole && !i->binding.missed;
        i->binding.progress.pass_found_bytes = i->binding.counted.found_bytes;
        i->binding.progress.pass_moved_bytes = i->binding.counted.moved_bytes;
        i->binding.failed_pages += i->binding.counted.failed_pages;
        b->host->policy_counters[i->policy_index].failed_pages += i->binding.counted.failed_pages;
        (void)binding_enter(b, i, EVENT_PASSED, now_usec);
}

static void note_missed(const Binder *b, Instance *i, int error) {
        i->binding.missed = true;
        journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                    "the memory of process %d of %s cannot be read: %s",
                    i->members[i->binding.mover_process].process.id.pid, i->name, strerror(-error));
}

/* The worker opens the process at the first step. False: the process is known not to answer. */
static bool begin_walk(const Binder *b, Instance *i) {
        i->binding.walk.pass = clock_monotonic_usec();
        i->binding.mover_pid = i->members[i->binding.mover_process].process.id.pid;
        return !workers_is_hung(b->host->workers, &i->members[i->binding.mover_process].process.id,
                                WORKER_WAIT_MEMORY);
}

/* Advances to the next live process; false when all were walked. What was started since the pass
 * began has its memory where it runs: with it, the pass might have no end. */
static bool begin_process(const Binder *b, Instance *i) {
        i->binding.execs = 0;
        for (; i->binding.mover_process < i->n_members; i->binding.mover_process++) {
                if (i->members[i->binding.mover_process].process.id.start_ticks >
                    i->binding.pass_ticks)
                        continue;
                if (begin_walk(b, i))
                        return true;
                note_missed(b, i, -EHOSTDOWN);
        }
        return false;
}

/* --- `migrate: kernel` ---
 *
 * The kernel moves all pages of a node in one call of migrate_pages(2), which takes seconds for
 * some GiB and makes the target wait for much of that time. A call cannot be divided, and the
 * daemon has to guard nodes meanwhile, so a worker makes them. On cgroup v1 a write to cpuset.mems
 * with cpuset.memory_migrate could do the same, but only towards nodes that become the only ones of
 * the process, which is wrong for `preferred`, and it blocks the writer. */

/* The next node whose pages the kernel moves, as a whole to the one with the most room: as that is
 * after the moves before it. False: there is none. */
static bool kernel_finds_node(const Binder *b, Instance *i) {
        const Topology *topology = &b->host->topology;
        InstanceBinding *own = &i->binding;

        for (; i->memory_known && own->sweep_node < topology->n_nodes; own->sweep_node++) {
                const uint64_t bytes = i->by_node[own->sweep_node].anon_bytes;
                _cleanup_free_ NodeRoom *rooms = NULL;
                size_t n_rooms;
                int best;

                if (bytes == 0 ||
                    id_set_has(&own->placement.nodes, topology->nodes[own->sweep_node].id) ||
                    room_of(b->placing, i, &rooms, &n_rooms) < 0)
                        continue;
                best = fit_best(rooms, n_rooms, bytes);
                if (best < 0)
                        continue;
                own->sweep_to = rooms[best].node;
                return true;
        }
        return false;
}

static void wait_for_worker(Instance *i) {
        i->binding.at_worker = true;
        i->binding.due_usec = clock_monotonic_usec() + WORKER_POLL_USEC;
}

/* Makes the next call. migrate_pages(2) leaves pages that are still shared after a fork: with
 * MPOL_MF_MOVE_ALL it would also move the libraries of other processes. The pass of the mover that
 * follows can distinguish the two. */
static void kernel_slice(const Binder *b, Instance *i, uint64_t now_usec) {
        Workers *workers = b->host->workers;
        InstanceBinding *own = &i->binding;
        const uint32_t from = b->host->topology.nodes[own->sweep_node].id;
        const Member *member = &i->members[own->sweep_process];
        int r = proc_is_alive(member->handle) ? 0 : -ESRCH;

        /* A process whose memory map does not answer would block the worker, and everybody who
         * waits for it, until its deadline. */
        if (r >= 0 && !workers_are_busy(workers, WORKER_ONCE))
                r = worker_probe(workers, member->handle, member->process.uid);
        if (r >= 0)
                r = worker_migrate(workers, member->handle, from, own->sweep_to);
        if (r == -EAGAIN) {
                wait_for_worker(i);
                return;
        }
        if (r < 0 && r != -ESRCH)
                journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                            "the kernel was not asked to move node %u of process %d: %s", from,
                            member->handle->pid, strerror(-r));
        own->due_usec = now_usec;
        if (++own->sweep_process < i->n_members)
                return;
        own->sweep_process = 0;
        own->sweep_node++;
        if (kernel_finds_node(b, i))
                return;
        own->by = MOVE_PULL;
        if (!begin_process(b, i))
                end_move_pass(b, i, false, now_usec);
}

/* --- passes --- */

void move_begin(const Binder *b, Instance *i, uint64_t now_usec) {
        const bool at_once = step_moves_at_once(i->binding.placement.migrate, i->memory_known);
        Migration *m = &i->binding.migration;
        Pressure pressure = { 0 };

        i->binding.by = at_once ? MOVE_KERNEL : MOVE_PULL;
        /* If the control group is not known, it may contain other processes. */
        i->binding.walk.alone = i->binding.observed.alone && (i->memory_known || scope_of(i));
        i->binding.walk.files = binding_narrowing_takes_files(b, i);
        i->binding.missed = false;
        i->binding.pass_ticks = clock_boottime_ticks();
        i->binding.mover_process = i->binding.sweep_node = i->binding.sweep_process = 0;
        i->binding.counted = (MoverCounters){ 0 };
        m->pressure_known = read_pressure(b, i, &pressure) == 0;
        migration_begin_window(m, &pressure, now_usec);
        if (!m->under_way) { /* the first pass of a migration */
                m->under_way = true;
                m->begun_usec = now_usec;
                m->begun_bytes = i->binding.outside_bytes;
                m->logged = i->binding.outside_bytes >= MOVE_LOGGED_BYTES;
                pace_init(&m->pace, pressure.recent);
                if (m->logged)
                        journal_log(&b->host->journal, LOG_INFO,
                                    &INSTANCE_FIELDS(i, .message_id = JOURNAL_MOVING),
                                    "%s: moving %.1f MiB to node %s, %s", i->name,
                                    mib(i->binding.outside_bytes),
                                    id_set_list(&i->binding.placement.nodes),
                                    at_once ? "at once" : "gently");
        }
        rate_init(&i->binding.rate, move_rate_in_force(i), now_usec);
        i->binding.due_usec = now_usec;
        if (!at_once) {
                if (!begin_process(b, i))
                        end_move_pass(b, i, true, now_usec);
                return;
        }
        /* The result of the calls is not reported; the next reconcile sees what they moved. */
        i->binding.missed = true;
        if (!kernel_finds_node(b, i))
                end_move_pass(b, i, false, now_usec);
}

/* Sweeps each process, one node at a time. */
static void sweep_slice(const Binder *b, Instance *i) {
        const Topology *topology = &b->host->topology;
        InstanceBinding *own = &i->binding;

        for (; own->sweep_node < topology->n_nodes; own->sweep_node++, own->sweep_process = 0) {
                const uint32_t from = topology->nodes[own->sweep_node].id;

                if (id_set_has(&own->placement.nodes, from) || !i->memory_known ||
                    i->by_node[own->sweep_node].anon_bytes == 0)
                        continue;
                for (; own->sweep_process < i->n_members; own->sweep_process++) {
                        const ProcHandle *process = i->members[own->sweep_process].handle;
                        uint32_t target;
                        int r;

                        if (room_choose_node(b->placing, i, &target) < 0 || !proc_is_alive(process))
                                continue;
                        r = worker_sweep(b->host->workers, process, from, target);
                        if (r == -EAGAIN) {
                                wait_for_worker(i);
                                return;
                        }
                        if (r < 0 && r != -ESRCH)
                                journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                                            "sweeping node %u for process %d: %s", from,
                                            process->pid, strerror(-r));
                }
        }
        (void)binding_enter(b, i, EVENT_PASSED, clock_monotonic_usec());
}

void move_sweep(const Binder *b, Instance *i, uint64_t now_usec) {
        i->binding.progress.sweeps++;
        i->binding.progress.settles = 0;
        i->binding.by = MOVE_SWEEP;
        i->binding.sweep_node = i->binding.sweep_process = 0;
        i->binding.due_usec = now_usec;
        sweep_slice(b, i);
}

/* Moves one piece. 1: continue; 0: the pass is complete; negative errno: it cannot continue;
 * -EAGAIN: the worker is busy with it. */
static int move_piece(const Binder *b, Instance *i) {
        const MoverCounters before = i->binding.counted;
        uint64_t bytes, own;
        int r;

        /* Others of its processes may have come and gone since, and so may this one. */
        i->binding.mover_process = ARRAY_LOWER_BOUND(
                i->n_members, k, i->members[k].process.id.pid < i->binding.mover_pid);
        if (i->binding.mover_process == i->n_members)
                return 0;
        if (i->members[i->binding.mover_process].process.id.pid != i->binding.mover_pid)
                return begin_process(b, i) ? 1 : 0;
        r = room_choose_node(b->placing, i, &i->binding.walk.target);
        if (r < 0)
                return r;
        r = worker_move(b->host->workers, i->members[i->binding.mover_process].handle,
                        &i->binding.walk, &i->binding.placement.nodes, &i->binding.placement.cpus,
                        &i->binding.counted, &bytes);
        rate_take(&i->binding.rate, bytes);
        own = i->binding.counted.moved_bytes - before.moved_bytes;
        i->binding.outside_bytes -= own < i->binding.outside_bytes ? own : i->binding.outside_bytes;
        move_progress_add(b, i,
                          own + i->binding.counted.shared_moved_bytes - before.shared_moved_bytes);
        if (r > 0)
                return 1;
        /* The process executed another program: its memory is new, so walk it from the start. */
        if (r == -ESTALE && i->binding.execs++ < EXECS_MAX && begin_walk(b, i))
                return 1;
        if (r < 0 && r != -ESRCH && r != -ESTALE && r != -EHOSTDOWN)
                return r; /* others of its processes have no chance either */
        if (r == -EHOSTDOWN)
                note_missed(b, i, r);
        i->binding.mover_process++;
        return begin_process(b, i) ? 1 : 0;
}

void move_slice(const Binder *b, Instance *i, uint64_t now_usec) {
        Migration *m = &i->binding.migration;
        const uint64_t window = now_usec - m->window_usec;
        uint64_t rate, wait;
        Pressure pressure;
        int r;

        i->binding.at_worker = false;
        if (i->binding.by == MOVE_KERNEL) {
                kernel_slice(b, i, now_usec);
                return;
        }
        if (i->binding.by == MOVE_SWEEP) {
                sweep_slice(b, i);
                return;
        }
        /* Once a second: how long did the instance's tasks have to wait? That sets the rate. */
        if (m->pressure_known && window >= PACE_WINDOW_USEC) {
                m->pressure_known = read_pressure(b, i, &pressure) == 0;
                if (m->pressure_known && pressure.total_usec >= m->waited_usec) {
                        pace_note(&m->pace,
                                  (double)(pressure.total_usec - m->waited_usec) / (double)window);
                        migration_begin_window(m, &pressure, now_usec);
                        rate_change(&i->binding.rate,
                                    pace_rate(&m->pace, i->binding.placement.rate_bytes_per_sec),
                                    now_usec);
                }
        }
        /* For the guard: a pass may begin and end between two of its readings. */
        rate = move_rate_in_force(i);
        if (rate > i->binding.pull_peak_bytes_per_sec)
                i->binding.pull_peak_bytes_per_sec = rate;
        wait = rate_wait_usec(&i->binding.rate, now_usec);
        if (wait > 0) {
                i->binding.due_usec = now_usec + wait;
                return;
        }
        r = move_piece(b, i);
        if (r == -EAGAIN) {
                wait_for_worker(i);
                return;
        }
        if (r > 0) { /* behind the others, who are due since the answer came */
                i->binding.due_usec = clock_monotonic_usec() + 1;
                return;
        }
        if (r < 0)
                journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                            "the pass over the memory of %s ended early: %s", i->name,
                            strerror(-r));
        end_move_pass(b, i, r == 0, now_usec);
}
