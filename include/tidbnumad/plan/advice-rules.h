/* The rules of sizing advice, for plan/advice.c. */
#pragma once

#include "tidbnumad/model/advice.h"

/* Constants of the rules, with their sources. */
#define ADVICE_GOGC_BASE_BYTES (UINT64_C(2) << 30) /* the field's TiDB at GOGC=100 … */
#define ADVICE_GOGC_GROWTH 8u    /* … needed this many times the memory at GOGC=1000 */
#define ADVICE_GOGC_MOST 1000u   /* beyond which nothing was measured */
#define ADVICE_READPOOL_LEAST 4u /* TiKV's own minimum (UnifiedReadPoolConfig, 5.0 on) */
#define ADVICE_FEW_CPUS 8u       /* on which TiKV's defaults are too many beside others (field) */
#define ADVICE_MEMORY_LIMIT_MIN (UINT64_C(512) << 20) /* TiDB raises smaller values to this */
#define ADVICE_HAPROXY_THREADS_MAX                                                                 \
        64u /* maximum of one thread group, and of HAProxy before 2.7                              \
             */
#define ADVICE_HAPROXY_MAXCONN 20000u
#define ADVICE_HAPROXY_MAXCONN_DEFAULT 2000u /* the limit that the case from the field hit */
#define ADVICE_HAPROXY_CONNECTION_BYTES (UINT64_C(33) << 10) /* HAProxy's management guide */

#define ADVICE_JVM_PERCENT 60u /* of the memory; the rest is for what a JVM has beside its heap */
#define ADVICE_JVM_BESIDE_PERCENT 15u /* beside TiDB or TiKV, which take 80 % */
#define ADVICE_POOLS_CPUS 16u

#define ADVICE_KIB UINT64_C(1024)
#define ADVICE_MIB (UINT64_C(1024) * 1024)

/* No overflow for any value. */
static inline uint64_t advice_percent_of(uint64_t value, uint64_t percent) {
        return value / 100 * percent + value % 100 * percent / 100;
}

static inline uint64_t advice_max(uint64_t a, uint64_t b) {
        return a > b ? a : b;
}

static inline uint64_t advice_min(uint64_t a, uint64_t b) {
        return a < b ? a : b;
}

static inline uint64_t advice_whole_mib(uint64_t bytes) {
        return bytes / ADVICE_MIB * ADVICE_MIB;
}

/* State of applying the rules to one instance. */
typedef struct AdviceRules {
        AdviceReport *report;
        size_t index;
        const AdviceSubject *subject;
        int error; /* the first error */
} AdviceRules;

void advice_rules_add(AdviceRules *rules, Advice advice);
void advice_rules_haproxy(AdviceRules *rules);
void advice_rules_jvm(AdviceRules *rules);

/* Appends the advice for this subject. `light_bytes`: its part of the memory that instances other
 * than TiDB and TiKV use on its nodes. 0 or -ENOMEM. */
int advice_rules_apply(AdviceReport *report, size_t subject, uint64_t light_bytes);
