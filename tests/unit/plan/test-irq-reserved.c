/* Interrupts and the CPUs that host.reserve.cpus keeps for them. */

#include "../../support/test.h"

#include "irq-host.h"

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
