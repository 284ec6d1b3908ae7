/* Interrupt plans: which entry counts, which CPUs serve a device and why, what irqbalance is sent.
 */

#include "../../support/test.h"

#include "irq-host.h"

IRQ_SCENE_TEST(without_entries, 2, 2, 1) {
        scene_card(s, "eth0", 0, 2);
        scene_card(s, "0000:05:00.0", 0, 0)->in_other_netns = true;
        scene_plan(s);
        for (size_t i = 0; i < 2; i++) {
                assert_serves(s, i, IRQ_REASON_NO_ENTRY, "");
                assert_int_equal(s->plan.devices[i].steer, STEER_LEAVE);
                assert_int_equal(s->plan.devices[i].vectors[0].decision, IRQ_LEFT);
                assert_null(s->plan.devices[i].xps);
        }
        assert_false(s->plan.irqbalance.sent);
}

static const IrqPolicy *find(const IrqScene *s, size_t device) {
        return irq_policy_find(s->policies, s->input.n_policies, &s->devices[device]);
}

IRQ_SCENE_TEST(which_entry, 1, 2, 1) {
        IrqPolicy *p = scene_policy(s, "eth[01]", STEER_LOCAL);

        assert_int_equal(word_list_add(&p->nvme, "nvme0"), 0);
        p = scene_policy(s, "bond*", STEER_AWAY);
        assert_int_equal(word_list_add(&p->pci, "0000:3b:00.0"), 0);
        scene_policy(s, "eth*", STEER_LEAVE);
        scene_card(s, "eth1", 0, 1);
        scene_card(s, "eth2", 0, 1);
        scene_card(s, "ib0", 0, 1)->master = strdup("bond0");
        scene_card(s, "ib1", 0, 1)->pci = strdup("0000:3B:00.0");
        scene_device(s, IRQ_DEVICE_NVME, "nvme0", 0);
        scene_device(s, IRQ_DEVICE_NVME, "eth0", 0); /* a name of another kind */
        scene_device(s, IRQ_DEVICE_OTHER, "eth0", 0)->pci = strdup("0000:3b:00.0");
        scene_device(s, IRQ_DEVICE_NET, "nvme0", 0);
        assert_ptr_equal(find(s, 0), &s->policies[0]);
        assert_ptr_equal(find(s, 1), &s->policies[2]);
        assert_ptr_equal(find(s, 2), &s->policies[1]);
        assert_ptr_equal(find(s, 3), &s->policies[1]);
        assert_ptr_equal(find(s, 4), &s->policies[0]);
        assert_null(find(s, 5));
        assert_ptr_equal(find(s, 6), &s->policies[1]);
        assert_null(find(s, 7));
        scene_plan(s);
        assert_ptr_equal(s->plan.devices[4].policy, &s->policies[0]);
        assert_serves(s, 5, IRQ_REASON_NO_ENTRY, "");
}

IRQ_SCENE_TEST(left_alone, 2, 2, 1) {
        scene_policy(s, "left", STEER_LEAVE);
        scene_policy(s, "*", STEER_AUTO);
        scene_card(s, "left", 0, 2);
        scene_card(s, "0000:05:00.0", 0, 2)->in_other_netns = true;
        scene_device(s, IRQ_DEVICE_NET, "bond0", 0)->bundle = true;
        scene_device(s, IRQ_DEVICE_NET, "tap0", 0);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_POLICY, "");
        assert_serves(s, 1, IRQ_REASON_OTHER_NETNS, "");
        assert_null(s->plan.devices[1].policy); /* its address is no name to match */
        assert_serves(s, 2, IRQ_REASON_BUNDLE, "");
        assert_serves(s, 3, IRQ_REASON_NO_VECTORS, "");
        /* Nothing that is done needs irqbalance's help. */
        assert_false(s->plan.irqbalance.sent);
}

/* A machine of four nodes with two cores of two threads each: node 1 has CPUs 2-3 and 10-11. */
static void plan_auto(IrqScene *s) {
        scene_init(s, 4, 2, 2);
        scene_policy(s, "*", STEER_AUTO);
        scene_card(s, "eth0", 1, 4);
}

