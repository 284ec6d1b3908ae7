/* A server of this host that answers, and those that answer anything, late, for ever or not at all.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "../../support/child-process.h"
#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/http.h"

typedef enum Behaviour {
        ANSWERS,      /* the text, and closes */
        BYTE_BY_BYTE, /* likewise */
        ENDLESS,      /* the text, and again */
        DRIPS,        /* the text, and then a byte each 20 ms */
        IS_SILENT,
} Behaviour;

static void answer(int fd, Behaviour behaviour, const char *text) {
        const size_t step = behaviour == BYTE_BY_BYTE ? 1 : strlen(text);

        for (size_t i = 0; i < strlen(text); i += step)
                if (write(fd, text + i, step) < 0)
                        _exit(1);
        for (;;) {
                if (behaviour == IS_SILENT)
                        pause();
                if (behaviour != ENDLESS && behaviour != DRIPS)
                        _exit(0);
                if (behaviour == DRIPS)
                        (void)usleep(20000);
                if (write(fd, text, behaviour == DRIPS ? 1 : strlen(text)) < 0)
                        _exit(0);
        }
}

/* A child that accepts one connection, on a free port. */
static pid_t serve(Behaviour behaviour, const char *text, uint16_t *ret_port) {
        struct sockaddr_in is = { .sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof(is);
        _cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        pid_t pid;

        assert_int_equal(bind(listener, (struct sockaddr *)&is, sizeof(is)), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&is, &size), 0);
        *ret_port = ntohs(is.sin_port);
        pid = child_fork();
        if (pid == 0) {
                char request[512] = "";
                int fd = accept(listener, NULL, NULL);

                (void)signal(SIGPIPE, SIG_IGN);
                (void)alarm(60);
                if (fd < 0 || read(fd, request, sizeof(request) - 1) <= 0 ||
                    !strstr(request, "GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n"))
                        _exit(1);
                answer(fd, behaviour, text);
        }
        assert_true(pid > 0);
        return pid;
}

static int collect(const char *bytes, size_t size, void *userdata) {
        text_append_bytes(userdata, bytes, size);
        return memchr(bytes, '!', size) ? 7 : 0;
}

static int get(Behaviour behaviour, const char *text, uint32_t timeout_msec, Text *ret,
               Error *error) {
        const HttpLimits limits = { .timeout_msec = timeout_msec, .body_max_bytes = 100000 };
        HttpAddress address;
        uint16_t port;
        pid_t pid = serve(behaviour, text, &port);
        int r;

        address = http_loopback(port);
        text_reset(ret);
        r = http_get(&address, "/metrics", &limits, collect, ret, error);
        child_end(pid);
        return r;
}

#define GOOD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"

TEST(answers) {
        static const struct {
                const char *text;
                int expected;
                const char *body, *said;
        } rows[] = {
                { GOOD "a 1\nb 2\n", 0, "a 1\nb 2\n" },
                { "HTTP/1.0 200 OK\n\n\r\n", 0, "\r\n" },
                { GOOD, 0, "" },
                { GOOD "stop!", 7, "stop!" },
                { "HTTP/1.1 404 Not Found\r\n\r\na 1\n", -EREMOTEIO, "",
                  "answers with HTTP status 404" },
                { "HTTP/1.1 302 Found\r\nLocation: http://a/\r\n\r\n", -EREMOTEIO, "",
                  "answers with HTTP status 302, a redirection" },
                { "HTTP/1.1 2005\r\n\r\na 1\n", 0, "a 1\n" },
                { "HTTP/2 200\r\n\r\na 1\n", -EBADMSG, "", "does not speak HTTP" },
                { "HTTP/1.1 200 OK\r\nA: b\r\n", -EBADMSG, "",
                  "does not speak HTTP" }, /* the headers do not end */
                { "SSH-2.0-OpenSSH_9.2\r\n", -EBADMSG, "", "does not speak HTTP" },
                { "J\x01\n5.7.25-TiDB\n", -EBADMSG, "", "does not speak HTTP" },
                { "\x15\x03\x01", -EPROTO, "", "uses TLS" },
                { "\n\na 1\n", -EBADMSG, "", "does not speak HTTP" },
                { "", -EBADMSG, "", "does not speak HTTP" },
        };

        for (size_t i = 0; i < 2 * ELEMENTSOF(rows); i++) {
                const Behaviour behaviour = i % 2 ? BYTE_BY_BYTE : ANSWERS;
                _cleanup_text_ Text body = { 0 };
                _cleanup_error_ Error error = { 0 };

                print_message("row %zu\n", i / 2);
                assert_int_equal(get(behaviour, rows[i / 2].text, 60000, &body, &error),
                                 rows[i / 2].expected);
                assert_int_equal(error.sentence != NULL, rows[i / 2].said != NULL);
                if (rows[i / 2].said)
                        assert_non_null(strstr(error.sentence, rows[i / 2].said));
                if (rows[i / 2].expected != 7)
                        assert_string_equal(body.data ? body.data : "", rows[i / 2].body);
        }
}

TEST(an_endless_body_or_header_is_bounded) {
        _cleanup_text_ Text body = { 0 };

        assert_int_equal(get(ENDLESS, GOOD "0123456789", 60000, &body, NULL), -EFBIG);
        assert_true(body.length <= 100000);
        assert_int_equal(get(ENDLESS, "HTTP/1.1 200 OK\r\na: b\r\n", 60000, &body, NULL), -EBADMSG);
        assert_int_equal(get(ENDLESS, "0123456789", 60000, &body, NULL), -EBADMSG);
}

/* It never waits longer than it may, also for one that sends a little all the time. */
TEST(a_slow_server) {
        _cleanup_text_ Text body = { 0 };
        const uint64_t begin_usec = clock_monotonic_usec();

        assert_int_equal(get(IS_SILENT, "", 100, &body, NULL), -ETIMEDOUT);
        assert_int_equal(get(DRIPS, GOOD "0", 100, &body, NULL), -ETIMEDOUT);
        assert_true(clock_monotonic_usec() - begin_usec < 30 * 1000 * 1000);
}

TEST(nobody_listens) {
        const HttpLimits limits = { .timeout_msec = 60000, .body_max_bytes = 1 };
        HttpAddress address;
        uint16_t port;

        child_end(serve(ANSWERS, "", &port));
        address = http_loopback(port);
        assert_int_equal(http_get(&address, "/metrics", &limits, collect, NULL, NULL),
                         -ECONNREFUSED);
}
