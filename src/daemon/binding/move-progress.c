/* Rate and progress of a migration, from its first pass until the instance reaches a final step. */
#include <math.h>

#include "tidbnumad/daemon/binding/groups.h"
#include "tidbnumad/daemon/binding/move-progress.h"
#include "tidbnumad/daemon/sampling/sample.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/world/members-memory.h"

/* A pass is not made for less memory of files outside. */
#define FILES_LEAST_BYTES (UINT64_C(16) << 20)

/* Bytes that the counters of the kernel still show where the last pass saw every page and found
 * none outside. Not on cgroup v1, which counts shared memory as anonymous. */
static bool is_counters_rest(const Binder *b, const Instance *i, uint64_t outside_bytes) {
        return instance_backend(i, &b->host->backend) != BACKEND_CGROUP1 &&
               i->binding.progress.passes > 0 && i->binding.progress.pass_whole &&
               i->binding.progress.pass_found_bytes == 0 &&
               outside_bytes <= residency_uncounted_max(&b->host->topology);
}

void observe_memory(const Binder *b, Instance *i, int cgroup_fd) {
        const Topology *topology = &b->host->topology;
        const NodeSet *nodes = instance_nodes(i);
        const uint64_t outside_before = i->binding.outside_bytes;
        NodeMemory outside = { 0 };

        sample_update(b->sampling, i, cgroup_fd, nodes);
        if (i->sampling.memory_known)
                outside = residency_outside(topology, i->sampling.by_node, nodes);
        i->binding.outside_bytes = outside.anon_bytes;
        i->binding.mapped_outside_bytes = outside.mapped_bytes;
        if (is_counters_rest(b, i, i->binding.outside_bytes))
                i->binding.outside_bytes = 0;
        if (i->binding.passed || i->binding.mapped_outside_bytes < i->binding.mapped_left_bytes)
                i->binding.mapped_left_bytes = i->binding.mapped_outside_bytes;
        i->binding.passed = false;
        /* Memory that migrate_pages(2) moved is visible only in this difference. */
        if (i->binding.migration.under_way && i->binding.placement.migrate == MIGRATE_KERNEL &&
            i->binding.outside_bytes < outside_before)
                move_progress_add(b, i, outside_before - i->binding.outside_bytes);
}

void move_progress_note_files(const Binder *b, const Instance *i, StepInput *in) {
        const uint64_t outside = i->binding.mapped_outside_bytes;

        in->file_pull_wanted = binding_may_change(b, i) &&
                               outside >= i->binding.mapped_left_bytes + FILES_LEAST_BYTES;
        in->files_follow = outside >= FILES_LEAST_BYTES && binding_narrowing_takes_files(b, i);
}

/* The pressure of a login session's or a supervisor's group is not that of the instance. */
static int read_pressure(const Binder *b, Instance *i, Pressure *ret) {
        _cleanup_groups_ Groups open = GROUPS_NONE;
        int r;

        if (!i->binding.observed.alone)
                return -EOPNOTSUPP;
        r = groups_open(b, i, &open);
        if (r < 0)
                return r;
        return open.group_fd >= 0 ? pressure_read(open.group_fd, ret) : -EOPNOTSUPP;
}

static void begin_window(Migration *m, const Pressure *pressure, uint64_t now_usec) {
        m->window_usec = now_usec;
        m->waited_usec = pressure->total_usec;
}

static void log_begin(const Binder *b, const Instance *i) {
        const JournalFields fields = { .instance = i->name,
                                       .policy = i->policy->name,
                                       .message_id = JOURNAL_MOVING };
        char nodes[ID_SET_LIST_MAX];

        (void)id_set_render_list(&i->binding.placement.nodes, nodes, sizeof(nodes));
        journal_log(&b->host->journal, LOG_INFO, &fields, "%s: moving %.1f MiB to node %s, %s",
                    i->name, (double)i->binding.outside_bytes / (1 << 20), nodes,
                    step_moves_at_once(i->binding.placement.migrate, i->sampling.memory_known)
                            ? "at once"
                            : "gently");
}

void move_progress_begin(const Binder *b, Instance *i, uint64_t now_usec) {
        Pressure pressure = { 0 };

        i->binding.migration.pressure_known = read_pressure(b, i, &pressure) == 0;
        begin_window(&i->binding.migration, &pressure, now_usec);
        if (i->binding.migration.under_way)
                return;
        i->binding.migration.under_way = true;
        i->binding.migration.begun_usec = now_usec;
        i->binding.migration.begun_bytes = i->binding.outside_bytes;
        i->binding.migration.logged = i->binding.outside_bytes >= MOVE_LOGGED_BYTES;
        pace_init(&i->binding.migration.pace, pressure.recent);
        if (i->binding.migration.logged)
                log_begin(b, i);
}

void move_progress_note(const Binder *b, Instance *i, uint64_t now_usec) {
        Migration *m = &i->binding.migration;
        const uint64_t window = now_usec - m->window_usec;
        Pressure pressure;

        if (!m->pressure_known || window < PACE_WINDOW_USEC)
                return;
        m->pressure_known = read_pressure(b, i, &pressure) == 0;
        if (!m->pressure_known || pressure.total_usec < m->waited_usec)
                return;
        pace_note(&m->pace, (double)(pressure.total_usec - m->waited_usec) / (double)window);
        begin_window(m, &pressure, now_usec);
        rate_change(&i->binding.rate, pace_rate(&m->pace, i->binding.placement.rate_bytes_per_sec),
                    now_usec);
}

void move_progress_add(const Binder *b, Instance *i, uint64_t bytes) {
        i->binding.migrated_bytes += bytes;
        b->policy_counters[i->policy_index].migrated_bytes += bytes;
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

        text_appendf(text,
                     "of %.1f MiB on other nodes, tidbnumad moved %.1f MiB within %.1f s of the "
                     "start of the move",
                     mib(m->begun_bytes), mib(moved), (double)(now_usec - m->begun_usec) / 1e6);
        if (m->begun_bytes > moved + left)
                text_appendf(text,
                             "; the process freed, or the kernel itself moved, the other %.1f MiB",
                             mib(m->begun_bytes - moved - left));
        if (left > 0)
                text_appendf(text, "; %.1f MiB are on other nodes now", mib(left));
}

void move_progress_end(const Binder *b, Instance *i, bool bound_logged, uint64_t now_usec) {
        const JournalFields fields = { .instance = i->name,
                                       .policy = i->policy->name,
                                       .message_id = JOURNAL_MOVED };
        _cleanup_text_ Text text = { 0 };

        if (i->binding.migration.logged && !bound_logged) {
                move_progress_describe(i, now_usec, &text);
                journal_log(&b->host->journal, LOG_INFO, &fields, "%s: %s", i->name,
                            text.data ? text.data : "");
        }
        i->binding.migration = (Migration){ 0 };
}

uint64_t move_rate_in_force(const Instance *i) {
        return i->binding.moving ? pace_rate(&i->binding.migration.pace,
                                             i->binding.placement.rate_bytes_per_sec)
                                 : 0;
}

double move_left_seconds(const Instance *i, uint64_t now_usec) {
        const uint64_t took_usec = now_usec - i->binding.migration.begun_usec;
        uint64_t reached = 0;

        if (!i->binding.moving)
                return NAN;
        if (took_usec >= PACE_WINDOW_USEC)
                reached = (uint64_t)((double)i->binding.migration.moved_bytes * 1e6 /
                                     (double)took_usec);
        return pace_left_seconds(i->binding.outside_bytes, move_rate_in_force(i), reached);
}