#define PLAN_AUTO_TEST(test) TEST_WITH(test, IrqScene, s, plan_auto, scene_done)

PLAN_AUTO_TEST(auto) {
        s->input.reserved = node_set("3");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_RESERVED, "6-7,14-15");
        assert_int_equal(s->plan.devices[0].steer, STEER_RESERVED);
        scene_owner(s, "6", false);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_RESERVED, "7,14-15");
        scene_owner(s, "7,14-15", false); /* the reserved node was needed */
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_LOCAL, "2-3,10-11");
        assert_int_equal(s->plan.devices[0].steer, STEER_LOCAL);
        scene_owner(s, "2,10-11", false);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_LOCAL, "3");
        scene_owner(s, "3", true);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_AWAY, "0-1,4-5,8-9,12-13");
        assert_int_equal(s->plan.devices[0].steer, STEER_AWAY);
        assert_int_equal(s->plan.devices[0].order[0], 0); /* node 0 is nearer than 2 */
        scene_owner(s, "0-1,4-5,8-9,12-13", false);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_SHARED, "3");
        s->owners[3].shared = false;
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_OWNED, "2-3,10-11"); /* no worse than it was */
}

/* A CPU that a shared and an exclusive instance run on is the exclusive one's. */
PLAN_AUTO_TEST(shared_with_exclusive) {
        scene_owner(s, "0-15", true);
        scene_owner(s, "2-15", false);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_SHARED, "0-1"); /* of the same socket */
        s->owners[1].cpus = cpu_set("0-11");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_OWNED, "2-3,10-11"); /* CPUs 12-15 are of the other one */
}

PLAN_AUTO_TEST(unknown_node) {
        s->devices[0].node = DEVICE_NODE_UNKNOWN;
        scene_owner(s, "0-7", false);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_AWAY, "8-15");
        scene_owner(s, "8-15", false);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_OWNED, "0-15");
        s->policies[0].steer = STEER_LOCAL;
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_NODE_UNKNOWN, "");
        s->devices[0].node = 7; /* that the machine does not have */
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_NODE_UNKNOWN, "");
}

/* What the policy says counts; CPUs of instances only where it leaves no others. */
PLAN_AUTO_TEST(by_policy) {
        scene_owner(s, "2,10", false);
        s->policies[0].steer = STEER_LOCAL;
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_LOCAL, "3,11");
        scene_owner(s, "3", false);
        scene_owner(s, "11", true);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_SHARED, "11"); /* although other nodes are free */
        s->policies[0].steer = STEER_RESERVED;
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_NOTHING_RESERVED, "");
        s->input.reserved = node_set("1-2");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_RESERVED, "4-5,12-13");
        s->policies[0].steer = STEER_AWAY;
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_AWAY, "0-1,4-9,12-15");
        s->policies[0].steer = STEER_CPUS;
        s->policies[0].cpus = cpu_set("2,4,99");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_LISTED, "2,4"); /* an instance's CPU too */
        s->policies[0].cpus = cpu_set("99");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_CPUS_ABSENT, "");
}

/* CPUs that are kept from the scheduler are kept from interrupts, as long as there are others. */
PLAN_AUTO_TEST(isolated) {
        s->topology.isolated_cpus = cpu_set("2-3");
        s->topology.nohz_full_cpus = cpu_set("10");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_LOCAL, "11");
        scene_owner(s, "0-1,4-9,11-15", false);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_OWNED, "11");
        s->topology.isolated_cpus = cpu_set("0-15");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_OWNED, "2-3,10-11");
}

