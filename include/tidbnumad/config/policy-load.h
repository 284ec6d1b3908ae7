/* Policy files into the set of policies in force. Pure: what the files hold comes in as text
 * (sys/policy-dir.h reads them), what is wrong with them goes out as messages. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

#define POLICIES_MAX 1024u

/* Merges the files in the order given; the rules are those of tidbnumad.d(5). No file at all is
 * fine and gives the defaults. With `topology` NULL node numbers are not checked, with `devices`
 * NULL names of network cards are not.
 *
 * All or nothing: with any error every error of every file is added to `errors` as
 * `path:line:column: what is wrong, what was expected`, and `ret` is untouched. `warnings` are
 * added in either case. `ret` is written, not merged into: it holds nothing that has to be freed.
 * Returns 0, -EINVAL (see `errors`) or -ENOMEM. */
int policy_set_parse(const SourceFileList *files, const Topology *topology,
                     const DeviceList *devices, PolicySet *ret, Diagnostics *errors,
                     Diagnostics *warnings);
