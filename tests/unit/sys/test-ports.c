/* Ports out of the kernel's two kinds of answer, of dumps, and of living processes. */
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/port-list.h"
#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/ports.h"

#define FIRST_LINE                                                                                 \
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
        "timeout inode\n"
/* Rows as the kernel writes them: of TiKV's port 20160 = 4EC0, and its inode 77. */
#define ROW(local, state, inode)                                                                   \
        "   0: " local " 00000000:0000 " state " 00000000:00000000 00:00000000 00000000   997"     \
        "        0 " inode " 1 0000000000000000 100 0 0 10 0\n"
#define ROW6(local, state, inode)                                                                  \
        "  10: " local " 00000000000000000000000000000000:0000 " state                             \
        " 00000000:00000000 00:00000000 00000000     0        0 " inode " 1 0000000000000000 100"  \
        " 0 0 10 0\n"
#define ANY6 "00000000000000000000000000000000"

static void assert_row(const char *row, uint16_t port, uint32_t inode) {
        ListenSocket found = { 0 };

        assert_int_equal(listen_row_parse(row, &found), 1);
        assert_int_equal(found.port, port);
        assert_int_equal(found.inode, inode);
}

TEST(rows) {
        ListenSocket found = { .inode = 7, .port = 7 };

        assert_row(ROW("00000000:4EC0", "0A", "77"), 20160, 77);
        assert_row(ROW("0100007F:0001", "0A", "4294967295"), 1, UINT32_MAX);
        assert_row(ROW6(ANY6 ":FFFF", "0A", "78"), 65535, 78);
        assert_int_equal(listen_row_parse(ROW("00000000:4EC0", "01", "77"), &found), 0);
        assert_int_equal(listen_row_parse(ROW("00000000:4EC0", "07", "77"), &found), 0);
        assert_int_equal(listen_row_parse(ROW("00000000:4EC0", "0A", "0"), &found), 0);
        assert_int_equal(listen_row_parse(FIRST_LINE, &found), -EBADMSG);
        assert_int_equal(listen_row_parse("", &found), -EBADMSG);
        assert_int_equal(listen_row_parse("   0: 00000000:4EC0 00000000:0000 0A\n", &found),
                         -EBADMSG);
        assert_int_equal(listen_row_parse(ROW("00000000:4EC0", "0A", "4294967296"), &found),
                         -EBADMSG);
        assert_int_equal(listen_row_parse(ROW("0000000x:4EC0", "0A", "77"), &found), -EBADMSG);
        assert_true(found.inode == 7 && found.port == 7);
}

/* Datagrams as sock_diag sends them. */
typedef struct Datagram {
        char bytes[2048];
        size_t size;
} Datagram;

static void add_message(Datagram *d, uint16_t type, const void *body, size_t size) {
        const struct nlmsghdr header = { .nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
                                         .nlmsg_type = type };

        memcpy(d->bytes + d->size, &header, sizeof(header));
        if (size > 0)
                memcpy(d->bytes + d->size + NLMSG_HDRLEN, body, size);
        d->size += NLMSG_SPACE(size);
}

static void add_socket(Datagram *d, uint8_t socket_state, uint16_t port, uint32_t inode) {
        const struct inet_diag_msg message = { .idiag_family = AF_INET,
                                               .idiag_state = socket_state,
                                               .id.idiag_sport = htons(port),
                                               .idiag_inode = inode };

        add_message(d, SOCK_DIAG_BY_FAMILY, &message, sizeof(message));
}

typedef struct Told {
        size_t n;
        uint32_t ports, inodes; /* sums */
} Told;

static void tell(const ListenSocket *socket, void *userdata) {
        Told *told = userdata;

        told->n++;
        told->ports += socket->port;
        told->inodes += socket->inode;
}

static int parse(const Datagram *d, Told *told) {
        /* At an odd address: the parser may not assume otherwise. */
        char *odd = malloc(d->size + 1);
        int r;

        assert_non_null(odd);
        memcpy(odd + 1, d->bytes, d->size);
        *told = (Told){ 0 };
        r = listen_diag_parse(odd + 1, d->size, tell, told);
        free(odd);
        return r;
}

TEST(diag) {
        Datagram d = { .size = 0 };
        Told told;

        assert_int_equal(parse(&d, &told), 0);
        add_socket(&d, TCP_LISTEN, 20160, 77);
        add_socket(&d, TCP_ESTABLISHED, 1000, 1000);
        add_socket(&d, TCP_LISTEN, 20180, 78);
        add_socket(&d, TCP_LISTEN, 2000, 0); /* of no process */
        assert_int_equal(parse(&d, &told), 0);
        assert_true(told.n == 2 && told.ports == 40340 && told.inodes == 155);
        add_message(&d, NLMSG_DONE, &(int){ 0 }, sizeof(int));
        add_socket(&d, TCP_LISTEN, 1, 1); /* behind the end */
        assert_int_equal(parse(&d, &told), 1);
        assert_int_equal(told.n, 2);
}

