/* The command line of tidbnumactl(8). */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/config/suggest.h"
#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/options.h"
#include "tidbnumad/ctl/output.h"

enum { OPTIONS_MAX = 32 };

const char *args_command_name(Command command) {
        return options_command(command)->name;
}

/* Prints the error, with a similar command if there is one. Returns -EINVAL. */
static int refuse_command(const char *word) {
        _cleanup_text_ Text list = { 0 };
        const char *names[N_COMMANDS];
        int nearest;

        for (unsigned c = 0; c < N_COMMANDS; c++)
                names[c] = args_command_name(c);
        nearest = suggest_nearest(word, names, N_COMMANDS);
        if (nearest >= 0)
                output_line(stderr, "tidbnumactl: unknown command '%s', did you mean '%s'?", word,
                            names[nearest]);
        else {
                for (unsigned c = 0; c < N_COMMANDS; c++)
                        text_appendf(&list, "%s %s",
                                     c == 0                ? ""
                                     : c + 1 == N_COMMANDS ? " or"
                                                           : ",",
                                     names[c]);
                output_line(stderr, "tidbnumactl: unknown command '%s', expected%s", word,
                            list.data ? list.data : "");
        }
        output_line(stderr, "Try 'tidbnumactl --help'.");
        return -EINVAL;
}

static int find_command(const char *word, Command *ret) {
        for (unsigned c = 0; c < N_COMMANDS; c++)
                if (strcmp(word, args_command_name(c)) == 0) {
                        *ret = c;
                        return 0;
                }
        return refuse_command(word);
}

static int try_help(Command command) {
        output_line(stderr, "Try 'tidbnumactl %s --help'.", args_command_name(command));
        return -EINVAL;
}

static int add_path(const char **paths, size_t *n, size_t max, const char *path,
                    const char *option) {
        if (*n == max) {
                output_line(stderr, "tidbnumactl: more than %zu %s", max, option);
                return -EINVAL;
        }
        paths[(*n)++] = path;
        return 1;
}

/* The field of an option without a value; NULL: the option has a value. */
static bool *flag_of(Args *args, int id) {
        switch (id) {
        case OPTION_EXPLAIN:
                return &args->explain;
        case OPTION_JSON:
                return &args->json;
        case OPTION_TIUP:
                return &args->tiup;
        case OPTION_ASK:
                return &args->ask;
        case OPTION_EXACT:
                return &args->exact;
        case OPTION_ALL:
                return &args->all;
        case OPTION_UNDO:
                return &args->undo;
        case OPTION_DRY_RUN:
                return &args->dry_run;
        case OPTION_WATCH:
                return &args->watch;
        case OPTION_YES:
                return &args->yes;
        case OPTION_NO_WAIT:
                return &args->no_wait;
        default:
                return NULL;
        }
}

static int take_option(Args *args, int id) {
        bool *flag = flag_of(args, id);

        if (flag) {
                *flag = true;
                return 1;
        }
        switch (id) {
        case OPTION_POLICY_DIR:
                args->policy_is_set = true;
                return add_path(args->policy_dirs, &args->n_policy_dirs, ARGS_POLICY_DIRS_MAX,
                                optarg, "--policy-dir");
        case OPTION_POLICY:
                args->policy_is_set = true;
                return add_path(args->policy_files, &args->n_policy_files, ARGS_POLICY_FILES_MAX,
                                optarg, "--policy");
        case OPTION_SYSROOT:
                args->sysroot = optarg;
                return 1;
        case OPTION_TOPOLOGY:
                args->topology = optarg;
                return 1;
        case OPTION_INSTANCES:
                args->instances = optarg;
                return 1;
        case OPTION_AGAINST:
                args->against = optarg;
                return 1;
        case OPTION_EXPORT:
                args->export_path = optarg;
                return 1;
        case OPTION_RUNTIME_DIR:
                args->runtime_dir = optarg;
                return 1;
        case OPTION_TIUP_FILE:
                args->tiup_file = optarg;
                return 1;
        case OPTION_HOSTS:
                args->hosts = optarg;
                return 1;
        case OPTION_OUTPUT:
                args->output = optarg;
                return 1;
        default:
                return -EINVAL;
        }
}

static int answer(const Args *args, int id, bool has_command) {
        _cleanup_text_ Text text = { 0 };

        if (id == OPTION_VERSION)
                text_append(&text, "tidbnumactl " TIDBNUMAD_VERSION "\n");
        else if (has_command)
                options_append_command_help(args->command, &text);
        else
                options_append_help(&text);
        return output_text(&text);
}

