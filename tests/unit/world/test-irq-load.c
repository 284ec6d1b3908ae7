/* Devices with interrupts in a fake /sys and /proc: cards of several kinds, NVMe, named ones, cards
 * of other network namespaces; their vectors, masks and counters. */
#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "fake-devices.h"
#include "tidbnumad/world/irq-load.h"

/* The link that the bus has for each PCI device. */
static void on_bus(const FakeTree *tree, const char *pci, const char *class) {
        fake_device_file(tree, fmt("pci0000:00/%s", pci), "class", class);
        fake_link(tree, fmt("sys/bus/pci/devices/%s", pci),
                  fmt("../../../devices/pci0000:00/%s", pci));
}

/* A vector of a PCI device, with its masks. */
static void vector(const FakeTree *tree, const char *pci, int irq, const char *requested,
                   const char *effective) {
        fake_write(tree, fmt("sys/devices/pci0000:00/%s/msi_irqs/%d", pci, irq), "msix\n");
        fake_write(tree, fmt("proc/irq/%d/smp_affinity_list", irq), requested);
        fake_write(tree, fmt("proc/irq/%d/effective_affinity_list", irq), effective);
}

static void queue(const FakeTree *tree, const char *card, const char *name, const char *mask) {
        fake_device_file(tree, fmt("%s/queues/%s", card, name),
                         name[0] == 't' ? "xps_cpus" : "rps_cpus", mask);
}

#define ETH0 "pci0000:00/0000:00:03.0/net/eth0"

static void card(const FakeTree *tree) {
        fake_card(tree, "eth0", "0000:00:03.0", "1\n");
        on_bus(tree, "0000:00:03.0", "0x020000\n");
        fake_device_file(tree, ETH0, "speed", "25000\n");
        fake_device_file(tree, ETH0, "operstate", "up\n");
        queue(tree, ETH0, "rx-0", "0\n");
        queue(tree, ETH0, "rx-1", "00000001,00000000\n");
        queue(tree, ETH0, "tx-0", "3\n");
        vector(tree, "0000:00:03.0", 101, "0-3\n", "2\n");
        vector(tree, "0000:00:03.0", 42, "0-3\n", "1\n");
        vector(tree, "0000:00:03.0", 100, "0-3\n", "\n");
        vector(tree, "0000:00:03.0", 102, "0-3\n", "0\n"); /* it has no handler */
        fake_write(tree, "proc/interrupts",
                   "     CPU0 CPU2\n"
                   " 42:  1  2  c 1-edge      ice-eth0-misc\n"
                   " 99:  7  7  c 1-edge      other\n"
                   "100:  3  4  c 1-edge      ice-eth0-TxRx-0\n"
                   "101:  5  6  c 1-edge      ice-eth0-TxRx-1\n");
}

static void load(const FakeTree *tree, const IrqPolicy *policy, IrqHost *ret) {
        assert_int_equal(irq_host_load(&tree->sysroot, policy, policy ? 1 : 0, ret), 0);
}

static void assert_vector(const IrqVector *v, uint32_t irq, IrqRole role, int q,
                          const char *effective) {
        assert_int_equal(v->irq, irq);
        assert_int_equal(v->role, role);
        assert_int_equal(v->queue, q);
        assert_true(v->mask_known && v->effective_known);
        assert_ids(v->requested, "0-3");
        assert_ids(v->effective, effective);
        assert_int_equal(v->managed, IRQ_MANAGED_UNKNOWN);
}

FAKE_TEST(card) {
        _cleanup_irq_host_ IrqHost host = { 0 };
        const IrqDevice *d;

        card(tree);
        load(tree, NULL, &host);
        assert_int_equal(host.n_devices, 1);
        d = host.devices;
        assert_int_equal(d->kind, DEVICE_NET);
        assert_string_equal(d->name, "eth0");
        assert_string_equal(d->pci, "0000:00:03.0");
        assert_string_equal(d->driver, "ice");
        assert_int_equal(d->node, 1);
        assert_int_equal(d->speed_mbps, 25000);
        assert_int_equal(d->link, IRQ_LINK_UP);
        assert_false(d->bundle || d->in_other_netns || d->master || d->physfn);
        assert_int_equal(d->n_vectors, 4);
        assert_vector(&d->vectors[0], 42, IRQ_ROLE_OTHER, -1, "1");
        assert_vector(&d->vectors[1], 100, IRQ_ROLE_RXTX, 0, "");
        assert_vector(&d->vectors[2], 101, IRQ_ROLE_RXTX, 1, "2");
        assert_vector(&d->vectors[3], 102, IRQ_ROLE_OTHER, -1, "0");
        assert_string_equal(d->vectors[2].name, "ice-eth0-TxRx-1");
        assert_null(d->vectors[3].name);
        assert_int_equal(host.irqbalance.pid, 0);
}

