/* The command line: every command and option, what each command takes, and what is said of a wrong
 * one. */

#include "../../support/test.h"

#include "../../support/command-line.h"
#include "../daemon/capture.h"
#include "config.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/ctl/args.h"

static int parse(Args *args, const char *const *words) {
        static CommandLine line; /* the arguments are borrowed from it */

        command_line_init(&line, "tidbnumactl", words);
        return args_parse(args, line.argc, line.argv);
}

#define PARSE(args, ...) parse(args, (const char *const[]){ __VA_ARGS__, NULL })

TEST(defaults) {
        Args args;

        memset(&args, 0xa5, sizeof(args));
        assert_int_equal(PARSE(&args, "plan"), 1);
        assert_int_equal(args.command, COMMAND_PLAN);
        assert_false(args.json || args.explain || args.tiup || args.policy_is_set);
        assert_null(args.sysroot);
        assert_null(args.topology);
        assert_null(args.instances);
        assert_null(args.against);
        assert_null(args.export_path);
        assert_null(args.subject);
        assert_string_equal(args.runtime_dir, "/run/tidbnumad");
        assert_int_equal(args.n_policy_files, 0);
        assert_int_equal(args.n_policy_dirs, 3);
        assert_string_equal(args.policy_dirs[0], "/usr/lib/tidbnumad.d");
        assert_string_equal(args.policy_dirs[1], TIDBNUMAD_SYSCONFDIR "/tidbnumad.d");
        assert_string_equal(args.policy_dirs[2], "/run/tidbnumad.d");
}

TEST(options) {
        Args args;

        assert_int_equal(PARSE(&args, "plan", "--sysroot=/s", "--instances", "4:tidb", "--json",
                               "--explain", "--export", "x.xml", "--runtime-dir=/r",
                               "--policy-dir=a", "--policy-dir=b"),
                         1);
        assert_string_equal(args.sysroot, "/s");
        assert_string_equal(args.instances, "4:tidb");
        assert_string_equal(args.export_path, "x.xml");
        assert_string_equal(args.runtime_dir, "/r");
        assert_true(args.json && args.explain && !args.tiup && args.policy_is_set);
        assert_int_equal(args.n_policy_dirs, 2); /* in the place of the default ones */
        assert_string_equal(args.policy_dirs[0], "a");
        assert_string_equal(args.policy_dirs[1], "b");
        assert_int_equal(PARSE(&args, "plan", "--topology", "numa:2 pu:4", "--against", "/a"), 1);
        assert_string_equal(args.topology, "numa:2 pu:4");
        assert_string_equal(args.against, "/a");
        assert_int_equal(PARSE(&args, "advise", "--tiup", "--policy", "a", "--policy=b"), 1);
        assert_int_equal(args.command, COMMAND_ADVISE);
        assert_true(args.tiup && !args.json && !args.ask);
        assert_int_equal(args.n_policy_dirs, 0);
        assert_int_equal(args.n_policy_files, 2);
        assert_string_equal(args.policy_files[1], "b");
        assert_int_equal(PARSE(&args, "advise", "--ask"), 1);
        assert_true(args.ask && !args.tiup);
}

TEST(arguments) {
        Args args;

        assert_int_equal(PARSE(&args, "explain", "--json", "tidb-4000", "--runtime-dir", "/r"), 1);
        assert_int_equal(args.command, COMMAND_EXPLAIN);
        assert_string_equal(args.subject, "tidb-4000");
        assert_int_equal(PARSE(&args, "locality", "--exact", "4711", "--json"), 1);
        assert_int_equal(args.command, COMMAND_LOCALITY);
        assert_string_equal(args.subject, "4711");
        assert_true(args.exact && args.json);
        assert_int_equal(PARSE(&args, "explain", "--", "-1"), 1);
        assert_string_equal(args.subject, "-1");
        assert_int_equal(PARSE(&args, "validate", "a.yaml", "--json", "-", "b.yaml"), 1);
        assert_int_equal(args.command, COMMAND_VALIDATE);
        assert_int_equal(args.n_policy_files, 3);
        assert_string_equal(args.policy_files[0], "a.yaml");
        assert_string_equal(args.policy_files[1], "-");
        assert_string_equal(args.policy_files[2], "b.yaml");
        assert_int_equal(args.n_policy_dirs, 0);
        assert_true(args.json && args.policy_is_set);
        assert_int_equal(PARSE(&args, "validate", "a.yaml"), 1);
        assert_int_equal(args.n_policy_dirs, 0);
        assert_int_equal(PARSE(&args, "validate"), 1);
        assert_int_equal(args.n_policy_dirs, 3);
        assert_int_equal(PARSE(&args, "explain", "a", "--topology=numa:2", "--instances=1:a"), 1);
}

