/* Why a policy takes a process, or why not. */
#pragma once

#include <jansson.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/workload.h"

/* "takes it", "matches too; the first counts", "exe is tikv-server, and it runs /bin/sh". `taken`:
 * a policy before this one takes it. */
void verdict_render(const Policy *policy, const Process *process, bool taken, Text *text);

/* All policies in file order, as a table; then whose it is, with those that match too. `published`:
 * whose it is by the daemon, where this user cannot read enough of the process; NULL: not known. */
void verdict_render_all(const PolicySet *policies, const Process *process, const Policy *published,
                        unsigned width, Text *text);

/* The same as an array. NULL: no memory. */
json_t *verdict_json(const PolicySet *policies, const Process *process);
