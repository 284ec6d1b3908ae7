/* Masks in /proc/irq: what is asked for, what is in force, and which file takes no other. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/irq.h"

FAKE_TEST(affinity) {
        IrqAffinity a = { 0 };

        assert_int_equal(irq_affinity_read(&tree->sysroot, 24, &a), -ENOENT);
        fake_write(tree, "proc/irq/24/smp_affinity_list", "0-3,9\n");
        assert_int_equal(irq_affinity_read(&tree->sysroot, 24, &a), 0);
        assert_ids(a.requested, "0-3,9");
        assert_false(a.effective_known); /* a kernel that does not tell */
        assert_false(a.read_only);
        fake_write(tree, "proc/irq/24/effective_affinity_list", "9\n");
        assert_int_equal(irq_affinity_read(&tree->sysroot, 24, &a), 0);
        assert_ids(a.requested, "0-3,9");
        assert_true(a.effective_known);
        assert_ids(a.effective, "9");
        fake_write(tree, "proc/irq/24/effective_affinity_list", "\n");
        assert_int_equal(irq_affinity_read(&tree->sysroot, 24, &a), 0);
        assert_true(a.effective_known);
        assert_ids(a.effective, "");
        assert_int_equal(irq_affinity_read(&tree->sysroot, 2, &a), -ENOENT);
}

FAKE_TEST(refuses) {
        IrqAffinity a = { .read_only = true };

        fake_write(tree, "proc/irq/24/smp_affinity_list", "none\n");
        assert_int_equal(irq_affinity_read(&tree->sysroot, 24, &a), -EINVAL);
        assert_true(a.read_only); /* untouched */
}

/* As of a managed one since Linux 6.12. */
FAKE_TEST(read_only) {
        IrqAffinity a = { 0 };

        fake_write(tree, "proc/irq/24/smp_affinity_list", "5\n");
        assert_int_equal(fchmodat(tree->fd, "proc/irq/24/smp_affinity_list", 0444, 0), 0);
        assert_int_equal(irq_affinity_read(&tree->sysroot, 24, &a), 0);
        assert_true(a.read_only);
}

FAKE_TEST(of_pci) {
        fake_write(tree, "sys/bus/pci/devices/0000:3b:00.0/msi_irqs/24", "msix\n");
        assert_true(irq_is_of_pci(&tree->sysroot, "0000:3b:00.0", 24));
        assert_false(irq_is_of_pci(&tree->sysroot, "0000:3b:00.0", 2));
        assert_false(irq_is_of_pci(&tree->sysroot, "0000:3b:00.1", 24));
        assert_false(irq_is_of_pci(&tree->sysroot, "eth0", 24));
}
