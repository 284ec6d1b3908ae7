/* Masks in /proc/irq: what is asked for, what is in force, and which file takes no other. */
#include <sys/socket.h>
#include <sys/un.h>

#include "../../support/fake-tree.h"
#include "../../support/interrupts-table.h"
#include "../../support/test.h"

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

/* --- /proc/interrupts of several kernels, and with CPUs that come and go --- */

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

TEST(interrupts_refuses) {
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

/* --- what irqbalance is sent, which process it must be, and what it answers --- */

/* --- the answer --- */

static int parse(const char *text, IrqbalanceSetup *ret) {
        return irqbalance_setup_parse(text, strlen(text), ret);
}

TEST(fresh) {
        _cleanup_irqbalance_setup_ IrqbalanceSetup s = { 0 };

        assert_int_equal(parse("SLEEP 10 BANNED 00000000", &s), 0);
        assert_int_equal(s.sleep_seconds, 10);
        assert_ids(s.banned_cpus, "");
        assert_int_equal(s.n_banned_irqs, 0);
}

TEST(banned) {
        _cleanup_irqbalance_setup_ IrqbalanceSetup s = { 0 };
        const char text[] = "SLEEP 7 IRQ 24 LOAD 18446744073709551615 DIFF 5 CLASS 6 "
                            "IRQ 130 LOAD 0 DIFF 0 CLASS -1 BANNED 00000001,00000006\n\0";

        /* With the NUL behind it, as some send it. */
        assert_int_equal(irqbalance_setup_parse(text, sizeof(text), &s), 0);
        assert_int_equal(s.sleep_seconds, 7);
        assert_ids(s.banned_cpus, "1-2,32");
        assert_int_equal(s.n_banned_irqs, 2);
        assert_int_equal(s.banned_irqs[0], 24);
        assert_int_equal(s.banned_irqs[1], 130);
}

TEST(refused) {
        static const char *const texts[] = {
                "",
                "SLEEP",
                "SLEEP 10",
                "SLEEP 10 BANNED",
                "SLEEP 10 BANNED ",
                "SLEEP x BANNED 0",
                "SLEEP -1 BANNED 0",
                "SLEEP 99999999999 BANNED 0",
                "SLEEP 10 BANNED 0g",
                "SLEEP 10 BANNED 0 IRQ 3",
                "sleep 10 BANNED 0",
                "SLEEP  10 BANNED 0",
                "SLEEP 10 IRQ 24 BANNED 0",
                "SLEEP 10 IRQ 24 LOAD 1 DIFF 2 BANNED 0",
                "SLEEP 10 IRQ 24 LOAD 1 DIFF 2 CLASS",
                "SLEEP 10 IRQ 4294967296 LOAD 1 DIFF 2 CLASS 3 BANNED 0",
                "SLEEP 10 IRQ -24 LOAD 1 DIFF 2 CLASS 3 BANNED 0",
                "SLEEP 10 QRI 24 LOAD 1 DIFF 2 CLASS 3 BANNED 0",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                IrqbalanceSetup s = { .sleep_seconds = 4711 };

                assert_int_equal(parse(texts[i], &s), -EBADMSG);
                assert_int_equal(s.sleep_seconds, 4711);
        }
}

TEST(nul_inside) {
        IrqbalanceSetup s;

        assert_int_equal(irqbalance_setup_parse("SLEEP 10 BANNED 00\0ff", 21, &s), -EBADMSG);
}

/* --- commands --- */

TEST(commands) {
        const uint32_t irqs[] = { 24, 25, 130 };
        char text[IRQBALANCE_LONG_COMMAND_MAX];
        CpuSet cpus = cpu_set("1,5-7");
        size_t old;

        assert_int_equal(irqbalance_render_cpus(&cpus, text), 0);
        assert_string_equal(text, "settings cpus 1,5-7");
        cpus = cpu_set("");
        assert_int_equal(irqbalance_render_cpus(&cpus, text), 0);
        assert_string_equal(text, "settings cpus NULL");
        assert_int_equal(irqbalance_render_irqs(irqs, 3, text, &old), 3);
        assert_string_equal(text, "settings ban irqs 24 25 130");
        assert_int_equal(old, 3);
        assert_int_equal(irqbalance_render_irqs(NULL, 0, text, &old), 0);
        assert_string_equal(text, "settings ban irqs NONE");
        assert_int_equal(old, 0);
}

/* With its NUL it must stay below the 500 bytes of an old one, for it is one word. */
TEST(too_many_cpus) {
        char text[IRQBALANCE_COMMAND_MAX];
        CpuSet cpus = { 0 };

        for (uint32_t cpu = 0; cpu < 512; cpu += 2)
                id_set_add(&cpus, cpu);
        assert_int_equal(irqbalance_render_cpus(&cpus, text), -E2BIG);
}

/* As irqbalance itself takes them out of what it has read: how many, in their order. */
static size_t taken(const char *command, size_t reads, const uint32_t *irqs, size_t n_irqs) {
        const size_t prefix = strlen("settings ban irqs ");
        char *read = strndup(command, reads), *end = read + prefix;
        size_t n = 0;

        assert_true(strlen(read) > prefix);
        for (unsigned long irq; (irq = strtoul(end, &end, 10)) != 0; n++) {
                assert_true(n < n_irqs);
                assert_int_equal(irq, irqs[n]);
        }
        free(read);
        return n;
}

static void assert_taken(uint32_t first, size_t n_irqs) {
        char text[IRQBALANCE_LONG_COMMAND_MAX];
        uint32_t irqs[4000];
        size_t n, old;

        assert_true(n_irqs <= ELEMENTSOF(irqs));
        for (size_t i = 0; i < n_irqs; i++)
                irqs[i] = first + (uint32_t)i;
        n = irqbalance_render_irqs(irqs, n_irqs, text, &old);
        assert_true(strlen(text) < sizeof(text));
        assert_int_equal(taken(text, 500, irqs, n_irqs), old);
        assert_int_equal(taken(text, 16384, irqs, n_irqs), n);
        /* None that would have had room is missing. */
        assert_true(n == n_irqs || strlen(text) + 12 > sizeof(text));
        assert_true(old == n || old >= (500 - 17) / 12);
}

/* A number that old ones would cut in two would ban another interrupt, and leave this one alone. */
TEST(many_irqs) {
        static const uint32_t firsts[] = { 1, 7, 24, 95, 100, 990, 1000, 9990, 123456789 };

        for (size_t i = 0; i < ELEMENTSOF(firsts); i++)
                for (size_t n = 1; n < 4000; n += n < 300 ? 1 : 600)
                        assert_taken(firsts[i], n);
}

/* 120 of three digits stay below, with 17 letters before. */
TEST(old_limit) {
        char text[IRQBALANCE_LONG_COMMAND_MAX];
        uint32_t irqs[200];
        size_t old;

        for (uint32_t i = 0; i < 200; i++)
                irqs[i] = 100 + i;
        assert_int_equal(irqbalance_render_irqs(irqs, 120, text, &old), 120);
        assert_int_equal(old, 120);
        assert_int_equal(irqbalance_render_irqs(irqs, 200, text, &old), 200);
        assert_int_equal(old, 120);
}

/* --- the socket --- */

typedef struct Peer {
        FakeTree tree;
        char folder[64];
        int fd; /* listens */
} Peer;

static void peer_init(Peer *p, const char *name) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int on = 1;

        fake_init(&p->tree);
        fake_mkdir(&p->tree, "run");
        (void)snprintf(p->folder, sizeof(p->folder), "%s/run", p->tree.path);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", p->folder, name);
        p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(p->fd >= 0);
        assert_int_equal(bind(p->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
        assert_int_equal(listen(p->fd, 1), 0);
}

static void peer_done(Peer *p) {
        closep(&p->fd);
        fake_done(&p->tree);
}
#define _cleanup_peer_ _cleanup_(peer_done)

static void own_name(char buffer[static 64]) {
        (void)snprintf(buffer, 64, "irqbalance%d.sock", getpid());
}

/* As irqbalance itself takes a command. */
static void assert_received(const Peer *p, const char *expected, int *ret_fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(struct ucred))];
                struct cmsghdr align;
        } control;
        char buffer[500];
        struct iovec part = { .iov_base = buffer, .iov_len = sizeof(buffer) };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        struct ucred who;
        int fd = accept(p->fd, NULL, NULL);

        assert_true(fd >= 0);
        assert_int_equal(recvmsg(fd, &message, MSG_DONTWAIT), strlen(expected) + 1);
        assert_string_equal(buffer, expected);
        assert_non_null(CMSG_FIRSTHDR(&message));
        assert_int_equal(CMSG_FIRSTHDR(&message)->cmsg_type, SCM_CREDENTIALS);
        memcpy(&who, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(who));
        assert_int_equal(who.pid, getpid());
        assert_int_equal(who.uid, geteuid());
        if (ret_fd)
                *ret_fd = fd;
        else
                (void)close(fd);
}