/* getopt_long(3) has rejected the option and suggests none: print a similar one of this command. */
static void suggest_option(const Args *args, const char *word) {
        const char *names[OPTIONS_MAX];
        const OptionRow *rows;
        size_t n = options_rows(&rows), n_names = 0;
        char name[SUGGEST_WORD_MAX];
        int nearest;

        if (strncmp(word, "--", 2) != 0)
                return;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        for (size_t i = 0; i < n && n_names < OPTIONS_MAX; i++)
                if (rows[i].commands & (1u << args->command))
                        names[n_names++] = rows[i].name;
        nearest = suggest_nearest(name, names, n_names);
        if (nearest >= 0)
                output_line(stderr, "Did you mean '--%s'?", names[nearest]);
}

static int refuse_option(const Args *args, const OptionRow *row) {
        char commands[OPTIONS_COMMANDS_MAX];

        output_line(stderr, "tidbnumactl: %s has no option --%s; it is an option of %s",
                    args_command_name(args->command), row->name,
                    options_commands_of(row, commands));
        return try_help(args->command);
}

/* Of two options of one name, each takes the one that its command has. */
static bool is_other_commands(Command command, const OptionRow *row) {
        const OptionRow *rows;
        size_t n = options_rows(&rows);

        for (size_t i = 0; i < n && !(row->commands & (1u << command)); i++)
                if (&rows[i] != row && strcmp(rows[i].name, row->name) == 0 &&
                    (rows[i].commands & (1u << command)))
                        return true;
        return false;
}

static void fill_getopt(Command command, struct option *options) {
        const OptionRow *rows;
        size_t n = options_rows(&rows), n_options = 0;

        for (size_t i = 0; i < n && n_options + 1 < OPTIONS_MAX; i++)
                if (!is_other_commands(command, &rows[i]))
                        options[n_options++] =
                                (struct option){ .name = rows[i].name,
                                                 .has_arg = rows[i].argument ? required_argument
                                                                             : no_argument,
                                                 .val = rows[i].id };
}

