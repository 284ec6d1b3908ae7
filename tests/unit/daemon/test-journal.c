/* The log, to standard error. */
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../../support/test.h"

#include "capture.h"
#include "tidbnumad/daemon/host/journal.h"

static uint64_t now_usec;

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return now_usec;
}

TEST(stderr) {
        const JournalFields fields = { .instance = "tikv-1", .policy = "tikv" };
        const JournalFields only_id = { .message_id = JOURNAL_BOUND };
        Journal journal;
        Capture capture;

        assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
        journal_init(&journal, false);
        assert_false(journal.to_journal);
        capture_begin(&capture, STDERR_FILENO);
        journal_log(&journal, LOG_INFO, NULL, "%d of %s", 3, "4%s");
        journal_log(&journal, LOG_ERR, &fields, "wrong");
        journal_log(&journal, LOG_WARNING, &only_id, "late");
        capture_end(&capture);
        assert_string_equal(capture.text, "3 of 4%s\nwrong\nlate\n");
}

/* A message is one line, whatever the name of a process is. */
TEST(names_are_escaped) {
        Journal journal;
        Capture capture;

        assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
        journal_init(&journal, false);
        CAPTURE_STDERR(&capture, journal_log(&journal, LOG_INFO, NULL, "%s: bound",
                                             "a\x1b[31m\nroot: b\xe2\x80\xae\xc2\x9b\x9b"));
        assert_string_equal(capture.text, "a\\x1b[31m\\x0aroot: "
                                          "b\\xe2\\x80\\xae\\xc2\\x9b\\x9b: bound\n");
}

TEST(priorities) {
        Journal journal;
        Capture capture;

        journal_init(&journal, false);
        capture_begin(&capture, STDERR_FILENO);
        journal_log(&journal, LOG_DEBUG, NULL, "quiet");
        journal_log(&journal, LOG_INFO, NULL, "info");
        journal_init(&journal, true);
        journal_log(&journal, LOG_DEBUG, NULL, "debug");
        capture_end(&capture);
        assert_string_equal(capture.text, "info\ndebug\n");
}

static void begin_limited(Journal *journal, JournalLimit *limits, Capture *capture) {
        assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
        journal_init(journal, false);
        journal->limits = limits;
        now_usec = 1;
        capture_begin(capture, STDERR_FILENO);
}

/* A user who starts processes in a loop is not to silence the others, nor to fill the disk. */
TEST(a_flood_is_cut) {
        const JournalFields loud = { .policy = "loud" }, other = { .policy = "other" };
        JournalLimit limits[JOURNAL_LIMITS] = { 0 };
        Journal journal;
        Capture capture;
        size_t n = 0;

        begin_limited(&journal, limits, &capture);
        for (unsigned i = 0; i < JOURNAL_LINES_MAX + 500; i++)
                journal_log(&journal, LOG_INFO, &loud, "x");
        journal_tell_left_out(&journal); /* its minute is not over */
        journal_log(&journal, LOG_NOTICE, &other, "other");
        journal_log(&journal, LOG_ERR, &loud, "error");
        now_usec = UINT64_C(61000000);
        journal_tell_left_out(&journal);
        journal_tell_left_out(&journal); /* once */
        journal_log(&journal, LOG_NOTICE, &loud, "again");
        capture_end(&capture);
        for (const char *p = capture.text; (p = strstr(p, "x\n")); p++)
                n++;
        assert_int_equal(n, JOURNAL_LINES_MAX);
        assert_non_null(strstr(capture.text,
                               "x\nother\nerror\n500 further messages about instances of the "
                               "policy loud within a minute were left out: processes start or "
                               "change again and again\nagain\n"));
        journal_done(&journal);
}

static void log_start(const Journal *journal, const JournalFields *fields, unsigned i) {
        journal_log(journal, LOG_NOTICE, fields, "%u shares a node", i);
}

static size_t count(const char *text, const char *what) {
        size_t n = 0;

        for (const char *p = text; (p = strstr(p, what)); p++)
                n++;
        return n;
}

/* What each start repeats is logged for so many, and counted for the others; other kinds, other
 * policies, and what no process causes, are logged as ever. */
TEST(each_kind_of_message_has_a_limit) {
        const JournalFields loud = { .policy = "loud" }, other = { .policy = "other" };
        const JournalFields repeats = { .repeats = true }, none = { 0 };
        JournalLimit limits[JOURNAL_LIMITS] = { 0 };
        Journal journal;
        Capture capture;

        begin_limited(&journal, limits, &capture);
        for (unsigned i = 0; i < 500; i++) {
                log_start(&journal, &loud, i);
                journal_log(&journal, LOG_WARNING, &repeats, "lost");
                journal_log(&journal, LOG_WARNING, &none, "device");
        }
        journal_log(&journal, LOG_NOTICE, &loud, "another kind");
        log_start(&journal, &other, 999);
        now_usec = UINT64_C(61000000);
        journal_tell_left_out(&journal);
        log_start(&journal, &loud, 1000);
        capture_end(&capture);
        assert_int_equal(count(capture.text, " shares a node\n"), JOURNAL_KIND_MAX + 3);
        assert_int_equal(count(capture.text, "\nlost\n"), JOURNAL_KIND_MAX);
        assert_int_equal(count(capture.text, "\ndevice"), 500);
        assert_non_null(strstr(capture.text, "device\nanother kind\n999 shares a node\n"));
        assert_non_null(strstr(capture.text,
                               "484 further messages about instances of the policy loud within a "
                               "minute were left out, the last of them: 499 shares a node\n"));
        assert_non_null(strstr(capture.text, "484 further messages within a minute were left out, "
                                             "the last of them: lost\n1000 shares a node\n"));
}

