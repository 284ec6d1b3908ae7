/* The full-node guard: reads the nodes and carries out what plan/guard.h decides. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/worker/worker.h"

/* Logs that nodes fill up and nothing is done; `what`: why, and what may happen. Logged once, until
 * the danger is over. */
static void guard_note_danger(const Binder *b, Instance *i, Reason reason, const char *danger,
                              const char *failure, const char *what) {
        if (i->binding.guard.logged)
                return;
        i->binding.guard.logged = true;
        journal_log(&b->host->journal, LOG_WARNING,
                    &INSTANCE_FIELDS(i, .message_id = JOURNAL_NODE_FULL, .reason = reason),
                    "%s: %s; %s", i->name, danger, what);
        binding_set_failure(i, reason, "%s; %s", failure, what);
        host_queue(b->host, HOST_WORK_PUBLISH);
}

static void guard_log_safe(const Binder *b, Instance *i) {
        if (!i->binding.guard.logged)
                return;
        i->binding.guard.logged = false;
        binding_clear_failure(i);
        host_queue(b->host, HOST_WORK_PUBLISH);
}

/* The timer may fire this much later than requested, together with other timers. */
#define ACCURACY_USEC (UINT64_C(20) * 1000)

/* The kernel never includes a node without memory in an effective set. */
static NodeSet guard_home_of(const Binder *b, const Instance *i) {
        const NodeSet all = topology_memory_nodes(&b->host->topology);

        return id_set_and(&i->binding.placement.nodes, &all);
}

/* Nodes that the kernel allows, as of the last reconcile: the files are not read at each tick. */
static NodeSet usable_by(const Instance *i) {
        return id_set_or(&i->binding.observed.mems, &i->binding.guard.extra);
}

/* --- reading --- */

static int guard_read_node(const Binder *b, size_t index, uint64_t now_usec, GuardReading *ret,
                           uint64_t *ret_headroom_bytes) {
        const uint32_t node = b->host->topology.nodes[index].id;
        uint64_t pull_rate = 0;
        NodeMeminfo info;
        int r = node_meminfo_read(&b->host->sysroot, node, &info);

        if (r < 0)
                return r;
        REGISTRY_FOREACH(i, b->registry) {
                const uint64_t now = move_rate_in_force(i),
                               peak = i->binding.pull_peak_bytes_per_sec;

                if (id_set_has(&i->binding.placement.nodes, node))
                        pull_rate += now > peak ? now : peak;
        }
        *ret = (GuardReading){ .usec = now_usec,
                               .free_bytes = info.free_bytes,
                               .inactive_file_bytes = info.inactive_file_bytes,
                               .active_file_bytes = info.active_file_bytes,
                               .unclean_bytes = info.dirty_bytes + info.writeback_bytes,
                               .pull_bytes_per_sec = pull_rate };
        *ret_headroom_bytes =
                fit_headroom_bytes(info.total_bytes, b->host->high_watermark_bytes[index]);
        return 0;
}

static GuardOutlook outlook_on(const Binder *b, const NodeSet *nodes) {
        return guard_predict(b->guard_nodes, b->host->topology.n_nodes, nodes);
}

/* --- widening --- */

/* Nodes that cannot be added: those it already has, those its group does not allow, and those that
 * the admin's setting of the unit leaves out. */
static NodeSet guard_blocked_for(const Binder *b, const Instance *i) {
        const NodeSet open = undo_open_nodes(b->undo, i);
        NodeSet blocked = topology_memory_nodes(&b->host->topology), usable = usable_by(i);

        id_set_subtract(&blocked, &open);
        id_set_union(&blocked, &usable);
        id_set_union(&blocked, &i->binding.guard.blocked);
        return blocked;
}

static GuardSearch search_beside(const Binder *b, const NodeSet *home, const NodeSet *blocked,
                                 const NodeRoom *rooms) {
        return (GuardSearch){ .topology = &b->host->topology,
                              .home = home,
                              .blocked = blocked,
                              .reserved = &b->placing->reserved,
                              .strict = b->host->policies.host.reserve.strict,
                              .rooms = rooms };
}