/* argv[0] is the command's name. Returns as args_parse(). */
static int parse_options(Args *args, int argc, char *argv[]) {
        struct option options[OPTIONS_MAX] = { 0 };
        int id, r;

        fill_getopt(args->command, options);
        optind = 0; /* glibc: reset getopt for a repeated call */
        while ((id = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
                const OptionRow *row = options_find(id);

                if (!row) { /* getopt_long() has printed the error */
                        suggest_option(args, argv[optind > 1 ? optind - 1 : 1]);
                        return try_help(args->command);
                }
                if (id == OPTION_HELP || id == OPTION_VERSION)
                        return answer(args, id, true);
                if (!(row->commands & (1u << args->command)))
                        return refuse_option(args, row);
                r = take_option(args, id);
                if (r < 0)
                        return try_help(args->command);
        }
        return 1;
}

static int refuse_argument(const Args *args, const char *word) {
        output_line(stderr, "tidbnumactl: %s takes no argument '%s'",
                    args_command_name(args->command), word);
        return try_help(args->command);
}

static int take_names(Args *args, int n, char *words[]) {
        for (int i = 0; i < n; i++)
                if (add_path(args->names, &args->n_names, ARGS_NAMES_MAX, words[i], "instances") <
                    0)
                        return try_help(args->command);
        if (args->command == COMMAND_REPLAN && n == 0)
                args->names[args->n_names++] = "*";
        if (args->command != COMMAND_RELEASE || (n > 0) != args->all)
                return 1;
        output_line(stderr, n > 0 ? "tidbnumactl: --all cannot be combined with names"
                                  : "tidbnumactl: release what? Expected names of instances, or "
                                    "--all");
        return try_help(args->command);
}

static int take_subject(Args *args, int n, char *words[]) {
        if (n == 0) {
                output_line(stderr, "tidbnumactl: %s what? Expected the name of an instance%s",
                            args_command_name(args->command),
                            args->command == COMMAND_EXPLAIN ? ", a process number or a unit"
                                                             : " or a process number");
                return try_help(args->command);
        }
        args->subject = words[0];
        return n == 1 ? 1 : refuse_argument(args, words[1]);
}

/* Takes the arguments after the options. */
static int take_arguments(Args *args, int n, char *words[]) {
        switch (args->command) {
        case COMMAND_VALIDATE:
                for (int i = 0; i < n; i++)
                        if (add_path(args->policy_files, &args->n_policy_files,
                                     ARGS_POLICY_FILES_MAX, words[i], "files") < 0)
                                return try_help(args->command);
                args->policy_is_set |= n > 0;
                return 1;
        case COMMAND_EXPLAIN:
        case COMMAND_LOCALITY:
                return take_subject(args, n, words);
        case COMMAND_STATUS:
        case COMMAND_TOP:
        case COMMAND_REPLAN:
        case COMMAND_RELEASE:
                return take_names(args, n, words);
        default:
                return n == 0 ? 1 : refuse_argument(args, words[0]);
        }
}

/* Rejects two options that exclude each other. */
static int check_pair(const Args *args, const char *a, const char *b, bool both) {
        if (!both)
                return 1;
        output_line(stderr, "tidbnumactl: %s cannot be combined with %s", a, b);
        return try_help(args->command);
}

static const char *planned_otherwise(const Args *args) {
        return args->sysroot       ? "--sysroot"
               : args->topology    ? "--topology"
               : args->instances   ? "--instances"
               : args->against     ? "--against"
               : args->explain     ? "--explain"
               : args->export_path ? "--export"
                                   : NULL;
}

/* A whole cluster. */
static int check_cluster(const Args *args) {
        const char *other = planned_otherwise(args);

        if (args->command != COMMAND_PLAN)
                return 1;
        if (args->tiup_file && other)
                return check_pair(args, "--tiup", other, true);
        if (!args->tiup_file != !args->hosts) {
                output_line(stderr,
                            "tidbnumactl: --tiup and --hosts are given together: the topology file "
                            "of the cluster and the folder with its machines");
                return try_help(args->command);
        }
        if (!args->output || args->tiup_file)
                return 1;
        output_line(stderr, "tidbnumactl: --output of plan needs --tiup and --hosts");
        return try_help(args->command);
}

static int check(const Args *args) {
        const char *files = args->command == COMMAND_VALIDATE ? "files" : "--policy";
        const char *other = planned_otherwise(args);
        int r = check_pair(args, "--sysroot", "--topology", args->sysroot && args->topology);
        if (r > 0)
                r = check_pair(args, "--policy-dir", files,
                               args->n_policy_dirs > 0 && args->n_policy_files > 0);
        if (r > 0)
                r = check_pair(args, "--explain", "--against", args->explain && args->against);
        if (r > 0)
                r = check_pair(args, "--export", "--against", args->export_path && args->against);
        if (r > 0)
                r = check_pair(args, "--ask", other, args->ask && other);
        if (r > 0)
                r = check_pair(args, "--json", args->tiup ? "--tiup" : "--watch",
                               args->json && (args->tiup || args->watch));
        if (r > 0)
                r = check_cluster(args);
        if (r > 0 && args->command == COMMAND_EXPLAIN && args->topology && !args->instances) {
                output_line(stderr,
                            "tidbnumactl: no process runs on --topology; give imagined instances "
                            "with --instances");
                return try_help(args->command);
        }
        return r;
}

static void set_default_dirs(Args *args) {
        static const char *const dirs[] = { "/usr/lib/tidbnumad.d",
                                            TIDBNUMAD_SYSCONFDIR "/tidbnumad.d",
                                            "/run/tidbnumad.d" };

        for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                args->policy_dirs[args->n_policy_dirs++] = dirs[i];
}

int args_parse(Args *args, int argc, char *argv[]) {
        int r;

        *args = (Args){ .runtime_dir = "/run/tidbnumad" };
        if (argc < 2) {
                output_line(stderr, "tidbnumactl: no command. Try 'tidbnumactl --help'.");
                return -EINVAL;
        }
        if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ||
            strcmp(argv[1], "help") == 0)
                return answer(args, OPTION_HELP, false);
        if (strcmp(argv[1], "--version") == 0)
                return answer(args, OPTION_VERSION, false);
        if (argv[1][0] == '-') {
                output_line(stderr,
                            "tidbnumactl: the command must come before '%s'. Try "
                            "'tidbnumactl --help'.",
                            argv[1]);
                return -EINVAL;
        }
        r = find_command(argv[1], &args->command);
        if (r < 0)
                return r;
        argv[1] = (char *)"tidbnumactl"; /* the program's name in getopt_long()'s messages */
        r = parse_options(args, argc - 1, argv + 1);
        if (r > 0)
                r = take_arguments(args, argc - 1 - optind, argv + 1 + optind);
        if (r > 0)
                r = check(args);
        if (r > 0 && !args->policy_is_set)
                set_default_dirs(args);
        return r;
}
