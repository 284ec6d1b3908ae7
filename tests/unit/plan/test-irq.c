/* The plan of interrupts: which entry counts, which CPUs serve a device and why, and what
 * irqbalance is sent. */
#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "irq-host.h"
#include "tidbnumad/plan/irq-step.h"

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
        scene_device(s, DEVICE_NVME, "nvme0", 0);
        scene_device(s, DEVICE_NVME, "eth0", 0); /* a name of another kind */
        scene_device(s, DEVICE_OTHER, "eth0", 0)->pci = strdup("0000:3b:00.0");
        scene_device(s, DEVICE_NET, "nvme0", 0);
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
        scene_device(s, DEVICE_NET, "bond0", 0)->bundle = true;
        scene_device(s, DEVICE_NET, "tap0", 0);
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

/* A fast card's vectors are better on fixed CPUs; those of a slow one, or of one whose speed is not
 * known, are left to an irqbalance that runs, unless the policy says otherwise. */
TEST(whose_vectors_irqbalance_keeps) {
        static const struct {
                uint32_t speed_mbps;
                int pid; /* of irqbalance */
                IrqbalanceMode mode;
                IrqSteer steer;
                IrqReason reason;
        } rows[] = {
                { 0, 5, IRQBALANCE_COOPERATE, STEER_AUTO, IRQ_REASON_IRQBALANCE },
                { 10000, 5, IRQBALANCE_COOPERATE, STEER_AUTO, IRQ_REASON_IRQBALANCE },
                { 99999, 5, IRQBALANCE_COOPERATE, STEER_AUTO, IRQ_REASON_IRQBALANCE },
                { 100000, 5, IRQBALANCE_COOPERATE, STEER_AUTO, IRQ_REASON_LOCAL },
                { 10000, 0, IRQBALANCE_COOPERATE, STEER_AUTO, IRQ_REASON_LOCAL },
                { 10000, 5, IRQBALANCE_BAN, STEER_AUTO, IRQ_REASON_LOCAL },
                { 10000, 5, IRQBALANCE_IGNORE, STEER_AUTO, IRQ_REASON_LOCAL },
                { 10000, 5, IRQBALANCE_COOPERATE, STEER_LOCAL, IRQ_REASON_LOCAL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const bool kept = rows[i].reason == IRQ_REASON_IRQBALANCE;
                _cleanup_scene_ IrqScene s;

                plan_auto(&s);
                s.devices[0].speed_mbps = rows[i].speed_mbps;
                s.host.irqbalance.pid = rows[i].pid;
                s.policies[0].irqbalance = rows[i].mode;
                s.policies[0].steer = rows[i].steer;
                scene_plan(&s);
                assert_string_equal(irq_reason_to_id(s.plan.devices[0].reason),
                                    irq_reason_to_id(rows[i].reason));
                assert_int_equal(s.plan.devices[0].vectors[1].decision,
                                 kept ? IRQ_LEFT : IRQ_STEERED);
                assert_int_equal(s.plan.devices[0].xps == NULL, kept);
        }
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

/* --- Interrupts and the CPUs that host.reserve.cpus keeps for them --- */

/* Reserved CPUs of a node serve the card at any speed, and irqbalance must leave the vectors alone.
 */
IRQ_SCENE_TEST(reserved_cpus, 2, 4, 1) {
        scene_policy(s, "*", STEER_AUTO);
        scene_card(s, "eth0", 0, 2);
        s->devices[0].speed_mbps = 10000;
        s->host.irqbalance.pid = 5;
        scene_owner(s, "1-3", false);
        scene_owner(s, "4-7", false);
        s->input.reserved_cpus = cpu_set("0");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_RESERVED, "0");
        assert_int_equal(s->plan.irqbalance.n_banned_irqs, s->devices[0].n_vectors);
        s->policies[0].steer = STEER_RESERVED;
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_RESERVED, "0");
        s->input.reserved_cpus = (CpuSet){ 0 };
        scene_plan(s);
        assert_int_equal(s->plan.devices[0].reason, IRQ_REASON_NOTHING_RESERVED);
}