FAKE_TEST(counts) {
        _cleanup_irq_host_ IrqHost host = { 0 };
        const CpuSet two = cpu_set("2"), all = cpu_set("0-7");

        card(tree);
        load(tree, NULL, &host);
        assert_int_equal(host.n_cpus, 2);
        assert_int_equal(host.cpus[1], 2);
        assert_int_equal(irq_vector_count(&host, &host.devices[0].vectors[0], &two), 2);
        assert_int_equal(irq_vector_count(&host, &host.devices[0].vectors[1], &all), 7);
        assert_int_equal(irq_vector_count(&host, &host.devices[0].vectors[2], &two), 6);
        assert_null(host.devices[0].vectors[3].counts);
}

FAKE_TEST(queues) {
        _cleanup_irq_host_ IrqHost host = { 0 };
        const IrqDevice *d;

        card(tree);
        fake_device_file(tree, ETH0, "queues/tx-2/tx_timeout", "0\n"); /* no mask to set */
        fake_device_file(tree, ETH0, "queues/odd", "");
        load(tree, NULL, &host);
        d = host.devices;
        assert_int_equal(d->n_rx, 2);
        assert_true(d->rx[0].mask_known && d->rx[1].mask_known);
        assert_ids(d->rx[0].cpus, "");
        assert_ids(d->rx[1].cpus, "32");
        assert_int_equal(d->n_tx, 3);
        assert_true(d->tx[0].mask_known);
        assert_ids(d->tx[0].cpus, "0-1");
        assert_false(d->tx[1].mask_known || d->tx[2].mask_known);
}

FAKE_TEST(link) {
        static const struct {
                const char *text;
                IrqLink link;
        } rows[] = { { "down\n", IRQ_LINK_DOWN },
                     { "lowerlayerdown\n", IRQ_LINK_DOWN },
                     { "unknown\n", IRQ_LINK_UNKNOWN },
                     { "", IRQ_LINK_UNKNOWN } };

        card(tree);
        fake_device_file(tree, ETH0, "speed", "-1\n");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_irq_host_ IrqHost host = { 0 };

                fake_device_file(tree, ETH0, "operstate", rows[i].text);
                load(tree, NULL, &host);
                assert_int_equal(host.devices[0].link, rows[i].link);
                assert_int_equal(host.devices[0].speed_mbps, 0);
        }
}

/* Its vectors are one level up, and the bridge above that has others. */
FAKE_TEST(virtio) {
        _cleanup_irq_host_ IrqHost host = { 0 };

        fake_device(tree, "net", "pci0000:00/0000:00:01.0/0000:01:00.0/virtio4/net/eth5");
        fake_device_file(tree, "pci0000:00/0000:00:01.0", "msi_irqs/24", "msi\n");
        fake_device_file(tree, "pci0000:00/0000:00:01.0/0000:01:00.0", "msi_irqs/30", "msix\n");
        fake_link(tree, "sys/bus/pci/devices/0000:01:00.0",
                  "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0");
        fake_link(tree, "sys/bus/pci/devices/0000:00:01.0",
                  "../../../devices/pci0000:00/0000:00:01.0");
        fake_write(tree, "proc/interrupts",
                   "     CPU0\n 24:  1   c 1-edge      pcieport\n"
                   " 30:  1   c 1-edge      virtio4-input.0\n");
        load(tree, NULL, &host);
        assert_int_equal(host.n_devices, 1);
        assert_string_equal(host.devices[0].pci, "0000:01:00.0");
        assert_int_equal(host.devices[0].n_vectors, 1);
        assert_int_equal(host.devices[0].vectors[0].irq, 30);
        assert_int_equal(host.devices[0].vectors[0].role, IRQ_ROLE_RX);
        assert_false(host.devices[0].vectors[0].mask_known); /* the dump has none */
}

