#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/output.h"

#define VALIDATE (1u << COMMAND_VALIDATE)
#define PLAN (1u << COMMAND_PLAN)
#define EXPLAIN (1u << COMMAND_EXPLAIN)
#define ADVISE (1u << COMMAND_ADVISE)
#define CHECK (1u << COMMAND_CHECK)
#define STATUS (1u << COMMAND_STATUS)
#define TOP (1u << COMMAND_TOP)
#define REPLAN (1u << COMMAND_REPLAN)
#define GATHER (1u << COMMAND_GATHER)
#define LOCALITY (1u << COMMAND_LOCALITY)
#define RELEASE (1u << COMMAND_RELEASE)
#define PLANNING (PLAN | EXPLAIN | ADVISE | CHECK)
#define READING (VALIDATE | PLANNING)
#define CONTROL ((1u << COMMAND_PAUSE) | (1u << COMMAND_RESUME) | RELEASE)
#define RELOAD (1u << COMMAND_RELOAD)
#define TRIAL (1u << COMMAND_TRIAL)
#define ALL (READING | STATUS | LOCALITY | CONTROL | RELOAD | REPLAN | GATHER | TOP | TRIAL)

/* Column at which the help of an option begins. */
enum { HELP_COLUMN = 27 };

#define FIELD(name) offsetof(Args, name)

typedef struct OptionRow {
        const char *name;     /* "policy-dir" */
        const char *argument; /* "DIR"; NULL: it takes no argument */
        size_t field;         /* offset in Args: of a string, of a bool without an argument */
        unsigned commands;    /* bits 1 << Command: the commands that accept it */
        const char *help;     /* lines, separated by newlines */
} OptionRow;

static const OptionRow option_rows[] = {
        { "policy-dir", "DIR", FIELD(policy_dirs),
          READING | LOCALITY | CONTROL | REPLAN | GATHER | TRIAL,
          "read policies here instead of the default folders;\n"
          "may be given several times, later ones override" },
        { "policy", "FILE", FIELD(policy_files), PLANNING | GATHER,
          "read this policy file and no folder; may be given\n"
          "several times, later ones win" },
        { "sysroot", "DIR", FIELD(sysroot), READING,
          "read DIR/proc and DIR/sys, a dump of another machine" },
        { "topology", "MACHINE", FIELD(topology), READING,
          "plan for another machine: a file with hwloc's XML, or\n"
          "a description: \"package:2 numa:4 core:8 pu:2\"" },
        { "instances", "LIST", FIELD(instances), PLANNING,
          "plan imagined instances, COUNT:POLICY, instead of the\n"
          "running ones: 4:tidb,2:tikv@nvme0n1:32GiB,1:pd" },
        { "against", "PATH", FIELD(against), PLAN,
          "show what other policies (file, folder) would change" },
        { "explain", NULL, FIELD(explain), PLAN, "show every alternative and why it lost" },
        { "export", "FILE", FIELD(export_path), PLAN,
          "write the plan as hwloc XML, which lstopo draws" },
        { "runtime-dir", "DIR", FIELD(runtime_dir),
          PLANNING | STATUS | LOCALITY | CONTROL | RELOAD | REPLAN | GATHER | TOP | TRIAL,
          "where the daemon publishes (default: /run/tidbnumad)" },
        { "json", NULL, FIELD(json), READING | STATUS | LOCALITY | TRIAL, "print JSON" },
        { "tiup", NULL, FIELD(tiup), ADVISE, "print a fragment of a TiUP topology file" },
        { "ask", NULL, FIELD(ask), ADVISE | CHECK,
          "ask the running TiDB, TiKV and PD servers for\n"
          "GOMAXPROCS, their version and their settings" },
        { "exact", NULL, FIELD(exact), LOCALITY,
          "count every page; locks the process's memory map for\n"
          "about 16 ms per resident GiB" },
        { "all", NULL, FIELD(all), RELEASE, "release all instances, also later ones" },
        { "all", NULL, FIELD(all), STATUS, "show all that is published" },
        { "quiet", NULL, FIELD(quiet), STATUS, "print nothing, only set the exit status (-q)" },
        { "undo", NULL, FIELD(undo), RELEASE, "bind again what was released" },
        { "tiup", "FILE", FIELD(tiup_file), PLAN,
          "plan all hosts of the cluster in this topology file\n"
          "of TiUP; with --hosts, or with --topology or\n"
          "--sysroot where all hosts are alike" },
        { "hosts", "DIR", FIELD(hosts), PLAN,
          "where the machines of these hosts are: HOST.tar.gz of\n"
          "gather, HOST.topology or HOST.xml; HOST may be a glob" },
        { "afresh", NULL, FIELD(afresh), PLAN, "ignore the numa_node that the topology file has" },
        { "dry-run", NULL, FIELD(dry_run), CONTROL | REPLAN,
          "show what would change, and change nothing" },
        { "output", "PATH", FIELD(output), GATHER,
          "the file that gather creates (default:\n"
          "tidbnumad-gather-HOST-DATE.tar.gz)" },
        { "output", "PATH", FIELD(output), PLAN,
          "with --tiup, create this folder, with the topology\n"
          "and the hosts' policies" },
        { "watch", NULL, FIELD(watch), STATUS, "show it live, as top does" },
        { "yes", NULL, FIELD(yes), REPLAN, "do not ask" },
        { "for", "TIME", FIELD(duration), TRIAL,
          "how long to measure, half of it without binding and\n"
          "half with it: from 1min to 24h (default: 10min)" },
        { "revert-if-worse", NULL, FIELD(revert_if_worse), TRIAL,
          "release what was bound if the verdict is worse" },
        { "no-wait", NULL, FIELD(no_wait), CONTROL, "do not wait for the daemon to finish" },
        { "help", NULL, FIELD(help), ALL, "show this help, or the help of a command" },
        { "version", NULL, FIELD(version), ALL, "show the version" },
};

