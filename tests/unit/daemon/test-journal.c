/* The log, to standard error. */
#include <inttypes.h>
#include <sys/stat.h>

#include "../../support/test.h"

#include "capture.h"
#include "tidbnumad/daemon/host/journal.h"

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
        capture_begin(&capture, STDERR_FILENO);
        journal_log(&journal, LOG_INFO, NULL, "%s: bound",
                    "a\x1b[31m\nroot: b\xe2\x80\xae\xc2\x9b\x9b");
        capture_end(&capture);
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

static bool takes_for_the_journal(const char *stream) {
        Journal journal;

        assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
        journal_init(&journal, false);
        assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
        return journal.to_journal;
}

/* The variable is inherited by all that a service starts: it counts for that very stream alone. */
TEST(which_stream) {
        struct stat st;
        char stream[64];

        assert_int_equal(fstat(STDERR_FILENO, &st), 0);
        (void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
                       (uintmax_t)st.st_ino);
        assert_true(takes_for_the_journal(stream));
        (void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
                       (uintmax_t)st.st_ino + 1);
        assert_false(takes_for_the_journal(stream));
        (void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev + 1,
                       (uintmax_t)st.st_ino);
        assert_false(takes_for_the_journal(stream));
        assert_false(takes_for_the_journal(""));
        assert_false(takes_for_the_journal("8"));
        assert_false(takes_for_the_journal("a:b"));
}
