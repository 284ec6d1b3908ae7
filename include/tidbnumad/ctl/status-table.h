/* What the daemon published, as text for people. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/status-file.h"

/* Of the instances of these names, or of all with `n_names` 0. `alive`: the daemon that wrote it
 * runs, as far as can be seen. */
typedef struct StatusQuestion {
        const StatusFile *status;
        const char *const *names;
        size_t n_names;
        double now_seconds;
        bool alive;
        unsigned width; /* of the terminal; 0: none */
        bool colors;    /* for states */
} StatusQuestion;

/* A line about the daemon, problems with what to do, then tables of instances and of devices with
 * interrupts, and the ignored processes. Failure shows in text->error. */
void status_table_render(const StatusQuestion *question, Text *text);

/* Is it one of those that are asked for? */
bool status_is_asked(const StatusQuestion *question, const StatusInstance *instance);

/* Nothing is left to do for it: it is bound, or only watched, or released. */
bool status_is_at_rest(const StatusInstance *instance);
