/* Why a policy matches a process, or why not. */
#pragma once

#include "tidbnumad/base/json.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/workload.h"

/* Renders a verdict: "takes it", "matches too; the first counts", "exe is tikv-server, and it runs
 * /bin/sh". `taken`: an earlier policy takes the process. */
void verdict_render(const Policy *policy, const Process *process, bool taken, Text *text);

/* Renders all policies in file order as a table; then the policy that applies, with others that
 * match too. `published`: the policy that the daemon published, if this user cannot read enough of
 * the process; NULL: not known. */
void verdict_render_all(const PolicySet *policies, const Process *process, const Policy *published,
                        unsigned width, Text *text);

/* The same as the array `policies`. */
void verdict_json(Json *json, const PolicySet *policies, const Process *process);