static int parse_error(int error, size_t size) {
        Datagram d = { .size = 0 };
        Told told;

        add_message(&d, NLMSG_ERROR, &error, size);
        return parse(&d, &told);
}

TEST(diag_refuses) {
        Datagram d = { .size = 0 };
        Told told;

        assert_int_equal(parse_error(-ENOENT, sizeof(int)), -ENOENT);
        assert_int_equal(parse_error(0, sizeof(int)), -EPROTO);
        assert_int_equal(parse_error(5, sizeof(int)), -EPROTO);
        assert_int_equal(parse_error(INT32_MIN, sizeof(int)), -EPROTO);
        assert_int_equal(parse_error(-ENOENT, 2), -EPROTO);
        /* A message that is too short for a socket; one that says to be longer than it is. */
        add_message(&d, SOCK_DIAG_BY_FAMILY, "\2\12", 2);
        add_socket(&d, TCP_LISTEN, 20160, 77);
        assert_int_equal(parse(&d, &told), 0);
        assert_int_equal(told.n, 1);
        d.size -= 4;
        assert_int_equal(parse(&d, &told), -EPROTO);
        assert_int_equal(told.n, 0);
        memset(d.bytes, 0, 16);
        assert_int_equal(parse(&d, &told), -EPROTO); /* no step forward */
}

static void open_fake(FakeTree *tree, ProcHandle *handle) {
        fake_init(tree);
        fake_process(tree, 50, 1, "/x", "/", "0");
        fake_link(tree, "proc/50/fd/3", "socket:[77]");
        fake_link(tree, "proc/50/fd/4", "/socket:[78]");
        fake_link(tree, "proc/50/fd/5", "socket:[79]");
        fake_link(tree, "proc/50/fd/6", "pipe:[80]");
        fake_link(tree, "proc/50/fd/7", "socket:[81] (deleted)");
        assert_int_equal(proc_open(&tree->sysroot, 50, handle), 0);
}

TEST(dump) {
        _cleanup_fake_ FakeTree tree;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_listen_ports_ ListenPorts ports = { 0 };

        open_fake(&tree, &handle);
        fake_write(&tree, "proc/50/net/tcp",
                   FIRST_LINE ROW("00000000:4ED4", "0A", "79") ROW("0100007F:4EC0", "0A", "77")
                           ROW("00000000:0050", "0A", "78") ROW("00000000:0051", "0A", "80")
                                   ROW("00000000:0052", "01", "79"));
        assert_int_equal(read_port_list(&tree.sysroot, &handle, &ports), 0);
        assert_int_equal(ports.n_ports, 2);
        assert_int_equal(ports.ports[0], 20160);
        assert_int_equal(ports.ports[1], 20180);
        listen_ports_done(&ports);
        fake_write(&tree, "proc/50/net/tcp6",
                   FIRST_LINE ROW6(ANY6 ":0FA0", "0A", "81") ROW6(ANY6 ":0FA1", "0A", "79"));
        assert_int_equal(read_port_list(&tree.sysroot, &handle, &ports), 0);
        assert_int_equal(ports.n_ports, 3);
        assert_int_equal(ports.ports[0], 4000 + 1);
        assert_int_equal(ports.ports[1], 20160);
}

TEST(dump_refuses) {
        _cleanup_fake_ FakeTree tree;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        ListenPorts ports = { .n_ports = 7 };

        open_fake(&tree, &handle);
        assert_int_equal(read_port_list(&tree.sysroot, &handle, &ports), -ENODATA);
        fake_mkdir(&tree, "proc/50/net/tcp");
        assert_int_equal(read_port_list(&tree.sysroot, &handle, &ports), -EIO);
        fake_remove(&tree, "proc/50/fd");
        assert_int_equal(read_port_list(&tree.sysroot, &handle, &ports), -ESRCH);
        assert_true(ports.n_ports == 7 && !ports.ports);
        /* Without sockets nothing needs to tell which of them listen. */
        fake_mkdir(&tree, "proc/50/fd");
        assert_int_equal(read_port_list(&tree.sysroot, &handle, &ports), 0);
        assert_true(ports.n_ports == 0 && !ports.ports);
}

