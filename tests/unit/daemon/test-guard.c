/* The full-node guard in the daemon: whom it watches, what it writes and says, on a machine of four
 * nodes whose meminfo the test writes and a backend that only notes. Time is the test's too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "capture.h"
#include "tidbnumad/daemon/guard.h"
#include "tidbnumad/daemon/move.h"
#include "tidbnumad/daemon/roster.h"
#include "tidbnumad/plan/guard.h"

#define SEC(n) ((uint64_t)(n)*1000000)
#define MIB(n) ((uint64_t)(n) << 20)

enum { NODES = 4 };

/* What the backend was asked for last, and how it answers. */
static struct {
        unsigned n_widened, n_set;
        NodeSet widened, set;
        NodeSet forbidden;
        int error;
} seen;

static int fake_widen(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        (void)backend;
        (void)target;
        if (id_set_intersects(mems, &seen.forbidden))
                return -ENODEV;
        if (seen.error < 0)
                return seen.error;
        seen.n_widened++;
        seen.widened = *mems;
        return 0;
}

static int fake_set(Backend *backend, const BackendTarget *target, const IdSet *set,
                    BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        (void)backend;
        (void)target;
        (void)reply;
        (void)userdata;
        (void)ret_slot;
        seen.n_set++;
        seen.set = *set;
        return 1;
}

static int fake_note(Backend *backend, const BackendTarget *target, BackendNote *note,
                     BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        (void)backend;
        (void)target;
        (void)reply;
        (void)userdata;
        (void)ret_slot;
        note->record->unit_noted = true;
        return 1;
}

static const BackendOps fake_ops = {
        .name = "fake",
        .kind = BACKEND_CGROUP1,
        .set_mems = fake_set,
        .note = fake_note,
        .widen_mems = fake_widen,
};

typedef struct Host {
        FakeTree tree;
        Args args;
        Node nodes[NODES];
        uint16_t distances[NODES * NODES];
        uint64_t watermarks[NODES];
        PolicyCounters counters[1];
        Policy policy;
        Manager manager;
} Host;

/* Of 1,000 MiB, 20 of them headroom. */
static void set_memory(Host *h, unsigned node, unsigned free_mib, unsigned inactive_mib) {
        char name[64], text[512];

        (void)snprintf(name, sizeof(name), "sys/devices/system/node/node%u/meminfo", node);
        (void)snprintf(text, sizeof(text),
                       "Node %u MemTotal: 1024000 kB\nNode %u MemFree: %u kB\n"
                       "Node %u Active(file): 0 kB\nNode %u Inactive(file): %u kB\n"
                       "Node %u Dirty: 0 kB\nNode %u Writeback: 0 kB\n",
                       node, node, free_mib * 1024, node, node, inactive_mib * 1024, node, node);
        fake_write(&h->tree, name, text);
}

static void host_init(Host *h) {
        Manager *m = &h->manager;

        memset(&seen, 0, sizeof(seen));
        *h = (Host){ .policy = { .name = (char *)"ours" } };
        fake_init(&h->tree);
        for (uint32_t i = 0; i < NODES; i++) {
                h->nodes[i] = (Node){ .id = i, .memory_bytes = MIB(1000) };
                for (uint32_t k = 0; k < NODES; k++)
                        h->distances[i * NODES + k] = (uint16_t)(10 + 2 * (i > k ? i - k : k - i));
                set_memory(h, i, 800, 0);
        }
        *m = (Manager){
                .args = &h->args,
                .sysroot = h->tree.sysroot,
                .connector_fd = -EBADF,
                .topology = { .nodes = h->nodes, .n_nodes = NODES, .distances = h->distances },
                .high_watermark_bytes = h->watermarks,
                .policy_counters = h->counters,
                .journal = { .max_priority = LOG_INFO },
                .backend = { .ops = &fake_ops }
        };
        m->sysroot.live = true;
        undo_init(&m->undo, &m->sysroot);
        fake_write(&h->tree, "proc/sys/kernel/random/boot_id",
                   "0123abcd-0123-4567-89ab-0123456789ab\n");
        assert_int_equal(undo_open(&m->undo, h->tree.fd), 0);
        assert_int_equal(sd_event_new(&m->event), 0);
        assert_int_equal(guard_start(m), 0);
        assert_non_null(m->guard);
}