FAKE_TEST(bond_and_virtual_function) {
        _cleanup_irq_host_ IrqHost host = { 0 };

        card(tree);
        fake_device(tree, "net", "virtual/net/bond0");
        fake_device_file(tree, "virtual/net/bond0", "bonding/slaves", "eth0\n");
        fake_device_file(tree, "virtual/net/bond0", "queues/tx-0/xps_cpus", "0\n");
        fake_device_link(tree, ETH0, "master", "../../../../virtual/net/bond0");
        fake_card(tree, "eth0v1", "0000:00:03.2", "1\n");
        fake_device_link(tree, "pci0000:00/0000:00:03.2/net/eth0v1", "device", "../..");
        fake_device_link(tree, "pci0000:00/0000:00:03.2", "physfn", "../0000:00:03.0");
        load(tree, NULL, &host);
        assert_int_equal(host.n_devices, 3);
        assert_string_equal(host.devices[0].name, "bond0");
        assert_true(host.devices[0].bundle);
        assert_int_equal(host.devices[0].n_vectors + host.devices[0].n_tx, 0);
        assert_string_equal(host.devices[1].master, "bond0");
        assert_false(host.devices[1].bundle);
        assert_string_equal(host.devices[2].physfn, "0000:00:03.0");
        assert_int_equal(host.devices[2].n_vectors, 0); /* not those of the whole card */
}

/* Two ports of one function. */
FAKE_TEST(shared_function) {
        _cleanup_irq_host_ IrqHost host = { 0 };

        fake_card(tree, "eth1", "0000:00:03.0", "0\n");
        fake_card(tree, "eth10", "0000:00:03.0", "0\n");
        on_bus(tree, "0000:00:03.0", "0x020000\n");
        for (int irq = 50; irq < 53; irq++)
                vector(tree, "0000:00:03.0", irq, "0-3\n", "0\n");
        fake_write(tree, "proc/interrupts",
                   "     CPU0\n 50:  1   c 1-edge      mlx4-async@pci:0000:00:03.0\n"
                   " 51:  1   c 1-edge      eth1-0\n 52:  1   c 1-edge      eth10-0\n");
        load(tree, NULL, &host);
        assert_int_equal(host.n_devices, 2);
        assert_int_equal(host.devices[0].n_vectors, 2);
        assert_vector(&host.devices[0].vectors[1], 51, IRQ_ROLE_RXTX, 0, "0");
        assert_int_equal(host.devices[1].n_vectors, 1);
        assert_vector(&host.devices[1].vectors[0], 52, IRQ_ROLE_RXTX, 0, "0");
}

static void nvme(const FakeTree *tree, int n_vectors) {
        char text[512] = "     CPU0\n";

        fake_device(tree, "nvme", "pci0000:00/0000:00:07.0/nvme/nvme0");
        on_bus(tree, "0000:00:07.0", "0x010802\n");
        for (int i = 0; i < n_vectors; i++) {
                vector(tree, "0000:00:07.0", 60 + i, "0-3\n", "0\n");
                (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                               " %d:  1   c 1-edge      nvme0q%d\n", 60 + i, i);
        }
        fake_write(tree, "proc/interrupts", text);
}

FAKE_TEST(nvme) {
        _cleanup_irq_host_ IrqHost host = { 0 };
        const IrqDevice *d;

        nvme(tree, 3);
        fake_device(tree, "nvme", "virtual/nvme-fabrics/ctl/nvme1"); /* over the network */
        assert_int_equal(fchmodat(tree->fd, "proc/irq/62/smp_affinity_list", 0444, 0), 0);
        load(tree, NULL, &host);
        assert_int_equal(host.n_devices, 1);
        d = host.devices;
        assert_int_equal(d->kind, DEVICE_NVME);
        assert_string_equal(d->name, "nvme0");
        assert_int_equal(d->n_vectors, 3);
        assert_vector(&d->vectors[0], 60, IRQ_ROLE_ADMIN, 0, "0");
        assert_int_equal(d->vectors[1].managed, IRQ_MANAGED_LIKELY);
        assert_int_equal(d->vectors[2].managed, IRQ_MANAGED_YES);
}

/* One vector for everything belongs to no queue. */
FAKE_TEST(nvme_with_one_vector) {
        _cleanup_irq_host_ IrqHost host = { 0 };

        nvme(tree, 1);
        fake_write(tree, "proc/interrupts", " CPU0\n 60:  1   c 1-edge      nvme0q1\n");
        load(tree, NULL, &host);
        assert_int_equal(host.devices[0].vectors[0].managed, IRQ_MANAGED_UNKNOWN);
}

