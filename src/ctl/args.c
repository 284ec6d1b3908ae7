#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/options.h"
#include "tidbnumad/ctl/output.h"

enum { OPTIONS_MAX = 32, FIRST_OPTION = 0x100 };

const char *args_command_name(Command command) {
        return options_command(command)->name;
}

/* Prints the error, with a similar command if there is one. Returns -EINVAL. */
static int refuse_command(const char *word) {
        Suggestion similar = { .word = word };
        _cleanup_text_ Text list = { 0 };

        for (unsigned c = 0; c < N_COMMANDS; c++) {
                suggest(&similar, args_command_name(c));
                text_appendf(&list, "%s %s",
                             c == 0                ? ""
                             : c + 1 == N_COMMANDS ? " or"
                                                   : ",",
                             args_command_name(c));
        }
        if (similar.nearest)
                output_line(stderr, "tidbnumactl: unknown command '%s', did you mean '%s'?", word,
                            similar.nearest);
        else
                output_line(stderr, "tidbnumactl: unknown command '%s', expected%s", word,
                            list.data ? list.data : "");
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

static int try_help(const Args *args) {
        output_line(stderr, "Try 'tidbnumactl %s --help'.", args_command_name(args->command));
        return -EINVAL;
}

#define REFUSE(args, ...) (output_line(stderr, "tidbnumactl: " __VA_ARGS__), try_help(args))

static int add_word(const Args *args, const char **words, size_t *n, size_t max, const char *word,
                    const char *what) {
        if (*n == max)
                return REFUSE(args, "more than %zu %s", max, what);
        words[(*n)++] = word;
        return 1;
}

static int add_policy_file(Args *args, const char *path, const char *what) {
        return add_word(args, args->policy_files, &args->n_policy_files, ARGS_POLICY_FILES_MAX,
                        path, what);
}

static int take_option(Args *args, const OptionRow *row) {
        void *field = (char *)args + row->field;

        if (field == (void *)args->policy_dirs)
                return add_word(args, args->policy_dirs, &args->n_policy_dirs, ARGS_POLICY_DIRS_MAX,
                                optarg, "--policy-dir");
        if (field == (void *)args->policy_files)
                return add_policy_file(args, optarg, "--policy");
        if (row->argument)
                *(const char **)field = optarg;
        else
                *(bool *)field = true;
        return 1;
}

static int answer(const Args *args, bool has_command) {
        _cleanup_text_ Text text = { 0 };

        if (args->version)
                text_append(&text, "tidbnumactl " TIDBNUMAD_VERSION "\n");
        else if (has_command)
                options_append_command_help(args->command, &text);
        else
                options_append_help(&text);
        return output_text(&text);
}

/* getopt_long(3) has rejected the option and suggests none: print a similar one of this command. It
 * also rejects an option whose argument is missing: that one is spelled correctly. */
static void suggest_option(const Args *args, const char *word) {
        char name[SUGGEST_WORD_MAX];
        Suggestion similar = { .word = name };
        const OptionRow *rows;
        size_t n = options_rows(&rows);

        if (strncmp(word, "--", 2) != 0)
                return;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        for (size_t i = 0; i < n; i++)
                if (rows[i].commands & (1u << args->command))
                        suggest(&similar, rows[i].name);
        if (similar.nearest && strcmp(similar.nearest, name) != 0)
                output_line(stderr, "Did you mean '--%s'?", similar.nearest);
}

static int refuse_option(const Args *args, const OptionRow *row) {
        char commands[OPTIONS_COMMANDS_MAX];

        return REFUSE(args, "%s has no option --%s; it is an option of %s",
                      args_command_name(args->command), row->name,
                      options_commands_of(row, commands));
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
                                                 .val = FIRST_OPTION + (int)i };
}

