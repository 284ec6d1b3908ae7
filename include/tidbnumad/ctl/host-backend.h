/* By which backend the daemon binds on a machine. */
#pragma once

#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/policy.h"

/* With policies that set `wanted`: as the daemon found it, which has tried, else as it would choose
 * in its unit. `status` is of a daemon that runs; NULL: none. BACKEND_AUTO: none, or of a dump: not
 * known. `*ret_weaker`: why it is not a stronger one, where the host seems to have that; NULL: it
 * has not; borrowed from the status, or a constant. */
BackendKind host_backend(const Machine *machine, BackendKind wanted, const Snapshot *status,
                         const char **ret_weaker);