/* A list counts as written, but the kernel takes isolated CPUs out of rps_cpus again. */
IRQ_SCENE_TEST(rps_without_isolated, 1, 4, 1) {
        scene_policy(s, "*", STEER_CPUS)->cpus = cpu_set("0-3");
        scene_card(s, "eth0", 0, 1);
        s->topology.isolated_cpus = cpu_set("1");
        s->topology.nohz_full_cpus = cpu_set("2");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_LISTED, "0-3");
        assert_ids(s->plan.devices[0].rps[0], "0,3");
        s->policies[0].cpus = cpu_set("1-2");
        scene_plan(s);
        assert_ids(s->plan.devices[0].rps[0], "");
}

static IrqReason reason_at(uint32_t speed, int pid, IrqbalanceMode mode, IrqSteer steer) {
        _cleanup_scene_ IrqScene s;
        IrqReason reason;

        plan_auto(&s);
        s.devices[0].speed_mbps = speed;
        s.host.irqbalance.pid = pid;
        s.policies[0].irqbalance = mode;
        s.policies[0].steer = steer;
        scene_plan(&s);
        reason = s.plan.devices[0].reason;
        assert_int_equal(s.plan.devices[0].vectors[1].decision,
                         reason == IRQ_REASON_IRQBALANCE ? IRQ_LEFT : IRQ_STEERED);
        assert_int_equal(s.plan.devices[0].xps == NULL, reason == IRQ_REASON_IRQBALANCE);
        return reason;
}

TEST(r11) {
        const IrqReason keeps = IRQ_REASON_IRQBALANCE, ours = IRQ_REASON_LOCAL;

        assert_int_equal(reason_at(10000, 5, IRQBALANCE_COOPERATE, STEER_AUTO), keeps);
        assert_int_equal(reason_at(99999, 5, IRQBALANCE_COOPERATE, STEER_AUTO), keeps);
        assert_int_equal(reason_at(0, 5, IRQBALANCE_COOPERATE, STEER_AUTO), keeps);
        assert_int_equal(reason_at(100000, 5, IRQBALANCE_COOPERATE, STEER_AUTO), ours);
        assert_int_equal(reason_at(200000, 5, IRQBALANCE_COOPERATE, STEER_AUTO), ours);
        assert_int_equal(reason_at(10000, 0, IRQBALANCE_COOPERATE, STEER_AUTO), ours);
        assert_int_equal(reason_at(10000, 5, IRQBALANCE_BAN, STEER_AUTO), ours);
        assert_int_equal(reason_at(10000, 5, IRQBALANCE_IGNORE, STEER_AUTO), ours);
        assert_int_equal(reason_at(10000, 5, IRQBALANCE_COOPERATE, STEER_LOCAL), ours);
}

/* Where all CPUs are owned, interrupts do not cross the sockets onto a shared instance. */
IRQ_SCENE_TEST(away_stays_in_the_socket, 2, 4, 1) {
        scene_policy(s, "*", STEER_AWAY);
        scene_card(s, "eth0", 0, 2);
        scene_owner(s, "0-3", false);
        scene_owner(s, "4-7", true);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_OWNED, "0-3");
}

PLAN_AUTO_TEST(managed) {
        const IrqPlanVector *v;

        s->devices[0].vectors[1].managed = IRQ_MANAGED_YES;
        s->devices[0].vectors[2].managed = IRQ_MANAGED_LIKELY;
        s->devices[0].vectors[3].managed = IRQ_MANAGED_NO;
        s->policies[0].irqbalance = IRQBALANCE_BAN;
        scene_plan(s);
        v = s->plan.devices[0].vectors;
        assert_int_equal(v[0].decision, IRQ_STEERED);
        assert_int_equal(v[1].decision, IRQ_MANAGED);
        assert_int_equal(v[2].decision, IRQ_MANAGED);
        assert_true(id_set_is_empty(&v[1].cpus) && id_set_is_empty(&v[2].cpus));
        assert_ids(v[0].cpus, "2-3,10-11");
        assert_ids(v[3].cpus, "2"); /* the first that can be placed */
        assert_ids(v[4].cpus, "3");
        assert_int_equal(v[4].irq, s->devices[0].vectors[4].irq);
        assert_int_equal(s->plan.irqbalance.n_banned_irqs, 3);
        s->policies[0].steer = STEER_LEAVE;
        scene_plan(s);
        assert_int_equal(s->plan.devices[0].vectors[1].decision, IRQ_MANAGED);
        assert_int_equal(s->plan.devices[0].vectors[3].decision, IRQ_LEFT);
}