TEST(control) {
        Args args;

        assert_int_equal(PARSE(&args, "status", "a", "b", "--json"), 1);
        assert_int_equal(args.command, COMMAND_STATUS);
        assert_int_equal(args.names.n_words, 2);
        assert_string_equal(args.names.words[1], "b");
        assert_int_equal(PARSE(&args, "status"), 1);
        assert_int_equal(args.names.n_words, 0);
        assert_int_equal(PARSE(&args, "pause", "--dry-run", "--no-wait"), 1);
        assert_int_equal(args.command, COMMAND_PAUSE);
        assert_true(args.dry_run && args.no_wait && !args.all && !args.undo);
        assert_int_equal(PARSE(&args, "reload"), 1);
        assert_int_equal(args.command, COMMAND_RELOAD);
        assert_int_equal(PARSE(&args, "resume"), 1);
        assert_int_equal(args.command, COMMAND_RESUME);
        assert_false(args.dry_run || args.no_wait);
        assert_string_equal(args.policy_dirs[args.n_policy_dirs - 1], "/run/tidbnumad.d");
        assert_int_equal(PARSE(&args, "release", "--undo", "a*"), 1);
        assert_int_equal(args.command, COMMAND_RELEASE);
        assert_true(args.undo && !args.all);
        assert_string_equal(args.names.words[0], "a*");
        assert_int_equal(PARSE(&args, "release", "--all"), 1);
        assert_true(args.all);
        assert_string_equal(args.names.words[0], "*");
        assert_int_equal(PARSE(&args, "replan", "--yes", "a*"), 1);
        assert_int_equal(args.command, COMMAND_REPLAN);
        assert_true(args.yes && args.names.n_words == 1);
        assert_int_equal(PARSE(&args, "replan"), 1); /* all */
        assert_string_equal(args.names.words[0], "*");
}

static void assert_wrong(const char *const *words, const char *in_message) {
        Capture capture;
        Args args;
        int r;

        CAPTURE_STDERR(&capture, r = parse(&args, words));
        assert_int_equal(r, -EINVAL);
        assert_contains(capture.text, in_message);
        assert_contains(capture.text, "--help");
}

#define WRONG(message, ...) assert_wrong((const char *const[]){ __VA_ARGS__, NULL }, message)

TEST(wrong_commands) {
        WRONG("no command", NULL);
        WRONG("unknown command 'plna', did you mean 'plan'?", "plna");
        WRONG("unknown command 'validat', did you mean 'validate'?", "validat", "x");
        WRONG("unknown command 'frobnicate', expected validate, plan, explain, advise, check, "
              "status, top, locality, gather, reload, pause, resume, release, replan or "
              "trial\n",
              "frobnicate");
        WRONG("release what?", "release");
        WRONG("release what?", "release", "--undo");
        WRONG("--all cannot be combined with names", "release", "--all", "a");
        WRONG("pause takes no argument 'a'", "pause", "a");
        WRONG("pause has no option --undo; it is an option of release\n", "pause", "--undo");
        WRONG("status has no option --policy-dir", "status", "--policy-dir=a");
        WRONG("no command behind '--json'", "--json");
        WRONG("no command behind '--policy'", "--policy", "plan"); /* that is its argument */
}

TEST(options_before_the_command) {
        Args args;

        assert_int_equal(PARSE(&args, "--json", "--runtime-dir", "status", "status", "a"), 1);
        assert_int_equal(args.command, COMMAND_STATUS);
        assert_true(args.json);
        assert_string_equal(args.runtime_dir, "status");
        assert_string_equal(args.names.words[0], "a");
}