/* -ENOSPC: there is none. */
static int guard_choose_node(const Binder *b, const Instance *i, const GuardOutlook *o,
                             uint32_t *ret) {
        const Topology *topology = &b->host->topology;
        const NodeSet home = guard_home_of(b, i), blocked = guard_blocked_for(b, i);
        _cleanup_free_ NodeRoom *rooms = calloc(topology->n_nodes, sizeof(*rooms));
        GuardSearch search = search_beside(b, &home, &blocked, rooms);
        int best;

        if (!rooms)
                return -ENOMEM;
        for (size_t n = 0; n < topology->n_nodes; n++) {
                const Node *node = &topology->nodes[n];
                NodeRoom room = { .node = node->id };
                GuardReading now;

                if (node->memory_bytes == 0 || id_set_has(&blocked, node->id) ||
                    guard_read_node(b, n, 0, &now, &room.headroom_bytes) < 0)
                        continue;
                room.free_bytes = now.free_bytes;
                room.reclaimable_bytes = guard_left_bytes(&now) - now.free_bytes;
                room.promised_bytes = room_promised(b->placing, NULL, node->id);
                rooms[search.n_rooms++] = room;
        }
        search.want_bytes = o->fall_bytes_per_sec * (GUARD_WIDEN_USEC / 1000000);
        best = guard_choose(&search);
        if (best < 0)
                return -ENOSPC;
        *ret = rooms[best].node;
        return 0;
}

static void guard_note_widened(const Binder *b, Instance *i, const NodeSet *mems) {
        const NodeSet home = guard_home_of(b, i);

        i->binding.guard.extra = *mems;
        id_set_subtract(&i->binding.guard.extra, &home);
        i->binding.guard.widened = true;
        i->binding.guard.rested_since_usec = 0;
        i->binding.guard.n_widenings++;
        b->host->policy_counters[i->policy_index].memory_widenings++;
        guard_log_safe(b, i);
        host_queue(b->host, HOST_WORK_PUBLISH);
}

static const char no_memory[] =
        "the kernel has no memory to widen its binding: tried again at once; free memory there";
static const char not_yet[] =
        "the kernel has not widened its binding yet, because one of its processes is stalled: "
        "tried again at once; free memory there";

/* The nodes of the instance fill up. True: look again soon. */
static bool guard_relieve(const Binder *b, Instance *i, const GuardOutlook *o, uint64_t now_usec) {
        static const char failure[] = "its memory nodes run full";
        const NodeSet before = usable_by(i);
        const bool several = id_set_count(&before) > 1;
        const char *list = id_set_list(&before);
        char danger[ID_SET_LIST_MAX + 128];
        uint32_t node;

        i->binding.guard.rested_since_usec = 0;
        if (o->room_bytes == 0)
                (void)snprintf(danger, sizeof(danger),
                               "node%s %s %s nearly full (no more than the headroom of %.1f MiB is "
                               "left)",
                               several ? "s" : "", list, several ? "are" : "is",
                               (double)o->headroom_bytes / (1 << 20));
        else
                (void)snprintf(danger, sizeof(danger),
                               "node%s %s will be full in %.1f s (%.1f MiB of room, %.1f MiB less "
                               "each second)",
                               several ? "s" : "", list, (double)o->gone_usec / 1e6,
                               (double)o->room_bytes / (1 << 20),
                               (double)o->fall_bytes_per_sec / (1 << 20));
        if (i->policy->on_full != ON_FULL_WIDEN) {
                guard_note_danger(b, i, REASON_NODE_FULL, danger, failure,
                                  "it stays bound as it is (on_full: keep), and the kernel may "
                                  "kill it or another process");
                return false;
        }
        while (guard_choose_node(b, i, o, &node) == 0) {
                const Node *found = topology_find(&b->host->topology, node);
                const char *kind = found ? topology_why_no_home(found) : "";
                NodeSet mems = before;
                int r;

                id_set_add(&mems, node);
                r = bind_widen_now(b, i, &mems, now_usec);
                if (r == -ESRCH)
                        return false; /* its exit is logged elsewhere */
                if (r == -ENOMEM || r == -ETIME) {
                        guard_note_danger(b, i, REASON_NODE_FULL, danger, failure,
                                          r == -ENOMEM ? no_memory : not_yet);
                        return true;
                }
                if (r < 0) {
                        id_set_add(&i->binding.guard.blocked, node);
                        continue;
                }
                journal_log(&b->host->journal, LOG_WARNING,
                            &INSTANCE_FIELDS(i, .message_id = JOURNAL_WIDENED,
                                             .reason = REASON_NODE_FULL),
                            "%s: %s: it may use memory of node %" PRIu32 "%s%s%s as well, until %s",
                            i->name, danger, node, *kind ? " (" : "", kind, *kind ? ")" : "",
                            o->room_bytes > 0 ? "that has ended"
                                              : "there has been room for a minute");
                i->binding.guard.foreseen = o->room_bytes > 0 && (!i->binding.guard.widened ||
                                                                  i->binding.guard.foreseen);
                i->binding.guard.why = o->room_bytes > 0 ? REASON_NODE_FILLING : REASON_NODE_FULL;
                guard_note_widened(b, i, &mems);
                return true;
        }
        guard_note_danger(b, i, REASON_NODE_FULL, danger, failure,
                          "no other node that it may use has room: free memory there, or the "
                          "kernel may kill it or another process");
        return false;
}

