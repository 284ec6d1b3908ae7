/* The rules of sizing advice one by one, for plan/advice.c. */
#pragma once

#include "tidbnumad/model/advice.h"

/* Figures of the rules, with where they come from. */
#define ADVICE_GOGC_BASE_BYTES (UINT64_C(2) << 30)    /* the field's TiDB at GOGC=100 … */
#define ADVICE_GOGC_GROWTH 8u                         /* … was so many times as large at 1000 */
#define ADVICE_MEMORY_LIMIT_MIN (UINT64_C(512) << 20) /* TiDB takes less as this */
#define ADVICE_HAPROXY_THREADS_MAX 64u /* of one thread group, and of HAProxy before 2.7 */
#define ADVICE_HAPROXY_MAXCONN 20000u
#define ADVICE_HAPROXY_MAXCONN_DEFAULT 2000u                 /* what capped the field's case */
#define ADVICE_HAPROXY_CONNECTION_BYTES (UINT64_C(33) << 10) /* HAProxy's management guide */

/* Appends what the rules say of this subject. `light_bytes`: its part of what instances other than
 * TiDB and TiKV hold on its nodes. 0 or -ENOMEM. */
int advice_rules_apply(AdviceReport *report, size_t subject, uint64_t light_bytes);
