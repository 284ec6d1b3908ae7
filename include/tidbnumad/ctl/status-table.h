/* Renders the published status as text. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/status-file.h"

/* What to render: the instances with these names, or all with `n_names` 0. `alive`: the daemon that
 * wrote the status seems to run. */
typedef struct StatusQuestion {
        const StatusFile *status;
        const char *const *names;
        size_t n_names;
        double now_seconds;
        bool alive;
        bool no_room;            /* the file system of the runtime folder is full */
        const char *runtime_dir; /* used with `no_room` only */
        unsigned width;          /* columns of the terminal; 0: none */
        bool colors;             /* use colours for states */
} StatusQuestion;

/* Renders a line about the daemon, problems with their remedy, then tables of instances and of
 * devices with interrupts, and the ignored processes. text->error shows a failure. */
void status_table_render(const StatusQuestion *question, Text *text);

/* Is the instance one of those that the command line selects? */
bool status_is_asked(const StatusQuestion *question, const StatusInstance *instance);

/* Likewise for a unit. */
bool status_unit_is_asked(const StatusQuestion *question, const StatusUnit *unit);

/* Could it not be prepared, or was its preparation taken back? Not: it starts unprepared, because
 * its start asks for that. */
bool status_unit_is_problem(const StatusUnit *unit);

/* What is said where there is no instance. */
const char *status_no_instances(const StatusFile *status);

/* Is the instance settled: bound, or only watched, or released? */
bool status_is_at_rest(const StatusInstance *instance);
