/* The rules A10 and A11: HAProxy and JVMs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/plan/advice-rules.h"

static void haproxy_threads(AdviceRules *rules) {
        const uint32_t n = rules->subject->n_cpus;

        const char *reason =
                n > ADVICE_HAPROXY_THREADS_MAX
                        ? "64 threads are the maximum of a thread group; it is bound to {cpus}. "
                          "HAProxy counts CPUs when it starts, and from 2.4 on only those of one "
                          "node of the host, which it chooses and keeps to."
                        : "One thread for each CPU: it is bound to {cpus}. HAProxy counts CPUs "
                          "when it starts, and from 2.4 on only those of one node of the host, "
                          "which it chooses and keeps to.";
        const Advice advice = { .rule = ADVICE_HAPROXY,
                                .setting = "nbthread",
                                .where = IN_HAPROXY,
                                .unit = ADVICE_INTEGER,
                                .value = advice_min(n, ADVICE_HAPROXY_THREADS_MAX),
                                .effect = HOLDS_RELOAD,
                                .reason = reason };

        advice_rules_add(rules, advice);
}

static void haproxy_connections(AdviceRules *rules) {
        const uint64_t fits = rules->subject->memory_bytes / 10 / ADVICE_HAPROXY_CONNECTION_BYTES;
        const uint64_t value = advice_min(fits, ADVICE_HAPROXY_MAXCONN);
        const Advice advice = { .rule = ADVICE_HAPROXY,
                                .setting = "maxconn",
                                .where = IN_HAPROXY,
                                .unit = ADVICE_INTEGER,
                                .value = value,
                                .effect = HOLDS_RELOAD,
                                .reason = "2000, a common default, limited a field case. This many "
                                          "connections use up to {cost} of memory. Frontends and "
                                          "servers have their own limits.",
                                .cost_bytes = value * ADVICE_HAPROXY_CONNECTION_BYTES };

        if (value > ADVICE_HAPROXY_MAXCONN_DEFAULT)
                advice_rules_add(rules, advice);
}

void advice_rules_haproxy(AdviceRules *rules) {
        haproxy_threads(rules);
        haproxy_connections(rules);
}

/* HotSpot's own formula, see -XX:ParallelGCThreads of java(1). */
static uint32_t gc_threads(uint32_t n_cpus) {
        return n_cpus <= 8 ? n_cpus : 8 + (n_cpus - 8) * 5 / 8;
}

static uint64_t jvm_heap_bytes(const AdviceRules *rules) {
        const AdviceSubject *subject = rules->subject;
        const uint64_t percent =
                subject->n_sharers > 0 ? ADVICE_JVM_BESIDE_PERCENT : ADVICE_JVM_PERCENT;
        uint64_t n = 0;

        for (size_t i = 0; i < rules->report->n_subjects; i++) {
                const AdviceSubject *other = &rules->report->subjects[i];

                n += other->product == PRODUCT_JAVA &&
                     id_set_intersects(&other->nodes, &subject->nodes);
        }
        return advice_whole_mib(advice_percent_of(subject->memory_bytes, percent) /
                                advice_max(n, 1));
}

void advice_rules_jvm(AdviceRules *rules) {
        const AdviceSubject *subject = rules->subject;
        const uint64_t heap = jvm_heap_bytes(rules);
        Advice advice = {
                .rule = ADVICE_JVM,
                .setting = "JAVA_TOOL_OPTIONS",
                .where = IN_ENVIRONMENT,
                .unit = ADVICE_TEXT,
                .effect = HOLDS_RESTART,
                .reason =
                        subject->n_sharers > 0
                                ? "It has {cpus}, which a JVM counts when it starts. The heap is "
                                  "15 % of the memory there, for TiDB and TiKV may use 80 %. Flags "
                                  "on its command line override these."
                                : "It has {cpus}, which a JVM counts when it starts. The heap is "
                                  "60 % of the memory there. Flags on its command line override "
                                  "these.",
        };
        char xmx[32] = "";

        if (heap > 0)
                (void)snprintf(xmx, sizeof(xmx), " -Xmx%" PRIu64 "m", heap / ADVICE_MIB);
        (void)snprintf(advice.text, sizeof(advice.text),
                       "-XX:ActiveProcessorCount=%u -XX:ParallelGCThreads=%u%s%s", subject->n_cpus,
                       gc_threads(subject->n_cpus), xmx,
                       id_set_count(&subject->nodes) == 1 ? " -XX:-UseNUMA" : "");
        advice_rules_add(rules, advice);
}