/* clang-format off */
static const struct {
        const char *name;
        const char *arguments; /* "[FILE…]"; "" for none */
        const char *summary;   /* one line */
        const char *text;      /* description, whole lines of --help */
        const char *examples;  /* whole lines, indented */
} commands[N_COMMANDS] = {
        [COMMAND_VALIDATE] = {
          "validate", "[FILE…]", "check the policies",
          "Read the policies as the daemon would, and report all errors and warnings; with\n"
          "files, only those. Changes nothing. Exit status 1: the policies are refused.\n",
          "  tidbnumactl validate\n"
          "  tidbnumactl validate ./10-tidb.yaml --topology \"package:2 numa:4 core:8 pu:2\"\n" },
        [COMMAND_PLAN] = {
          "plan", "", "show where each instance belongs, and why",
          "Plan as the daemon does, for running or imagined instances, on this host or\n"
          "another, including interrupts if the policies have entries of irq. Changes\n"
          "nothing. Exit status 3: an instance cannot be placed.\n",
          "  tidbnumactl plan --explain\n"
          "  tidbnumactl plan --against ./new-policies\n"
          "  tidbnumactl plan --topology \"package:2 numa:4(memory=128GiB) core:8 pu:2\" \\\n"
          "                   --instances 4:tidb,4:tikv,1:pd,1:haproxy\n"
          "  tidbnumactl plan --export plan.xml && lstopo --input plan.xml plan.svg\n"
          "  tidbnumactl plan --tiup topology.yaml --hosts machines --output cluster\n" },
        [COMMAND_EXPLAIN] = {
          "explain", "INSTANCE|PID|UNIT", "show its policy, its place and the alternatives",
          "Show for each policy why it matches the process or not, then the place of its\n"
          "instance, the alternatives, and its state. Changes nothing.\n",
          "  tidbnumactl explain tidb-4000\n"
          "  tidbnumactl explain 4711\n" },
        [COMMAND_ADVISE] = {
          "advise", "", "suggest settings that fit the places",
          "Show the settings of each instance that fit its place, each with its rule and\n"
          "reason. Changes nothing.\n",
          "  tidbnumactl advise\n"
          "  tidbnumactl advise --tiup >fragment.yaml\n" },
        [COMMAND_CHECK] = {
          "check", "", "check the host's settings and instances",
          "Check the host's settings, devices and instances by the rules of tidbnumactl(8),\n"
          "also without a daemon: show what was found, and what to do. Changes nothing.\n"
          "Exit status 1: there are warnings; 2: failures; 3: nothing could be checked.\n"
          "Some rules need root.\n",
          "  tidbnumactl check\n"
          "  tidbnumactl check --sysroot ./dump-of-host7 --json\n" },
        [COMMAND_STATUS] = {
          "status", "[INSTANCE…]", "show the state of each instance, and what to do",
          "Show what the daemon publishes: state, place and memory of each instance,\n"
          "problems, and what to do. Changes nothing. Exit status 3: an instance is neither\n"
          "bound nor watched nor released; 69: no daemon runs.\n",
          "  tidbnumactl status\n"
          "  tidbnumactl status -q || tidbnumactl status --all\n"
          "  tidbnumactl status tikv-20160 --json\n" },
        [COMMAND_TOP] = {
          "top", "[INSTANCE…]", "show the state of each instance, live",
          "Show problems, instances by remote memory with a bar of their nodes, moves in\n"
          "progress, and nodes, every second. Keys: q quits, s changes the order, arrows\n"
          "select, i or Enter shows an instance. Changes nothing.\n",
          "  tidbnumactl top\n" },
        [COMMAND_LOCALITY] = {
          "locality", "PID|INSTANCE", "show on which nodes its memory is",
          "Show on which nodes the memory of any process or of an instance is. Draws a few\n"
          "thousand pages at random and shows the confidence interval; the process is not\n"
          "held up. With --exact, counts every page, while the process cannot map or\n"
          "allocate memory.\n",
          "  tidbnumactl locality 4711\n"
          "  tidbnumactl locality tikv-20160 --exact\n" },
        [COMMAND_GATHER] = {
          "gather", "", "collect what a plan is made from, in one file",
          "Write a compressed tar archive with what tidbnumad reads of this host and its\n"
          "instances, the policies, the status and the journal. Secrets in command lines\n"
          "are masked. On another host, 'plan --sysroot' on the unpacked archive gives\n"
          "the same plan. Changes nothing. Run it as root.\n",
          "  tidbnumactl gather --output host7.tar.gz\n" },
        [COMMAND_RELOAD] = {
          "reload", "", "read the policy files again",
          "Make the daemon read its policy files again, as 'systemctl reload tidbnumad'\n"
          "does, and return when they are in force. Exit status 1: they are refused, each\n"
          "error was printed, and the policies that were in force stay. Needs root.\n",
          "  tidbnumactl reload\n" },
        [COMMAND_PAUSE] = {
          "pause", "", "change nothing until resume or the next boot",
          "Make the daemon change nothing until 'resume' or the next boot. Bindings are\n"
          "kept, and changes by others are not repaired. Needs root.\n",
          "  tidbnumactl pause\n" },
        [COMMAND_RESUME] = {
          "resume", "", "end a pause",
          "End a pause. Released instances stay released: see 'release --undo'. Needs root.\n",
          "  tidbnumactl resume\n" },
        [COMMAND_RELEASE] = {
          "release", "INSTANCE…", "restore the original binding of instances",
          "Restore the original CPUs and memory nodes of instances, given by globs over\n"
          "name or unit, and leave them alone until 'release --undo' or the next boot.\n"
          "Memory stays where it is. Needs root.\n",
          "  tidbnumactl release tikv-20160\n"
          "  tidbnumactl release --all\n"
          "  tidbnumactl release --undo tikv-20160\n" },
        [COMMAND_REPLAN] = {
          "replan", "[INSTANCE…]", "place instances again, once",
          "A bound instance keeps its place while it fits. Show what a new plan would move,\n"
          "for all instances or those named, ask for confirmation, and move them.\n"
          "Needs root.\n",
          "  tidbnumactl replan --dry-run\n"
          "  tidbnumactl replan tikv-20160 --yes\n" },
        [COMMAND_TRIAL] = {
          "trial", "", "measure what binding gains on this host",
          "Measure the instances without binding, bind them, measure again, and print the\n"
          "difference: CPU time a query and p99 first. The daemon must observe, or the\n"
          "instances be released. What is bound stays bound; interrupted, everything is as\n"
          "before. Exit status 4: it is worse with binding; 3: there was no trial.\n"
          "Needs root.\n",
          "  tidbnumactl trial --for 20min --revert-if-worse\n" },
};
/* clang-format on */