static void host_done(Host *h) {
        Manager *m = &h->manager;

        for (size_t i = 0; i < m->n_instances; i++)
                instance_free(m->instances[i]);
        free(m->instances);
        guard_stop(m);
        undo_done(&m->undo);
        sd_event_unref(m->event);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

/* Bound to these nodes, as a look has found it. */
static Instance *add(Host *h, pid_t pid, const char *nodes) {
        Process process = { .id = { pid, 100 }, .exe = strdup("/x") };
        ProcHandle none = PROC_HANDLE_NONE;
        Instance *i = NULL;

        assert_int_equal(instance_new(&h->manager, &process, NODES, 0, &i), 0);
        i->policy = &h->policy;
        assert_int_equal(instance_add_process(i, &process, &none), 0);
        assert_int_equal(roster_add(&h->manager, i), 0);
        i->placement = (Placement){ .nodes = ids(nodes),
                                    .memory = MEMORY_BIND,
                                    .rate_bytes_per_sec = MIB(30),
                                    .reason = "" };
        i->binding = (Binding){ .cpuset = true, .mems = ids(nodes), .alone = true };
        i->due_usec = INSTANCE_NEVER;
        guard_note(i);
        return i;
}

/* As the next look finds it: what was asked for stands. */
static void look(Instance *i) {
        i->binding.mems = i->placement.nodes;
        id_set_add_all(&i->binding.mems, &i->guard.extra);
        i->due_usec = INSTANCE_NEVER;
        guard_note(i);
}

/* --- whom it watches --- */

static void test_nothing_to_watch(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        assert_int_equal(guard_tick(&h.manager, SEC(1)), INSTANCE_NEVER);
        i = add(&h, 10, "1");
        assert_int_equal(guard_tick(&h.manager, SEC(1)), GUARD_INTERVAL_USEC);
        i->placement.memory = MEMORY_PREFERRED;
        guard_note(i);
        assert_int_equal(guard_tick(&h.manager, SEC(2)), INSTANCE_NEVER);
        i->placement.memory = MEMORY_BIND;
        i->binding.mems = ids("0-3"); /* not narrow yet */
        guard_note(i);
        assert_int_equal(guard_tick(&h.manager, SEC(3)), INSTANCE_NEVER);
        i->binding.mems = ids("2"); /* and narrow elsewhere: not by its placement */
        guard_note(i);
        assert_int_equal(guard_tick(&h.manager, SEC(4)), INSTANCE_NEVER);
        i->binding.mems = ids("1");
        i->binding.cpuset = false;
        guard_note(i);
        assert_int_equal(guard_tick(&h.manager, SEC(5)), INSTANCE_NEVER);
        i->binding.cpuset = true;
        h.manager.policies.mode = ENFORCEMENT_OBSERVE;
        guard_note(i);
        assert_int_equal(guard_tick(&h.manager, SEC(6)), INSTANCE_NEVER);
        h.manager.policies.mode = ENFORCEMENT_ENFORCE;
        i->placement.nodes = ids("");
        guard_note(i);
        assert_int_equal(guard_tick(&h.manager, SEC(7)), INSTANCE_NEVER);
}

static const BackendOps systemd_ops = {
        .name = "fake",
        .kind = BACKEND_SYSTEMD,
        .set_mems = fake_set,
        .note = fake_note,
        .widen_mems = fake_widen,
};

/* By systemd: narrow by the admin's own unit file is not ours to widen. */
static void test_whose_it_is(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        h.manager.backend.ops = &systemd_ops;
        i = add(&h, 10, "1");
        set_memory(&h, 1, 0, 0);
        assert_int_equal(guard_tick(&h.manager, SEC(1)), INSTANCE_NEVER);
        i->we_narrowed = true;
        guard_note(i);
        (void)guard_tick(&h.manager, SEC(2));
        assert_int_equal(seen.n_widened, 1);
}

/* A property for this boot only is taken for ours where no record can tell; where one can, it has
 * the last word: the admin may have set it himself. */
static void test_whose_without_a_record(void **state) {
        _cleanup_host_ Host h;
        UndoRecord *record;
        Instance *i;

        (void)state;
        host_init(&h);
        h.manager.backend.ops = &systemd_ops;
        i = add(&h, 10, "1");
        set_memory(&h, 1, 0, 0);
        i->unit = strdup("x.service");
        fake_write(&h.tree, "run/systemd/system.control/x.service.d/50-AllowedMemoryNodes.conf",
                   "");
        assert_int_equal(undo_get(&h.manager.undo, "x", "x.service", NULL, &record), 0);
        guard_note(i);
        assert_int_equal(guard_tick(&h.manager, SEC(1)), INSTANCE_NEVER);
        undo_forget(&h.manager.undo, record);
        guard_note(i);
        (void)guard_tick(&h.manager, SEC(2));
        assert_int_equal(seen.n_widened, 1);
}

static void test_not_for_a_single_run_or_a_dump(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        guard_stop(&h.manager);
        h.args.once = true;
        assert_int_equal(guard_start(&h.manager), 0);
        assert_null(h.manager.guard);
        h.args.once = false;
        h.manager.sysroot.live = false;
        assert_int_equal(guard_start(&h.manager), 0);
        assert_null(h.manager.guard);
        i = add(&h, 10, "1"); /* nobody minds that it is not there */
        assert_false(i->guard.watched);
        assert_int_equal(guard_margin_bytes(i), 0);
}

/* --- widening --- */

static void test_widens_a_full_node(void **state) {
        _cleanup_host_ Host h;
        Instance *i;
        Capture c;

        (void)state;
        host_init(&h);
        i = add(&h, 10, "1");
        set_memory(&h, 1, 21, 0);
        assert_int_equal(guard_tick(&h.manager, SEC(1)), GUARD_INTERVAL_USEC);
        assert_int_equal(seen.n_widened, 0);
        set_memory(&h, 1, 20, 0);
        set_memory(&h, 2, 801, 0);
        i->mems_drift.stood = true; /* as looks have found it so far */
        capture_begin(&c, STDERR_FILENO);
        assert_int_equal(guard_tick(&h.manager, SEC(2)), GUARD_FAST_INTERVAL_USEC);
        capture_end(&c);
        assert_null(strstr(c.text, "somebody else"));
        assert_int_equal(h.counters[0].drift_repairs[DRIFT_MEMS], 0);
        assert_contains(c.text, "x:10: node 1 is nearly full (no more than the headroom of 20.0 "
                                "MiB is left): it may use memory of node 2 as well");
        assert_int_equal(seen.n_widened, 1);
        assert_ids(seen.widened, "1-2");
        assert_int_equal(seen.n_set, 1); /* and the manager of the cpuset is told */
        assert_ids(seen.set, "1-2");
        assert_ids(i->guard.extra, "2");
        assert_true(i->guard.widened);
        assert_false(i->guard.extra_unsaid);
        assert_int_equal(i->guard.n_widenings, 1);
        assert_int_equal(i->due_usec, SEC(2)); /* looked at at once */
        assert_int_equal(guard_margin_bytes(i), 0);
        i->outside_bytes = 1;
        assert_int_equal(guard_margin_bytes(i), MIB(20));
        guard_note(i); /* a look that comes before the write took effect */
        assert_true(i->guard.widened);
        /* Before the look, and after it: there is room now. */
        assert_int_equal(guard_tick(&h.manager, SEC(3)), GUARD_INTERVAL_USEC);
        look(i);
        assert_int_equal(guard_tick(&h.manager, SEC(4)), GUARD_INTERVAL_USEC);
        assert_int_equal(seen.n_widened, 1);
        /* That one fills too. */
        set_memory(&h, 2, 10, 0);
        (void)guard_tick(&h.manager, SEC(5));
        assert_ids(seen.widened, "0-2");
        assert_ids(i->guard.extra, "0,2");
        assert_int_equal(i->guard.n_widenings, 2);
        assert_int_equal(h.counters[0].memory_widenings, 2);
}

static void test_foresees(void **state) {
        _cleanup_host_ Host h;
        Capture c;

        (void)state;
        host_init(&h);
        (void)add(&h, 10, "1");
        for (unsigned s = 1; s <= 5; s++) {
                set_memory(&h, 1, 820 - 40 * s, 0);
                assert_int_equal(guard_tick(&h.manager, SEC(s)),
                                 s < 2 ? GUARD_INTERVAL_USEC : GUARD_FAST_INTERVAL_USEC);
        }
        for (unsigned s = 6; s <= 10; s++) {
                set_memory(&h, 1, 820 - 40 * s, 0);
                if (s < 10)
                        (void)guard_tick(&h.manager, SEC(s));
        }
        assert_int_equal(seen.n_widened, 0);
        set_memory(&h, 0, 400, 0); /* would last 9.5 s */
        set_memory(&h, 2, 400, 0);
        capture_begin(&c, STDERR_FILENO);
        (void)guard_tick(&h.manager, SEC(10));
        capture_end(&c);
        assert_contains(c.text,
                        "node 1 will be full in 10.0 s (400.0 MiB of room, 40.0 MiB less each "
                        "second)");
        assert_ids(seen.widened, "1,3");
}

/* The kernel's victim may be any of them. */
static void test_all_on_the_node(void **state) {
        _cleanup_host_ Host h;
        Instance *a, *b, *both, *other, *loose;

        (void)state;
        host_init(&h);
        a = add(&h, 10, "1");
        b = add(&h, 20, "1");
        both = add(&h, 30, "1-2");
        other = add(&h, 40, "3");
        loose = add(&h, 50, "1");
        loose->placement.memory = MEMORY_PREFERRED;
        guard_note(loose);
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(1));
        assert_true(a->guard.widened && b->guard.widened);
        assert_false(loose->guard.widened); /* is nobody's prisoner */
        assert_false(both->guard.widened);  /* has room on its other one */
        assert_false(other->guard.widened);
        set_memory(&h, 2, 5, 0);
        (void)guard_tick(&h.manager, SEC(2));
        assert_true(both->guard.widened);
        assert_false(other->guard.widened);
}

