/* A metric out of an answer of HTTP: in pieces of any size, of servers that answer anything, late
 * or not at all. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/ports.h"

static const char *const names[] = { "go_sched_gomaxprocs_threads", "tidb_server_maxprocs", NULL };

/* The result, or what was found; both readings, byte by byte and at once, must agree. */
static int answer(const char *text) {
        MetricReader whole = { .names = names }, bytes = { .names = names };
        const int r = metric_reader_add(&whole, text, strlen(text));

        for (const char *at = text; *at; at++)
                (void)metric_reader_add(&bytes, at, 1);
        assert_int_equal(bytes.result, r);
        assert_int_equal(bytes.value, whole.value);
        return r == 1 ? (int)whole.value : r;
}

#define GOOD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
#define LONG                                                                                       \
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567" \
        "89"

TEST(answers) {
        static const struct {
                const char *text;
                int expected;
        } rows[] = {
                { GOOD "# TYPE go_sched_gomaxprocs_threads gauge\ngo_sched_gomaxprocs_threads 16\n",
                  16 },
                { GOOD "tidb_server_maxprocs 8\n", 8 },
                { "HTTP/1.0 200 OK\n\ntidb_server_maxprocs 8\n", 8 },
                { GOOD LONG LONG " 3\ntidb_server_maxprocs 8\n", 8 },
                { GOOD "tidb_server_maxprocs{a=\"b\"} 4\n", 0 },
                { GOOD "tidb_server_maxprocs_more 4\nx_tidb_server_maxprocs 4\n", 0 },
                { GOOD "tidb_server_maxprocs 0\n", 0 },
                { GOOD "tidb_server_maxprocs 99999999999\n", 0 },
                { GOOD "tidb_server_maxprocs -1\ntidb_server_maxprocs NaN\n", 0 },
                { GOOD "tidb_server_maxprocs 8", 0 }, /* the line is not over */
                { "HTTP/1.1 200 OK\r\ntidb_server_maxprocs 8\r\n\r\n", 0 }, /* a header */
                { "HTTP/1.1 404 Not Found\r\n\r\ntidb_server_maxprocs 8\n", -EBADMSG },
                { "J\x01\n5.7.25-TiDB\n", -EBADMSG },
                { "\n\ntidb_server_maxprocs 8\n", -EBADMSG },
                { "", 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                print_message("row %zu\n", i);
                assert_int_equal(answer(rows[i].text), rows[i].expected);
        }
}

/* A server of one connection, on a free port: it sends `text` and closes, or waits if that is NULL.
 */
static pid_t serve(const char *text, uint16_t *ret_port) {
        struct sockaddr_in is = { .sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof(is);
        _cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        pid_t pid;

        assert_int_equal(bind(listener, (struct sockaddr *)&is, sizeof(is)), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&is, &size), 0);
        *ret_port = ntohs(is.sin_port);
        pid = fork();
        if (pid == 0) {
                char request[512];
                int fd = accept(listener, NULL, NULL);

                if (fd < 0 || read(fd, request, sizeof(request)) <= 0)
                        _exit(1);
                if (!text)
                        pause();
                _exit(write(fd, text, strlen(text)) < 0 || close(fd) < 0);
        }
        assert_true(pid > 0);
        return pid;
}

static int ask(const char *text, uint32_t timeout_msec, uint32_t *ret) {
        uint16_t port;
        pid_t pid = serve(text, &port);
        int r = metric_get(port, names, timeout_msec, ret);

        child_end(pid);
        return r;
}

TEST(a_server_answers) {
        uint32_t n = 0;

        assert_int_equal(ask(GOOD "go_sched_gomaxprocs_threads 12\n", 60000, &n), 0);
        assert_int_equal(n, 12);
        assert_int_equal(ask(GOOD "other 1\n", 60000, &n), -ENODATA);
        assert_int_equal(ask("SSH-2.0-OpenSSH_9.2\r\n", 60000, &n), -EBADMSG);
        assert_int_equal(ask("", 60000, &n), -EBADMSG);
        assert_int_equal(n, 12);
}

/* It never waits longer than it may. */
TEST(a_server_is_silent) {
        uint32_t n = 7;

        assert_int_equal(ask(NULL, 50, &n), -ETIMEDOUT);
        assert_int_equal(n, 7);
}

TEST(nobody_listens) {
        uint32_t n = 7;
        uint16_t port;
        pid_t pid = serve("", &port);

        child_end(pid);
        assert_int_equal(metric_get(port, names, 60000, &n), -ECONNREFUSED);
}