/* --- pools of reserved huge pages --- */

/* The nodes whose pools have what is missing. A pool has no headroom: each of its pages may be
 * taken. -ENOSPC: there are none. */
static int guard_choose_pools(const Binder *b, Instance *i, const HugePools *pools, NodeSet *ret) {
        const Topology *topology = &b->host->topology;
        const NodeSet home = guard_home_of(b, i), usable = usable_by(i);
        _cleanup_free_ NodeRoom *rooms = calloc(topology->n_nodes, sizeof(*rooms));
        NodeSet all = usable, blocked = guard_blocked_for(b, i);
        GuardSearch search = search_beside(b, &home, &blocked, rooms);
        HugeShortage shortage;

        if (!rooms)
                return -ENOMEM;
        while (huge_room_lacks(b->placing, i, pools, &all, &shortage)) {
                const HugePool *pool = huge_pools_find(pools, shortage.page_bytes);
                int best;

                for (size_t n = 0; n < topology->n_nodes; n++)
                        rooms[n] = (NodeRoom){
                                .node = topology->nodes[n].id,
                                .free_bytes = pool ? pool->n_free[n] * shortage.page_bytes : 0,
                        };
                search.n_rooms = topology->n_nodes;
                search.want_bytes = shortage.page_bytes;
                best = guard_choose(&search);
                if (best < 0)
                        break;
                id_set_add(&all, rooms[best].node);
                id_set_add(&blocked, rooms[best].node);
        }
        *ret = id_set_minus(&all, &usable);
        return id_set_is_empty(ret) ? -ENOSPC : 0;
}

/* Widens the instance to nodes whose pools have the pages that it lacks. True: look again soon,
 * also where pages were taken since the last time, by whomever. */
static bool guard_attend_pools(const Binder *b, Instance *i, const HugePools *pools,
                               uint64_t now_usec) {
        const NodeSet before = usable_by(i);
        const uint64_t n_free_before = i->binding.guard.n_free_huge;
        const bool several = id_set_count(&before) > 1;
        char danger[ID_SET_LIST_MAX + 160];
        HugeShortage shortage;
        NodeSet mems = before, more;
        uint64_t n_free = 0;
        int r;

        for (size_t p = 0; p < pools->n; p++)
                for (size_t n = 0; n < b->host->topology.n_nodes; n++)
                        if (id_set_has(&before, b->host->topology.nodes[n].id))
                                n_free += pools->list[p].n_free[n];
        i->binding.guard.n_free_huge = n_free;
        if (!huge_room_lacks(b->placing, i, pools, &before, &shortage))
                return n_free < n_free_before;
        i->binding.guard.rested_since_usec = 0;
        (void)snprintf(danger, sizeof(danger),
                       "node%s %s %s %" PRIu64 " free huge pages of %" PRIu64 " KiB, and %" PRIu64
                       " are reserved and may be touched",
                       several ? "s" : "", id_set_list(&before), several ? "have" : "has",
                       shortage.n_free, shortage.page_bytes >> 10, shortage.n_wanted);
        if (i->policy->on_full != ON_FULL_WIDEN) {
                guard_note_danger(b, i, REASON_HUGE_POOL, danger, danger,
                                  "it stays bound as it is (on_full: keep), and the kernel may end "
                                  "it (SIGBUS)");
                return n_free < n_free_before;
        }
        r = guard_choose_pools(b, i, pools, &more);
        if (r == -ENOSPC) {
                guard_note_danger(b, i, REASON_HUGE_POOL, danger, danger,
                                  "no other node that it may use has such pages: add some there "
                                  "(nr_hugepages), or the kernel will end it (SIGBUS)");
                return false;
        }
        if (r >= 0) {
                id_set_union(&mems, &more);
                r = bind_widen_now(b, i, &mems, now_usec);
        }
        if (r == -ESRCH)
                return false;
        if (r == -ENODEV) { /* the next look is for others */
                id_set_union(&i->binding.guard.blocked, &more);
                return true;
        }
        if (r < 0) {
                guard_note_danger(b, i, REASON_HUGE_POOL, danger, danger,
                                  r == -ENOMEM ? no_memory : not_yet);
                return true;
        }
        i->binding.guard.for_pool = true;
        journal_log(&b->host->journal, LOG_WARNING,
                    &INSTANCE_FIELDS(i, .message_id = JOURNAL_WIDENED, .reason = REASON_HUGE_POOL),
                    "%s: %s: it may use memory of node%s %s as well, until there have been enough "
                    "for a minute",
                    i->name, danger, id_set_count(&more) > 1 ? "s" : "", id_set_list(&more));
        guard_note_widened(b, i, &mems);
        return true;
}

