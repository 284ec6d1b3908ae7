/* Names of interrupt handlers, as drivers give them. */

#include "../../support/test.h"

#include "tidbnumad/world/irq-load.h"

typedef struct Name {
        const char *device, *name;
        IrqRole role;
        int queue;
} Name;

static void assert_name(IrqDeviceKind kind, const Name *n) {
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
                assert_name(IRQ_DEVICE_NET, &names[i]);
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
                assert_name(IRQ_DEVICE_NET, &names[i]);
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
                assert_name(IRQ_DEVICE_NVME, &names[i]);
        assert_name(IRQ_DEVICE_OTHER, &(Name){ "0000:00:05.0", "virtio2-req.3", IRQ_ROLE_RXTX, 3 });
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
