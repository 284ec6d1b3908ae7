/* Problems that the operator has to solve, with the next step. */
#pragma once

#include "tidbnumad/ctl/status-table.h"

/* The problems as an array, in the order of status_problems_render(): each with `names`, `reason`,
 * `reason_code` and `remedy`, and with `errors` where these are of policy files. NULL: no memory.
 */
json_t *status_problems(const StatusQuestion *question);

/* Renders problems, the worst first: the daemon, its policies, instances by reason, releases,
 * interrupts. Instances with the same reason share an entry. Empty without problems. text->error
 * shows a failure. */
void status_problems_render(const StatusQuestion *question, Text *text);

/* Is the instance in a state that needs the operator? A move in progress is not. */
bool status_is_problem(const StatusInstance *instance);
