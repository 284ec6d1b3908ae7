/* A record of the host's own settings, with something in each of its places. To be included after
 * cmocka.h. */
#pragma once

#include "undo-example.h"

#include "tidbnumad/change/undo.h"

static const SettingKey example_vector = { SETTING_VECTOR, "0000:3b:00.0", 24 };
static const SettingKey example_queue = { SETTING_XPS,
                                          "eth\xff"
                                          "0",
                                          1, 3 };
static const SettingKey example_sysctl = { SETTING_NUMA_BALANCING, "", 0 };

static inline void example_host(UndoRecord *h) {
        UndoBalance b = { .id = { .pid = 812, .start_ticks = 4711 },
                          .own.banned_cpus = cpu_set("1,5"),
                          .own.banned_irqs = calloc(2, sizeof(uint32_t)),
                          .own.n_banned_irqs = 2 };

        *h = (UndoRecord){ 0 };
        b.own.banned_irqs[0] = 24;
        b.own.banned_irqs[1] = 7;
        assert_int_equal(undo_record_add_setting(h, &example_vector, NULL, "0-7"), 0);
        assert_int_equal(undo_record_add_setting(h, &example_queue, NULL, "00,0000000f"), 0);
        assert_int_equal(undo_record_add_setting(h, &example_sysctl, NULL, "1"), 0);
        undo_record_set_irqbalance(h, &b);
}

static inline void assert_example_host(const UndoRecord *h) {
        assert_int_equal(h->n_settings, 3);
        assert_string_equal(undo_record_find_setting(h, &example_vector)->before, "0-7");
        assert_string_equal(undo_record_find_setting(h, &example_queue)->before, "00,0000000f");
        assert_string_equal(undo_record_find_setting(h, &example_queue)->key.device,
                            example_queue.device);
        assert_string_equal(undo_record_find_setting(h, &example_sysctl)->before, "1");
        assert_true(h->irqbalance.known);
        assert_int_equal(h->irqbalance.id.pid, 812);
        assert_int_equal(h->irqbalance.id.start_ticks, 4711);
        assert_ids(h->irqbalance.own.banned_cpus, "1,5");
        assert_int_equal(h->irqbalance.own.n_banned_irqs, 2);
        assert_int_equal(h->irqbalance.own.banned_irqs[0], 24);
        assert_int_equal(h->irqbalance.own.banned_irqs[1], 7);
}
