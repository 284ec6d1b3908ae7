/* A snapshot as metrics. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/snapshot.h"

/* Renders the snapshot in Prometheus' text format 0.0.4 into `text`, which is emptied first and
 * keeps its memory, so that it does not grow when equal snapshots are rendered again. A value that
 * is not known (NAN, nothing sampled) is left out, and so are HELP and TYPE of a metric without
 * samples. Sample lines are unique as long as no two instances share policy and name, and no two
 * policies or event sources a name. Does not depend on the locale. Returns 0 or -ENOMEM. */
int metrics_render(const Snapshot *snapshot, Text *text);

/* Appends the text of tidbnumad-metrics(7) for each metric: the same table, as mdoc(7). */
void metrics_render_reference(Text *text);
