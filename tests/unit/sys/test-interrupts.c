/* /proc/interrupts: as several kernels print it, of a machine of 256 CPUs, and with CPUs that come
 * and go. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "../../support/interrupts-table.h"
#include "tidbnumad/sys/irq.h"

static void assert_names(const InterruptTable *interrupts, uint32_t irq, const char *expected) {
        const InterruptLine *line = interrupts_find(interrupts, irq);
        char names[256];

        assert_non_null(line);
        assert_true(line->names_length < sizeof(names));
        memcpy(names, line->names, line->names_length);
        names[line->names_length] = '\0';
        assert_string_equal(names, expected);
}

static void assert_count(const InterruptTable *interrupts, uint32_t irq, size_t column,
                         uint32_t expected) {
        const InterruptLine *line = interrupts_find(interrupts, irq);

        assert_non_null(line);
        assert_int_equal(line->counts[column], expected);
}

/* Linux 6.1 and later on x86; 30 and 33 have lost their handlers. */
static const char x86[] =
        "            CPU0       CPU1       CPU3       \n"
        "   0:         25          0          0  IR-IO-APIC    2-edge      timer\n"
        "   9:          0          4          1  IR-IO-APIC    9-fasteoi   acpi\n"
        "  28:          0          0 4294967295  IR-PCI-MSI 524288-edge      PCIe PME, pciehp\n"
        "  29:          1          2          3  IR-PCI-MSIX-0000:3b:00.0    0-edge      "
        "mlx5_async0@pci:0000:3b:00.0\n"
        "  30:          5          0          0  IR-PCI-MSIX-0000:3b:00.0    1-edge    \n"
        "  33:          5          0          0  IR-IO-APIC   16-fasteoi \n"
        " 131:          0          7          0  PCI-MSIX-0000:00:04.0   2-edge      "
        "virtio1-output.0\n"
        " NMI:          9          9          9   Non-maskable interrupts\n"
        " ERR:          0\n"
        " MIS:          0\n";

TEST(x86) {
        _cleanup_interrupts_ InterruptTable in = { 0 };

        assert_int_equal(interrupts_parse(x86, &in), 0);
        assert_int_equal(in.n_cpus, 3);
        assert_int_equal(in.cpus[0], 0);
        assert_int_equal(in.cpus[1], 1);
        assert_int_equal(in.cpus[2], 3); /* CPU 2 is offline */
        assert_int_equal(in.n_lines, 7);
        assert_names(&in, 0, "timer");
        assert_names(&in, 9, "acpi");
        assert_names(&in, 28, "PCIe PME, pciehp");
        assert_names(&in, 29, "mlx5_async0@pci:0000:3b:00.0");
        assert_names(&in, 30, "");
        assert_names(&in, 33, "");
        assert_names(&in, 131, "virtio1-output.0");
        assert_count(&in, 0, 0, 25);
        assert_count(&in, 9, 1, 4);
        assert_count(&in, 9, 2, 1);
        assert_count(&in, 28, 2, UINT32_MAX);
        assert_count(&in, 30, 0, 5);
        assert_count(&in, 131, 0, 0);
        assert_count(&in, 131, 1, 7);
}

/* Arm has Level or Edge in a column; Hyper-V's chips have blanks in their names. */
TEST(others) {
        static const char text[] =
                "           CPU0       CPU1       \n"
                " 10:       1000       2000     GICv3  30 Level     arch_timer\n"
                " 45:          3          0   ITS-MSI 524289 Edge      nvme0q1\n"
                " 46:          3          0   ITS-MSI 524290 Edge    \n"
                " 47:          0          0  Hyper-V PCIe MSI 4194304-edge      nvme1q0\n"
                " 48:          1          0  dummy   4  eth0 (queue 1)\n"
                "IPI0:         1          2       Rescheduling interrupts\n"
                "Err:          0\n";
        _cleanup_interrupts_ InterruptTable in = { 0 };

        assert_int_equal(interrupts_parse(text, &in), 0);
        assert_int_equal(in.n_lines, 5);
        assert_names(&in, 10, "arch_timer");
        assert_names(&in, 45, "nvme0q1");
        assert_names(&in, 46, "");
        assert_names(&in, 47, "nvme1q0");
        assert_names(&in, 48, "eth0 (queue 1)");
        assert_count(&in, 10, 1, 2000);
}