/* With a card at each socket, neither is served by what is reserved for the other one: this holds
 * for its vector without a queue too. A card at a node without a reserve has those of all nodes. */
IRQ_SCENE_TEST(reserved_cpus_of_several_cards, 4, 4, 1) {
        scene_policy(s, "*", STEER_AUTO);
        scene_card(s, "eth0", 0, 4);
        scene_card(s, "eth1", 2, 4);
        scene_card(s, "eth2", 3, 1);
        scene_owner(s, "2-7,10-15", false);
        s->input.reserved_cpus = cpu_set("0-1,8-9");
        scene_plan(s);
        assert_serves(s, 0, IRQ_REASON_RESERVED, "0-1");
        assert_serves(s, 1, IRQ_REASON_RESERVED, "8-9");
        assert_serves(s, 2, IRQ_REASON_RESERVED, "0-1,8-9");
        assert_ids(s->plan.devices[0].vectors[0].cpus, "0-1");
        assert_ids(s->plan.devices[1].vectors[0].cpus, "8-9");
        assert_queues(s, 0, "0 1 0 1"); /* rather two on one CPU than across the sockets */
        s->policies[0].steer = STEER_RESERVED;
        scene_plan(s);
        assert_serves(s, 1, IRQ_REASON_RESERVED, "8-9");
}

/* --- Queues on CPUs: order, turns, pairs, the masks of transmit and receive queues; and that all
 * this holds on many machines made at random --- */

/* Node 0 has cores 0-3 and their siblings 8-11. */
static void one_card(IrqScene *s, size_t queues) {
        scene_init(s, 2, 4, 2);
        scene_policy(s, "*", STEER_LOCAL);
        scene_card(s, "eth0", 0, queues);
}

#define ONE_CARD_TEST(test, queues) TEST_AFTER(test, IrqScene, s, one_card(s, queues), scene_done)

ONE_CARD_TEST(cores_before_siblings, 11) {
        scene_plan(s);
        assert_queues(s, 0, "0 1 2 3 8 9 10 11 0 1 2");
        assert_ids(s->plan.devices[0].vectors[0].cpus, "0-3,8-11");
}

/* Where the siblings of a core have neighbouring numbers. */
ONE_CARD_TEST(siblings_by_core, 5) {
        for (uint32_t cpu = 0; cpu < 16; cpu++)
                s->core[cpu] = (uint16_t)(cpu & ~1u);
        scene_plan(s);
        assert_queues(s, 0, "0 2 8 10 1");
}

TEST(nearest_first) {
        _cleanup_scene_ IrqScene s;

        scene_init(&s, 4, 1, 2); /* node n has CPUs n and 4+n */
        scene_policy(&s, "*", STEER_AWAY);
        scene_card(&s, "eth0", 2, 8);
        scene_plan(&s);
        assert_queues(&s, 0, "2 6 3 7 0 1 4 5");
        s.devices[0].node = DEVICE_NODE_UNKNOWN;
        scene_plan(&s);
        assert_queues(&s, 0, "0 1 2 3 4 5 6 7");
}

ONE_CARD_TEST(turns, 3) {
        scene_card(s, "eth1", 0, 5);
        scene_card(s, "eth2", 1, 2);
        scene_plan(s);
        assert_queues(s, 0, "0 2 8");
        assert_queues(s, 1, "1 3 9 10 11");
        assert_queues(s, 2, "4 5");
}

/* As drivers that have a vector for each direction, in any order, and one queue without one. */
IRQ_SCENE_TEST(pairs, 1, 4, 1) {
        IrqDevice *d;

        scene_policy(s, "*", STEER_LOCAL);
        d = scene_device(s, DEVICE_NET, "eth0", 0);
        (void)scene_vector(s, d, IRQ_ROLE_RX, 1);
        (void)scene_vector(s, d, IRQ_ROLE_RX, 0);
        (void)scene_vector(s, d, IRQ_ROLE_TX, 0);
        (void)scene_vector(s, d, IRQ_ROLE_TX, 5);
        (void)scene_vector(s, d, IRQ_ROLE_TX, 1);
        scene_plan(s);
        assert_queues(s, 0, "1 0 0 2 1");
}

