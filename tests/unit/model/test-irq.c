/* Interrupts of devices: who is found, what was counted on which CPUs, and what is freed. */
#include "../../support/id-sets.h"
#include "../../support/test.h"

#include <ctype.h>

#include "tidbnumad/model/irq.h"

static void *copy(const void *data, size_t size) {
        void *p = malloc(size);

        assert_non_null(p);
        memcpy(p, data, size);
        return p;
}

/* Two cards and a controller; CPUs 0, 2 and 5 are online, 5 listed first. */
static IrqHost make_host(void) {
        static const uint32_t cpus[] = { 5, 0, 2 };
        static const uint32_t counts[] = { 7, 100, 4, UINT32_MAX, 2, 0 };
        IrqHost host = { .n_devices = 3, .n_cpus = 3 };

        host.devices = calloc(3, sizeof(*host.devices));
        host.cpus = copy(cpus, sizeof(cpus));
        host.counts = copy(counts, sizeof(counts));
        host.irqbalance.banned_irqs = copy(cpus, sizeof(cpus));
        assert_non_null(host.devices);
        host.devices[0] = (IrqDevice){ .kind = DEVICE_NET, .name = strdup("x") };
        host.devices[0].vectors = calloc(3, sizeof(IrqVector));
        host.devices[0].n_vectors = 3;
        host.devices[0].vectors[0] = (IrqVector){ .name = strdup("x-0"), .counts = host.counts };
        host.devices[0].vectors[1] = (IrqVector){ .counts = host.counts + 3 };
        host.devices[1] = (IrqDevice){ .kind = DEVICE_NET, .name = strdup("y") };
        host.devices[2] = (IrqDevice){ .kind = DEVICE_NVME, .name = strdup("x") };
        return host;
}

TEST(find) {
        _cleanup_irq_host_ IrqHost host = make_host();

        assert_ptr_equal(irq_host_find(&host, DEVICE_NET, "x"), &host.devices[0]);
        assert_ptr_equal(irq_host_find(&host, DEVICE_NET, "y"), &host.devices[1]);
        assert_ptr_equal(irq_host_find(&host, DEVICE_NVME, "x"), &host.devices[2]);
        assert_null(irq_host_find(&host, DEVICE_OTHER, "x"));
        assert_null(irq_host_find(&host, DEVICE_NVME, "y"));
}

static uint32_t count(const IrqHost *host, size_t vector, const char *list) {
        CpuSet cpus = cpu_set(list);

        return irq_vector_count(host, &host->devices[0].vectors[vector], &cpus);
}

/* By the column's CPU, not by the column's place. */
TEST(count) {
        _cleanup_irq_host_ IrqHost host = make_host();

        assert_int_equal(count(&host, 0, "5"), 7);
        assert_int_equal(count(&host, 0, "0"), 100);
        assert_int_equal(count(&host, 0, "0,2"), 104);
        assert_int_equal(count(&host, 0, "1,3-4,6-9"), 0);
        assert_int_equal(count(&host, 0, ""), 0);
        assert_int_equal(count(&host, 1, "0-7"), 1); /* as the kernel's own sums wrap */
        assert_int_equal(count(&host, 2, "0-7"), 0); /* not in /proc/interrupts */
}

TEST(words) {
        assert_string_equal(irq_role_to_string(IRQ_ROLE_RX), "rx");
        assert_string_equal(irq_role_to_string(IRQ_ROLE_TX), "tx");
        assert_string_equal(irq_role_to_string(IRQ_ROLE_RXTX), "rxtx");
        assert_string_equal(irq_role_to_string(IRQ_ROLE_ADMIN), "admin");
        assert_string_equal(irq_role_to_string(IRQ_ROLE_OTHER), "other");
        assert_string_equal(device_kind_to_string(DEVICE_NET), "net");
        assert_string_equal(device_kind_to_string(DEVICE_NVME), "nvme");
        assert_string_equal(device_kind_to_string(DEVICE_OTHER), "other");
}

/* --- The words of interrupt plans: each reason has its own, and they agree with what is done ---
 */

TEST(each_reason_has_its_words) {
        for (unsigned i = 0; i < N_IRQ_REASONS; i++) {
                const char *id = irq_reason_to_id(i), *sentence = irq_reason_to_string(i);

                assert_non_null(id);
                assert_non_null(sentence);
                assert_non_null(irq_reason_to_rule(i));
                assert_true(strlen(id) > 0 && strlen(sentence) > strlen(id));
                for (unsigned k = 0; k < i; k++) {
                        assert_string_not_equal(id, irq_reason_to_id(k));
                        assert_string_not_equal(sentence, irq_reason_to_string(k));
                }
        }
}

TEST(what_steers) {
        static const IrqReason steering[] = { IRQ_REASON_RESERVED, IRQ_REASON_LOCAL,
                                              IRQ_REASON_AWAY,     IRQ_REASON_LISTED,
                                              IRQ_REASON_SHARED,   IRQ_REASON_OWNED };
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(steering); i++)
                assert_true(irq_reason_steers(steering[i]));
        for (unsigned i = 0; i < N_IRQ_REASONS; i++)
                n += irq_reason_steers(i);
        assert_int_equal(n, ELEMENTSOF(steering));
}

TEST(plan_words) {
        assert_string_equal(irq_reason_to_id(IRQ_REASON_OTHER_NETNS), "other-netns");
        assert_string_equal(irq_reason_to_rule(IRQ_REASON_IRQBALANCE), "R11");
        assert_string_equal(irq_reason_to_rule(IRQ_REASON_RESERVED), "R2");
        assert_string_equal(irq_reason_to_rule(IRQ_REASON_POLICY), "");
        assert_string_equal(irq_decision_to_string(IRQ_STEERED), "steered");
        assert_string_equal(irq_decision_to_string(IRQ_MANAGED), "managed");
        assert_string_equal(irq_decision_to_string(IRQ_LEFT), "left");
}
