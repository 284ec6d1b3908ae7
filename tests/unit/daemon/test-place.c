/* Placing: what the daemon gives to the planner, and what it does with the answer. */

#include <errno.h>

#include "../../support/test.h"

#include "../change/set-before.h"
#include "rooms.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"

#define SEC (UINT64_C(1000) * 1000)

enum { NODES = 4 };

static uint64_t now_usec;

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return now_usec;
}

/* Two sockets of two nodes, a CPU each, and up to four instances of two policies. */
typedef struct TestHost {
        FakeTree tree;
        Rooms rooms;
        Node nodes[NODES];
        uint64_t left[NODES];
        Policy policies[2];
} TestHost;

static void host_init(TestHost *h) {
        now_usec = 1;
        *h = (TestHost){ 0 };
        fake_init(&h->tree);
        fake_write(&h->tree, "sys/fs/cgroup/cgroup.controllers", "cpuset memory\n");
        h->rooms.host.sysroot = h->tree.sysroot;
        rooms_wire(&h->rooms);
        for (uint32_t i = 0; i < NODES; i++) {
                h->nodes[i] = (Node){ .id = i, .package = i / 2, .memory_bytes = 1 << 30 };
                id_set_add(&h->nodes[i].cpus, i);
        }
        for (size_t i = 0; i < 2; i++)
                h->policies[i] = (Policy){ .name = i == 0 ? (char *)"tidb" : (char *)"tikv",
                                           .file = (char *)"p.yaml",
                                           .place = { .count = 1, .same_package = true } };
        h->rooms.host.topology = (Topology){ .nodes = h->nodes, .n_nodes = NODES };
        h->rooms.placing.left_bytes = h->left;
        h->rooms.host.policies = (PolicySet){ .policies = h->policies, .n_policies = 2 };
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->rooms);
        undo_done(&h->rooms.undo.records);
        sd_event_unref(h->rooms.host.event);
        fake_done(&h->tree);
}
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

/* Takes over the handle; NULL: none. */
static Instance *host_add_process(TestHost *h, const char *name, size_t policy,
                                  ProcHandle *handle) {
        Process process = { .id = { 10 + (pid_t)h->rooms.registry.n_instances, 100 },
                            .exe = strdup("/x"),
                            .cgroup = strdup(fmt("/system.slice/%s.service", name)),
                            .unit = strdup(fmt("%s.service", name)) };
        Instance *i = rooms_add(&h->rooms, &h->policies[policy], &process, handle);

        (void)instance_take(i, WORK_DISPATCHED);
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        return i;
}

static Instance *host_add(TestHost *h, const char *name, size_t policy) {
        return host_add_process(h, name, policy, NULL);
}

/* Disks are looked for from now on. */
static void describe(TestHost *h) {
        h->rooms.host.ready = true;
        assert_int_equal(sd_event_new(&h->rooms.host.event), 0);
        assert_int_equal(describe_start(&h->rooms.registry), 0);
}

static void assert_place(TestHost *h, const Instance *i, const char *nodes) {
        place_refresh(&h->rooms.placing);
        assert_true(i->planned.known);
        assert_ids(i->planned.placement.nodes, nodes);
}

/* The policy was another one once, by which the instance came there. */
static void come_to(TestHost *h, const Instance *i, const char *nodes) {
        Policy *policy = &h->policies[i->policy == &h->policies[1]];
        const Place place = policy->place;

        policy->place = (Place){ .nodes = node_set(nodes) };
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        assert_place(h, i, nodes);
        policy->place = place;
}

HOST_TEST(each_its_own_and_nobody_moves) {
        Instance *a, *b;

        a = host_add(h, "b-name", 0);
        assert_place(h, a, "0");
        assert_int_equal(a->planned.basis, BASIS_CHOSEN);
        assert_true(instance_take(a, WORK_PLACE));
        b = host_add(h, "a-name", 0); /* which alone would have been first */
        assert_place(h, b, "2");
        assert_place(h, a, "0");
        assert_false(instance_take(a, WORK_PLACE)); /* nothing is new for it */
        assert_int_equal(a->planned.basis, BASIS_CHOSEN);
}

