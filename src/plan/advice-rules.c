/* The rules A1 to A12 and R12 for one instance. Their table is in plan/advice.h; the sentences have
 * placeholders that publish/advice-text.h lists. */
#include <errno.h>
#include <stdio.h>

#include "tidbnumad/plan/advice-rules.h"

void advice_rules_add(AdviceRules *rules, Advice advice) {
        advice.subject = rules->index;
        if (!advice.note)
                advice.note = "";
        if (rules->error == 0)
                rules->error = advice_report_add(rules->report, &advice);
}

/* What the process does that runs now: it may have read the number of CPUs before it was bound. */
static const char *gomaxprocs_note(const AdviceSubject *subject) {
        if (!subject->running)
                return "";
        if (subject->gomaxprocs == 0 && subject->go == GO_FOLLOWS)
                return "The running process was built with Go 1.25 or later and follows its CPUs, "
                       "unless it sets the number itself.";
        if (subject->gomaxprocs == 0 && subject->go == GO_ONCE)
                return subject->bound_after_start
                               ? "The running process is a Go program that started before it was "
                                 "bound: it still counts on the CPUs that it had then."
                               : "The running process has read the number when it started.";
        if (subject->gomaxprocs == 0)
                return "The running process's number is unknown: a Go program reads it when it "
                       "starts, and follows a later change only if it was built with Go 1.25 or "
                       "later and does not set the number itself.";
        if (subject->gomaxprocs == subject->cpu_share)
                return "The running process already has {gomaxprocs}; the setting keeps it.";
        return "The running process has {gomaxprocs}: a Go program reads the number when it "
               "starts, and follows a later change only if it was built with Go 1.25 or later and "
               "does not set the number itself.";
}

static void go_threads(AdviceRules *rules, const char *setting, AdviceWhere where, uint32_t n,
                       const char *reason) {
        const AdviceSubject *subject = rules->subject;
        const bool has_it = subject->running && subject->gomaxprocs == n;
        const Advice advice = { .rule = ADVICE_MAX_PROCS,
                                .setting = setting,
                                .where = where,
                                .unit = ADVICE_INTEGER,
                                .value = n,
                                .effect = has_it ? HOLDS_ALREADY : HOLDS_RESTART,
                                .reason = reason,
                                .note = gomaxprocs_note(subject) };

        advice_rules_add(rules, advice);
}

static void max_procs(AdviceRules *rules) {
        go_threads(rules, "performance.max-procs", IN_CONFIG, rules->subject->cpu_share,
                   "It has {cpu_part}. Without the setting it runs as many threads as it sees CPUs "
                   "when it starts.");
}

static void pd_max_procs(AdviceRules *rules) {
        go_threads(rules, "GOMAXPROCS", IN_ENVIRONMENT, rules->subject->n_cpus,
                   "It has {cpus}. Without the setting it runs as many threads as it sees CPUs "
                   "when it starts.");
}

static uint64_t memory_limit_bytes(const AdviceSubject *subject) {
        return advice_whole_mib(advice_percent_of(subject->memory_share_bytes, 80));
}

static void memory_limit(AdviceRules *rules) {
        const uint64_t bytes = memory_limit_bytes(rules->subject);
        const char *reason =
                bytes < ADVICE_MEMORY_LIMIT_MIN
                        ? "The minimum that TiDB accepts: 80 % of {memory_part} is less, and too "
                          "little for a TiDB server."
                        : "80 % of {memory_part}. TiDB's default uses the memory of the host, not "
                          "of the nodes. The variable applies to the whole cluster: set the "
                          "smallest of several values.";
        const Advice advice = { .rule = ADVICE_MEMORY_LIMIT,
                                .setting = "tidb_server_memory_limit",
                                .where = IN_SQL,
                                .unit = ADVICE_BYTES,
                                .value = advice_max(bytes, ADVICE_MEMORY_LIMIT_MIN),
                                .effect = HOLDS_ONLINE,
                                .reason = reason };

        if (rules->subject->memory_share_bytes > 0)
                advice_rules_add(rules, advice);
}

/* By published measurements, memory grows from 1 to 8 times as GOGC goes from 100 to 1000; values
 * between are interpolated linearly. UINT64_MAX: more than any machine has. */
static uint64_t gogc_need(uint64_t base, uint64_t gogc) {
        uint64_t slope = (ADVICE_GOGC_GROWTH - 1) * (gogc - 100);

        if (base > UINT64_MAX / (ADVICE_GOGC_GROWTH + 1))
                return UINT64_MAX;
        return base + base / 900 * slope + base % 900 * slope / 900;
}