ONE_CARD_TEST(xps, 2) {
        const CpuSet *xps;

        scene_plan(s);
        xps = s->plan.devices[0].xps;
        /* Queue 0 on CPU 0 and queue 1 on CPU 1: the rest in turns. */
        assert_ids(xps[0], "0,2,4,6,8,10,12,14");
        assert_ids(xps[1], "1,3,5,7,9,11,13,15");
        s->policies[0].steer = STEER_CPUS;
        s->policies[0].cpus = cpu_set("3,5");
        scene_plan(s);
        xps = s->plan.devices[0].xps;
        assert_ids(xps[0], "0-3,8-11"); /* each by the queue of its own node */
        assert_ids(xps[1], "4-7,12-15");
        s->policies[0].cpus = cpu_set("3");
        scene_plan(s);
        assert_true(id_set_has(&s->plan.devices[0].xps[0], 3));
        assert_true(id_set_has(&s->plan.devices[0].xps[1], 3)); /* both are its own */
        s->policies[0].xps = false;
        scene_plan(s);
        assert_null(s->plan.devices[0].xps);
}

/* Of queues on three nodes the nearest, not the last that is nearer than the first. */
IRQ_SCENE_TEST(xps_nearest, 4, 2, 1) {
        scene_policy(s, "*", STEER_CPUS)->cpus = cpu_set("0,4,6");
        scene_card(s, "eth0", DEVICE_NODE_UNKNOWN, 3);
        scene_plan(s);
        assert_queues(s, 0, "0 4 6");
        assert_ids(s->plan.devices[0].xps[0], "0-3");
        assert_ids(s->plan.devices[0].xps[1], "4-5");
        assert_ids(s->plan.devices[0].xps[2], "6-7");
}

ONE_CARD_TEST(xps_where_it_is, 1) {
        scene_plan(s);
        assert_null(s->plan.devices[0].xps); /* one queue */
        s->devices[0].n_tx = 4;              /* two rounds of … one vector */
        scene_plan(s);
        for (size_t q = 0; q < 4; q++)
                assert_true(id_set_has(&s->plan.devices[0].xps[q], 0));
        s->devices[0].vectors[1].managed = IRQ_MANAGED_YES; /* served by who knows */
        scene_plan(s);
        assert_null(s->plan.devices[0].xps);
        assert_null(s->plan.devices[0].rps);
}

ONE_CARD_TEST(rps, 2) {
        s->policies[0].steer = STEER_AWAY;
        scene_owner(s, "1,4-6", false);
        scene_plan(s);
        assert_queues(s, 0, "0 2");
        assert_ids(s->plan.devices[0].rps[0], "0,2-3,8-11"); /* its own node's, that serve it */
        assert_ids(s->plan.devices[0].rps[1], "0,2-3,8-11");
        s->policies[0].rps = RPS_OFF;
        scene_plan(s);
        assert_null(s->plan.devices[0].rps);
}

TEST(rps_only_where_it_helps) {
        _cleanup_scene_ IrqScene s;

        one_card(&s, 8); /* as many as CPUs */
        scene_plan(&s);
        assert_null(s.plan.devices[0].rps);
        s.policies[0].rps = RPS_ON;
        scene_plan(&s);
        assert_ids(s.plan.devices[0].rps[7], "0-3,8-11");
        s.policies[0].rps = RPS_AUTO;
        s.devices[0].n_rx = 7;
        scene_plan(&s);
        assert_non_null(s.plan.devices[0].rps);
        scene_owner(&s, "0-3,8-11", true); /* it would spread the work over an instance */
        scene_plan(&s);
        assert_null(s.plan.devices[0].rps);
        s.owners[0].shared = false;
        scene_plan(&s);
        assert_null(s.plan.devices[0].rps);
}