static void test_nodes_that_are_not_allowed(void **state) {
        _cleanup_host_ Host h;
        Instance *i;
        Capture c;

        (void)state;
        host_init(&h);
        i = add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        seen.forbidden = ids("0,2");
        (void)guard_tick(&h.manager, SEC(1));
        assert_ids(seen.widened, "1,3");
        assert_ids(i->guard.barred, "0,2");
        assert_ids(i->guard.extra, "3");
        /* None at all: told once. */
        set_memory(&h, 3, 5, 0);
        capture_begin(&c, STDERR_FILENO);
        assert_int_equal(guard_tick(&h.manager, SEC(2)), GUARD_INTERVAL_USEC);
        assert_int_equal(guard_tick(&h.manager, SEC(3)), GUARD_INTERVAL_USEC);
        capture_end(&c);
        assert_contains(c.text, "nodes 1,3 are nearly full (no more than the headroom of 40.0 MiB");
        assert_contains(c.text, "no other node that it may use has room");
        assert_null(strstr(strstr(c.text, "nearly full") + 1, "nearly full"));
        assert_int_equal(seen.n_widened, 1);
        assert_contains(i->failure, "no other node");
        /* There is one again: that is over. */
        seen.forbidden = i->guard.barred = ids("0");
        (void)guard_tick(&h.manager, SEC(4));
        assert_ids(seen.widened, "1-3");
        assert_null(i->failure);
        assert_false(i->guard.told);
}

