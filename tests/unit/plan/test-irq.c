/* The plan of interrupts, and the steps that bring it into force. */
#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "irq-host.h"
#include "tidbnumad/plan/irq-step.h"

/* --- interrupt plans: which entry counts, which CPUs serve a device and why, what irqbalance is
 * sent --- */

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
        s->nodes[0].first_threads = cpu_set("0,2,8,10");
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
        d = scene_device(s, IRQ_DEVICE_NET, "eth0", 0);
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
        d = scene_device(s, IRQ_DEVICE_NET, "eth0", 0);
        (void)scene_vector(s, d, IRQ_ROLE_TX, 0);
        d->n_rx = d->n_tx = 1;
        scene_plan(s);
        assert_queues(s, 0, "0");
        assert_null(s->plan.devices[0].rps);
}

IRQ_SCENE_TEST(disks_have_no_queues_to_mask, 1, 4, 1) {
        IrqDevice *d;

        assert_int_equal(word_list_add(&scene_policy(s, NULL, STEER_LOCAL)->nvme, "*"), 0);
        d = scene_device(s, IRQ_DEVICE_NVME, "nvme0", 0);
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

/* --- what is done next about a setting --- */

#define SECOND UINT64_C(1000000)

static SettingValue cpus(const char *list) {
        return (SettingValue){ .cpus = cpu_set(list) };
}

static IrqStep next(IrqProgress *p, const char *wanted, const char *present, uint64_t now) {
        const SettingValue w = cpus(wanted), s = cpus(present);

        return irq_step_next(p, &w, &s, now);
}

static void done(IrqProgress *p, const char *wanted, const char *ours) {
        const SettingValue w = cpus(wanted), o = cpus(ours);

        irq_step_done(p, &w, &o);
}

static void failed(IrqProgress *p, const char *wanted, int error, uint64_t now) {
        const SettingValue w = cpus(wanted);

        irq_step_failed(p, &w, error, now);
}

TEST(write_then_stands) {
        IrqProgress p = { 0 };
        const SettingValue w = cpus("0-1");

        assert_int_equal(next(&p, "0-1", "4", 0), IRQ_STEP_WRITE);
        assert_int_equal(irq_step_next(&p, &w, NULL, 0), IRQ_STEP_WRITE);
        done(&p, "0-1", "0-1");
        assert_int_equal(next(&p, "0-1", "0-1", SECOND), IRQ_STEP_IN_FORCE);
        /* Another wish is no quarrel. */
        assert_int_equal(next(&p, "6", "0-1", SECOND), IRQ_STEP_WRITE);
        assert_int_equal(p.n_repairs, 0);
}

/* No room on the wanted CPUs: the mask that was found instead counts as the wanted one, as long as
 * that is wanted. */
TEST(in_its_place) {
        IrqProgress p = { 0 };

        done(&p, "0-1", "6");
        assert_int_equal(next(&p, "0-1", "6", 0), IRQ_STEP_IN_FORCE);
        assert_int_equal(next(&p, "0-2", "6", 0), IRQ_STEP_WRITE);
}

TEST(three_repairs_a_minute) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(next(&p, "0", "4", SECOND + i * 19 * SECOND), IRQ_STEP_REPAIR);
                done(&p, "0", "0");
        }
        assert_int_equal(next(&p, "0", "4", 60 * SECOND), IRQ_STEP_YIELD);
        assert_true(p.yield_usec != 0);
        assert_int_equal(next(&p, "0", "4", 60 * SECOND + 1), IRQ_STEP_WAIT);
        assert_int_equal(next(&p, "0", "5", 60 * SECOND + IRQ_YIELD_USEC - 1), IRQ_STEP_WAIT);
        assert_int_equal(next(&p, "0", "5", 60 * SECOND + IRQ_YIELD_USEC), IRQ_STEP_REPAIR);
        assert_int_equal(p.yield_usec, 0);
}

/* What a unit was started to set, and what is no longer wanted when it shows, is not blamed on
 * others. */
