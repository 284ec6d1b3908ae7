/* The commands and options of tidbnumactl, and its help. */
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
#define LOCALITY (1u << COMMAND_LOCALITY)
#define RELEASE (1u << COMMAND_RELEASE)
#define PLANNING (PLAN | EXPLAIN | ADVISE | CHECK)
#define READING (VALIDATE | PLANNING)
#define CONTROL ((1u << COMMAND_PAUSE) | (1u << COMMAND_RESUME) | RELEASE)
#define ALL (READING | STATUS | LOCALITY | CONTROL)

/* Where the help of an option begins. */
enum { HELP_COLUMN = 27 };

static const OptionRow rows[] = {
        { "policy-dir", "DIR", OPTION_POLICY_DIR, READING | LOCALITY | CONTROL,
          "read policies here instead of the default folders;\n"
          "may be given several times, later ones win" },
        { "policy", "FILE", OPTION_POLICY, PLANNING,
          "read this policy file and no folder; may be given\n"
          "several times, later ones win" },
        { "sysroot", "DIR", OPTION_SYSROOT, READING,
          "read DIR/proc and DIR/sys, the dump of another machine" },
        { "topology", "MACHINE", OPTION_TOPOLOGY, READING,
          "a machine that is not here: a file with hwloc's XML, or\n"
          "a description such as \"package:2 numa:4(memory=128GiB) core:8 pu:2\"" },
        { "instances", "LIST", OPTION_INSTANCES, PLANNING,
          "plan with imagined instances, COUNT:POLICY, instead of\n"
          "those that run: 4:tidb,2:tikv@nvme0n1:32GiB,1:pd" },
        { "against", "PATH", OPTION_AGAINST, PLAN,
          "what other policies, a file or a folder, would change" },
        { "explain", NULL, OPTION_EXPLAIN, PLAN, "tell every alternative that lost, and by what" },
        { "export", "FILE", OPTION_EXPORT, PLAN,
          "write the plan as hwloc XML, which lstopo draws" },
        { "runtime-dir", "DIR", OPTION_RUNTIME_DIR, PLANNING | STATUS | LOCALITY | CONTROL,
          "where the daemon publishes (default: /run/tidbnumad)" },
        { "json", NULL, OPTION_JSON, READING | STATUS | LOCALITY, "answer in JSON" },
        { "tiup", NULL, OPTION_TIUP, ADVISE, "answer as a fragment of a TiUP topology file" },
        { "exact", NULL, OPTION_EXACT, LOCALITY,
          "count every page: holds the process's memory map, about\n"
          "16 ms per GiB that it has resident" },
        { "all", NULL, OPTION_ALL, RELEASE, "release all instances" },
        { "undo", NULL, OPTION_UNDO, RELEASE, "bind again what was released" },
        { "dry-run", NULL, OPTION_DRY_RUN, CONTROL,
          "tell what would be written, and write nothing" },
        { "no-wait", NULL, OPTION_NO_WAIT, CONTROL, "do not wait until the daemon has done it" },
        { "help", NULL, OPTION_HELP, ALL, "show help, after a command its own" },
        { "version", NULL, OPTION_VERSION, ALL, "show the version" },
};