static void write_cpu_ticks(const FakeTree *tree, int pid, unsigned ticks) {
        char text[256];

        (void)snprintf(text, sizeof(text),
                       "%d (a) S 1 1 1 0 -1 4194304 100 0 0 0 %u 0 0 0 20 0 1 0 1000 4096 0 0 0 0 "
                       "0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                       pid, ticks);
        fake_write(tree, fmt("proc/%d/stat", pid), text);
}

/* A start of any instance makes a plan of all: what each has used of the CPUs is not read for each
 * plan. */
HOST_TEST(cpu_time_is_read_once_in_a_while) {
        const unsigned hz = (unsigned)sysconf(_SC_CLK_TCK), seconds = 1000;
        const FakeTree *tree = &h->tree;
        Process another = { .id = { 11, 100 }, .exe = strdup("/x") };
        ProcHandle handle = PROC_HANDLE_NONE, none = PROC_HANDLE_NONE;
        PlacementInstance in;
        Instance *i;

        fake_write(tree, "proc/uptime", "1010.0 1.0\n");
        fake_mkdir(tree, "proc/10");
        write_cpu_ticks(tree, 10, 3 * seconds * hz - 1000);
        assert_int_equal(proc_open(&tree->sysroot, 10, &handle), 0);
        i = host_add_process(h, "a", 0, &handle);
        place_input_fill(&h->rooms.placing, i, &in);
        assert_int_equal(in.cpus_used, 3);
        write_cpu_ticks(tree, 10, 5 * seconds * hz - 1000);
        place_input_fill(&h->rooms.placing, i, &in);
        assert_int_equal(in.cpus_used, 3);
        now_usec += 9 * SEC;
        place_input_fill(&h->rooms.placing, i, &in);
        assert_int_equal(in.cpus_used, 3);
        now_usec += SEC;
        place_input_fill(&h->rooms.placing, i, &in);
        assert_int_equal(in.cpus_used, 5);
        write_cpu_ticks(tree, 10, 7 * seconds * hz - 1000);
        assert_int_equal(instance_add_process(i, &another, &none), 0); /* counts at once */
        place_input_fill(&h->rooms.placing, i, &in);
        assert_int_equal(in.cpus_used, 7);
        fake_write(tree, "proc/uptime", "69.0 1.0\n");
        instance_remove_process(i, 1);
        place_input_fill(&h->rooms.placing, i, &in);
        assert_int_equal(in.cpus_used, 0); /* younger than a minute */
}

HOST_TEST(nothing_is_planned_that_did_not_change) {
        Instance *a = host_add(h, "a", 0);

        come_to(h, a, "3");
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        assert_place(h, a, "3"); /* it is there, and fits */
        h->policies[0].place.nodes = node_set("1");
        assert_place(h, a, "3");
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        assert_place(h, a, "1");
}

/* `fresh` is a copy of the host's policies, to be changed. */
static void host_reload(TestHost *h, const Policy fresh[2], const Reserve *reserve) {
        PolicySet set = { .policies = (Policy *)fresh, .n_policies = 2 };

        set.host.reserve = *reserve;
        place_note_policies(&h->rooms.placing, &set);
        memcpy(h->policies, fresh, sizeof(h->policies));
        h->rooms.host.policies.host.reserve = *reserve;
}

HOST_TEST(a_reload_moves_who_no_longer_fits) {
        const Reserve none = { 0 };
        Policy fresh[2];
        Instance *a, *b;

        a = host_add(h, "a", 0);
        b = host_add(h, "b", 0);
        assert_place(h, a, "0");
        assert_place(h, b, "2");
        memcpy(fresh, h->policies, sizeof(fresh));
        fresh[0].place.avoid = node_set("0");
        host_reload(h, fresh, &none);
        assert_place(h, b, "2"); /* alone it would be weighed otherwise now */
        assert_place(h, a, "1");
        assert_true(a->planned.warnings & WARN_MOVED);
        assert_false(b->planned.warnings & WARN_MOVED);
}

HOST_TEST(a_card_that_comes_moves_who_is_on_its_node) {
        Device card = { .kind = DEVICE_NET, .name = (char *)"eth0", .default_route = true };
        Instance *a, *b;

        h->rooms.host.policies.host.reserve.kind = RESERVE_NIC;
        a = host_add(h, "a", 0);
        b = host_add(h, "b", 0);
        assert_place(h, a, "0");
        assert_place(h, b, "2");
        h->rooms.host.devices = (DeviceList){ .devices = &card, .n_devices = 1 };
        place_note_cards(&h->rooms.placing);
        assert_place(h, a, "1");
        assert_place(h, b, "2");
        place_note_cards(&h->rooms.placing);
        assert_place(h, a, "1"); /* once */
        h->rooms.host.devices = (DeviceList){ 0 };
}

/* Only what is named, and only at the reload by which the name appears. */
HOST_TEST(replan_gives_up_stability_once) {
        char *word = (char *)"a";
        const WordList globs = { .words = &word, .n_words = 1 };
        Instance *a, *b;
        PolicySet set;

        a = host_add(h, "a", 0);
        come_to(h, a, "3");
        b = host_add(h, "b", 1);
        come_to(h, b, "2");
        set = h->rooms.host.policies;
        place_note_policies(&h->rooms.placing, &set);
        assert_place(h, a, "3");
        place_replan(&h->rooms.placing, &globs);
        assert_place(h, b, "2");
        assert_place(h, a, "0");
        come_to(h, a, "3");
        place_note_policies(&h->rooms.placing, &set);
        assert_place(h, a, "3");
}

HOST_TEST(a_reload_with_other_wishes) {
        const Reserve none = { 0 };
        Policy fresh[2];
        Instance *a, *b;

        a = host_add(h, "a", 0);
        b = host_add(h, "b", 1);
        assert_place(h, a, "0");
        assert_place(h, b, "2");
        a->storage_nodes = b->storage_nodes = node_set("3");
        memcpy(fresh, h->policies, sizeof(fresh));
        fresh[0].place.near = NEAR_STORAGE;
        host_reload(h, fresh, &none);
        assert_place(h, a, "3");
        assert_place(h, b, "2");
        memcpy(fresh, h->policies, sizeof(fresh));
        fresh[1].place.share = SHARE_SHARED;
        host_reload(h, fresh, &none);
        assert_place(h, a, "3");
        assert_place(h, b, "0"); /* whom the other wish is for */
}

HOST_TEST(a_node_that_becomes_reserved) {
        const Reserve first = { .kind = RESERVE_LIST, .nodes = node_set("0") };
        Reserve both = first;
        Instance *a, *b;
        Policy fresh[2];

        a = host_add(h, "a", 0);
        b = host_add(h, "b", 0);
        assert_place(h, a, "0");
        assert_place(h, b, "2");
        memcpy(fresh, h->policies, sizeof(fresh));
        host_reload(h, fresh, &first);
        assert_place(h, a, "1");
        assert_place(h, b, "2");
        assert_true(id_set_has(&h->rooms.placing.reserved, 0));
        both.nodes = node_set("0-3"); /* nothing is left: it stays rather than wanders */
        host_reload(h, fresh, &both);
        assert_place(h, a, "0");
        assert_true(a->planned.warnings & WARN_RESERVED);
}

HOST_TEST(a_disk_that_becomes_known) {
        Instance *chosen, *kept;
        const NodeSet disk = node_set("3");

        h->policies[1].place.near = NEAR_STORAGE;
        chosen = host_add(h, "chosen", 1);
        assert_place(h, chosen, "0");
        assert_true(chosen->planned.warnings & WARN_DEVICE_UNKNOWN);
        chosen->storage_nodes = disk;
        place_note_devices(&h->rooms.placing, chosen);
        assert_place(h, chosen, "3"); /* it was placed without knowing */
        kept = host_add(h, "kept", 1);
        fake_write(&h->tree, "sys/fs/cgroup/system.slice/kept.service/cpuset.cpus.effective", "1");
        assert_place(h, kept, "1");
        kept->storage_nodes = disk;
        place_note_devices(&h->rooms.placing, kept);
        assert_place(h, kept, "1"); /* it was found there: it has memory by now */
        assert_true(kept->planned.warnings & WARN_FAR_DEVICE);
}

static uint64_t replan_with_limit(TestHost *h, const Instance *i, unsigned mib) {
        h->policies[0].memory_limit = (uint64_t)mib << 20;
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        place_refresh(&h->rooms.placing);
        return i->planned.limit_bytes >> 20;
}

/* Whoever awaits its disk, as after a restart, has its part of a node again in a moment. */
HOST_TEST(no_limit_rises_while_a_disk_is_looked_for) {
        Instance *awaiting, *other = host_add(h, "other", 0);

        assert_int_equal(replan_with_limit(h, other, 100), 100);
        describe(h);
        h->policies[1].place.near = NEAR_STORAGE;
        awaiting = host_add(h, "awaiting", 1);
        assert_int_equal(replan_with_limit(h, other, 200), 100);
        assert_int_equal(replan_with_limit(h, other, 50), 50);
        assert_int_equal(replan_with_limit(h, other, 200), 50);
        awaiting->storage_known = true;
        assert_int_equal(place_ensure(&h->rooms.placing, awaiting), 0);
        assert_int_equal(other->planned.limit_bytes >> 20, 200);
}

/* It is waited for, so that the instance is not bound and moved twice; not for ever. */
HOST_TEST(a_disk_that_is_being_looked_for) {
        Instance *early, *found, *other, *never;

        h->policies[1].place.near = NEAR_STORAGE;
        early = host_add(h, "early", 1);
        assert_int_equal(place_ensure(&h->rooms.placing, early), 0); /* nobody looks for it yet */
        describe(h);
        found = host_add(h, "found", 1);
        assert_int_equal(place_ensure(&h->rooms.placing, found), -EAGAIN);
        other = host_add(h, "other", 0);
        assert_int_equal(place_ensure(&h->rooms.placing, other), 0);
        assert_true(other->planned.known);
        assert_false(found->planned.known);
        found->storage_nodes = node_set("3");
        found->storage_known = true;
        place_note_devices(&h->rooms.placing, found);
        assert_int_equal(place_ensure(&h->rooms.placing, found), 0);
        assert_ids(found->planned.placement.nodes, "3");
        never = host_add(h, "never", 1);
        assert_int_equal(place_ensure(&h->rooms.placing, never), -EAGAIN);
        now_usec = 3 * SEC;
        assert_int_equal(place_ensure(&h->rooms.placing, never), 0);
        assert_true(never->planned.warnings & WARN_DEVICE_UNKNOWN);
}

/* Of one process with this memory policy. */
static Instance *host_add_numactl(TestHost *h, const char *name, bool in_service,
                                  const char *policy) {
        const int pid = 10 + (int)h->rooms.registry.n_instances;
        ProcHandle handle = PROC_HANDLE_NONE;
        Instance *i;

        write_cpu_ticks(&h->tree, pid, 0);
        fake_write(&h->tree, fmt("proc/%d/numa_maps", pid), fmt("5500 %s file=/x\n", policy));
        assert_int_equal(proc_open(&h->tree.sysroot, pid, &handle), 0);
        i = host_add_process(h, name, 0, &handle);
        if (!in_service)
                (void)strcpy(i->unit, "user.slice");
        assert_int_equal(describe_memory_policy(&h->rooms.registry, i), 0);
        return i;
}

/* Beside the others it would be on node 0, and all of its new memory on node 3. */
HOST_TEST(its_own_memory_policy_counts) {
        Instance *a;

        h->rooms.host.ready = true;
        h->policies[0].memory = MEMORY_PREFERRED;
        a = host_add_numactl(h, "a", true, "bind:3");
        assert_place(h, a, "3");
        h->policies[0].place.nodes = node_set("1");
        assert_int_equal(place_ensure(&h->rooms.placing, host_add(h, "b", 0)), 0);
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        assert_place(h, a, "");
        assert_int_equal(a->planned.refusal, REFUSAL_OWN_MEMORY);
        assert_non_null(strstr(a->planned.refused, "(node 3)"));
        /* It is read again: the program has changed it. */
        fake_write(&h->tree, "proc/10/numa_maps", "5500 default file=/x\n");
        (void)instance_take(a, WORK_PLACE);
        assert_int_equal(describe_memory_policy(&h->rooms.registry, a), 0);
        assert_false(instance_take(a, WORK_PLACE));
        assert_place(h, a, "1");
        (void)instance_take(a, WORK_PLACE);
        a->memory_policy_awaited = true; /* the answer has come: nobody waits longer */
        assert_int_equal(describe_memory_policy(&h->rooms.registry, a), 0);
        assert_true(instance_take(a, WORK_PLACE));
}

HOST_TEST(a_cpuset_overrules_its_own_memory_policy) {
        Instance *service, *other;

        h->rooms.host.ready = true;
        h->rooms.host.backend.ops = &backend_systemd_ops;
        h->policies[0].memory = MEMORY_BIND;
        service = host_add_numactl(h, "service", true, "bind:3");
        assert_place(h, service, "0");
        other = host_add_numactl(h, "other", false, "bind:3"); /* by affinity, or a scope */
        assert_place(h, other, "3");
        h->policies[0].backend = POLICY_BACKEND_AFFINITY;
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        assert_place(h, service, "3");
}

/* What its unit sets itself is read before it is bound for the first time. */
HOST_TEST(own_limits_that_become_known) {
        UndoRecord *record;
        Instance *a;

        h->rooms.host.backend.ops = &backend_systemd_ops;
        a = host_add(h, "a", 0);
        assert_place(h, a, "0");
        assert_int_equal(undo_get(&h->rooms.undo.records, "a", "a.service", NULL, &record), 0);
        undo_adopt(&h->rooms.undo, a);
        assert_false(undo_admin_limits_plan(&h->rooms.undo, a)); /* it is not read yet */
        set_before(&record->cpus, id_set(""));
        set_before(&record->mems, id_set(""));
        assert_false(undo_admin_limits_plan(&h->rooms.undo, a)); /* it sets nothing */
        set_before(&record->mems, id_set("3"));
        assert_true(undo_admin_limits_plan(&h->rooms.undo, a));
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        assert_place(h, a, "3");
}

/* The slice of all instances; a CPU each node. */
static void parent_allows(const TestHost *h, const char *nodes) {
        fake_write(&h->tree, "sys/fs/cgroup/system.slice/cpuset.cpus.effective", nodes);
        fake_write(&h->tree, "sys/fs/cgroup/system.slice/cpuset.mems.effective", nodes);
}

/* Its place does not come into force any more: it gets another one; one that its policy names is
 * given up, so that its memory is not kept from where it runs. Nobody else moves. */
HOST_TEST(a_slice_that_becomes_tighter) {
        Instance *a, *b, *c;

        h->policies[1].place = (Place){ .nodes = node_set("2") };
        parent_allows(h, "0-3");
        a = host_add(h, "a", 0);
        assert_place(h, a, "0");
        b = host_add(h, "b", 1);
        assert_place(h, b, "2");
        c = host_add(h, "c", 0);
        assert_place(h, c, "3");
        parent_allows(h, "1,3");
        place_look_for_room(&h->rooms.placing);
        assert_place(h, a, "0"); /* it is not known yet */
        a->binding.failure_code = b->binding.step.code = REASON_SLICE_TOO_TIGHT;
        place_look_for_room(&h->rooms.placing);
        assert_place(h, a, "1");
        assert_place(h, b, "");
        assert_int_equal(b->planned.refusal, REFUSAL_CGROUP_NODES);
        assert_place(h, c, "3");
        a->binding.failure_code = b->binding.step.code = REASON_NONE; /* each is where it may be */
        parent_allows(h, "0-3");
        place_look_for_room(&h->rooms.placing);
        assert_place(h, a, "1");
        assert_place(h, b, "2");
}

HOST_TEST(cards_keep_their_node) {
        Device card = {
                .kind = DEVICE_NET, .name = (char *)"eth0", .node = 0, .default_route = true
        };
        Instance *a;

        h->rooms.host.devices = (DeviceList){ .devices = &card, .n_devices = 1 };
        h->rooms.host.policies.host.reserve.kind = RESERVE_NIC;
        a = host_add(h, "a", 0);
        assert_place(h, a, "1");
        assert_int_equal(a->planned.warnings, 0);
}

/* Not for want of memory. */
HOST_TEST(what_the_registry_does_not_have_is_in_no_plan) {
        Instance *known = host_add(h, "tidb-1", 0);
        Instance other = { .name = (char *)"tidb-2", .policy = &h->policies[0] };

        h->rooms.host.ready = true;
        assert_int_equal(place_ensure(&h->rooms.placing, known), 0);
        assert_int_equal(place_ensure(&h->rooms.placing, &other), -ESRCH);
        assert_false(other.planned.known);
}