TEST(late_write_of_our_own) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        failed(&p, "4", -EINPROGRESS, SECOND);
        assert_int_equal(next(&p, "0", "0", 2 * SECOND), IRQ_STEP_IN_FORCE);
        done(&p, "0", "0");
        assert_int_equal(next(&p, "0", "4", 3 * SECOND), IRQ_STEP_WRITE);
        done(&p, "0", "0");
        assert_int_equal(next(&p, "0", "4", 4 * SECOND), IRQ_STEP_REPAIR); /* not once more */
        failed(&p, "4", -EINPROGRESS, 5 * SECOND);
        done(&p, "0", "0");
        assert_int_equal(next(&p, "0", "4", 5 * SECOND + IRQ_LATE_USEC), IRQ_STEP_REPAIR);
}

TEST(a_minute_is_over) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        for (unsigned i = 0; i < 12; i++)
                assert_int_equal(next(&p, "0", "4", (1 + i * 21) * SECOND), IRQ_STEP_REPAIR);
}

TEST(the_other_gives_up) {
        IrqProgress p = { .yield_usec = UINT64_MAX, .written = true };

        p.wanted = p.ours = cpus("0");
        assert_int_equal(next(&p, "0", "0", 1), IRQ_STEP_IN_FORCE);
        assert_int_equal(p.yield_usec, 0);
}

TEST(forgiven) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        for (unsigned i = 0; i < 10; i++) {
                assert_int_equal(next(&p, "0", "4", i * SECOND),
                                 i == 0 ? IRQ_STEP_REPAIR : IRQ_STEP_WRITE);
                done(&p, "0", "0");
                irq_step_reset_contention(&p);
        }
}

TEST(refused) {
        static const int errors[] = { -EPERM, -EIO };

        for (size_t i = 0; i < 2; i++) {
                IrqProgress p = { 0 };

                failed(&p, "0", errors[i], 0);
                assert_int_equal(next(&p, "0", "4", UINT64_MAX), IRQ_STEP_NEVER);
                assert_int_equal(next(&p, "1", "4", UINT64_MAX), IRQ_STEP_NEVER);
        }
}

TEST(ever_more_seldom) {
        static const unsigned waits[] = { 5, 10, 20, 40, 60, 60, 60 };
        IrqProgress p = { 0 };
        uint64_t now = 0;

        for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
                failed(&p, "0", -ENOSPC, now);
                assert_int_equal(next(&p, "0", "4", now + waits[i] * SECOND - 1), IRQ_STEP_WAIT);
                now += waits[i] * SECOND;
                assert_int_equal(next(&p, "0", "4", now), IRQ_STEP_WRITE);
        }
        /* Another desired value may succeed at once, and one that is in place is done. */
        failed(&p, "0", -ENOSPC, now);
        assert_int_equal(next(&p, "1", "4", now), IRQ_STEP_WRITE);
        assert_int_equal(next(&p, "0", "0", now), IRQ_STEP_IN_FORCE);
        failed(&p, "0", -ENOSPC, now);
        assert_int_equal(next(&p, "0", "4", now + 5 * SECOND), IRQ_STEP_WRITE);
}

/* --- When interrupts are read again after an event --- */

#define MSEC UINT64_C(1000)
#define SERIES_SECOND (1000 * MSEC)
#define BEGIN (UINT64_C(5000) * SERIES_SECOND)

/* Looks as they come due, `late` each: the number of them until the series is over. */
static unsigned run(IrqSeries *a, uint64_t late, uint64_t *ret_last) {
        unsigned n = 0;

        for (; irq_series_due(a) != IRQ_SERIES_NEVER; n++) {
                assert_true(n < 1000);
                *ret_last = irq_series_due(a) + late;
                irq_series_reconciled(a, *ret_last);
        }
        return n;
}

TEST(quiet) {
        IrqSeries a = { 0 };

        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
        irq_series_reconciled(&a, BEGIN);
        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
}

TEST(series) {
        static const unsigned msec[] = { 30, 150, 400, 900, 1900 };
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(irq_series_due(&a), BEGIN + msec[i] * MSEC);
                irq_series_reconciled(&a, BEGIN + msec[i] * MSEC);
        }
        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
}

/* The slow comparison in between does not replace any of them. */
TEST(other_looks) {
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        irq_series_reconciled(&a, BEGIN + 29 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 30 * MSEC);
}

/* On a host as slow as that, one reading replaces those that have passed. */
TEST(late) {
        IrqSeries a = { 0 };
        uint64_t last;

        irq_series_event(&a, BEGIN);
        irq_series_reconciled(&a, BEGIN + 500 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 900 * MSEC);
        assert_int_equal(run(&a, 3 * SERIES_SECOND, &last), 1);
}

