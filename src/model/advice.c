/* The words of sizing advice, and its list. */
#include <stdlib.h>

#include "tidbnumad/model/advice.h"

static const char *const advice_rule_ids[N_ADVICE_RULES] = {
        [ADVICE_MAX_PROCS] = "A1",  [ADVICE_MEMORY_LIMIT] = "A2", [ADVICE_GOGC] = "A3",
        [ADVICE_READPOOL] = "A4",   [ADVICE_GRPC] = "A5",         [ADVICE_SCHEDULER] = "A6",
        [ADVICE_COMPACTION] = "A7", [ADVICE_DISK_RATE] = "A8",    [ADVICE_BLOCK_CACHE] = "A9",
        [ADVICE_HAPROXY] = "A10",   [ADVICE_JVM] = "A11",         [ADVICE_POOLS] = "A12",
        [ADVICE_LABELS] = "A13",    [ADVICE_TIFLASH] = "A14",     [ADVICE_BACKUP] = "A15",
        [ADVICE_ADDRESS] = "R12",
};
DEFINE_STRING_TABLE(advice_rule_to_id, AdviceRule, advice_rule_ids)

static const char *const advice_unit_strings[] = {
        [ADVICE_INTEGER] = "integer",
        [ADVICE_BYTES] = "bytes",
        [ADVICE_BYTES_PER_SEC] = "bytes-per-second",
        [ADVICE_HUNDREDTHS] = "hundredths",
        [ADVICE_TEXT] = "text",
        [ADVICE_LIST] = "list",
};
DEFINE_STRING_TABLE(advice_unit_to_string, AdviceUnit, advice_unit_strings)

static const char *const advice_where_strings[] = {
        [IN_CONFIG] = "config",           [IN_SQL] = "sql",
        [IN_ENVIRONMENT] = "environment", [IN_HAPROXY] = "haproxy-global",
        [IN_ARGUMENTS] = "arguments",
};
DEFINE_STRING_TABLE(advice_where_to_string, AdviceWhere, advice_where_strings)

static const char *const advice_effect_strings[] = {
        [HOLDS_ALREADY] = "already",
        [HOLDS_ONLINE] = "online",
        [HOLDS_RELOAD] = "reload",
        [HOLDS_RESTART] = "restart",
};
DEFINE_STRING_TABLE(advice_effect_to_string, AdviceEffect, advice_effect_strings)

void advice_report_done(AdviceReport *report) {
        for (size_t i = 0; i < report->n_subjects; i++) {
                free(report->subjects[i].sharers);
                free(report->subjects[i].device_sharers);
        }
        free(report->subjects);
        free(report->items);
        *report = (AdviceReport){ 0 };
}
