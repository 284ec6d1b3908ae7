#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/ctl/options.h"

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
#define ALL (READING | STATUS | LOCALITY | CONTROL | RELOAD | REPLAN | GATHER | TOP)

/* Column at which the help of an option begins. */
enum { HELP_COLUMN = 27 };

#define FIELD(name) offsetof(Args, name)

static const OptionRow rows[] = {
        { "policy-dir", "DIR", FIELD(policy_dirs), READING | LOCALITY | CONTROL | REPLAN | GATHER,
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
          PLANNING | STATUS | LOCALITY | CONTROL | RELOAD | REPLAN | GATHER | TOP,
          "where the daemon publishes (default: /run/tidbnumad)" },
        { "json", NULL, FIELD(json), READING | STATUS | LOCALITY, "print JSON" },
        { "tiup", NULL, FIELD(tiup), ADVISE, "print a fragment of a TiUP topology file" },
        { "ask", NULL, FIELD(ask), ADVISE | CHECK,
          "ask the running TiDB and PD servers for GOMAXPROCS" },
        { "exact", NULL, FIELD(exact), LOCALITY,
          "count every page; locks the process's memory map for\n"
          "about 16 ms per resident GiB" },
        { "all", NULL, FIELD(all), RELEASE, "release all instances" },
        { "undo", NULL, FIELD(undo), RELEASE, "bind again what was released" },
        { "tiup", "FILE", FIELD(tiup_file), PLAN,
          "plan all hosts of the cluster in this topology file\n"
          "of TiUP; with --hosts" },
        { "hosts", "DIR", FIELD(hosts), PLAN,
          "where the machines of these hosts are: HOST.tar.gz of\n"
          "gather, HOST.topology or HOST.xml; HOST may be a glob" },
        { "dry-run", NULL, FIELD(dry_run), CONTROL | REPLAN,
          "show what would change, and change nothing" },
        { "output", "PATH", FIELD(output), GATHER | PLAN,
          "the file that gather creates (default:\n"
          "tidbnumad-gather.tar.gz); the folder for the topology\n"
          "and the hosts' policies that plan --tiup creates" },
        { "watch", NULL, FIELD(watch), STATUS, "show it live, as top does" },
        { "yes", NULL, FIELD(yes), REPLAN, "do not ask" },
        { "no-wait", NULL, FIELD(no_wait), CONTROL, "do not wait for the daemon to finish" },
        { "help", NULL, FIELD(help), ALL, "show this help, or the help of a command" },
        { "version", NULL, FIELD(version), ALL, "show the version" },
};

/* Each line of text is one of --help. */
/* clang-format off */
static const CommandRow commands[N_COMMANDS] = {
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
};
/* clang-format on */

size_t options_rows(const OptionRow **ret) {
        *ret = rows;
        return ELEMENTSOF(rows);
}

const CommandRow *options_command(Command command) {
        return &commands[command];
}

/* "plan", "plan and advise". */
static const char *commands_in(unsigned all, char buffer[static OPTIONS_COMMANDS_MAX]) {
        const unsigned n = (unsigned)__builtin_popcount(all);
        size_t length = 0;
        unsigned n_shown = 0;

        buffer[0] = '\0';
        for (unsigned c = 0; c < N_COMMANDS && length < OPTIONS_COMMANDS_MAX; c++) {
                if (!(all & (1u << c)))
                        continue;
                length += (size_t)snprintf(buffer + length, OPTIONS_COMMANDS_MAX - length, "%s%s",
                                           n_shown == 0       ? ""
                                           : n_shown + 1 == n ? " and "
                                                              : ", ",
                                           commands[c].name);
                n_shown++;
        }
        return buffer;
}

const char *options_commands_of(const OptionRow *row, char buffer[static OPTIONS_COMMANDS_MAX]) {
        unsigned all = 0;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (strcmp(rows[i].name, row->name) == 0)
                        all |= rows[i].commands;
        return commands_in(all, buffer);
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

static bool is_named_before(const OptionRow *row) {
        for (const OptionRow *r = rows; r < row; r++)
                if (strcmp(r->name, row->name) == 0)
                        return true;
        return false;
}

/* An option that is another one for other commands is named once. */
static void append_option_of_all(const OptionRow *row, Text *text) {
        if (is_named_before(row))
                return;
        append_option(row, text);
        for (const OptionRow *r = row + 1; r < rows + ELEMENTSOF(rows); r++) {
                char names[OPTIONS_COMMANDS_MAX];

                if (strcmp(r->name, row->name) != 0)
                        continue;
                text_appendf(text, "%*swith %s, an option of %s:\n", HELP_COLUMN, "", r->argument,
                             commands_in(r->commands, names));
                append_lines(r->help, 0, text);
        }
}

static void append_command(const CommandRow *row, Text *text) {
        const size_t before = text->length;
        int column;

        text_appendf(text, "  %s %s", row->name, row->arguments);
        column = (int)(text->length - before);
        /* A terminal counts letters, not bytes. */
        if (strstr(row->arguments, "…"))
                column -= (int)strlen("…") - 1;
        text_appendf(text, "%*s%s\n", HELP_COLUMN + 3 - column, "", row->summary);
}

void options_append_help(Text *text) {
        text_append(text,
                    "tidbnumactl COMMAND [OPTION…]\n"
                    "\n"
                    "Checks policies, shows the plan and the state of tidbnumad, pauses it and\n"
                    "releases instances. Only pause, resume, release and replan change something.\n"
                    "\n"
                    "Commands:\n");
        for (unsigned c = 0; c < N_COMMANDS; c++)
                append_command(&commands[c], text);
        text_append(text, "\nOptions:\n");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                append_option_of_all(&rows[i], text);
        text_append(text, "\nExamples:\n");
        for (unsigned c = 0; c < N_COMMANDS; c++)
                text_append(text, commands[c].examples);
        text_append(text, "\nSee tidbnumactl(8) and tidbnumad.d(5).\n");
}

void options_append_command_help(Command command, Text *text) {
        const CommandRow *row = &commands[command];

        text_appendf(text, "tidbnumactl %s [OPTION…]%s%s\n\n%s\n", row->name,
                     *row->arguments ? " " : "", row->arguments, row->text);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (rows[i].commands & (1u << command))
                        append_option(&rows[i], text);
        text_appendf(text, "\nExamples:\n%s\nSee tidbnumactl(8) and tidbnumad.d(5).\n",
                     row->examples);
}