/* Each event restarts the series, and none puts off a reading that is near. */
TEST(events_go_on) {
        IrqSeries a = { 0 };
        uint64_t last;

        for (unsigned i = 0; i < 30; i++)
                irq_series_event(&a, BEGIN + i * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 30 * MSEC);
        irq_series_reconciled(&a, BEGIN + 30 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 59 * MSEC); /* after the last of them */
        irq_series_event(&a, BEGIN + 40 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 59 * MSEC);
        assert_int_equal(run(&a, 0, &last), 6);
        assert_int_equal(last, BEGIN + 1940 * MSEC);
}

/* The event comes in the pause before the last reading: it does not wait for that. */
TEST(sooner) {
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        irq_series_reconciled(&a, BEGIN + 950 * MSEC);
        irq_series_event(&a, BEGIN + SERIES_SECOND);
        assert_int_equal(irq_series_due(&a), BEGIN + 1030 * MSEC);
        irq_series_reconciled(&a, BEGIN + 1030 * MSEC); /* from there on it is a whole series */
        assert_int_equal(irq_series_due(&a), BEGIN + 1150 * MSEC);
}

/* Events of a host that never comes to rest: a burst, then one reading a second. */
TEST(storm) {
        uint64_t now = BEGIN, n = 0, last;
        IrqSeries a = { 0 };

        for (; now < BEGIN + 100 * SERIES_SECOND; now += 10 * MSEC) {
                irq_series_event(&a, now);
                if (irq_series_due(&a) <= now) {
                        irq_series_reconciled(&a, now);
                        n++;
                }
        }
        assert_in_range(n, 100 + IRQ_SERIES_BURST - 2, 100 + IRQ_SERIES_BURST + 2);
        /* After a rest the burst is there again. */
        (void)run(&a, 0, &last);
        now = last + 1000 * SERIES_SECOND;
        irq_series_event(&a, now);
        assert_int_equal(irq_series_due(&a), now + 30 * MSEC);
}

/* --- Single settings out of an irq plan, and what lands meanwhile --- */

enum { CPUS = 4 };

/* A card of two queues, and a second one on the same PCI function. */
typedef struct Example {
        IrqVector vectors[3];
        IrqQueue tx[2], rx[2];
        IrqDevice devices[2];
        uint32_t cpus[CPUS], counts[3][CPUS];
        IrqHost host;
        IrqPlanVector planned[3];
        CpuSet xps[2], rps[2];
        IrqPlanDevice of[2];
        IrqPlan plan;
} Example;

static void example_init(Example *e) {
        *e = (Example){ .cpus = { 0, 1, 2, 3 } };
        for (uint32_t i = 0; i < 3; i++) {
                e->vectors[i] = (IrqVector){ .irq = 24 + i,
                                             .mask_known = i != 1,
                                             .requested = cpu_set("0-3"),
                                             .counts = e->counts[i] };
                e->planned[i] = (IrqPlanVector){ .irq = 24 + i,
                                                 .decision = IRQ_STEERED,
                                                 .cpus = cpu_set("1") };
        }
        e->tx[0] = e->tx[1] = (IrqQueue){ .mask_known = true, .cpus = cpu_set("2") };
        e->rx[0] = (IrqQueue){ .mask_known = true };
        e->xps[0] = cpu_set("0");
        e->xps[1] = cpu_set("1");
        e->devices[0] = (IrqDevice){ .name = (char *)"eth0",
                                     .ifindex = 3,
                                     .pci = (char *)"0000:01:00.0",
                                     .vectors = e->vectors,
                                     .n_vectors = 3,
                                     .tx = e->tx,
                                     .n_tx = 2,
                                     .rx = e->rx,
                                     .n_rx = 2 };
        e->devices[1] = e->devices[0];
        e->devices[1].name = (char *)"eth1";
        e->devices[1].n_tx = e->devices[1].n_rx = 0;
        e->host =
                (IrqHost){ .devices = e->devices, .n_devices = 2, .cpus = e->cpus, .n_cpus = CPUS };
        e->of[0] = (IrqPlanDevice){
                .device = &e->devices[0], .vectors = e->planned, .xps = e->xps, .rps = e->rps
        };
        e->of[1] = (IrqPlanDevice){ .device = &e->devices[1], .vectors = e->planned };
        e->plan = (IrqPlan){ .devices = e->of, .n_devices = 2 };
}