/* --- and back --- */

/* Ends the widening. The usual steps then pull back the memory that fits, and narrow the nodes. */
static void guard_lift(const Binder *b, Instance *i, uint64_t now_usec) {
        i->binding.guard.extra = i->binding.guard.blocked = (NodeSet){ 0 };
        i->binding.guard.extra_pending = i->binding.guard.for_pool = false;
        (void)binding_enter(b, i, EVENT_CHANGE, now_usec);
        host_queue(b->host, HOST_WORK_PUBLISH);
}

/* When the nodes of the instance must be read again. */
static uint64_t guard_attend(const Binder *b, Instance *i, const HugePools *pools,
                             uint64_t now_usec) {
        const NodeSet mems = usable_by(i), home = guard_home_of(b, i);
        const GuardOutlook o = outlook_on(b, &mems), back = outlook_on(b, &home);
        const GuardVerdict verdict = guard_judge(&o);
        const Reason why = guard_reason(&back);
        const bool pools_move = pools->n > 0 && guard_attend_pools(b, i, pools, now_usec);
        uint64_t calm_usec;

        if (i->policy->on_full == ON_FULL_KEEP && !id_set_is_empty(&i->binding.guard.extra))
                guard_lift(b, i, now_usec); /* the policy changed meanwhile */
        if (verdict == GUARD_WIDEN)
                return guard_relieve(b, i, &o, now_usec) ? GUARD_FAST_INTERVAL_USEC
                                                         : GUARD_INTERVAL_USEC;
        if (pools_move)
                return GUARD_FAST_INTERVAL_USEC;
        calm_usec = i->binding.guard.foreseen ? GUARD_CALM_FORESEEN_USEC : GUARD_CALM_USEC;
        /* What was true when it was widened need not be true any more. */
        if (i->binding.guard.widened && back.known) {
                i->binding.guard.foreseen &= back.room_bytes > 0;
                if (i->binding.guard.why != why)
                        host_queue(b->host, HOST_WORK_PUBLISH);
                i->binding.guard.why = why;
        }
        if (pools->n > 0 && huge_room_lacks(b->placing, i, pools, &home, NULL)) {
                i->binding.guard.rested_since_usec = 0;
        } else if (guard_has_rested(&back, calm_usec, &i->binding.guard.rested_since_usec,
                                    now_usec)) {
                guard_log_safe(b, i);
                if (!id_set_is_empty(&i->binding.guard.extra))
                        guard_lift(b, i, now_usec);
        }
        if (verdict == GUARD_WATCH)
                return GUARD_FAST_INTERVAL_USEC;
        return pools->n == 0 && id_set_is_empty(&i->binding.guard.extra) && guard_is_far(&o)
                       ? GUARD_FAR_INTERVAL_USEC
                       : GUARD_INTERVAL_USEC;
}

/* --- the timer --- */

uint64_t guard_tick(Binder *b, uint64_t now_usec) {
        const Topology *topology = &b->host->topology;
        _cleanup_huge_pools_ HugePools pools = { 0 };
        uint64_t wait = INSTANCE_NEVER;
        NodeSet nodes = { 0 };

        /* Limits also while the daemon is paused: lifting takes back what it did. */
        REGISTRY_FOREACH(i, b->registry)
        if (i->binding.limit.recent && i->n_members > 0 && host_obeys(b->host)) {
                const uint64_t its = limit_attend(b, i, now_usec);

                wait = its < wait ? its : wait;
        }
        if (!host_enforces(b->host))
                return wait; /* paused or stopping; the next reconcile watches it again */
        REGISTRY_FOREACH(i, b->registry) {
                const NodeSet its = usable_by(i);

                if (i->binding.guard.watched)
                        id_set_union(&nodes, &its);
        }
        if (id_set_is_empty(&nodes))
                return wait;
        for (size_t n = 0; n < topology->n_nodes; n++) {
                GuardNode *node = &b->guard_nodes[n];
                GuardReading reading;

                if (!id_set_has(&nodes, topology->nodes[n].id))
                        continue;
                /* A node that cannot be read is unknown, and no instance is widened because of it.
                 */
                if (guard_read_node(b, n, now_usec, &reading, &node->headroom_bytes) < 0)
                        node->n_readings = 0;
                else
                        guard_add(node, &reading);
        }
        REGISTRY_FOREACH(i, b->registry)
        i->binding.pull_peak_bytes_per_sec = 0;
        (void)huge_room_read(b->placing, &pools); /* without memory: at the next tick */
        if (wait > GUARD_FAR_INTERVAL_USEC)
                wait = GUARD_FAR_INTERVAL_USEC;
        REGISTRY_FOREACH(i, b->registry)
        if (i->binding.guard.watched) {
                const uint64_t its = guard_attend(b, i, &pools, now_usec);

                wait = its < wait ? its : wait;
        }
        return wait;
}

