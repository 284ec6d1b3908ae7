/* The ports of processes that live, with sockets of every kind that must count or must not. */
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include "../../support/child-process.h"
#include "../../support/port-list.h"
#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"

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