#define EXAMPLE_TEST(test) TEST_WITH(test, Example, e, example_init, test_no_done)

EXAMPLE_TEST(desired) {
        _cleanup_irq_desired_ IrqDesiredList w;

        e->planned[2].decision = IRQ_MANAGED;
        assert_int_equal(irq_desired_build(&e->plan, &w), 0);
        /* Two vectors, once; two transmit queues; the receive queue that has a mask. */
        assert_int_equal(w.n_settings, 5);
        assert_true(w.settings[0].known);
        assert_false(w.settings[1].known);
        assert_ids(w.settings[0].present.cpus, "0-3");
        assert_ids(w.settings[0].value.cpus, "1");
        assert_ptr_equal(w.settings[0].device, &e->devices[0]);
        assert_non_null(irq_desired_find(&w, &(SettingKey){ SETTING_VECTOR, "0000:01:00.0", 24 }));
        assert_null(irq_desired_find(&w, &(SettingKey){ SETTING_VECTOR, "0000:01:00.0", 26 }));
        assert_ids(irq_desired_find(&w, &(SettingKey){ SETTING_XPS, "eth0", 1, 3 })->value.cpus,
                   "1");
        assert_ids(irq_desired_find(&w, &(SettingKey){ SETTING_RPS, "eth0", 0, 3 })->value.cpus,
                   "");
        assert_null(irq_desired_find(&w, &(SettingKey){ SETTING_RPS, "eth0", 1, 3 }));
}

EXAMPLE_TEST(nothing_wanted) {
        _cleanup_irq_desired_ IrqDesiredList w;

        for (unsigned i = 0; i < 3; i++)
                e->planned[i].decision = IRQ_LEFT;
        e->of[0].xps = e->of[0].rps = NULL;
        assert_int_equal(irq_desired_build(&e->plan, &w), 0);
        assert_int_equal(w.n_settings, 0);
}

EXAMPLE_TEST(whose_vector) {
        assert_true(
                irq_host_has_vector(&e->host, &(SettingKey){ SETTING_VECTOR, "0000:01:00.0", 26 }));
        assert_false(
                irq_host_has_vector(&e->host, &(SettingKey){ SETTING_VECTOR, "0000:01:00.0", 27 }));
        assert_false(
                irq_host_has_vector(&e->host, &(SettingKey){ SETTING_VECTOR, "0000:02:00.0", 26 }));
        e->devices[1].pci = NULL;
        assert_true(irq_host_has_vector(&e->host, &(SettingKey){ SETTING_VECTOR, "eth1", 26 }));
}

TEST(landed) {
        const CpuSet cpus = cpu_set("1-2");
        Example before, now;

        example_init(&before);
        example_init(&now);
        before.counts[0][1] = 10;
        now.counts[0][0] = 1000;
        now.counts[0][1] = 15;
        before.counts[1][2] = UINT32_MAX; /* it goes round */
        now.counts[1][2] = 1;
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 7);
        now.counts[0][1] = 3; /* a reused number */
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 2);
        now.vectors[1].irq = 99; /* one that was not there */
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 0);
        example_init(&now);
        now.counts[0][1] = 15;
        now.cpus[3] = 5; /* other columns */
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 0);
        now.cpus[3] = 3;
        now.devices[0].name = (char *)"eth9";
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 0);
}

/* --- Whether an interrupt fires where its mask says --- */

/* A reading of a host of four CPUs, and one vector. */
typedef struct Reading {
        uint32_t cpus[4], counts[4];
        IrqVector vector;
        IrqDevice device;
        IrqHost host;
} Reading;

static void reading_init(Reading *l, const char *requested, const char *effective, uint32_t on_0,
                         uint32_t on_3) {
        *l = (Reading){
                .cpus = { 0, 1, 2, 3 },
                .counts = { on_0, 7, 0, on_3 },
                .vector = { .irq = 24,
                            .mask_known = true,
                            .requested = cpu_set(requested),
                            .effective_known = effective != NULL,
                            .effective = cpu_set(effective ? effective : "") },
                .device = { .kind = IRQ_DEVICE_NET, .name = (char *)"eth0", .n_vectors = 1 },
                .host = { .n_devices = 1, .n_cpus = 4 },
        };
        l->vector.counts = l->counts;
        l->device.vectors = &l->vector;
        l->host.devices = &l->device;
        l->host.cpus = l->cpus;
}