IRQ_SCENE_TEST(irqbalance_is_told, 2, 2, 1) {
        static const uint32_t banned[] = { 10, 11, 50, 51 };

        scene_policy(s, "slow", STEER_AUTO);
        scene_policy(s, "fast*", STEER_LOCAL)->irqbalance = IRQBALANCE_BAN;
        scene_policy(s, "own", STEER_AWAY)->irqbalance = IRQBALANCE_IGNORE;
        s->next_irq = 50;
        scene_card(s, "fast1", 0, 1);
        s->next_irq = 10;
        scene_card(s, "fast0", 0, 1);
        scene_card(s, "own", 0, 1);
        scene_card(s, "slow", 0, 1);
        scene_card(s, "unnamed", 0, 1);
        s->host.irqbalance.pid = 7;
        scene_owner(s, "2", false);
        scene_owner(s, "3", true);
        scene_plan(s);
        assert_true(s->plan.irqbalance.sent);
        assert_ids(s->plan.irqbalance.banned_cpus, "2-3");
        assert_int_equal(s->plan.irqbalance.n_banned_irqs, 4);
        for (uint32_t i = 0; i < 4; i++)
                assert_int_equal(s->plan.irqbalance.banned_irqs[i], banned[i]);
}

/* A mask that irqbalance may replace in its next round is no mask: what is steered is banned there,
 * what irqbalance distributes itself is not. */
IRQ_SCENE_TEST(irqbalance_leaves_what_is_steered, 2, 2, 1) {
        scene_policy(s, "slow", STEER_AUTO);
        scene_policy(s, "disk", STEER_AWAY);
        scene_card(s, "slow", 0, 1);
        s->next_irq = 50;
        scene_card(s, "disk", 0, 1);
        s->host.irqbalance.pid = 7;
        scene_owner(s, "2", false);
        scene_plan(s);
        assert_int_equal(s->plan.devices[0].reason, IRQ_REASON_IRQBALANCE);
        assert_int_equal(s->plan.irqbalance.n_banned_irqs, s->devices[1].n_vectors);
        assert_int_equal(s->plan.irqbalance.banned_irqs[0], 50);
}

/* It must keep CPUs to work with. */
PLAN_AUTO_TEST(irqbalance_keeps_some) {
        s->host.irqbalance.pid = 7;
        scene_owner(s, "0-11", false);
        scene_owner(s, "12-15", true);
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_IRQBALANCE, "");
        assert_ids(s->plan.irqbalance.banned_cpus, "0-11");
        s->owners[1].shared = false;
        scene_plan(s);
        assert_true(s->plan.irqbalance.sent);
        assert_ids(s->plan.irqbalance.banned_cpus, "");
}

/* Isolated CPUs are none that it works with. */
PLAN_AUTO_TEST(irqbalance_keeps_usual_ones) {
        s->topology.isolated_cpus = cpu_set("14");
        s->topology.nohz_full_cpus = cpu_set("15");
        scene_owner(s, "0-9", false);
        scene_owner(s, "10-13", true);
        scene_plan(s);
        assert_ids(s->plan.irqbalance.banned_cpus, "0-9");
        s->owners[1].shared = false;
        scene_plan(s);
        assert_ids(s->plan.irqbalance.banned_cpus, "");
        s->owners[1].cpus = cpu_set("10-12");
        scene_plan(s);
        assert_ids(s->plan.irqbalance.banned_cpus, "0-12");
}

PLAN_AUTO_TEST(irqbalance_is_ignored) {
        s->policies[0].irqbalance = IRQBALANCE_IGNORE;
        scene_owner(s, "2", false);
        scene_plan(s);
        assert_false(s->plan.irqbalance.sent);
        assert_ids(s->plan.irqbalance.banned_cpus, "");
}