FAKE_TEST(named) {
        static char *addresses[] = { (char *)"0000:00:08.0", (char *)"0000:00:03.0",
                                     (char *)"0000:00:09.0", (char *)"0000:00:08.0" };
        const IrqPolicy policy = { .pci = { .words = addresses, .n_words = 4 } };
        _cleanup_irq_host_ IrqHost host = { 0 }, without = { 0 };

        card(tree);
        on_bus(tree, "0000:00:08.0", "0x010000\n");
        fake_device_file(tree, "pci0000:00/0000:00:08.0", "numa_node", "2\n");
        vector(tree, "0000:00:08.0", 42, "0-3\n", "0\n");
        load(tree, &policy, &host);
        assert_int_equal(host.n_devices, 2); /* the card is a card, and 09.0 is not there */
        assert_int_equal(host.devices[1].kind, DEVICE_OTHER);
        assert_string_equal(host.devices[1].name, "0000:00:08.0");
        assert_int_equal(host.devices[1].node, 2);
        assert_int_equal(host.devices[1].n_vectors, 1);
        load(tree, NULL, &without);
        assert_int_equal(without.n_devices, 1);
}

/* Its interface is gone from here, its driver is not. Guests and programs have cards too, and a
 * card may have no driver. */
FAKE_TEST(other_namespace) {
        static const struct {
                const char *pci, *class, *driver;
        } rows[] = { { "0000:00:04.0", "0x020000\n", "ice" },
                     { "0000:00:05.0", "0x020000\n", "vfio-pci" },
                     { "0000:00:0a.0", "0x020000\n", "mlx5_vfio_pci" },
                     { "0000:00:06.0", "0x020000\n", NULL },
                     { "0000:00:07.0", "0x010802\n", "nvme" } };
        _cleanup_irq_host_ IrqHost host = { 0 };

        card(tree);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                on_bus(tree, rows[i].pci, rows[i].class);
                if (!rows[i].driver)
                        continue;
                fake_device_link(tree, fmt("pci0000:00/%s", rows[i].pci), "driver",
                                 fmt("../../../bus/pci/drivers/%s", rows[i].driver));
        }
        load(tree, NULL, &host);
        assert_int_equal(host.n_devices, 2);
        assert_string_equal(host.devices[0].name, "0000:00:04.0");
        assert_true(host.devices[0].in_other_netns);
        assert_string_equal(host.devices[0].driver, "ice");
        assert_false(host.devices[1].in_other_netns);
}

FAKE_TEST(irqbalance) {
        _cleanup_irq_host_ IrqHost host = { 0 }, none = { 0 };

        fake_process(tree, 30, 1, "/usr/bin/irqbalance-ui", "/x", "0-3");
        load(tree, NULL, &none);
        assert_int_equal(none.irqbalance.pid, 0);
        assert_int_equal(none.n_devices, 0);
        fake_process(tree, 31, 1, "/usr/sbin/irqbalance", "/x", "0-3");
        load(tree, NULL, &host);
        assert_int_equal(host.irqbalance.pid, 31);
        assert_false(host.irqbalance.settings_known);
}

/* --- irq-name --- */

/* Names of interrupt handlers, as drivers give them. */

typedef struct Name {
        const char *device, *name;
        IrqRole role;
        int queue;
} Name;

static void assert_name(DeviceKind kind, const Name *n) {
        int32_t queue = -7;
        IrqRole role = irq_name_parse(kind, n->device, n->name, &queue);

        if (role != n->role || queue != n->queue)
                print_error("%s: %s %d\n", n->name, irq_role_to_string(role), queue);
        assert_int_equal(role, n->role);
        assert_int_equal(queue, n->queue);
}