/* "plan", "plan and advise", with the conjunction before the last of several. */
static void append_commands(unsigned all, const char *conjunction, Text *text) {
        const int n = __builtin_popcount(all);
        int n_shown = 0;

        for (unsigned c = 0; c < N_COMMANDS; c++)
                if (all & (1u << c)) {
                        n_shown++;
                        text_appendf(text, "%s%s",
                                     n_shown == 1   ? ""
                                     : n_shown == n ? conjunction
                                                    : ", ",
                                     commands[c].name);
                }
}

/* `column`: of the end of the first line. */
static void append_lines(const char *help, int column, Text *text) {
        for (const char *line = help; line;) {
                const char *end = strchr(line, '\n');

                text_appendf(text, "%*s%.*s\n", HELP_COLUMN - column, "",
                             (int)(end ? end - line : (long)strlen(line)), line);
                line = end ? end + 1 : NULL;
                column = 0;
        }
}

static void append_option(const OptionRow *row, Text *text) {
        const size_t before = text->length;

        text_appendf(text, "  %s--%s%s%s", row->field == FIELD(help) ? "-h, " : "    ", row->name,
                     row->argument ? " " : "", row->argument ? row->argument : "");
        append_lines(row->help, (int)(text->length - before), text);
}

/* Of several options of one name the one of these commands, else the first; NULL: there is none. */
static const OptionRow *find_option(const char *name, unsigned of_commands) {
        const OptionRow *first = NULL;

        for (size_t i = 0; i < ELEMENTSOF(option_rows); i++) {
                if (strcmp(option_rows[i].name, name) != 0)
                        continue;
                if (option_rows[i].commands & of_commands)
                        return &option_rows[i];
                first = first ? first : &option_rows[i];
        }
        return first;
}