TEST(wrong_options) {
        WRONG("--frobnicate", "plan", "--frobnicate");
        WRONG("Did you mean '--instances'?", "plan", "--instence=1:a");
        WRONG("Did you mean '--explain'?", "plan", "--json", "--expalin");
        WRONG("option '--hosts' requires an argument\nTry", "plan", "--tiup", "x", "--hosts");
        WRONG("validate has no option --instances; it is an option of plan, explain, advise and "
              "check\n"
              "Try 'tidbnumactl validate --help'",
              "validate", "--instances=1:a");
        WRONG("check has no option --tiup; it is an option of plan and advise\n", "check",
              "--tiup");
        WRONG("option '--tiup' requires an argument", "plan", "--tiup");
        WRONG("explain has no option --against; it is an option of plan\n", "explain", "a",
              "--against=b");
        WRONG("--sysroot", "plan", "--sysroot");
        WRONG("--json", "plan", "--json=yes");
        WRONG("'x'", "plan", "-x");
        WRONG("--sysroot cannot be combined with --topology", "plan", "--sysroot=a",
              "--topology=b");
        WRONG("--policy-dir cannot be combined with --policy", "plan", "--policy-dir=a",
              "--policy=b");
        WRONG("--policy-dir cannot be combined with files", "validate", "--policy-dir=a", "b");
        WRONG("--explain cannot be combined with --against", "plan", "--explain", "--against=b");
        WRONG("--export cannot be combined with --against", "plan", "--export=x", "--against=b");
        WRONG("--json cannot be combined with --tiup", "advise", "--json", "--tiup");
        WRONG("plan has no option --ask; it is an option of advise and check\n", "plan", "--ask");
        WRONG("--ask cannot be combined with --sysroot", "check", "--ask", "--sysroot=a");
        WRONG("--ask cannot be combined with --instances", "advise", "--ask", "--instances=1:a");
        WRONG("--ask cannot be combined with --sysroot", "advise", "--ask", "--sysroot=a");
        WRONG("--ask cannot be combined with --topology", "advise", "--ask", "--topology=a");
        WRONG("--tiup needs --hosts, the folder", "plan", "--tiup=a");
        WRONG("--hosts of plan needs --tiup", "plan", "--hosts=a");
        WRONG("--afresh of plan needs --tiup", "plan", "--afresh");
        WRONG("--hosts cannot be combined with --topology", "plan", "--tiup=a", "--hosts=b",
              "--topology=c");
        WRONG("--output of plan needs --tiup", "plan", "--output=a");
        WRONG("--tiup cannot be combined with --instances", "plan", "--tiup=a", "--hosts=b",
              "--instances=1:tidb");
}

TEST(a_whole_cluster) {
        Args args;

        assert_int_equal(PARSE(&args, "plan", "--tiup", "t.yaml", "--hosts", "m", "--json"), 1);
        assert_string_equal(args.tiup_file, "t.yaml");
        assert_string_equal(args.hosts, "m");
        assert_false(args.tiup);
        assert_null(args.output);
}

TEST(wrong_arguments) {
        const char *many[WORDS_MAX] = { "validate" };

        WRONG("plan takes no argument 'tidb'", "plan", "tidb");
        WRONG("advise takes no argument 'now'", "advise", "--json", "now");
        WRONG("explain what?", "explain");
        WRONG("locality what? Expected the name of an instance or a process number\n", "locality");
        WRONG("locality takes no argument '2'", "locality", "1", "2");
        WRONG("status has no option --exact; it is an option of locality\n", "status", "--exact");
        WRONG("explain takes no argument 'b'", "explain", "a", "b");
        WRONG("no process runs on --topology", "explain", "a", "--topology=numa:2");
        WRONG("more than 8 --policy-dir", "plan", "--policy-dir=1", "--policy-dir=2",
              "--policy-dir=3", "--policy-dir=4", "--policy-dir=5", "--policy-dir=6",
              "--policy-dir=7", "--policy-dir=8", "--policy-dir=9", "--help");
        for (size_t i = 1; i <= ARGS_POLICY_FILES_MAX; i++)
                many[i] = "f";
        assert_int_equal(parse(&(Args){ 0 }, many), 1);
        many[ARGS_POLICY_FILES_MAX + 1] = "--json";
        assert_int_equal(parse(&(Args){ 0 }, many), 1);
        many[ARGS_POLICY_FILES_MAX + 1] = "g";
        assert_int_equal(parse(&(Args){ 0 }, many), -EINVAL);
}