static void test_one_that_has_ended(void **state) {
        _cleanup_host_ Host h;
        Instance *i;
        Capture c;

        (void)state;
        host_init(&h);
        i = add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        seen.error = -ESRCH;
        capture_begin(&c, STDERR_FILENO);
        (void)guard_tick(&h.manager, SEC(1));
        capture_end(&c);
        assert_string_equal(c.text, "");
        assert_int_equal(seen.n_set, 0);
        assert_false(i->guard.widened || i->guard.told);
        assert_ids(i->guard.barred, "");
        /* The kernel's file is not to be had: then by the backend's manager alone. */
        seen.error = -ENXIO;
        (void)guard_tick(&h.manager, SEC(2));
        assert_int_equal(seen.n_set, 1);
        assert_true(i->guard.widened);
}

static void test_reserved_nodes(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.manager.reserved = ids("0,2");
        (void)add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(1));
        assert_ids(seen.widened, "1,3");
        set_memory(&h, 3, 5, 0);
        (void)guard_tick(&h.manager, SEC(2));
        assert_ids(seen.widened, "0-1,3");
        h.manager.policies.host.reserve.strict = true;
        set_memory(&h, 0, 5, 0);
        (void)guard_tick(&h.manager, SEC(3));
        assert_int_equal(seen.n_widened, 2);
}