/* The CPU of a transmit queue says nothing about the receiver. */
IRQ_SCENE_TEST(rps_by_receive_queue, 1, 4, 1) {
        IrqDevice *d;

        scene_policy(s, "*", STEER_LOCAL)->rps = RPS_ON;
        d = scene_device(s, DEVICE_NET, "eth0", 0);
        (void)scene_vector(s, d, IRQ_ROLE_TX, 0);
        d->n_rx = d->n_tx = 1;
        scene_plan(s);
        assert_queues(s, 0, "0");
        assert_null(s->plan.devices[0].rps);
}

IRQ_SCENE_TEST(disks_have_no_queues_to_mask, 1, 4, 1) {
        IrqDevice *d;

        assert_int_equal(word_list_add(&scene_policy(s, NULL, STEER_LOCAL)->nvme, "*"), 0);
        d = scene_device(s, DEVICE_NVME, "nvme0", 0);
        (void)scene_vector(s, d, IRQ_ROLE_ADMIN, 0);
        (void)scene_vector(s, d, IRQ_ROLE_RXTX, 1);
        scene_plan(s);
        assert_ids(s->plan.devices[0].vectors[0].cpus, "0-3"); /* the admin queue anywhere */
        assert_ids(s->plan.devices[0].vectors[1].cpus, "0");
        assert_null(s->plan.devices[0].xps);
        assert_null(s->plan.devices[0].rps);
}

/* ---- many machines: what holds for each plan, by counting it out ---- */

static uint32_t draw(uint64_t *seed, uint32_t below) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(*seed >> 33) % below;
}

static void draw_scene(uint64_t *seed, IrqScene *s) {
        static const IrqSteer steers[] = { STEER_AUTO, STEER_RESERVED, STEER_LOCAL, STEER_AWAY };
        const uint32_t n_nodes = 1 + draw(seed, 4);

        scene_init(s, n_nodes, 1 + draw(seed, 4), 1 + draw(seed, 2));
        scene_policy(s, "a*", steers[draw(seed, ELEMENTSOF(steers))]);
        scene_policy(s, "b*", steers[draw(seed, ELEMENTSOF(steers))])->rps = draw(seed, 3);
        for (uint32_t i = 1 + draw(seed, 3); i > 0; i--)
                scene_card(s, draw(seed, 2) ? "a" : "b", (int)draw(seed, n_nodes + 1) - 1,
                           draw(seed, 9));
        for (uint32_t n = 0; n < n_nodes; n++)
                if (draw(seed, 4) > 0) {
                        IrqOwner *o = &s->owners[s->input.n_owners++];

                        *o = (IrqOwner){ .name = "x", .shared = draw(seed, 2) };
                        ID_SET_FOREACH(cpu, &s->nodes[n].cpus)
                        if (draw(seed, 5) > 0)
                                id_set_add(&o->cpus, (uint32_t)cpu);
                }
        if (draw(seed, 2))
                id_set_add(&s->input.reserved, draw(seed, n_nodes));
}

static bool is_owned(const IrqScene *s, uint32_t cpu, bool exclusive_only) {
        for (size_t i = 0; i < s->input.n_owners; i++)
                if (id_set_has(&s->owners[i].cpus, cpu) && !(exclusive_only && s->owners[i].shared))
                        return true;
        return false;
}

/* Of these CPUs some belong to no instance, or to no exclusive one. */
static bool any_left(const IrqScene *s, const CpuSet *cpus, bool exclusive_only) {
        ID_SET_FOREACH(cpu, cpus)
        if (!is_owned(s, (uint32_t)cpu, exclusive_only))
                return true;
        return false;
}

static CpuSet allowed(const IrqScene *s, const IrqPlanDevice *d) {
        NodeSet node = { 0 };

        if (d->steer == STEER_RESERVED)
                return topology_cpus_of(&s->topology, &s->input.reserved);
        if (d->steer == STEER_AWAY)
                return topology_cpus(&s->topology);
        id_set_add(&node, (uint32_t)d->device->node);
        return topology_cpus_of(&s->topology, &node);
}