static const char *gogc_reason(const AdviceSubject *subject) {
        if (subject->resident_bytes >= ADVICE_GOGC_BASE_BYTES)
                return "Memory is free for more than the 500 up to which TiDB raises GOGC by "
                       "itself: less frequent garbage collection raised a field case from 4365 to "
                       "7205 TPS (100 to 1000, 2 to 16 GB). It needs up to {cost} in addition to "
                       "the {base} that it uses now.";
        return "Memory is free for more than the 500 up to which TiDB raises GOGC by itself: less "
               "frequent garbage collection raised a field case from 4365 to 7205 TPS (100 to "
               "1000, 2 to 16 GB). It needs up to {cost} in addition to {base}, its assumed size "
               "under load.";
}

static void gogc(AdviceRules *rules, uint64_t light_bytes) {
        const uint64_t limit = memory_limit_bytes(rules->subject);
        const uint64_t room = limit - advice_min(limit, light_bytes);
        const uint64_t base = advice_max(rules->subject->resident_bytes, ADVICE_GOGC_BASE_BYTES);
        const uint64_t need = gogc_need(base, ADVICE_GOGC_MOST);
        const Advice advice = {
                .rule = ADVICE_GOGC,
                .setting = "tidb_gogc_tuner_max_value",
                .where = IN_SQL,
                .unit = ADVICE_INTEGER,
                .value = ADVICE_GOGC_MOST,
                .effect = HOLDS_ONLINE,
                .reason = gogc_reason(rules->subject),
                .note = "A variable of TiDB 7.5 and later, for the whole cluster. GOGC in the "
                        "environment does nothing since TiDB 5.2, which sets it itself.",
                .base_bytes = base,
                .cost_bytes = need - base,
        };

        if (need <= room)
                advice_rules_add(rules, advice);
}

static void add_integer(AdviceRules *rules, AdviceRule rule, const char *setting, uint64_t value,
                        AdviceEffect effect, const char *reason) {
        advice_rules_add(rules, (Advice){ .rule = rule,
                                          .setting = setting,
                                          .where = IN_CONFIG,
                                          .unit = ADVICE_INTEGER,
                                          .value = value,
                                          .effect = effect,
                                          .reason = reason });
}

static bool shares_cpus(const AdviceSubject *subject) {
        return subject->cpu_share < subject->n_cpus;
}

static bool has_tidb_beside(const AdviceRules *rules) {
        const AdviceSubject *subject = rules->subject;

        for (size_t i = 0; i < subject->n_sharers; i++)
                if (rules->report->subjects[subject->sharers[i]].product == PRODUCT_TIDB)
                        return true;
        return false;
}

/* On CPUs of its own TiKV's defaults suit: they count the CPUs that it has when it starts. */
static void threads(AdviceRules *rules) {
        const uint32_t n = rules->subject->cpu_share;

        add_integer(rules, ADVICE_READPOOL, "readpool.unified.max-thread-count",
                    advice_max(advice_percent_of(n, 80), ADVICE_READPOOL_LEAST), HOLDS_ONLINE,
                    "80 % of its CPUs, and at least 4: it has {cpu_part}. The threads should be 60 "
                    "to 90 % busy.");
        if (n < ADVICE_FEW_CPUS && shares_cpus(rules->subject) && has_tidb_beside(rules))
                add_integer(rules, ADVICE_GRPC, "server.grpc-concurrency", 2, HOLDS_RESTART,
                            "2 beside a TiDB on fewer than 8 CPUs each: it has {cpu_part}. TiKV "
                            "takes 5, or 5 to 14 by its CPUs from 8.5.4 on. Raise it when these "
                            "threads are more than 80 % busy.");
        if (n <= ADVICE_FEW_CPUS && shares_cpus(rules->subject))
                add_integer(rules, ADVICE_SCHEDULER, "storage.scheduler-worker-pool-size", 2,
                            HOLDS_ONLINE,
                            "2 up to 8 CPUs that others use too: it has {cpu_part}. The threads "
                            "should be 50 to 75 % busy.");
}

