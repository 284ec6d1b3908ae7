/* Controls a running daemon by a drop-in of policies and a reload. */
#pragma once

#include "tidbnumad/ctl/args.h"

/* Makes the instances of args->names give up their place once. The drop-in has its former content
 * afterwards. Returns an exit status, or negative errno after a message on stderr. */
int control_replan(const Args *args);