TEST(send) {
        char name[64], answer[8] = "";
        _cleanup_peer_ Peer p;
        int fd = -EBADF, peer_fd;
        pid_t pid = 0;

        own_name(name);
        peer_init(&p, name);
        fake_write(&p.tree, fmt("proc/%d/comm", getpid()), "irqbalance\n");
        assert_int_equal(irqbalance_find(&p.tree.sysroot, p.folder, &pid), 0);
        assert_int_equal(pid, getpid());
        assert_int_equal(irqbalance_send(p.folder, pid, "settings cpus 1", NULL), 0);
        assert_received(&p, "settings cpus 1", NULL);
        assert_int_equal(irqbalance_send(p.folder, pid, "setup", &fd), 0);
        assert_int_equal(recv(fd, answer, sizeof(answer), 0), -1);
        assert_int_equal(errno, EAGAIN); /* the caller does not wait for it */
        assert_received(&p, "setup", &peer_fd);
        assert_int_equal(send(peer_fd, "SLEEP", 5, 0), 5);
        assert_int_equal(recv(fd, answer, sizeof(answer), 0), 5);
        (void)close(fd);
        (void)close(peer_fd);
}

/* It is in the middle of its work, and others have asked before. */
TEST(busy) {
        _cleanup_peer_ Peer p;
        char name[64];
        int r = 0;

        own_name(name);
        peer_init(&p, name);
        for (int i = 0; i < 10 && r == 0; i++)
                r = irqbalance_send(p.folder, getpid(), "setup", NULL);
        assert_int_equal(r, -EAGAIN);
}