/* A listening socket that has `n` rows of others before it. */
static size_t ports_behind(const FakeTree *tree, const ProcHandle *handle, size_t n) {
        _cleanup_listen_ports_ ListenPorts ports = { 0 };
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);

        assert_non_null(stream);
        (void)fputs(FIRST_LINE ROW("00000000:0001", "0A", "77"), stream);
        for (size_t i = 0; i < n; i++)
                (void)fputs(ROW("00000000:4EC0", "01", "77"), stream);
        (void)fputs(ROW("00000000:0002", "0A", "77"), stream);
        assert_int_equal(fclose(stream), 0);
        fake_write(tree, "proc/50/net/tcp", text);
        assert_int_equal(read_port_list(&tree->sysroot, handle, &ports), 0);
        return ports.n_ports;
}

TEST(connections_are_not_read) {
        _cleanup_fake_ FakeTree tree;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        open_fake(&tree, &handle);
        assert_int_equal(ports_behind(&tree, &handle, 0), 2);
        assert_int_equal(ports_behind(&tree, &handle, 1023), 2);
        assert_int_equal(ports_behind(&tree, &handle, 1024), 1);
}

/* --- processes that live, with sockets of every kind that must count or must not --- */

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* Asked through sock_diag and then through /proc/PID/net; both must agree. */
static void read_ports(pid_t pid, ListenPorts *ret) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_listen_ports_ ListenPorts text = { 0 };

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, pid, &handle), 0);
        assert_int_equal(read_port_list(&sysroot, &handle, ret), 0);
        sysroot.live = false;
        assert_int_equal(read_port_list(&sysroot, &handle, &text), 0);
        assert_int_equal(text.n_ports, ret->n_ports);
        for (size_t i = 0; i < text.n_ports; i++) {
                assert_int_equal(text.ports[i], ret->ports[i]);
                assert_true(i == 0 || text.ports[i - 1] < text.ports[i]);
        }
}

static bool listens(pid_t pid, uint16_t port) {
        _cleanup_listen_ports_ ListenPorts ports = { 0 };
        size_t n = 0;

        read_ports(pid, &ports);
        for (size_t i = 0; i < ports.n_ports; i++)
                n += ports.ports[i] == port;
        return n > 0;
}

/* A socket bound to all addresses; `port` 0: any that is free. -1: not known here. */
static int bound(int family, int protocol, uint16_t *port) {
        const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(*port) };
        const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(*port) };
        struct sockaddr_in6 is;
        socklen_t size = sizeof(is);
        int fd = socket(family, (protocol == IPPROTO_UDP ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC,
                        protocol);

        if (fd < 0)
                return -1;
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &(int){ 1 }, sizeof(int));
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int));
        assert_int_equal(bind(fd, family == AF_INET ? (const void *)&four : &six,
                              family == AF_INET ? sizeof(four) : sizeof(six)),
                         0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&is, &size), 0);
        *port = ntohs(is.sin6_port); /* at the same place in both */
        return fd;
}

static int listening(int family, int protocol, uint16_t *port) {
        int fd = bound(family, protocol, port);

        if (fd >= 0)
                assert_int_equal(listen(fd, 8), 0);
        return fd;
}

TEST(four_and_six) {
        _cleanup_close_ int four = -EBADF, six = -EBADF;
        uint16_t port4 = 0, port6 = 0;

        four = listening(AF_INET, IPPROTO_TCP, &port4);
        assert_true(four >= 0 && listens(getpid(), port4));
        six = listening(AF_INET6, IPPROTO_TCP, &port6);
        if (six < 0)
                skip_because("no IPv6 here");
        assert_true(listens(getpid(), port4) && listens(getpid(), port6));
        closep(&four);
        assert_true(!listens(getpid(), port4) && listens(getpid(), port6));
        four = -EBADF;
}

/* Go programs listen like this since Go 1.24. */
TEST(multipath) {
        _cleanup_close_ int fd = -EBADF;
        uint16_t port = 0;

        fd = listening(AF_INET, IPPROTO_MPTCP, &port);
        if (fd < 0)
                skip_because("no MPTCP here");
        assert_true(listens(getpid(), port));
}

TEST(reuseport_counts_once) {
        _cleanup_listen_ports_ ListenPorts before = { 0 }, after = { 0 };
        _cleanup_close_ int one = -EBADF, two = -EBADF;
        uint16_t port = 0;

        read_ports(getpid(), &before);
        one = listening(AF_INET, IPPROTO_TCP, &port);
        two = listening(AF_INET, IPPROTO_TCP, &port);
        assert_true(one >= 0 && two >= 0);
        read_ports(getpid(), &after);
        assert_int_equal(after.n_ports, before.n_ports + 1);
}