static void answer(const char *const *words, Capture *capture) {
        Args args;
        int r;

        capture_begin(capture, STDOUT_FILENO);
        r = parse(&args, words);
        capture_end(capture);
        assert_int_equal(r, 0);
}

#define ANSWER(capture, ...) answer((const char *const[]){ __VA_ARGS__, NULL }, capture)

/* Letters, and not bytes, are what a terminal counts. */
static void assert_fits_80(const char *text) {
        size_t column = 0;

        for (const char *c = text; *c; c++) {
                column = *c == '\n' ? 0 : column + (((unsigned char)*c & 0xc0) != 0x80);
                if (column > 80)
                        fail_msg("a line of more than 80 columns ends with '%.40s'", c);
        }
}

/* The commands and the options that a help lists, each once. */
typedef struct Listed {
        char commands[N_COMMANDS][16], options[48][24];
        size_t n_commands, n_options;
} Listed;

static void listed_in(const char *help, Listed *ret) {
        *ret = (Listed){ 0 };
        for (const char *line = help; line;
             line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
                char *option = ret->options[ret->n_options];

                if (strncmp(line, "      --", 8) == 0 || strncmp(line, "  -h, --", 8) == 0) {
                        assert_int_equal(sscanf(line + 8, "%23[a-z-]", option), 1);
                        for (size_t i = 0; i < ret->n_options; i++)
                                assert_string_not_equal(ret->options[i], option);
                        assert_in_range(++ret->n_options, 1, ELEMENTSOF(ret->options) - 1);
                } else if (ret->n_options == 0 && strncmp(line, "  ", 2) == 0) {
                        assert_in_range(ret->n_commands, 0, N_COMMANDS - 1);
                        assert_int_equal(
                                sscanf(line, "  %15[a-z]", ret->commands[ret->n_commands++]), 1);
                }
        }
}

TEST(help) {
        Listed listed;
        Capture capture;

        ANSWER(&capture, "--help");
        assert_fits_80(capture.text);
        listed_in(capture.text, &listed);
        assert_int_equal(listed.n_commands, N_COMMANDS);
        ANSWER(&capture, "-h");
        assert_contains(capture.text, "Commands:");
        ANSWER(&capture, "help");
        assert_contains(capture.text, "Commands:");
        ANSWER(&capture, "--version");
        assert_string_equal(capture.text, "tidbnumactl " TIDBNUMAD_VERSION "\n");
        ANSWER(&capture, "plan", "--version");
        assert_string_equal(capture.text, "tidbnumactl " TIDBNUMAD_VERSION "\n");
}

/* The help of a command lists the options that it takes, and no other. */
TEST(command_help) {
        Listed all, own;
        Capture capture;
        Args args;

        ANSWER(&capture, "--help");
        listed_in(capture.text, &all);
        for (size_t c = 0; c < all.n_commands; c++) {
                ANSWER(&capture, all.commands[c], "--help");
                assert_fits_80(capture.text);
                assert_contains(capture.text, "Examples:\n  tidbnumactl ");
                listed_in(capture.text, &own);
                assert_true(own.n_options > 1);
                for (size_t i = 0; i < all.n_options; i++) {
                        const char *option = fmt("--%s", all.options[i]);
                        bool is_listed = false;

                        for (size_t k = 0; k < own.n_options; k++)
                                is_listed |= strcmp(own.options[k], all.options[i]) == 0;
                        capture.text[0] = '\0';
                        if (strcmp(option, "--help") != 0 && strcmp(option, "--version") != 0)
                                CAPTURE_STDERR(&capture,
                                               PARSE(&args, all.commands[c], option, "x"));
                        assert_int_equal(!strstr(capture.text, "has no option"), is_listed);
                }
        }
}
