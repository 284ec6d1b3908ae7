/* What irqbalance is sent, which process it must be, and what it answers. */
#include <sys/socket.h>
#include <sys/un.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/irq.h"

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
        assert_int_equal(irqbalance_find(p.folder, &pid), 0);
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
        assert_int_equal(irqbalance_find(p.folder, &pid), -EPERM);
        assert_int_equal(irqbalance_send(p.folder, getpid(), "setup", NULL), -EPERM);
        assert_int_equal(pid, 4711);
}

static void socket_of(const FakeTree *tree, pid_t pid) {
        fake_write(tree, fmt("run/irqbalance%d.sock", pid), "");
}

/* Numbers may have gone round since it was killed: the highest is not the youngest. */
TEST(left_over) {
        _cleanup_fake_ FakeTree tree;
        pid_t pid = 4711, dead = fork();
        char folder[64];

        if (dead == 0)
                _exit(0);
        assert_int_equal(waitpid(dead, NULL, 0), dead);
        fake_init(&tree);
        (void)snprintf(folder, sizeof(folder), "%s/run", tree.path);
        socket_of(&tree, dead);
        assert_int_equal(irqbalance_find(folder, &pid), -ENOENT);
        assert_int_equal(pid, 4711);
        socket_of(&tree, 1);
        assert_int_equal(irqbalance_find(folder, &pid), 0);
        assert_int_equal(pid, 1);
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
        assert_int_equal(irqbalance_find(folder, &pid), -ENOENT);
        socket_of(tree, 1);
        socket_of(tree, getpid());
        assert_int_equal(irqbalance_find(folder, &pid), 0);
        assert_int_equal(pid, getpid());
        fake_remove(tree, "run");
        assert_int_equal(irqbalance_find(folder, &pid), -ENOENT);
}