TEST(another_process) {
        char name[64];
        _cleanup_peer_ Peer p;

        (void)snprintf(name, sizeof(name), "irqbalance%d.sock", getppid());
        peer_init(&p, name);
        assert_int_equal(irqbalance_send(p.folder, getppid(), "setup", NULL), -EPERM);
}

TEST(folder_of_others) {
        char name[64], text[IRQBALANCE_LONG_COMMAND_MAX + 1];
        _cleanup_peer_ Peer p;
        pid_t pid = 4711;

        own_name(name);
        peer_init(&p, name);
        memset(text, 'a', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        assert_int_equal(irqbalance_send(p.folder, getpid(), text, NULL), -E2BIG);
        assert_int_equal(fchmodat(p.tree.fd, "run", 0777, 0), 0);
        assert_int_equal(irqbalance_find(&p.tree.sysroot, p.folder, &pid), -EPERM);
        assert_int_equal(irqbalance_send(p.folder, getpid(), "setup", NULL), -EPERM);
        assert_int_equal(pid, 4711);
}

static void socket_of(const FakeTree *tree, pid_t pid, const char *comm) {
        fake_write(tree, fmt("run/irqbalance%d.sock", pid), "");
        if (comm)
                fake_write(tree, fmt("proc/%d/comm", pid), comm);
}

/* Numbers may have gone round since it was killed: the highest is not the youngest, and may be
 * another process's. */
FAKE_TEST(left_over) {
        char folder[64];
        pid_t pid = 4711;

        fake_mkdir(tree, "run");
        (void)snprintf(folder, sizeof(folder), "%s/run", tree->path);
        socket_of(tree, 300, NULL);
        socket_of(tree, 200, "tikv-server\n");
        assert_int_equal(irqbalance_find(&tree->sysroot, folder, &pid), -ENOENT);
        assert_int_equal(pid, 4711);
        socket_of(tree, 100, "irqbalance\n");
        assert_int_equal(irqbalance_find(&tree->sysroot, folder, &pid), 0);
        assert_int_equal(pid, 100);
}

FAKE_TEST(names) {
        static const char *const others[] = { "irqbalance.sock",   "irqbalance1.sock.old",
                                              "irqbalance-1.sock", "irqbalancex.sock",
                                              "irqbalance0.sock",  "irqbalance99999999999.sock",
                                              "other1.sock" };
        char folder[64];
        pid_t pid = 4711;

        fake_mkdir(tree, "run");
        (void)snprintf(folder, sizeof(folder), "%s/run", tree->path);
        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                fake_write(tree, fmt("run/%s", others[i]), "");
        }
        assert_int_equal(irqbalance_find(&tree->sysroot, folder, &pid), -ENOENT);
        socket_of(tree, 1, "irqbalance\n");
        socket_of(tree, getpid(), "irqbalance\n");
        assert_int_equal(irqbalance_find(&tree->sysroot, folder, &pid), 0);
        assert_int_equal(pid, getpid());
        fake_remove(tree, "run");
        assert_int_equal(irqbalance_find(&tree->sysroot, folder, &pid), -ENOENT);
}