static IrqCourse course(const Reading *before, const Reading *now) {
        return irq_verify_course(&before->host, &now->host, &now->device, &now->vector);
}

typedef struct Fired {
        const char *requested, *effective; /* NULL: there is no such file, or it is empty */
        uint32_t on_0, on_3;
} Fired;

static void read_fired(Reading *l, const Fired *f, const char *none) {
        reading_init(l, f->requested, f->effective ? f->effective : none, f->on_0, f->on_3);
}

TEST(where_it_fires) {
        static const struct {
                const char *what;
                Fired before, now;
                IrqCourse course;
        } rows[] = {
                /* Until the next interrupt comes, the effective mask is the old one. */
                { "silent", { "0-1", "3", 5, 9 }, { "0-1", "3", 5, 9 }, IRQ_COURSE_UNKNOWN },
                /* The one that moved it was the last elsewhere. */
                { "moves", { "0-1", "3", 5, 9 }, { "0-1", "0", 5, 10 }, IRQ_COURSE_FOLLOWS },
                { "stays", { "0-1", "3", 5, 9 }, { "0-1", "3", 5, 10 }, IRQ_COURSE_MISPLACED },
                { "one CPU too many",
                  { "0-1", "3", 5, 9 },
                  { "0-1", "0,3", 6, 10 },
                  IRQ_COURSE_MISPLACED },
                /* What fired before the mask was set is no failure of it. */
                { "new mask", { "3", "3", 5, 9 }, { "0-1", "3", 5, 99 }, IRQ_COURSE_UNKNOWN },
                /* Without an effective mask the counters tell alone. */
                { "silent, no file",
                  { "0-1", NULL, 5, 9 },
                  { "0-1", NULL, 5, 9 },
                  IRQ_COURSE_UNKNOWN },
                { "stays, no file",
                  { "0-1", NULL, 5, 9 },
                  { "0-1", NULL, 5, 10 },
                  IRQ_COURSE_MISPLACED },
                { "moves between, no file",
                  { "0-1", NULL, 5, 9 },
                  { "0-1", NULL, 6, 10 },
                  IRQ_COURSE_FOLLOWS },
        };

        for (size_t i = 0; i < 2 * ELEMENTSOF(rows); i++) {
                const char *none = i % 2 ? "" : NULL, *what = rows[i / 2].what;
                Reading before, now;

                read_fired(&before, &rows[i / 2].before, none);
                read_fired(&now, &rows[i / 2].now, none);
                if (course(&before, &now) != rows[i / 2].course)
                        fail_msg("%s: %d", what, course(&before, &now));
        }
}

TEST(cannot_tell) {
        Reading a, b;

        reading_init(&a, "0-1", "3", 5, 9);
        reading_init(&b, "0-1", "3", 5, 10);
        a.vector.irq = 25; /* it is new */
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.vector.irq = 24;
        a.vector.mask_known = false;
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.vector.mask_known = true;
        a.vector.counts = NULL;
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.vector.counts = a.counts;
        a.cpus[2] = 4; /* other CPUs are online */
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.cpus[2] = 2;
        a.device.name = (char *)"eth1";
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.device.name = (char *)"eth0";
        assert_int_equal(course(&a, &b), IRQ_COURSE_MISPLACED);
}

TEST(in_a_row) {
        IrqVerify f = { 0 };

        irq_verify_note(&f, IRQ_COURSE_MISPLACED);
        irq_verify_note(&f, IRQ_COURSE_UNKNOWN);
        irq_verify_note(&f, IRQ_COURSE_MISPLACED);
        assert_false(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_FOLLOWS);
        for (unsigned i = 0; i < IRQ_MISPLACED_MAX; i++) {
                assert_false(irq_verify_fails(&f));
                irq_verify_note(&f, IRQ_COURSE_MISPLACED);
        }
        assert_true(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_UNKNOWN); /* silence is no proof */
        assert_true(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_FOLLOWS);
        assert_false(irq_verify_fails(&f));
}