/* What the unit itself sets stands beside what its group allows. */
static void test_nodes_that_the_unit_does_not_name(void **state) {
        _cleanup_host_ Host h;
        UndoRecord *record;
        Instance *i;

        (void)state;
        host_init(&h);
        h.manager.backend.ops = &systemd_ops;
        i = add(&h, 10, "1");
        i->we_narrowed = true;
        assert_non_null(i->unit = strdup("x.service"));
        guard_note(i);
        assert_int_equal(undo_get(&h.manager.undo, "x", "x.service", NULL, &record), 0);
        record->unit_noted = true;
        record->mems.before = ids("1,3");
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(1));
        assert_ids(seen.widened, "1,3"); /* 0 and 2 are nearer */
        set_memory(&h, 3, 5, 0);
        (void)guard_tick(&h.manager, SEC(2));
        assert_int_equal(seen.n_widened, 1);
}

static void test_a_node_that_cannot_be_read(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        (void)add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        fake_remove(&h.tree, "sys/devices/system/node/node1/meminfo");
        assert_int_equal(guard_tick(&h.manager, SEC(1)), GUARD_INTERVAL_USEC);
        assert_int_equal(seen.n_widened, 0);
        /* Nor is what was read before it could not. */
        for (unsigned n = 0; n < NODES; n++)
                set_memory(&h, n, 5, 0);
        (void)guard_tick(&h.manager, SEC(2));
        fake_remove(&h.tree, "sys/devices/system/node/node1/meminfo");
        set_memory(&h, 0, 500, 0);
        (void)guard_tick(&h.manager, SEC(3));
        assert_int_equal(seen.n_widened, 0);
}

static void test_cache_is_room(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        (void)add(&h, 10, "1");
        set_memory(&h, 1, 5, 700);
        for (unsigned s = 1; s <= 100; s++)
                assert_int_equal(guard_tick(&h.manager, SEC(s)), GUARD_INTERVAL_USEC);
        assert_int_equal(seen.n_widened, 0);
        /* On the nodes to choose from as well. */
        set_memory(&h, 0, 5, 0);
        set_memory(&h, 2, 5, 300);
        set_memory(&h, 3, 700, 0);
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(200)); /* nothing is known of how it came so far */
        assert_ids(seen.widened, "1-2");
}

/* Cache that waits for a disk is none. */
static void test_dirty_cache_is_no_room(void **state) {
        static const char *const fields[] = { "Dirty", "Writeback" };

        (void)state;
        for (size_t k = 0; k < ELEMENTSOF(fields); k++) {
                _cleanup_host_ Host h;
                char text[256];

                host_init(&h);
                (void)add(&h, 10, "1");
                (void)snprintf(text, sizeof(text),
                               "Node 1 MemTotal: 1024000 kB\nNode 1 MemFree: 5120 kB\n"
                               "Node 1 Inactive(file): 512000 kB\nNode 1 %s: 502000 kB\n",
                               fields[k]);
                fake_write(&h.tree, "sys/devices/system/node/node1/meminfo", text);
                (void)guard_tick(&h.manager, SEC(1));
                assert_int_equal(seen.n_widened, 1);
        }
}

static void test_what_the_mover_brings(void **state) {
        _cleanup_host_ Host h;
        Instance *one, *other;

        (void)state;
        host_init(&h);
        one = add(&h, 10, "1");
        one->moving = true;
        other = add(&h, 20, "1");
        other->moving = true;
        for (unsigned s = 1; s <= 8; s++) {
                set_memory(&h, 1, 500 - 50 * s, 0);
                assert_int_equal(guard_tick(&h.manager, SEC(s)), GUARD_INTERVAL_USEC);
        }
        assert_int_equal(seen.n_widened, 0);
        one->moving = false;
        other->placement.nodes = ids("2"); /* not there */
        for (unsigned s = 9; s <= 11; s++) {
                set_memory(&h, 1, 100 - 10 * (s - 8), 0);
                (void)guard_tick(&h.manager, SEC(s));
        }
        assert_true(seen.n_widened > 0);
}

