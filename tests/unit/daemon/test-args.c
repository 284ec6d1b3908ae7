/* The command line: every option, and what is said of a wrong one. */
#include <getopt.h>

#include "../../support/test.h"

#include "../../support/command-line.h"
#include "capture.h"
#include "config.h"
#include "tidbnumad/daemon/host/host.h"

static int parse(Args *args, const char *const *words) {
        static CommandLine line; /* the arguments are borrowed from it */

        command_line_init(&line, "tidbnumad", words);
        optind = 0; /* glibc: start from the beginning */
        return args_parse(args, line.argc, line.argv);
}

#define PARSE(args, ...) parse(args, (const char *const[]){ __VA_ARGS__, NULL })

TEST(defaults) {
        Args args;

        memset(&args, 0xa5, sizeof(args));
        assert_int_equal(PARSE(&args, NULL), 1);
        assert_false(args.dry_run || args.once || args.debug);
        assert_null(args.sysroot);
        assert_string_equal(args.runtime_dir, "/run/tidbnumad");
        assert_int_equal(args.n_policy_dirs, 3);
        assert_false(args.policy_dirs_named);
        assert_string_equal(args.policy_dirs[0], "/usr/lib/tidbnumad.d");
        assert_string_equal(args.policy_dirs[1], TIDBNUMAD_SYSCONFDIR "/tidbnumad.d");
        assert_string_equal(args.policy_dirs[2], "/run/tidbnumad.d");
}

TEST(switches) {
        Args args;

        assert_int_equal(PARSE(&args, "-n"), 1);
        assert_true(args.dry_run && !args.once && !args.debug);
        assert_int_equal(PARSE(&args, "--dry-run"), 1);
        assert_true(args.dry_run && !args.once && !args.debug);
        assert_int_equal(PARSE(&args, "--once"), 1);
        assert_true(!args.dry_run && args.once && !args.debug);
        assert_int_equal(PARSE(&args, "--debug"), 1);
        assert_true(!args.dry_run && !args.once && args.debug);
}

/* It must not overwrite what a running daemon publishes, unless it is asked for. */
TEST(a_dry_run_publishes_nothing) {
        Args args;

        assert_int_equal(PARSE(&args, "--once", "--dry-run"), 1);
        assert_null(args.runtime_dir);
        assert_int_equal(PARSE(&args, "--sysroot", "/tmp/host7"), 1);
        assert_null(args.runtime_dir);
        assert_int_equal(PARSE(&args, "--runtime-dir=/run/tidbnumad", "-n"), 1);
        assert_string_equal(args.runtime_dir, "/run/tidbnumad");
}

TEST(sysroot_changes_nothing) {
        Args args;

        assert_int_equal(PARSE(&args, "--sysroot", "/tmp/host7"), 1);
        assert_string_equal(args.sysroot, "/tmp/host7");
        assert_true(args.dry_run);
}

TEST(dirs) {
        Args args;

        assert_int_equal(PARSE(&args, "--runtime-dir=/r", "--policy-dir", "a", "--policy-dir=b"),
                         1);
        assert_string_equal(args.runtime_dir, "/r");
        assert_int_equal(args.n_policy_dirs, 2); /* in the place of the default ones */
        assert_string_equal(args.policy_dirs[0], "a");
        assert_string_equal(args.policy_dirs[1], "b");
        assert_int_equal(PARSE(&args, "--policy-dir=1", "--policy-dir=2", "--policy-dir=3",
                               "--policy-dir=4", "--policy-dir=5", "--policy-dir=6",
                               "--policy-dir=7", "--policy-dir=8"),
                         1);
        assert_int_equal(args.n_policy_dirs, ARGS_POLICY_DIRS_MAX);
}

static void assert_wrong(const char *const *words, const char *in_message) {
        Capture capture;
        Args args;
        int r;

        CAPTURE_STDERR(&capture, r = parse(&args, words));
        assert_int_equal(r, -EINVAL);
        assert_contains(capture.text, in_message);
}

#define WRONG(message, ...) assert_wrong((const char *const[]){ __VA_ARGS__, NULL }, message)

TEST(wrong) {
        WRONG("--frobnicate", "--frobnicate");
        WRONG("Try 'tidbnumad --help'", "--frobnicate");
        WRONG("'x'", "-x");
        WRONG("--sysroot", "--sysroot");
        WRONG("--dry-run", "--dry-run=yes");
        WRONG("'start' is not an option", "start");
        WRONG("'start' is not an option", "--once", "start", "--debug");
        WRONG("'later' is not an option", "--", "later");
        WRONG("more than 8 --policy-dir", "--policy-dir=1", "--policy-dir=2", "--policy-dir=3",
              "--policy-dir=4", "--policy-dir=5", "--policy-dir=6", "--policy-dir=7",
              "--policy-dir=8", "--policy-dir=9");
}

static void assert_answered(const char *option, const char *in_answer) {
        Capture capture;
        Args args;
        int r;

        capture_begin(&capture, STDOUT_FILENO);
        r = PARSE(&args, option);
        capture_end(&capture);
        assert_int_equal(r, 0);
        assert_contains(capture.text, in_answer);
}

TEST(help_and_version) {
        static const char *const options[] = { "-n, --dry-run", "--once",        "--sysroot DIR",
                                               "--policy-dir",  "--runtime-dir", "--debug",
                                               "-h, --help",    "--version" };

        for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
                assert_answered("--help", options[i]);
                assert_answered("-h", options[i]);
        }
        assert_answered("--version", "tidbnumad " TIDBNUMAD_VERSION "\n");
}
