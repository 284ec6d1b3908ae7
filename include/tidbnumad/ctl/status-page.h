/* Renders the published status for the operator. */
#pragma once

#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/status-file.h"

/* What to render: the instances with these names, or all without a name. `alive`: the daemon that
 * wrote the status seems to run. */
typedef struct StatusQuestion {
        const Snapshot *status;
        WordList names; /* borrowed */
        bool all;       /* all that is published, not only what an operator wants to know at once */
        double now_seconds;
        bool alive, replaced;    /* its program is another one on disk; not known: false */
        bool no_room;            /* the file system of the runtime folder is full */
        const char *runtime_dir; /* used with `no_room` only */
        unsigned width;          /* columns of the terminal; 0: none */
        bool colors;             /* use colours for states */
} StatusQuestion;

/* Reads the status, and fills in what the command line asks of it, but for the terminal. Returns as
 * status_file_read(). status_done() frees `status`, which `ret` borrows. */
int status_question_load(const Args *args, Snapshot *status, StatusQuestion *ret);

/* What the daemon does at present, in a word or two: "enforcing", "without a policy". */
const char *status_mode(const StatusQuestion *question);

/* Does the command line select the instance? */
bool status_is_asked(const StatusQuestion *question, const InstanceInfo *instance);

/* Renders a line that counts instances by state, problems with their remedy, the table of
 * instances, and a line each about interrupts and about ignored processes; with `all` tables of
 * them, the backend, what is reserved and the units that do not run. text->error shows a failure.
 */
void status_page_render(const StatusQuestion *question, Text *text);

/* Renders problems, the worst first: the daemon, its policies, instances and units by reason,
 * releases, interrupts. Those with the same reason share an entry, and entries of one kind the next
 * step. Empty without problems. text->error shows a failure. */
void status_problems_render(const StatusQuestion *question, Text *text);

/* What is said where there is no instance. */
const char *status_no_instances(const Snapshot *status);

/* Renders the output of journalctl's `-o json` as lines with local time and message. Invalid lines
 * are omitted. Returns the number of messages. */
size_t status_history_parse(const char *json_lines, Text *text);