/* --- on_full: keep --- */

static void test_keep_only_tells(void **state) {
        _cleanup_host_ Host h;
        Instance *i;
        Capture c;

        (void)state;
        host_init(&h);
        h.policy.on_full = ON_FULL_KEEP;
        i = add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        capture_begin(&c, STDERR_FILENO);
        for (unsigned s = 1; s <= 5; s++)
                assert_int_equal(guard_tick(&h.manager, SEC(s)), GUARD_INTERVAL_USEC);
        capture_end(&c);
        assert_contains(c.text, "on_full: keep");
        assert_null(strstr(strstr(c.text, "on_full") + 1, "on_full"));
        assert_contains(i->failure, "on_full: keep");
        assert_int_equal(seen.n_widened + seen.n_set, 0);
        assert_true(id_set_is_empty(&i->guard.extra) && !i->guard.widened);
        /* A minute of room ends it; the next time is told again. */
        set_memory(&h, 1, 40, 0);
        for (unsigned s = 6; s <= 65; s++)
                (void)guard_tick(&h.manager, SEC(s));
        assert_non_null(i->failure);
        (void)guard_tick(&h.manager, SEC(66));
        assert_null(i->failure);
        set_memory(&h, 1, 5, 0);
        capture_begin(&c, STDERR_FILENO);
        (void)guard_tick(&h.manager, SEC(67));
        capture_end(&c);
        assert_contains(c.text, "on_full: keep");
        /* A minute in one piece. */
        for (unsigned s = 68; s <= 158; s++) {
                set_memory(&h, 1, s == 98 ? 5 : 40, 0);
                (void)guard_tick(&h.manager, SEC(s));
                assert_non_null(i->failure);
        }
        (void)guard_tick(&h.manager, SEC(159));
        assert_null(i->failure);
}

static void test_becomes_keep(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(1));
        look(i);
        h.policy.on_full = ON_FULL_KEEP;
        (void)guard_tick(&h.manager, SEC(2));
        assert_true(id_set_is_empty(&i->guard.extra));
        assert_int_equal(i->due_usec, SEC(2));
        assert_int_equal(seen.n_widened, 1);
}

/* --- and back --- */

static void test_narrows_again(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        seen.forbidden = ids("0");
        (void)guard_tick(&h.manager, SEC(1));
        look(i);
        set_memory(&h, 1, 39, 0); /* more than the headroom, and less than twice */
        for (unsigned s = 2; s <= 200; s++)
                (void)guard_tick(&h.manager, SEC(s));
        assert_ids(i->guard.extra, "2");
        set_memory(&h, 1, 40, 0);
        for (unsigned s = 201; s <= 260; s++)
                (void)guard_tick(&h.manager, SEC(s));
        assert_ids(i->guard.extra, "2");
        assert_int_equal(i->due_usec, INSTANCE_NEVER);
        i->rest_until_usec = SEC(999);
        (void)guard_tick(&h.manager, SEC(261));
        assert_ids(i->guard.extra, "");
        assert_ids(i->guard.barred, "");
        assert_int_equal(i->due_usec, SEC(261));
        assert_int_equal(i->rest_until_usec, 0); /* the pull is not put off */
        /* Until the steps have narrowed it, it is wide, and watched as such. */
        assert_true(i->guard.widened && i->guard.watched);
        i->binding.mems = ids("1-2");
        guard_note(i);
        assert_true(i->guard.widened && i->guard.watched);
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(262));
        assert_int_equal(i->guard.n_widenings, 1); /* the other one has room */
        i->binding.mems = ids("1");
        guard_note(i);
        assert_false(i->guard.widened);
        assert_int_equal(i->guard.n_widenings, 1);
        assert_int_equal(guard_margin_bytes(i), 0);
}