static const CommandRow commands[N_COMMANDS] = {
        [COMMAND_VALIDATE] = { "validate", "[FILE…]", "are the policies right?",
                               "Reads the policies as the daemon would and tells all that is wrong "
                               "with them; with\n"
                               "files, those alone. Ends with 1 when they would be refused.\n",
                               "  tidbnumactl validate\n"
                               "  tidbnumactl validate ./10-tidb.yaml --topology \"package:2 "
                               "numa:4(memory=128GiB) core:8 pu:2\"\n" },
        [COMMAND_PLAN] = { "plan", "", "where each instance belongs, and why",
                           "Plans as the daemon does, for the instances that run or for imagined "
                           "ones, on this\n"
                           "host or another; with entries of irq in the policies, where interrupts "
                           "go as well.\n"
                           "Ends with 3 when an instance cannot be placed.\n",
                           "  tidbnumactl plan --explain\n"
                           "  tidbnumactl plan --against ./new-policies\n"
                           "  tidbnumactl plan --topology \"package:2 numa:4(memory=128GiB) core:8 "
                           "pu:2\" \\\n"
                           "                   --instances 4:tidb,4:tikv,1:pd,1:haproxy\n"
                           "  tidbnumactl plan --export plan.xml && lstopo --input plan.xml "
                           "plan.svg\n" },
        [COMMAND_EXPLAIN] = { "explain", "INSTANCE|PID|UNIT",
                              "which policy takes it, and its place",
                              "Goes through the policies in their order and tells of each why it "
                              "takes the process\n"
                              "or why not, then the place of its instance, the alternatives, and "
                              "its state.\n",
                              "  tidbnumactl explain tidb-4000\n"
                              "  tidbnumactl explain 4711\n" },
        [COMMAND_ADVISE] = { "advise", "", "settings that fit the places",
                             "Tells which settings of each instance should follow its place, each "
                             "with the rule and\n"
                             "the reason. Nothing is applied.\n",
                             "  tidbnumactl advise\n"
                             "  tidbnumactl advise --tiup >fragment.yaml\n" },
        [COMMAND_CHECK] = { "check", "", "is the host set up as it should be?",
                            "Judges the host's settings, devices and instances by the rules that "
                            "tidbnumactl(8) lists,\n"
                            "without a daemon too: what was found, and what mends it. Ends with 0 "
                            "when all is in\n"
                            "order, with 1 after warnings, with 2 after failures, and with 3 when "
                            "nothing could be\n"
                            "judged. Some rules need root.\n",
                            "  tidbnumactl check\n"
                            "  tidbnumactl check --sysroot ./dump-of-host7 --json\n" },
        [COMMAND_STATUS] = { "status", "[INSTANCE…]", "what the daemon has made of each instance",
                             "Shows what the daemon publishes: state, place and memory of each "
                             "instance, what is\n"
                             "wrong with it, and what to do. Ends with 3 when one of them is "
                             "neither bound nor\n"
                             "only watched or released, and with 1 when no daemon tells.\n",
                             "  tidbnumactl status\n"
                             "  tidbnumactl status tikv-20160 --json\n" },
        [COMMAND_LOCALITY] = { "locality", "PID|INSTANCE", "where the memory of a process lies",
                               "Tells on which nodes the memory of a process lies, or that of all "
                               "processes of an\n"
                               "instance: of any process, bound or not. A few thousand pages are "
                               "drawn at random, and\n"
                               "how sure the shares are is told; nothing is held up by it. With "
                               "--exact every page is\n"
                               "counted, and the process cannot map or allocate memory "
                               "meanwhile.\n",
                               "  tidbnumactl locality 4711\n"
                               "  tidbnumactl locality tikv-20160 --exact\n" },
        [COMMAND_PAUSE] = { "pause", "", "change nothing from now on",
                            "Tells the daemon to change nothing until 'resume' or the next boot. "
                            "What is bound stays\n"
                            "bound, and what others change is not repaired.\n",
                            "  tidbnumactl pause\n" },
        [COMMAND_RESUME] = { "resume", "", "take back a pause",
                             "Tells the daemon to go on. What was released stays released: see "
                             "'release --undo'.\n",
                             "  tidbnumactl resume\n" },
        [COMMAND_RELEASE] = { "release", "INSTANCE…", "give instances back what they had",
                              "Gives instances, named by globs over their name or unit, the CPUs "
                              "and memory nodes back\n"
                              "that they had before, and leaves them alone until 'release --undo' "
                              "or the next boot.\n"
                              "Their memory stays where it is.\n",
                              "  tidbnumactl release tikv-20160\n"
                              "  tidbnumactl release --all\n"
                              "  tidbnumactl release --undo tikv-20160\n" },
};

size_t options_rows(const OptionRow **ret) {
        *ret = rows;
        return ELEMENTSOF(rows);
}

const OptionRow *options_find(int id) {
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (rows[i].id == id)
                        return &rows[i];
        return NULL;
}

const CommandRow *options_command(Command command) {
        return &commands[command];
}

const char *options_commands_of(const OptionRow *row, char buffer[static OPTIONS_COMMANDS_MAX]) {
        const unsigned n = (unsigned)__builtin_popcount(row->commands);
        size_t length = 0;
        unsigned told = 0;

        buffer[0] = '\0';
        for (unsigned c = 0; c < N_COMMANDS; c++) {
                if (!(row->commands & (1u << c)))
                        continue;
                length += (size_t)snprintf(buffer + length, OPTIONS_COMMANDS_MAX - length, "%s%s",
                                           told == 0       ? ""
                                           : told + 1 == n ? " and "
                                                           : ", ",
                                           commands[c].name);
                told++;
        }
        return buffer;
}

static void print_option(const OptionRow *row) {
        int column = printf("  %s--%s%s%s", row->id == OPTION_HELP ? "-h, " : "    ", row->name,
                            row->argument ? " " : "", row->argument ? row->argument : "");

        for (const char *line = row->help; line;) {
                const char *end = strchr(line, '\n');

                (void)printf("%*s%.*s\n", HELP_COLUMN - column, "",
                             (int)(end ? end - line : (long)strlen(line)), line);
                line = end ? end + 1 : NULL;
                column = 0;
        }
}

void options_print_help(void) {
        puts("tidbnumactl COMMAND [OPTION…]\n"
             "\n"
             "Tells what tidbnumad makes of its policies, on this host and on others, and what\n"
             "became of them; pauses it, and lets it give back what it has bound.\n"
             "\n"
             "Commands:");
        for (unsigned c = 0; c < N_COMMANDS; c++) {
                int column = printf("  %s %s", commands[c].name, commands[c].arguments);
                /* Letters, and not bytes, are what a terminal counts. */
                if (strstr(commands[c].arguments, "…"))
                        column -= (int)strlen("…") - 1;

                (void)printf("%*s%s\n", HELP_COLUMN + 3 - column, "", commands[c].summary);
        }
        puts("\nOptions:");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                print_option(&rows[i]);
        (void)printf("\nExamples:\n");
        for (unsigned c = 0; c < N_COMMANDS; c++)
                (void)fputs(commands[c].examples, stdout);
        puts("\nSee tidbnumactl(8) and tidbnumad.d(5).");
}

void options_print_command_help(Command command) {
        const CommandRow *row = &commands[command];

        (void)printf("tidbnumactl %s [OPTION…]%s%s\n\n%s\n", row->name, *row->arguments ? " " : "",
                     row->arguments, row->text);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (rows[i].commands & (1u << command))
                        print_option(&rows[i]);
        (void)printf("\nExamples:\n%s\nSee tidbnumactl(8) and tidbnumad.d(5).\n", row->examples);
}
