/* Interrupts of devices: who is found, what was counted on which CPUs, and what is freed. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
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
        host.devices[0] = (IrqDevice){ .kind = IRQ_DEVICE_NET, .name = strdup("x") };
        host.devices[0].vectors = calloc(3, sizeof(IrqVector));
        host.devices[0].n_vectors = 3;
        host.devices[0].vectors[0] = (IrqVector){ .name = strdup("x-0"), .counts = host.counts };
        host.devices[0].vectors[1] = (IrqVector){ .counts = host.counts + 3 };
        host.devices[1] = (IrqDevice){ .kind = IRQ_DEVICE_NET, .name = strdup("y") };
        host.devices[2] = (IrqDevice){ .kind = IRQ_DEVICE_NVME, .name = strdup("x") };
        return host;
}

TEST(find) {
        _cleanup_irq_host_ IrqHost host = make_host();

        assert_ptr_equal(irq_host_find(&host, IRQ_DEVICE_NET, "x"), &host.devices[0]);
        assert_ptr_equal(irq_host_find(&host, IRQ_DEVICE_NET, "y"), &host.devices[1]);
        assert_ptr_equal(irq_host_find(&host, IRQ_DEVICE_NVME, "x"), &host.devices[2]);
        assert_null(irq_host_find(&host, IRQ_DEVICE_OTHER, "x"));
        assert_null(irq_host_find(&host, IRQ_DEVICE_NVME, "y"));
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
        assert_string_equal(irq_device_kind_to_string(IRQ_DEVICE_NET), "net");
        assert_string_equal(irq_device_kind_to_string(IRQ_DEVICE_NVME), "nvme");
        assert_string_equal(irq_device_kind_to_string(IRQ_DEVICE_OTHER), "other");
}