TEST(other_states) {
        _cleanup_close_ int fd = -EBADF, udp = -EBADF;
        uint16_t port = 0, udp_port = 0;

        fd = bound(AF_INET, IPPROTO_TCP, &port);
        udp = bound(AF_INET, IPPROTO_UDP, &udp_port);
        assert_true(fd >= 0 && udp >= 0);
        assert_false(listens(getpid(), port));
        assert_false(listens(getpid(), udp_port));
        assert_int_equal(listen(fd, 8), 0);
        assert_true(listens(getpid(), port));
        assert_int_equal(shutdown(fd, SHUT_RD), 0); /* which ends listening */
        assert_false(listens(getpid(), port));
}

/* The accepted end has the same local port, but its listener is gone. */
TEST(connections) {
        struct sockaddr_in to = { .sin_family = AF_INET };
        _cleanup_close_ int fd = -EBADF, client = -EBADF, accepted = -EBADF;
        uint16_t port = 0, client_port = 0;

        fd = listening(AF_INET, IPPROTO_TCP, &port);
        client = bound(AF_INET, IPPROTO_TCP, &client_port);
        assert_true(fd >= 0 && client >= 0);
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        assert_int_equal(connect(client, (const struct sockaddr *)&to, sizeof(to)), 0);
        accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        assert_true(accepted >= 0);
        assert_true(listens(getpid(), port));
        assert_false(listens(getpid(), client_port));
        closep(&fd);
        fd = -EBADF;
        assert_false(listens(getpid(), port));
}

/* A child that listens, in a network namespace of its own if asked, and reports the port. 0: it may
 * not.
 */
static pid_t start_listener(int unshare_flags, uint16_t *ret_port) {
        uint16_t port = 0;
        int ends[2];
        pid_t pid;

        assert_int_equal(pipe(ends), 0);
        pid = child_fork();
        if (pid == 0) {
                if (unshare_flags && unshare(unshare_flags) < 0)
                        _exit(2);
                if (listening(AF_INET, IPPROTO_TCP, &port) < 0 ||
                    write(ends[1], &port, sizeof(port)) != sizeof(port))
                        _exit(3);
                child_wait();
        }
        closep(&ends[1]);
        if (read(ends[0], ret_port, sizeof(*ret_port)) != sizeof(*ret_port)) {
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                pid = 0;
        }
        closep(&ends[0]);
        return pid;
}

TEST(of_others) {
        _cleanup_close_ int fd = -EBADF;
        uint16_t own = 0, theirs = 0;
        pid_t pid;

        fd = listening(AF_INET, IPPROTO_TCP, &own);
        pid = start_listener(0, &theirs);
        assert_true(fd >= 0 && pid > 0);
        assert_true(listens(pid, own)); /* handed on by fork() */
        assert_true(listens(pid, theirs));
        assert_false(listens(getpid(), theirs));
        child_end(pid);
}

TEST(another_namespace) {
        uint16_t theirs = 0;
        pid_t pid = start_listener(CLONE_NEWNET, &theirs);

        if (pid == 0)
                pid = start_listener(CLONE_NEWUSER | CLONE_NEWNET, &theirs);
        if (pid == 0)
                skip_because("no network namespace can be made here");
        assert_true(listens(pid, theirs));
        child_end(pid);
}

TEST(gone) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        ListenPorts ports = { .n_ports = 7 };
        uint16_t port;
        pid_t pid = start_listener(0, &port);

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, pid, &handle), 0);
        child_make_zombie(pid);
        assert_int_equal(read_port_list(&sysroot, &handle, &ports), -ESRCH); /* a zombie */
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(read_port_list(&sysroot, &handle, &ports), -ESRCH);
        assert_true(ports.n_ports == 7 && !ports.ports);
}

/* As the user nobody: reads the ports of a process of root. */
static void read_as_nobody(pid_t pid) {
        Sysroot sysroot = SYSROOT_NONE;
        ProcHandle handle = PROC_HANDLE_NONE;
        ListenPorts ports;

        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
                _exit(1);
        if (sysroot_open(NULL, &sysroot) < 0 || proc_open(&sysroot, pid, &handle) < 0)
                _exit(2);
        _exit(read_port_list(&sysroot, &handle, &ports) == -EACCES ? 0 : 3);
}

TEST(not_ours_to_read) {
        int status;
        pid_t pid;

        if (geteuid() != 0)
                skip_because("only root can become somebody else");
        pid = child_fork();
        if (pid == 0)
                read_as_nobody(getppid());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}
