/* Sizing advice for the operator: a table, JSON, a fragment of a TiUP topology file. */
#pragma once

#include "tidbnumad/base/json.h"
#include "tidbnumad/model/advice.h"

/* One row a setting: instance, setting, value, rule, reason; the reason wrapped so that lines end
 * within `width` columns (it gets 24 at least), or in one line where `width` is 0. Then a line for
 * each instance that gets no advice as it has no nodes. Names have their control characters as
 * "\xNN". `text` is emptied first. 0 or -ENOMEM. */
int advice_render_table(const AdviceReport *report, unsigned width, Text *text);

/* One JSON object, as status_render() makes it: `instances`, each with what was weighed (`inputs`)
 * and its `advice`. `text` is emptied first. 0 or -ENOMEM. */
int advice_render_json(const AdviceReport *report, Text *text);

/* YAML in the form of a TiUP topology (tiup-cluster 1.15 for `numa_cores`): tidb_servers,
 * tikv_servers, pd_servers, each entry with `host`, its ports where they are known, `numa_node`
 * and `numa_cores` where its policy binds strictly (as TiUP's numactl does), and `config`. What
 * TiUP has no key for is in comments. Always a mapping, {} when there is nothing. `text` is
 * emptied first. 0 or -ENOMEM. */
int advice_render_tiup(const AdviceReport *report, const char *host, Text *text);
