/* Sizing advice for the operator: a table, JSON, a fragment of a TiUP topology file, and the words
 * that these share, which append to `text`, whose `error` is set after a failure. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/json.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/advice.h"
#include "tidbnumad/model/workload.h"

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
 * and `numa_cores` where its policy binds strictly (as TiUP's numactl does), `resource_control`
 * where its policy has a memory limit, and `config`. What the daemon sets itself, and what TiUP has
 * no key for, is in comments. Always a mapping, {} when there is nothing. `text` is
 * emptied first. 0 or -ENOMEM. */
int advice_render_tiup(const AdviceReport *report, const char *host, Text *text);

/* What a plan fills into the topology file of TiUP: `numa_node`, `numa_cores`, and settings that
 * the operator has not set. */

typedef struct TiupFilled {
        size_t n_kept; /* settings that the file had already */
        bool skipped;  /* nothing could be filled in: the entry, or its `config`, is not in lines */
} TiupFilled;

/* Adds the edits for a server: a comment with its place, `numa_node` and `numa_cores` unless the
 * daemon binds it or its memory is not bound strictly, and under `config` what `report` advises for
 * its subject `index` there, but not GOGC and SQL variables. Those that the file has are replaced
 * where the place is another one, in words of numactl only `afresh`. 0 or -ENOMEM. */
int tiup_fill(const TiupServer *server, const AdviceReport *report, size_t index, bool afresh,
              SourceEditList *edits, TiupFilled *ret);

/* The value as the component takes it: "8", "200" (GOGC), "13107MB", "300KB". TiDB and TiKV count
 * their KB, MB and GB in powers of 1024. */
void advice_text_append_value(Text *text, const Advice *advice);

/* The sentences of `reason` and `note`, and for an instance that runs what makes it hold, with the
 * placeholders replaced:
 *
 * - {cpus}: "16 CPUs of node 0"
 * - {cpu_part}: likewise, or "8 of the 16 CPUs of node 0, shared with tikv-20160"
 * - {memory_part}: "the 32 GiB of node 0", or "its 16 GiB of the 32 GiB of …, shared with …"
 * - {device} {device_sharers} {card} {gomaxprocs} {base} {cost}
 *
 * Names are made visible (base/text.h). */
void advice_text_append_reason(Text *text, const AdviceReport *report, const Advice *advice);

/* Appends the string in YAML's double quotes, with everything but printable ASCII escaped, so that
 * it is always one scalar. */
void advice_text_append_quoted(Text *text, const char *string);

/* Appends `string` in lines of at most `width` columns (0: no limit; a longer word has a line of
 * its own), broken at spaces; each line but the first after a line break and `indent`. */
void advice_text_append_wrapped(Text *text, const char *string, size_t width, const char *indent);
