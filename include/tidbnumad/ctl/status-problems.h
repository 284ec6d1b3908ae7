/* What an operator has to do something about, with the next step. */
#pragma once

#include "tidbnumad/ctl/status-table.h"

/* Worst first: the daemon, its policies, instances by reason, releases, interrupts. Instances of
 * one reason share an entry. Nothing without problems. Failure shows in text->error. */
void status_problems_render(const StatusQuestion *question, Text *text);

/* Is the instance in a state that needs the operator? A move in progress does not. */
bool status_is_problem(const StatusInstance *instance);