/* More policies and kinds than there are limits: some share one, and none is lost. */
TEST(more_kinds_than_limits) {
        JournalLimit limits[JOURNAL_LIMITS] = { 0 };
        char names[2 * JOURNAL_LIMITS][8];
        Journal journal;
        Capture capture;

        begin_limited(&journal, limits, &capture);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const JournalFields fields = { .policy = names[i] };

                (void)snprintf(names[i], sizeof(names[i]), "p%zu", i);
                log_start(&journal, &fields, (unsigned)i);
        }
        now_usec = UINT64_C(61000000);
        journal_tell_left_out(&journal);
        capture_end(&capture);
        assert_int_equal(count(capture.text, " shares a node\n"), ELEMENTSOF(names));
}

static bool takes_for_the_journal(const char *stream) {
        Journal journal;
        bool to_journal;

        assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
        journal_init(&journal, false);
        assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
        to_journal = journal.to_journal;
        journal_done(&journal);
        return to_journal;
}

/* The variable is inherited by all that a service starts: it counts for that very stream alone. */
TEST(which_stream) {
        struct stat st;

        assert_int_equal(fstat(STDERR_FILENO, &st), 0);
        assert_true(
                takes_for_the_journal(fmt("%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino)));
        assert_false(takes_for_the_journal(
                fmt("%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1)));
        assert_false(takes_for_the_journal(
                fmt("%ju:%ju", (uintmax_t)st.st_dev + 1, (uintmax_t)st.st_ino)));
        assert_false(takes_for_the_journal(""));
        assert_false(takes_for_the_journal("8"));
        assert_false(takes_for_the_journal("a:b"));
}

/* As journald's, at a path of its own. */
static int bind_datagrams(char path[static 64]) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        (void)snprintf(path, 64, "/tmp/test-journal-%d", getpid());
        (void)unlink(path);
        (void)strcpy(address.sun_path, path);
        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        return fd;
}

static Journal journal_to(const char *path) {
        return (Journal){ .to_journal = true,
                          .fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
                          .path = path,
                          .max_priority = LOG_INFO };
}

TEST(fields) {
        const JournalFields fields = { .message_id = "id", .instance = "a\nPRIORITY=0" };
        char path[64], datagram[4096];
        int fd = bind_datagrams(path);
        Journal journal = journal_to(path);
        ssize_t n;

        journal_log(&journal, LOG_WARNING, &fields, "full: %s", "b\nMESSAGE_ID=other");
        n = recv(fd, datagram, sizeof(datagram) - 1, MSG_DONTWAIT);
        assert_true(n > 0);
        datagram[n] = '\0';
        assert_string_equal(datagram, "MESSAGE=full: b\\x0aMESSAGE_ID=other\nPRIORITY=4\n"
                                      "MESSAGE_ID=id\nTIDBNUMAD_INSTANCE=a\\x0aPRIORITY=0\n"
                                      "SYSLOG_IDENTIFIER=tidbnumad\n");
        journal_done(&journal);
        (void)close(fd);
        (void)unlink(path);
}

/* alarm(2) ends the test where it waits. */
TEST(journald_that_takes_nothing) {
        char path[64];
        int fd = bind_datagrams(path);
        Journal journal = journal_to(path);
        Capture capture;

        (void)alarm(20);
        capture_begin(&capture, STDERR_FILENO);
        for (unsigned i = 0; i < 1000; i++)
                journal_log(&journal, LOG_INFO, NULL, "line %u", i);
        capture_end(&capture);
        (void)alarm(0);
        journal_done(&journal);
        (void)close(fd);
        (void)unlink(path);
}

TEST(stderr_that_nobody_reads) {
        const int saved = dup(STDERR_FILENO);
        char line[4096];
        Journal journal;
        int ends[2];
        ssize_t n;

        assert_int_equal(pipe(ends), 0);
        journal_init(&journal, false);
        (void)alarm(20);
        assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
        for (unsigned i = 0; i < 10000; i++)
                journal_log(&journal, LOG_INFO, NULL, "line %u of many that nobody reads", i);
        assert_true(dup2(saved, STDERR_FILENO) >= 0);
        (void)alarm(0);
        n = read(ends[0], line, sizeof(line)); /* those that were taken are whole lines */
        assert_true(n > 0 && strncmp(line, "line 0 of many", 14) == 0);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)close(saved);
}