/* The field's 8-node hosts; with fewer CPUs TiKV's default of 2 suits. */
static void pools(AdviceRules *rules) {
        static const char reason[] =
                "3 from 16 CPUs on, as on the field's hosts of 8 nodes: it has {cpu_part}. TiKV's "
                "default is 2. Watch whether it helps: from 8.0 on writes have a pool of their "
                "own (raftstore.store-io-pool-size).";

        if (rules->subject->cpu_share < ADVICE_POOLS_CPUS)
                return;
        add_integer(rules, ADVICE_POOLS, "raftstore.store-pool-size", 3, HOLDS_ONLINE, reason);
        add_integer(rules, ADVICE_POOLS, "raftstore.apply-pool-size", 3, HOLDS_ONLINE, reason);
}

static void compaction(AdviceRules *rules) {
        if (rules->subject->cpu_share > ADVICE_FEW_CPUS || !shares_cpus(rules->subject))
                return;
        add_integer(rules, ADVICE_COMPACTION, "rocksdb.max-background-jobs", 3, HOLDS_ONLINE,
                    "3 up to 8 CPUs that others use too: it has {cpu_part}. If writes stall, raise "
                    "this first.");
        add_integer(rules, ADVICE_COMPACTION, "rocksdb.max-sub-compactions", 1, HOLDS_RESTART,
                    "1 up to 8 CPUs that others use too: it has {cpu_part}. If writes still stall "
                    "with more rocksdb.max-background-jobs, raise it to 2 or 3.");
}

static void disk_rate(AdviceRules *rules) {
        const Advice advice = {
                .rule = ADVICE_DISK_RATE,
                .setting = "rocksdb.rate-bytes-per-sec",
                .where = IN_CONFIG,
                .unit = ADVICE_BYTES_PER_SEC,
                .value = 200 * ADVICE_MIB,
                .effect = HOLDS_ONLINE,
                .reason = "Its device {device} also serves {device_sharers}: a limit on compaction "
                          "leaves bandwidth for them. 200MB fitted a host with 16 CPUs; raise it "
                          "if writes stall or the device is faster.",
        };

        if (rules->subject->n_device_sharers > 0)
                advice_rules_add(rules, advice);
}

static void block_cache(AdviceRules *rules) {
        const uint64_t bytes = rules->subject->memory_share_bytes;
        const uint64_t part = advice_whole_mib(advice_percent_of(bytes, 45));
        const Advice advice = { .rule = ADVICE_BLOCK_CACHE,
                                .setting = "storage.block-cache.capacity",
                                .where = IN_CONFIG,
                                .unit = ADVICE_BYTES,
                                .value = advice_max(part, ADVICE_MIB),
                                .effect = HOLDS_ONLINE,
                                .reason = "45 % of {memory_part}. TiKV's default uses the memory "
                                          "of the host, not of the nodes." };

        if (bytes > 0)
                advice_rules_add(rules, advice);
}

/* R12: what others reach it by. */
static void address(AdviceRules *rules, const char *setting) {
        const AdviceSubject *subject = rules->subject;
        Advice advice = {
                .rule = ADVICE_ADDRESS,
                .setting = setting,
                .where = IN_ARGUMENTS,
                .unit = ADVICE_TEXT,
                .effect = HOLDS_RESTART,
                .reason = "The network card {card} is on its node: by the address of that card, "
                          "requests do not cross to another node.",
        };

        if (!subject->card)
                return;
        if (subject->address)
                (void)snprintf(advice.text, sizeof(advice.text), "%s", subject->address);
        else
                (void)snprintf(advice.text, sizeof(advice.text), "(the address of %.32s)",
                               subject->card);
        advice_rules_add(rules, advice);
}

int advice_rules_apply(AdviceReport *report, size_t subject, uint64_t light_bytes) {
        AdviceRules rules = { .report = report,
                              .index = subject,
                              .subject = &report->subjects[subject] };

        switch (rules.subject->product) {
        case PRODUCT_TIDB:
                max_procs(&rules);
                memory_limit(&rules);
                gogc(&rules, light_bytes);
                address(&rules, "--advertise-address");
                break;
        case PRODUCT_TIKV:
                threads(&rules);
                compaction(&rules);
                disk_rate(&rules);
                block_cache(&rules);
                pools(&rules);
                address(&rules, "--advertise-addr");
                break;
        case PRODUCT_PD:
                pd_max_procs(&rules);
                address(&rules, "--advertise-client-urls");
                break;
        case PRODUCT_JAVA:
                advice_rules_jvm(&rules);
                break;
        case PRODUCT_HAPROXY:
                advice_rules_haproxy(&rules);
                break;
        case PRODUCT_TIFLASH:
        case PRODUCT_OTHER:
        case N_PRODUCTS:
                break;
        }
        return rules.error;
}