TEST(find) {
        _cleanup_interrupts_ InterruptTable in = { 0 };

        assert_int_equal(interrupts_parse(x86, &in), 0);
        for (uint32_t irq = 0; irq < 200; irq++) {
                const InterruptLine *line = interrupts_find(&in, irq);
                bool there =
                        irq == 0 || irq == 9 || (irq >= 28 && irq <= 30) || irq == 33 || irq == 131;

                assert_int_equal(line != NULL, there);
                if (line)
                        assert_int_equal(line->irq, irq);
        }
}

TEST(refuses) {
        static const char *const bad[] = { "",           "\n",         "CPU\n",
                                           "CPUx\n",     "CPU0 NMI\n", "CPU0 CPU1:\n",
                                           "0: 1 2 x\n", "CPU0x\n",    "CPU4294967296\n" };
        InterruptTable in = { .n_cpus = 7 };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(interrupts_parse(bad[i], &in), -EBADMSG);
        assert_int_equal(in.n_cpus, 7); /* untouched */
}

/* A CPU that came or went between the head and a line would shift each counter behind it. */
TEST(changed_meanwhile) {
        static const char *const bad[] = {
                "CPU0 CPU1\n 1: 5   GICv3 1 Level     x\n",
                "CPU0 CPU1\n 1: 5 6 7   GICv3 1 Level     x\n",
                "CPU0 CPU1\n 1: 5 6  GICv3 1 Level     x\n 2: 5   GICv3 1 Level     y\n",
                "CPU0 CPU1\n 1: 5\n",
                "CPU0 CPU1\n 1:\n 2:\n 3:\n",
                "CPU0\n 1: 4294967296  GICv3 1 Level     x\n",
        };
        InterruptTable in = { .n_cpus = 7 };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(interrupts_parse(bad[i], &in), -EAGAIN);
        assert_int_equal(in.n_cpus, 7);
}

TEST(short_ends) {
        _cleanup_interrupts_ InterruptTable a = { 0 }, b = { 0 };

        assert_int_equal(interrupts_parse("CPU0", &a), 0); /* no line at all */
        assert_int_equal(a.n_lines, 0);
        assert_null(interrupts_find(&a, 0));
        assert_int_equal(interrupts_parse("CPU0\n1: 3  c 1-edge      last", &b), 0);
        assert_names(&b, 1, "last");
}

static void assert_table(const CpuSet *online, uint32_t n_lines, const InterruptTable *in) {
        assert_int_equal(in->n_cpus, id_set_count(online));
        assert_int_equal(in->n_lines, n_lines);
        for (uint32_t i = 0; i < n_lines; i++) {
                const uint32_t irq = TABLE_FIRST_IRQ + i;
                size_t column = 0;
                char name[32];

                table_name(irq, name, sizeof(name));
                assert_names(in, irq, name);
                ID_SET_FOREACH(cpu, online) {
                        assert_int_equal(in->cpus[column], cpu);
                        assert_count(in, irq, column, table_cell(irq, (uint32_t)cpu));
                        column++;
                }
        }
}

/* More than 2 MB. Then without some of its CPUs, the first and the last among them. */
TEST(large) {
        static const char *const online[] = { "0-255", "1-63,65-127,129-254", "200" };

        for (size_t i = 0; i < ELEMENTSOF(online); i++) {
                _cleanup_interrupts_ InterruptTable in = { 0 };
                _cleanup_text_ Text text = { 0 };
                CpuSet cpus = cpu_set(online[i]);

                table_render(&cpus, 760, &text);
                assert_int_equal(text.error, 0);
                if (i == 0)
                        assert_true(text.length > 2000000);
                assert_int_equal(interrupts_parse(text.data, &in), 0);
                assert_table(&cpus, 760, &in);
        }
}

FAKE_TEST(read) {
        _cleanup_interrupts_ InterruptTable in = { 0 };

        assert_int_equal(interrupts_read(&tree->sysroot, &in), -ENOENT);
        fake_write(tree, "proc/interrupts", "CPU0 CPU1\n 1: 5\n");
        assert_int_equal(interrupts_read(&tree->sysroot, &in), -EAGAIN);
        fake_write(tree, "proc/interrupts", x86);
        assert_int_equal(interrupts_read(&tree->sysroot, &in), 0);
        assert_names(&in, 28, "PCIe PME, pciehp"); /* its text lives on */
}
