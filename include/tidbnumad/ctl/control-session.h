/* A connection to the daemon's control socket, for a command that makes several calls on it. */
#pragma once

#include <systemd/sd-bus.h>

#include "tidbnumad/base/error.h"
#include "tidbnumad/ctl/args.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/control.h"

/* 0, or an exit status or negative errno. The caller closes it by control_close(). */
int control_session_open(const Args *args, sd_bus **ret, Error *error);

/* Calls a method, with the arguments that the command has for it, and waits until it is answered;
 * what it waits for is shown at a terminal. 0, and adds the lines of the answer to `ret` (may be
 * NULL: they are printed); else an exit status or a negative errno. What the daemon
 * refuses is printed as it says it. */
int control_session_call(const Args *args, sd_bus *bus, const char *method, WordList *ret,
                         Error *error);

/* What has come from the daemon unasked is read. 0; negative errno: the connection has ended. */
int control_session_process(sd_bus *bus);