/* No CPU of an instance while others may serve the device. */
static void check_owned(const IrqScene *s, const IrqPlanDevice *d) {
        const CpuSet all = allowed(s, d);
        const bool some_free = any_left(s, &all, false), some_shared = any_left(s, &all, true);

        for (size_t i = 0; i < d->n_order; i++) {
                assert_true(id_set_has(&all, d->order[i]));
                assert_false(some_free && is_owned(s, d->order[i], false));
                assert_false(some_shared && is_owned(s, d->order[i], true));
        }
        assert_int_equal(d->reason == IRQ_REASON_SHARED, !some_free && some_shared);
        assert_int_equal(d->reason == IRQ_REASON_OWNED, !some_shared);
}

static CpuSet serving(const IrqPlanDevice *d) {
        CpuSet cpus = { 0 };

        for (size_t i = 0; i < d->n_order; i++)
                id_set_add(&cpus, d->order[i]);
        return cpus;
}

static void check_masks(const IrqPlanDevice *d) {
        const CpuSet order = serving(d);

        assert_int_equal(id_set_count(&order), d->n_order);
        for (size_t i = 0; i < d->device->n_vectors; i++) {
                assert_int_equal(d->vectors[i].decision, IRQ_STEERED);
                assert_false(id_set_is_empty(&d->vectors[i].cpus));
                assert_true(id_set_is_subset(&d->vectors[i].cpus, &order));
        }
}

/* Each CPU sends by one queue, or by all that it serves; and each queue is its own CPU's. */
static void check_xps(const IrqScene *s, const IrqPlanDevice *d) {
        const CpuSet online = topology_cpus(&s->topology);

        for (size_t q = 0; d->xps && q < d->device->n_tx; q++)
                assert_true(id_set_is_subset(&d->vectors[q + 1].cpus, &d->xps[q]));
        ID_SET_FOREACH(cpu, &online) {
                size_t senders = 0, served = 0;

                for (size_t q = 0; d->xps && q < d->device->n_tx; q++) {
                        senders += id_set_has(&d->xps[q], (uint32_t)cpu);
                        served += id_set_has(&d->vectors[q + 1].cpus, (uint32_t)cpu);
                }
                if (d->xps)
                        assert_int_equal(senders, served > 1 ? served : 1);
        }
}

static uint32_t load_of(const IrqScene *s, uint32_t cpu) {
        uint32_t load = 0;

        for (size_t i = 0; i < s->plan.n_devices; i++)
                for (size_t v = 1; v < s->plan.devices[i].device->n_vectors; v++)
                        load += id_set_has(&s->plan.devices[i].vectors[v].cpus, cpu);
        return load;
}

/* Of CPUs that serve the same devices, none has two queues more than another. */
static void check_even(const IrqScene *s, const IrqPlanDevice *d) {
        const CpuSet its = serving(d);

        for (size_t i = 0; i < s->plan.n_devices; i++) {
                const CpuSet others = serving(&s->plan.devices[i]);

                if (!id_set_is_empty(&others) && !id_set_equal(&its, &others))
                        return;
        }
        for (size_t i = 0; i < d->n_order; i++)
                for (size_t k = 0; k < d->n_order; k++)
                        assert_true(load_of(s, d->order[i]) <= load_of(s, d->order[k]) + 1);
}

static void check_plan(const IrqScene *s) {
        for (size_t i = 0; i < s->plan.n_devices; i++) {
                const IrqPlanDevice *d = &s->plan.devices[i];

                assert_int_not_equal(d->steer, STEER_AUTO);
                assert_int_equal(d->n_order > 0, irq_reason_steers(d->reason));
                if (d->n_order == 0)
                        continue;
                if (!(d->reason == IRQ_REASON_OWNED && d->steer == STEER_AWAY))
                        check_owned(s, d);
                check_masks(d);
                check_xps(s, d);
                check_even(s, d);
        }
}

TEST(many_machines) {
        uint64_t seed = 7;

        for (unsigned i = 0; i < 3000; i++) {
                _cleanup_scene_ IrqScene s;

                draw_scene(&seed, &s);
                scene_plan(&s);
                check_plan(&s);
        }
}