/* Prints the version or the help. Returns as args_parse(). */
static int answer(const Args *args, bool has_command) {
        const Command command = args->command;
        _cleanup_text_ Text text = { 0 };

        if (args->version) {
                text_append(&text, "tidbnumactl " TIDBNUMAD_VERSION "\n");
                return output_text(&text);
        }
        if (has_command) {
                text_appendf(&text, "tidbnumactl %s [OPTION…]%s%s\n\n%s\n", commands[command].name,
                             *commands[command].arguments ? " " : "", commands[command].arguments,
                             commands[command].text);
                for (size_t i = 0; i < ELEMENTSOF(option_rows); i++)
                        if (option_rows[i].commands & (1u << command))
                                append_option(&option_rows[i], &text);
                text_appendf(&text, "\nExamples:\n%s\nSee tidbnumactl(8) and tidbnumad.d(5).\n",
                             commands[command].examples);
                return output_text(&text);
        }

        text_append(&text,
                    "tidbnumactl COMMAND [OPTION…]\n"
                    "\n"
                    "Checks policies, shows the plan and the state of tidbnumad, pauses it and\n"
                    "releases instances. Only reload, pause, resume, release, replan and trial\n"
                    "change something.\n"
                    "\n"
                    "Commands:\n");
        for (unsigned c = 0; c < N_COMMANDS; c++) {
                const size_t before = text.length;
                const char *line;

                text_appendf(&text, "  %s %s", commands[c].name, commands[c].arguments);
                /* A terminal counts letters, not bytes. */
                line = text_string(&text);
                text_appendf(&text, "%*s%s\n",
                             HELP_COLUMN + 3 - (int)utf8_count(line + before, line + text.length),
                             "", commands[c].summary);
        }
        text_append(&text, "\nOptions:\n");
        for (size_t i = 0; i < ELEMENTSOF(option_rows); i++) {
                const OptionRow *row = &option_rows[i];

                /* An option that means something else to other commands is named once. */
                if (find_option(row->name, 0) != row)
                        continue;
                append_option(row, &text);
                for (size_t k = i + 1; k < ELEMENTSOF(option_rows); k++) {
                        if (strcmp(option_rows[k].name, row->name) != 0)
                                continue;
                        text_appendf(&text, "%*s", HELP_COLUMN, "");
                        if (option_rows[k].argument && !row->argument)
                                text_appendf(&text, "with %s, ", option_rows[k].argument);
                        text_append(&text, "as an option of ");
                        append_commands(option_rows[k].commands, " and ", &text);
                        text_append(&text, ":\n");
                        append_lines(option_rows[k].help, 0, &text);
                }
        }
        text_append(&text, "\nExamples:\n");
        for (unsigned c = 0; c < N_COMMANDS; c++)
                text_append(&text, commands[c].examples);
        text_append(&text, "\nSee tidbnumactl(8) and tidbnumad.d(5).\n");
        return output_text(&text);
}

