/* What the operator asks of a running daemon: by a drop-in of policies and a reload. */
#pragma once

#include "tidbnumad/ctl/args.h"

/* The instances of args->names give up their place once. The drop-in is afterwards as it was. An
 * exit status, or negative errno, after a message on stderr. */
int control_replan(const Args *args);