TEST(cards) {
        static const Name names[] = {
                /* ixgbe, i40e, ice, iavf, igb, igc, bnxt, hns3 */
                { "eth0", "eth0-TxRx-3", IRQ_ROLE_RXTX, 3 },
                { "ens1f0", "i40e-ens1f0-TxRx-63", IRQ_ROLE_RXTX, 63 },
                { "ens1f0", "ice-ens1f0-TxRx-0", IRQ_ROLE_RXTX, 0 },
                { "eth0", "hns3-0000:7d:00.0-TxRx-5", IRQ_ROLE_RXTX, 5 },
                { "eth0", "eth0-rx-1", IRQ_ROLE_RX, 1 },
                { "eth0", "eth0-tx-2", IRQ_ROLE_TX, 2 },
                { "eth0", "eth0-Tx-Rx-4", IRQ_ROLE_RXTX, 4 }, /* ena */
                { "eth0", "eth0-rxtx-6", IRQ_ROLE_RXTX, 6 },  /* vmxnet3 */
                { "eth0", "eth0-fp-7", IRQ_ROLE_RXTX, 7 },    /* bnx2x, qede */
                { "eth0", "eth0-Rx0", IRQ_ROLE_RX, 0 },       /* cxgb4 */
                { "eth0", "eth0 (queue 3)", IRQ_ROLE_RXTX, 3 },
                { "eth0", "eth0-q2", IRQ_ROLE_RXTX, 2 }, /* be2net */
                { "eth0", "eth0-5", IRQ_ROLE_RXTX, 5 },  /* mlx4, mlx5 */
                { "eth0", "mlx5_comp17@pci:0000:3b:00.0", IRQ_ROLE_RXTX, 17 },
                { "eth0", "mlx4-comp-2@pci:0000:3b:00.0", IRQ_ROLE_RXTX, 2 },
                { "eth0", "virtio1-input.2", IRQ_ROLE_RX, 2 },
                { "eth0", "virtio1-output.2", IRQ_ROLE_TX, 2 },
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_name(DEVICE_NET, &names[i]);
}

TEST(no_queues) {
        static const Name names[] = {
                { "eth0", "eth0", IRQ_ROLE_OTHER, -1 }, /* the number is the card's */
                { "eth0", "eth1", IRQ_ROLE_OTHER, -1 },
                { "rx1", "rx1", IRQ_ROLE_OTHER, -1 },
                { "eth0", "mlx5_async0@pci:0000:3b:00.0", IRQ_ROLE_OTHER, -1 },
                { "eth0", "ena-mgmnt@pci:0000:00:05.0", IRQ_ROLE_OTHER, -1 },
                { "eth0", "i40e-0000:3b:00.0:misc", IRQ_ROLE_OTHER, -1 },
                { "eth0", "eth0-event-5", IRQ_ROLE_OTHER, -1 },
                { "eth0", "virtio1-config", IRQ_ROLE_OTHER, -1 },
                { "eth0", "bnxt_re-nq-3", IRQ_ROLE_OTHER, -1 },
                { "eth0", "eth0-TxRx-65536", IRQ_ROLE_OTHER, -1 },
                { "eth0", "eth0-TxRx-99999999999", IRQ_ROLE_OTHER, -1 },
                { "eth0", "123", IRQ_ROLE_OTHER, -1 },
                { "eth0", "", IRQ_ROLE_OTHER, -1 },
                { "eth0", "PCIe PME, eth0-TxRx-3", IRQ_ROLE_OTHER, -1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_name(DEVICE_NET, &names[i]);
}

TEST(disks) {
        static const Name names[] = {
                { "nvme0", "nvme0q0", IRQ_ROLE_ADMIN, 0 },
                { "nvme0", "nvme0q1", IRQ_ROLE_RXTX, 1 },
                { "nvme0", "nvme0q128", IRQ_ROLE_RXTX, 128 },
                { "nvme0", "nvme0q0, nvme0q1", IRQ_ROLE_ADMIN, 0 },
                { "nvme1", "nvme10q3", IRQ_ROLE_OTHER, -1 },
                { "nvme1", "nvme2q3", IRQ_ROLE_OTHER, -1 },
                { "nvme1", "nvme1", IRQ_ROLE_OTHER, -1 },
                { "nvme1", "PCIe PME", IRQ_ROLE_OTHER, -1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_name(DEVICE_NVME, &names[i]);
        assert_name(DEVICE_OTHER, &(Name){ "0000:00:05.0", "virtio2-req.3", IRQ_ROLE_RXTX, 3 });
}

TEST(holds) {
        assert_true(irq_name_holds("eth1-TxRx-0", "eth1"));
        assert_true(irq_name_holds("i40e-eth1-TxRx-0", "eth1"));
        assert_true(irq_name_holds("eth1", "eth1"));
        assert_true(irq_name_holds("eth10, eth1", "eth1"));
        assert_false(irq_name_holds("eth10-TxRx-1", "eth1"));
        assert_false(irq_name_holds("veth1-0", "eth1"));
        assert_false(irq_name_holds("eth1", "eth"));
        assert_false(irq_name_holds("", "eth"));
        assert_false(irq_name_holds("eth", ""));
}
