/* The commands. Each returns an exit status or a negative errno, with the sentence for stderr. */
#pragma once

#include <sysexits.h>

#include "tidbnumad/base/error.h"
#include "tidbnumad/ctl/args.h"

/* tidbnumactl(8), EXIT STATUS. */
enum {
        COMMAND_EXIT_WORSE = 4,        /* of trial */
        COMMAND_EXIT_REFUSED = 3,      /* also: not everything is bound, or not yet complete */
        COMMAND_EXIT_USAGE = EX_USAGE, /* the command line is wrong */
        COMMAND_EXIT_NO_DAEMON = EX_UNAVAILABLE, /* none runs, or it does not publish */
        COMMAND_EXIT_NOT_ALLOWED = EX_NOPERM,    /* not allowed for this user */
};

int command_validate(const Args *args, Error *error);
int command_plan(const Args *args, Error *error);
int command_plan_fleet(const Args *args, Error *error); /* with --tiup */
int command_explain(const Args *args, Error *error);
int command_advise(const Args *args, Error *error);
int command_check(const Args *args, Error *error);
int command_status(const Args *args, Error *error);
int command_top(const Args *args, Error *error);
int command_locality(const Args *args, Error *error);
int command_gather(const Args *args, Error *error);
int command_reload(const Args *args, Error *error);
int command_pause(const Args *args, Error *error);
int command_resume(const Args *args, Error *error);
int command_release(const Args *args, Error *error);
int command_replan(const Args *args, Error *error);
int command_trial(const Args *args, Error *error);