/* argv[0] is the command's name. Returns as args_parse(). */
static int parse_options(Args *args, int argc, char *argv[]) {
        struct option options[OPTIONS_MAX] = { 0 };
        const OptionRow *rows;
        int id, r;

        (void)options_rows(&rows);
        fill_getopt(args->command, options);
        optind = 0; /* glibc: reset getopt for a repeated call */
        while ((id = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
                const OptionRow *row = id >= FIRST_OPTION ? &rows[id - FIRST_OPTION] : NULL;

                if (id == 'h')
                        args->help = true;
                else if (!row) { /* getopt_long() has printed the error */
                        suggest_option(args, argv[optind > 1 ? optind - 1 : 1]);
                        return try_help(args);
                } else if (!(row->commands & (1u << args->command)))
                        return refuse_option(args, row);
                else if ((r = take_option(args, row)) < 0)
                        return r;
                if (args->help || args->version)
                        return answer(args, true);
        }
        return 1;
}

static int refuse_argument(const Args *args, const char *word) {
        return REFUSE(args, "%s takes no argument '%s'", args_command_name(args->command), word);
}

static int take_subject(Args *args, int n, char *words[]) {
        if (n == 0)
                return REFUSE(args, "%s what? Expected the name of an instance%s",
                              args_command_name(args->command),
                              args->command == COMMAND_EXPLAIN ? ", a process number or a unit"
                                                               : " or a process number");
        args->subject = words[0];
        return n == 1 ? 1 : refuse_argument(args, words[1]);
}

/* Takes the arguments after the options. */
static int take_arguments(Args *args, int n, char *words[]) {
        int r = 1;

        switch (args->command) {
        case COMMAND_VALIDATE:
                for (int i = 0; i < n && r > 0; i++)
                        r = add_policy_file(args, words[i], "files");
                return r;
        case COMMAND_EXPLAIN:
        case COMMAND_LOCALITY:
                return take_subject(args, n, words);
        case COMMAND_STATUS:
        case COMMAND_TOP:
        case COMMAND_REPLAN:
        case COMMAND_RELEASE:
                for (int i = 0; i < n && r > 0; i++)
                        r = add_word(args, args->names, &args->n_names, ARGS_NAMES_MAX, words[i],
                                     "instances");
                return r;
        default:
                return n == 0 ? 1 : refuse_argument(args, words[0]);
        }
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

/* Options that exclude each other. */
static int check_pairs(const Args *args) {
        const char *other = planned_otherwise(args);
        const struct {
                const char *a, *b;
                bool both;
        } pairs[] = {
                { "--sysroot", "--topology", args->sysroot && args->topology },
                { "--policy-dir", args->command == COMMAND_VALIDATE ? "files" : "--policy",
                  args->n_policy_dirs > 0 && args->n_policy_files > 0 },
                { "--explain", "--against", args->explain && args->against },
                { "--export", "--against", args->export_path && args->against },
                { "--ask", other, args->ask && other },
                { "--json", "--tiup", args->json && args->tiup },
                { "--json", "--watch", args->json && args->watch },
                { "--tiup", other, args->tiup_file && other },
                { "--all", "names", args->all && args->n_names > 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(pairs); i++)
                if (pairs[i].both)
                        return REFUSE(args, "%s cannot be combined with %s", pairs[i].a,
                                      pairs[i].b);
        return 1;
}

static int check(const Args *args) {
        const int r = check_pairs(args);

        if (r < 0)
                return r;
        if (args->command == COMMAND_RELEASE && args->n_names == 0 && !args->all)
                return REFUSE(args, "release what? Expected names of instances, or --all");
        if (args->command == COMMAND_EXPLAIN && args->topology && !args->instances)
                return REFUSE(
                        args,
                        "no process runs on --topology; give imagined instances with --instances");
        if (!args->tiup_file != !args->hosts)
                return REFUSE(args, "--tiup and --hosts are given together: the topology file of "
                                    "the cluster and the folder with its machines");
        if (args->command == COMMAND_PLAN && args->output && !args->tiup_file)
                return REFUSE(args, "--output of plan needs --tiup and --hosts");
        return 1;
}

static void set_default_dirs(Args *args) {
        static const char *const dirs[] = { "/usr/lib/tidbnumad.d",
                                            TIDBNUMAD_SYSCONFDIR "/tidbnumad.d",
                                            "/run/tidbnumad.d" };

        for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                args->policy_dirs[args->n_policy_dirs++] = dirs[i];
}

static const OptionRow *find_option(const char *word) {
        const char *name = strncmp(word, "--", 2) == 0 ? word + 2 : word;
        const OptionRow *rows;
        size_t n = options_rows(&rows);

        for (size_t i = 0; i < n; i++)
                if (strcmp(rows[i].name, name) == 0)
                        return &rows[i];
        return NULL;
}

static bool is_command(const char *word) {
        for (unsigned c = 0; c < N_COMMANDS; c++)
                if (strcmp(word, args_command_name(c)) == 0)
                        return true;
        return false;
}

/* Options may also stand before the command. */
static void put_command_first(int argc, char *argv[]) {
        char *command;
        int at = 1;

        while (at < argc && argv[at][0] == '-') {
                const OptionRow *row = find_option(argv[at]);

                at += row && row->argument ? 2 : 1;
        }
        if (at == 1 || at >= argc || !is_command(argv[at]))
                return;
        command = argv[at];
        memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(argv[0]));
        argv[1] = command;
}

int args_parse(Args *args, int argc, char *argv[]) {
        int r;

        *args = (Args){ .runtime_dir = "/run/tidbnumad" };
        if (argc < 2) {
                output_line(stderr, "tidbnumactl: no command. Try 'tidbnumactl --help'.");
                return -EINVAL;
        }
        put_command_first(argc, argv);
        args->version = strcmp(argv[1], "--version") == 0;
        if (args->version || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ||
            strcmp(argv[1], "help") == 0)
                return answer(args, false);
        if (argv[1][0] == '-') {
                output_line(stderr,
                            "tidbnumactl: no command behind '%s'. Try 'tidbnumactl "
                            "--help'.",
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
        if (args->n_names == 0 && (args->all || args->command == COMMAND_REPLAN))
                args->names[args->n_names++] = "*";
        args->policy_is_set = args->n_policy_dirs + args->n_policy_files > 0;
        if (!args->policy_is_set)
                set_default_dirs(args);
        return r;
}
