/* A topology file of TiUP (tiup's pkg/cluster/spec): the servers that can be planned. Pure. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/model/workload.h"

/* Reads the section of each product (model/product.h), `monitored` for each host, and `global` for
 * directories and limits. Servers of other sections are counted, other keys are TiUP's business.
 * -EINVAL, with each error at its place in `errors`; -ENOMEM. `ret` is untouched then. */
int tiup_parse(const SourceFile *file, TiupTopology *ret, Diagnostics *errors);
