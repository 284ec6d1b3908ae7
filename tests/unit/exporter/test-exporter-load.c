/* The program under many clients, hostile ones too: everybody gets an answer, and it stays small.
 * What it takes is read in its /proc. */

#include "../../support/test.h"

#include "child.h"

#define CLIENTS 200
#define HOSTILE 50
#define METRICS_BYTES ((size_t)1 << 20)
#define RESIDENT_KIB_MAX (16u * 1024)
#define SCRAPES 10000

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static Fixture fixture;
static char unix_listen[128];
static Child child;

static int setup(void **state) {
        (void)state;
        fixture_init(&fixture);
        (void)snprintf(unix_listen, sizeof(unix_listen), "unix:%s", fixture.socket_path);
        child = start(fixture.dir, NULL, -1, unix_listen, NULL);
        wait_for_socket(fixture.socket_path);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        assert_int_equal(stop(child, SIGTERM), 0);
        fixture_done(&fixture);
        return 0;
}

/* A line of /proc/PID/status, in KiB (proc(5)). */
static unsigned status_kib(const char *key) {
        _cleanup_fclose_ FILE *file = NULL;
        char path[64], line[256];

        (void)snprintf(path, sizeof(path), "/proc/%d/status", child.pid);
        file = fopen(path, "re");
        assert_non_null(file);
        while (fgets(line, sizeof(line), file))
                if (strncmp(line, key, strlen(key)) == 0)
                        return (unsigned)strtoul(line + strlen(key), NULL, 10);
        fail_msg("no %s in %s", key, path);
        return 0;
}

static void put_metrics(size_t size, unsigned round) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "# HELP a_total x\n# TYPE a_total counter\n");
        for (unsigned i = 0; text.length < size; i++)
                text_appendf(&text,
                             "a_total{policy=\"tikv\",instance=\"tikv-%u\",node=\"%u\"} %u\n",
                             20160 + i / 16, i % 16, (i + round) * 4096);
        fixture_write(&fixture, "metrics.prom", text.data, text.length, fixture_now(), 0);
}

static void ask(int fd) {
        client_send(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
}

static void wait_for_answer(int fd) {
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

        assert_int_equal(poll(&poll_fd, 1, 20000), 1);
}

/* The whole answer: its header says how much that is. */
static void fetch(int fd) {
        char head[1024] = "", buffer[65536];
        size_t got = 0, expected = SIZE_MAX;

        while (got < expected) {
                const char *end, *length;
                ssize_t n;

                wait_for_answer(fd);
                n = read(fd, buffer, sizeof(buffer));
                assert_true(n > 0);
                if (got < sizeof(head) - 1) {
                        size_t room = sizeof(head) - 1 - got;

                        memcpy(head + got, buffer, (size_t)n < room ? (size_t)n : room);
                }
                got += (size_t)n;
                end = strstr(head, "\r\n\r\n");
                length = strstr(head, "\r\nContent-Length: ");
                if (end && length && length < end)
                        expected = (size_t)(end + 4 - head) + strtoul(length + 18, NULL, 10);
        }
        assert_starts_with(head, "HTTP/1.1 200 ");
        assert_int_equal(got, expected);
}

/* All have asked before the first fetches, while snapshots come and go, and others hold what they
 * can of the exporter's memory with requests that never end. */
TEST(200_clients_at_once, .setup_func = setup, .teardown_func = teardown) {
        int fds[CLIENTS], hostile[HOSTILE];
        char junk[12 * 1024];

        memset(junk, 'x', sizeof(junk) - 1);
        junk[sizeof(junk) - 1] = '\0';
        for (unsigned i = 0; i < HOSTILE; i++) {
                hostile[i] = client_connect(fixture.socket_path);
                client_send(hostile[i], "GET / HTTP/1.1\r\nHost: x\r\nX-Long: ");
                client_send(hostile[i], junk);
        }
        put_metrics(METRICS_BYTES, 0);
        for (unsigned i = 0; i < CLIENTS; i++) {
                fds[i] = client_connect(fixture.socket_path);
                ask(fds[i]);
                if (i == CLIENTS / 2)
                        put_metrics(METRICS_BYTES, 1);
        }
        for (unsigned i = 0; i < CLIENTS; i++) {
                fetch(fds[i]);
                (void)close(fds[i]);
        }
        for (unsigned i = 0; i < HOSTILE; i++)
                (void)close(hostile[i]);
        if (SANITIZED)
                return;
        print_message("VmHWM: %u KiB\n", status_kib("VmHWM:"));
        assert_true(status_kib("VmHWM:") < RESIDENT_KIB_MAX);
}

/* Each holds another snapshot, and fetches none. The oldest are cut off, and it stays small. */
TEST(slow_readers_of_many_snapshots, .setup_func = setup, .teardown_func = teardown) {
        int fds[20];

        for (unsigned i = 0; i < ELEMENTSOF(fds); i++) {
                _cleanup_close_ int fd = client_connect(fixture.socket_path);

                put_metrics(METRICS_BYTES, i);
                fds[i] = client_connect(fixture.socket_path);
                ask(fds[i]);
                wait_for_answer(fds[i]); /* it is not to cut off the one that fetches */
                ask(fd);
                fetch(fd);
        }
        if (!SANITIZED) {
                print_message("VmHWM: %u KiB\n", status_kib("VmHWM:"));
                assert_true(status_kib("VmHWM:") < RESIDENT_KIB_MAX);
        }
        for (unsigned i = 0; i < ELEMENTSOF(fds); i++)
                (void)close(fds[i]);
}

static void scrape(unsigned n) {
        _cleanup_close_ int fd = client_connect(fixture.socket_path);

        for (unsigned i = 0; i < n; i++) {
                if (i % 100 == 0)
                        put_metrics(16384, i);
                ask(fd);
                fetch(fd);
        }
}

TEST(nothing_grows_scrape_by_scrape, .setup_func = setup, .teardown_func = teardown) {
        unsigned before, after;

        if (SANITIZED)
                skip_because("the sanitizer keeps what is freed");
        scrape(500);
        before = status_kib("VmRSS:");
        scrape(SCRAPES);
        after = status_kib("VmRSS:");
        print_message("VmRSS: %u KiB, then %u KiB\n", before, after);
        assert_true(after <= before + 64);
}
