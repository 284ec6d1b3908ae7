/* The program as a child: sockets of both kinds, systemd's protocols, its end, its error messages.
 * TIDBNUMAD_EXPORTER names it. */

#include <arpa/inet.h>
#include <netinet/in.h>

#include "../../support/test.h"

#include "child.h"

static Fixture fixture;
static char unix_listen[128];

static int setup(void **state) {
        (void)state;
        fixture_init(&fixture);
        (void)snprintf(unix_listen, sizeof(unix_listen), "unix:%s", fixture.socket_path);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        fixture_done(&fixture);
        return 0;
}

TEST(serves_until_sigterm, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_text_ Text answer = { 0 };
        struct stat st;
        Child child;

        fixture_write(&fixture, "metrics.prom", "a 1\n", 4, fixture_now(), 0);
        child = start(fixture.dir, NULL, -1, unix_listen, NULL);
        wait_for_socket(fixture.socket_path);
        assert_int_equal(stat(fixture.socket_path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0666);
        client_request(fixture.socket_path, "GET", "/metrics", &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
        assert_int_equal(stop(child, SIGTERM), 0);
        assert_int_equal(stat(fixture.socket_path, &st), -1); /* it takes its socket along */
}

TEST(ends_with_a_client_in_the_middle, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_close_ int fd = -EBADF;
        Child child = start(fixture.dir, NULL, -1, unix_listen, NULL);

        wait_for_socket(fixture.socket_path);
        fd = client_connect(fixture.socket_path);
        client_send(fd, "GET /met");
        assert_int_equal(stop(child, SIGINT), 0);
}

static int bound_tcp(uint16_t *ret_port) {
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof(address);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
        *ret_port = ntohs(address.sin_port);
        return fd;
}

static void request_tcp(uint16_t port, Text *answer) {
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons(port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        client_send(fd, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        client_receive(fd, answer);
}

TEST(two_sockets_of_its_own, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_text_ Text tcp = { 0 }, local = { 0 };
        char listen[32];
        uint16_t port;
        Child child;

        (void)close(bound_tcp(&port)); /* a port that is free, most likely still in a moment */
        (void)snprintf(listen, sizeof(listen), "127.0.0.1:%u", port);
        child = start(fixture.dir, NULL, -1, listen, unix_listen);
        wait_for_socket(fixture.socket_path);
        request_tcp(port, &tcp);
        client_request(fixture.socket_path, "GET", "/", &local);
        assert_starts_with(tcp.data, "HTTP/1.1 200 ");
        assert_starts_with(local.data, "HTTP/1.1 200 ");
        assert_int_equal(stop(child, SIGTERM), 0);
}

/* As under systemd: a passed TCP socket, READY=1 when it is served, and the socket lives on. */
TEST(under_systemd, .setup_func = setup, .teardown_func = teardown) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int notify = -EBADF, passed = -EBADF;
        _cleanup_text_ Text answer = { 0 };
        char message[256] = { 0 };
        char path[128];
        uint16_t port;
        Child child;

        (void)snprintf(path, sizeof(path), "%s/target", fixture.dir);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/target", fixture.dir);
        notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(notify, (struct sockaddr *)&address, sizeof(address)), 0);
        passed = bound_tcp(&port);
        assert_int_equal(listen(passed, 8), 0);
        child = start(fixture.dir, path, passed, NULL, NULL);
        assert_true(recv(notify, message, sizeof(message) - 1, 0) > 0);
        assert_starts_with(message, "READY=1\n");
        assert_contains(message, "on 1 socket.");
        request_tcp(port, &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
        assert_int_equal(stop(child, SIGTERM), 0);
        memset(message, 0, sizeof(message));
        assert_true(recv(notify, message, sizeof(message) - 1, 0) > 0);
        assert_string_equal(message, "STOPPING=1");
        assert_int_equal(unlink(path), 0);
        child = start(fixture.dir, NULL, passed, NULL, NULL); /* again on the same socket */
        text_reset(&answer);
        request_tcp(port, &answer);
        assert_starts_with(answer.data, "HTTP/1.1 200 ");
        assert_int_equal(stop(child, SIGTERM), 0);
}

TEST(stale_socket_is_replaced, .setup_func = setup, .teardown_func = teardown) {
        Child child = start(fixture.dir, NULL, -1, unix_listen, NULL);

        wait_for_socket(fixture.socket_path);
        assert_int_equal(stop(child, SIGKILL), -SIGKILL);
        child = start(fixture.dir, NULL, -1, unix_listen, NULL);
        wait_for_socket(fixture.socket_path);
        assert_int_equal(stop(child, SIGTERM), 0);
}

static void check_refused(int passed_fd, const char *listen, const char *part) {
        _cleanup_text_ Text said = { 0 };

        assert_int_equal(finish(start(fixture.dir, NULL, passed_fd, listen, NULL), &said),
                         EXIT_FAILURE);
        assert_contains(said.data, part);
}

TEST(start_errors_are_sentences, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_close_ int datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        Child child;

        check_refused(-1, NULL, "nothing to listen on");
        check_refused(-1, "unix:relative", "the path must be absolute");
        check_refused(-1, "localhost:9797", "neither unix:PATH nor ADDRESS:PORT");
        check_refused(-1, "127.0.0.1:0", "neither unix:PATH nor ADDRESS:PORT");
        check_refused(-1, "127.0.0.1:65536", "neither unix:PATH nor ADDRESS:PORT");
        check_refused(-1, "::1:80", "neither unix:PATH nor ADDRESS:PORT");
        check_refused(-1, "unix:/nonexistent/x",
                      "cannot listen on unix:/nonexistent/x: No such file");
        check_refused(datagram, NULL, "is not a listening stream socket");
        child = start(fixture.dir, NULL, -1, unix_listen, NULL);
        wait_for_socket(fixture.socket_path);
        check_refused(-1, unix_listen, "another process listens there");
        assert_int_equal(stop(child, SIGTERM), 0);
        fixture_write(&fixture, "metrics.sock", "x", 1, fixture_now(), 0);
        check_refused(-1, unix_listen, "is not a socket");
        assert_int_equal(access(fixture.socket_path, F_OK), 0); /* and is not removed */
}
