/* What a plan fills into the topology file of TiUP: `numa_node`, and settings that the operator has
 * not set. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/model/advice.h"
#include "tidbnumad/model/workload.h"

typedef struct TiupFilled {
        size_t n_kept; /* settings that the file had already */
        bool skipped;  /* nothing could be filled in: the entry, or its `config`, is not in lines */
} TiupFilled;

/* Adds the edits for a server: a comment with its place, `numa_node` unless the daemon binds it or
 * its memory is not bound strictly, and under `config` what `report` advises for its subject
 * `index` there, but not GOGC and SQL variables. A `numa_node` that the file has is replaced, one
 * in words of numactl only `afresh`. 0 or -ENOMEM. */
int tiup_fill(const TiupServer *server, const AdviceReport *report, size_t index, bool afresh,
              SourceEditList *edits, TiupFilled *ret);