static int on_timer(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        const uint64_t now = clock_monotonic_usec();
        const uint64_t wait = guard_tick(userdata, now);

        return wait == INSTANCE_NEVER ? 0 : event_source_arm(source, now + wait);
}

int guard_start(Binder *b) {
        int r;

        if (b->host->args->once || !b->host->sysroot.live)
                return 0;
        b->guard_nodes = calloc(b->host->topology.n_nodes, sizeof(*b->guard_nodes));
        if (!b->guard_nodes)
                return -ENOMEM;
        for (size_t n = 0; n < b->host->topology.n_nodes; n++)
                b->guard_nodes[n].node = b->host->topology.nodes[n].id;
        r = event_source_add_off(b->host->event, &b->guard_timer, ACCURACY_USEC, on_timer, b);
        /* A process may fill a gigabyte in a second. */
        return r < 0 ? r
                     : sd_event_source_set_priority(b->guard_timer, SD_EVENT_PRIORITY_IMPORTANT);
}

void guard_stop(Binder *b) {
        b->guard_timer = event_source_drop(b->guard_timer);
        free(b->guard_nodes);
        b->guard_nodes = NULL;
}

/* --- which instances are watched --- */

void guard_note(const Binder *b, Instance *i) {
        const NodeSet home = guard_home_of(b, i), all = topology_memory_nodes(&b->host->topology);
        const NodeSet *mems = &i->binding.observed.mems;
        /* The undo record shows whether tidbnumad has narrowed the instance, also in an earlier run
         * of the daemon. If that record was lost at a boot, the property of the unit is assumed to
         * be tidbnumad's: otherwise the instance would not be guarded. */
        const bool narrow =
                !id_set_is_empty(&home) && id_set_is_subset(&home, mems) &&
                !id_set_equal(mems, &all) && i->binding.observed.cpuset &&
                (instance_backend(i, &b->host->backend) == BACKEND_CGROUP1 ||
                 i->binding.we_narrowed || units_did_narrow(b->units, i->unit) ||
                 (i->unit && !i->undo.record &&
                  bus_manager_is_runtime(&b->host->sysroot, i->unit, "AllowedMemoryNodes")));
        const bool was_watched = i->binding.guard.watched;
        bool is_new;

        /* An instance that was widened to all nodes is not narrow, but must become narrow again. */
        i->binding.guard.watched = b->guard_timer && host_enforces(b->host) &&
                                   i->binding.placement.memory == MEMORY_BIND &&
                                   (narrow || !id_set_is_empty(&i->binding.guard.extra));
        if (i->binding.guard.widened && id_set_is_empty(&i->binding.guard.extra) &&
            id_set_equal(&i->binding.observed.mems, &home)) {
                i->binding.guard.widened = false;
                host_queue(b->host, HOST_WORK_PUBLISH);
        }
        if (i->binding.guard.watched)
                workers_prepare_guard(b->host->workers);
        is_new = (i->binding.guard.watched && !was_watched) ||
                 (i->binding.limit.recent && !i->binding.guard.reads_limit);
        i->binding.guard.reads_limit = i->binding.limit.recent;
        /* What is armed may be some seconds away. */
        if ((i->binding.guard.watched || i->binding.limit.recent) &&
            (!event_source_is_armed(b->guard_timer) || is_new))
                (void)event_source_arm(b->guard_timer, clock_monotonic_usec());
}

uint64_t guard_margin_bytes(const Binder *b, const Instance *i) {
        const NodeSet home = guard_home_of(b, i);

        return i->binding.guard.widened && i->binding.outside_bytes > 0
                       ? outlook_on(b, &home).headroom_bytes
                       : 0;
}