/* A new danger while it is wide: its minute begins anew, and what it has it keeps. */
static void test_rest_is_disturbed(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(1));
        look(i);
        set_memory(&h, 1, 500, 0);
        for (unsigned s = 2; s <= 50; s++)
                (void)guard_tick(&h.manager, SEC(s));
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(51));
        set_memory(&h, 1, 500, 0);
        for (unsigned s = 52; s <= 111; s++)
                (void)guard_tick(&h.manager, SEC(s));
        assert_false(id_set_is_empty(&i->guard.extra));
        (void)guard_tick(&h.manager, SEC(112));
        assert_true(id_set_is_empty(&i->guard.extra));
}

/* On a host of two nodes it then has all of them, and must come back from there too. */
static void test_all_nodes_there_are(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        h.nodes[2].memory_bytes = h.nodes[3].memory_bytes = 0;
        i = add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(1));
        assert_ids(seen.widened, "0-1");
        look(i);
        set_memory(&h, 1, 500, 0);
        for (unsigned s = 2; s <= 62; s++)
                assert_int_equal(guard_tick(&h.manager, SEC(s)), GUARD_INTERVAL_USEC);
        assert_true(id_set_is_empty(&i->guard.extra));
}

/* What the mover may take on the way back: as much as the guard counts. */
static void test_room_on_the_way_back(void **state) {
        _cleanup_host_ Host h;
        Instance *i;
        NodeRoom *rooms;
        size_t n;

        (void)state;
        host_init(&h);
        i = add(&h, 10, "1");
        fake_write(&h.tree, "sys/devices/system/node/node1/meminfo",
                   "Node 1 MemTotal: 1024000 kB\nNode 1 MemFree: 1024 kB\n"
                   "Node 1 Active(file): 4096 kB\nNode 1 Inactive(file): 3072 kB\n"
                   "Node 1 Dirty: 1024 kB\n");
        assert_int_equal(move_rooms(i, &rooms, &n), 0);
        assert_int_equal(n, 1);
        assert_int_equal(rooms[0].reclaimable_bytes, MIB(2));
        free(rooms);
        i->guard.widened = true;
        assert_int_equal(move_rooms(i, &rooms, &n), 0);
        assert_int_equal(rooms[0].reclaimable_bytes, MIB(4));
        free(rooms);
        assert_int_equal(move_rooms_on(&h.manager, &i->placement.nodes, NULL, &rooms, &n), 0);
        assert_int_equal(rooms[0].reclaimable_bytes, MIB(2));
        free(rooms);
}

static void test_forget(void **state) {
        _cleanup_host_ Host h;
        Instance *i;

        (void)state;
        host_init(&h);
        i = add(&h, 10, "1");
        set_memory(&h, 1, 5, 0);
        (void)guard_tick(&h.manager, SEC(1));
        guard_forget(i);
        assert_true(id_set_is_empty(&i->guard.extra) && !i->guard.widened && !i->guard.watched);
        assert_int_equal(i->guard.n_widenings, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_to_watch),
                cmocka_unit_test(test_whose_it_is),
                cmocka_unit_test(test_whose_without_a_record),
                cmocka_unit_test(test_not_for_a_single_run_or_a_dump),
                cmocka_unit_test(test_widens_a_full_node),
                cmocka_unit_test(test_foresees),
                cmocka_unit_test(test_all_on_the_node),
                cmocka_unit_test(test_nodes_that_are_not_allowed),
                cmocka_unit_test(test_one_that_has_ended),
                cmocka_unit_test(test_reserved_nodes),
                cmocka_unit_test(test_nodes_that_the_unit_does_not_name),
                cmocka_unit_test(test_a_node_that_cannot_be_read),
                cmocka_unit_test(test_cache_is_room),
                cmocka_unit_test(test_dirty_cache_is_no_room),
                cmocka_unit_test(test_what_the_mover_brings),
                cmocka_unit_test(test_keep_only_tells),
                cmocka_unit_test(test_becomes_keep),
                cmocka_unit_test(test_narrows_again),
                cmocka_unit_test(test_rest_is_disturbed),
                cmocka_unit_test(test_all_nodes_there_are),
                cmocka_unit_test(test_room_on_the_way_back),
                cmocka_unit_test(test_forget),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
