/* The control socket of the daemon, sys/control.h: takes calls of the operator, carries them out,
 * and answers when their effect shows. It never waits: a call that is not complete is looked at
 * again by a timer. */
#pragma once

#include "tidbnumad/daemon/manager.h"

typedef struct Control Control;

/* Listens. Where the socket cannot be made that is logged, and tried again by control_keep().
 * -ENOMEM and the like. */
int control_start(Manager *manager, Control **ret);

/* To be called at each round: makes the socket again that something has removed. */
void control_keep(Control *control);

/* Also takes NULL. Calls that wait get no answer. */
Control *control_free(Control *control);