enum { OPTIONS_MAX = 32, FIRST_OPTION = 0x100 };

/* Prints the error, with a similar command if there is one. Returns -EINVAL. */
static int refuse_command(const char *word) {
        Suggestion similar = { .word = word };
        _cleanup_text_ Text list = { 0 };

        for (unsigned c = 0; c < N_COMMANDS; c++)
                suggest(&similar, commands[c].name);
        append_commands(ALL, " or ", &list);
        if (similar.nearest)
                output_line(stderr, "tidbnumactl: unknown command '%s', did you mean '%s'?", word,
                            similar.nearest);
        else
                output_line(stderr, "tidbnumactl: unknown command '%s', expected %s", word,
                            text_string(&list));
        output_line(stderr, "Try 'tidbnumactl --help'.");
        return -EINVAL;
}

static bool find_command(const char *word, Command *ret) {
        for (unsigned c = 0; c < N_COMMANDS; c++)
                if (strcmp(word, commands[c].name) == 0) {
                        *ret = c;
                        return true;
                }
        return false;
}

static int try_help(const Args *args) {
        output_line(stderr, "Try 'tidbnumactl %s --help'.", commands[args->command].name);
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

/* argv[0] is the command's name. Returns as args_parse(). */
static int parse_options(Args *args, int argc, char *argv[]) {
        const unsigned command = 1u << args->command;
        struct option options[OPTIONS_MAX] = { 0 };
        size_t n_options = 0;
        int id, r = 1;

        for (size_t i = 0; i < ELEMENTSOF(option_rows) && n_options + 1 < OPTIONS_MAX; i++)
                if (find_option(option_rows[i].name, command) == &option_rows[i])
                        options[n_options++] =
                                (struct option){ .name = option_rows[i].name,
                                                 .has_arg = option_rows[i].argument
                                                                    ? required_argument
                                                                    : no_argument,
                                                 .val = FIRST_OPTION + (int)i };
        optind = 0; /* glibc: reset getopt for a repeated call */
        while ((id = getopt_long(argc, argv, args->command == COMMAND_STATUS ? "hq" : "h", options,
                                 NULL)) >= 0) {
                const OptionRow *row = id >= FIRST_OPTION ? &option_rows[id - FIRST_OPTION] : NULL;
                void *field = row ? (char *)args + row->field : NULL;

                if (id == 'h')
                        args->help = true;
                else if (id == 'q')
                        args->quiet = true;
                else if (!row) {
                        const char *word = argv[optind > 1 ? optind - 1 : 1];
                        char name[SUGGEST_WORD_MAX] = "";
                        Suggestion similar = { .word = name };

                        /* getopt_long(3) has printed the error and suggests none: print a similar
                         * option of this command. It also rejects an option whose argument is
                         * missing: that one is spelled correctly. */
                        if (strncmp(word, "--", 2) == 0)
                                (void)snprintf(name, sizeof(name), "%.*s",
                                               (int)strcspn(word + 2, "="), word + 2);
                        for (size_t i = 0; i < ELEMENTSOF(option_rows) && *name; i++)
                                if (option_rows[i].commands & command)
                                        suggest(&similar, option_rows[i].name);
                        if (similar.nearest && strcmp(similar.nearest, name) != 0)
                                output_line(stderr, "Did you mean '--%s'?", similar.nearest);
                        return try_help(args);
                } else if (!(row->commands & command)) {
                        _cleanup_text_ Text names = { 0 };
                        unsigned all = 0;

                        for (size_t i = 0; i < ELEMENTSOF(option_rows); i++)
                                if (strcmp(option_rows[i].name, row->name) == 0)
                                        all |= option_rows[i].commands;
                        append_commands(all, " and ", &names);
                        return REFUSE(args, "%s has no option --%s; it is an option of %s",
                                      commands[args->command].name, row->name, text_string(&names));
                } else if (field == (void *)args->policy_dirs)
                        r = add_word(args, args->policy_dirs, &args->n_policy_dirs,
                                     ARGS_POLICY_DIRS_MAX, optarg, "--policy-dir");
                else if (field == (void *)args->policy_files)
                        r = add_policy_file(args, optarg, "--policy");
                else if (row->argument)
                        *(const char **)field = optarg;
                else
                        *(bool *)field = true;
                if (r < 0)
                        return r;
                if (args->help || args->version)
                        return answer(args, true);
        }
        return 1;
}

static int refuse_argument(const Args *args, const char *word) {
        return REFUSE(args, "%s takes no argument '%s'", commands[args->command].name, word);
}

/* Options that exclude or need each other. */
static int check_options(const Args *args) {
        const char *machine = args->sysroot ? "--sysroot" : args->topology ? "--topology" : NULL;
        const char *other = args->instances     ? "--instances"
                            : args->against     ? "--against"
                            : args->explain     ? "--explain"
                            : args->export_path ? "--export"
                                                : NULL;
        const struct {
                const char *a, *b;
                bool both;
        } pairs[] = {
                { "--sysroot", "--topology", args->sysroot && args->topology },
                { "--policy-dir", args->command == COMMAND_VALIDATE ? "files" : "--policy",
                  args->n_policy_dirs > 0 && args->n_policy_files > 0 },
                { "--explain", "--against", args->explain && args->against },
                { "--export", "--against", args->export_path && args->against },
                { "--ask", machine ? machine : other, args->ask && (machine || other) },
                { "--json", "--tiup", args->json && args->tiup },
                { "--json", "--watch", args->json && args->watch },
                { "--tiup", other, args->tiup_file && other },
                { "--hosts", machine, args->hosts && machine },
                { "--all", "names", args->all && args->names.n_words > 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(pairs); i++)
                if (pairs[i].both)
                        return REFUSE(args, "%s cannot be combined with %s", pairs[i].a,
                                      pairs[i].b);
        if (args->command == COMMAND_RELEASE && args->names.n_words == 0 && !args->all)
                return REFUSE(args, "release what? Expected names of instances, or --all");
        if (args->command == COMMAND_EXPLAIN && args->topology && !args->instances)
                return REFUSE(
                        args,
                        "no process runs on --topology; give imagined instances with --instances");
        if (args->tiup_file && !args->hosts && !machine)
                return REFUSE(args, "--tiup needs --hosts, the folder with the machines of the "
                                    "cluster, or --topology or --sysroot, where all are alike");
        if (args->command == COMMAND_PLAN && !args->tiup_file &&
            (args->output || args->hosts || args->afresh))
                return REFUSE(args, "%s of plan needs --tiup",
                              args->output  ? "--output"
                              : args->hosts ? "--hosts"
                                            : "--afresh");
        return 1;
}

/* Options may also stand before the command. */
static void put_command_first(int argc, char *argv[]) {
        Command unused;
        char *command;
        int at = 1;

        while (at < argc && argv[at][0] == '-') {
                const OptionRow *row =
                        strncmp(argv[at], "--", 2) == 0 ? find_option(argv[at] + 2, 0) : NULL;

                at += row && row->argument ? 2 : 1;
        }
        if (at == 1 || at >= argc || !find_command(argv[at], &unused))
                return;
        command = argv[at];
        memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(argv[0]));
        argv[1] = command;
}

int args_parse(Args *args, int argc, char *argv[]) {
        static const char *const default_dirs[] = { "/usr/lib/tidbnumad.d",
                                                    TIDBNUMAD_SYSCONFDIR "/tidbnumad.d",
                                                    "/run/tidbnumad.d" };
        static char *all[] = { (char *)"*", NULL };
        char **words;
        int n, r;

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
        if (!find_command(argv[1], &args->command))
                return refuse_command(argv[1]);
        argv[1] = (char *)"tidbnumactl"; /* the program's name in getopt_long()'s messages */
        r = parse_options(args, argc - 1, argv + 1);
        if (r <= 0)
                return r;
        /* The arguments after the options. */
        n = argc - 1 - optind;
        words = argv + 1 + optind;
        switch (args->command) {
        case COMMAND_VALIDATE:
                for (int i = 0; i < n && r > 0; i++)
                        r = add_policy_file(args, words[i], "files");
                break;
        case COMMAND_EXPLAIN:
        case COMMAND_LOCALITY:
                if (n == 0)
                        return REFUSE(args, "%s what? Expected the name of an instance%s",
                                      commands[args->command].name,
                                      args->command == COMMAND_EXPLAIN
                                              ? ", a process number or a unit"
                                              : " or a process number");
                args->subject = words[0];
                if (n > 1)
                        return refuse_argument(args, words[1]);
                break;
        case COMMAND_STATUS:
        case COMMAND_TOP:
        case COMMAND_REPLAN:
        case COMMAND_RELEASE:
                if (n > ARGS_NAMES_MAX)
                        return REFUSE(args, "more than %d instances", ARGS_NAMES_MAX);
                args->names = (WordList){ .words = words, .n_words = (size_t)n };
                break;
        default:
                if (n > 0)
                        return refuse_argument(args, words[0]);
        }
        if (r > 0)
                r = check_options(args);
        if (r < 0)
                return r;
        if (args->watch)
                args->command = COMMAND_TOP;
        if (args->names.n_words == 0 &&
            ((args->all && args->command == COMMAND_RELEASE) || args->command == COMMAND_REPLAN))
                args->names = (WordList){ .words = all, .n_words = 1 };
        args->policy_is_set = args->n_policy_dirs + args->n_policy_files > 0;
        for (size_t i = 0; i < ELEMENTSOF(default_dirs) && !args->policy_is_set; i++)
                args->policy_dirs[args->n_policy_dirs++] = default_dirs[i];
        return 1;
}
