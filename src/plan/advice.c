/* Sizing advice: what is each instance's own of the CPUs and the memory where it is placed, and the
 * rules that are applied to that. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/plan/advice.h"
#include "tidbnumad/plan/limit.h"
#include "tidbnumad/plan/start-limits.h"

/* Constants of the rules, with their sources. */
#define ADVICE_GOGC_BASE_BYTES (UINT64_C(2) << 30) /* the field's TiDB at GOGC=100 … */
#define ADVICE_GOGC_GROWTH 8u    /* … needed this many times the memory at GOGC=1000 */
#define ADVICE_GOGC_MOST 1000u   /* beyond which nothing was measured */
#define ADVICE_READPOOL_LEAST 4u /* TiKV's own minimum (UnifiedReadPoolConfig, 5.0 on) */
#define ADVICE_FEW_CPUS 8u       /* on which TiKV's defaults are too many beside others (field) */
#define ADVICE_MEMORY_LIMIT_MIN (UINT64_C(512) << 20) /* TiDB raises smaller values to this */
/* maximum of one thread group, and of HAProxy before 2.7 */
#define ADVICE_HAPROXY_THREADS_MAX 64u
#define ADVICE_HAPROXY_MAXCONN 20000u
#define ADVICE_HAPROXY_MAXCONN_DEFAULT 2000u /* the limit that the case from the field hit */
#define ADVICE_HAPROXY_CONNECTION_BYTES (UINT64_C(33) << 10) /* HAProxy's management guide */

#define ADVICE_JVM_PERCENT 60u /* of the memory; the rest is for what a JVM has beside its heap */
#define ADVICE_POOLS_CPUS 16u

/* TiKV's first version with readpool.unified.cpu-threshold, and TiDB's first one with
 * tidb_gogc_tuner_max_value and with the memory arbitrator. */
#define ADVICE_CPU_THRESHOLD_VERSION SERVER_VERSION(8, 5, 5)
#define ADVICE_GOGC_VERSION SERVER_VERSION(7, 5, 0)
#define ADVICE_ARBITRATOR_VERSION SERVER_VERSION(9, 0, 0)

#define ADVICE_MIB (UINT64_C(1024) * 1024)

static inline uint64_t advice_max(uint64_t a, uint64_t b) {
        return a > b ? a : b;
}

static inline uint64_t advice_min(uint64_t a, uint64_t b) {
        return a < b ? a : b;
}

static inline uint64_t advice_whole_mib(uint64_t bytes) {
        return bytes / ADVICE_MIB * ADVICE_MIB;
}

/* --- the rules A1 to A15 and R12 for one instance: their table is in plan/advice.h; the sentences
 * have placeholders that publish/advice.h lists --- */

typedef struct AdviceScope {
        const AdviceReport *report;
        const AdviceSubject *subject;
} AdviceScope;

static bool subject_shares_cpus(const AdviceSubject *subject) {
        return subject->cpu_share < subject->n_cpus;
}

/* PD is light: all CPUs that it is bound to are its own. */
static bool give_go_threads(const AdviceScope *scope, Advice *advice) {
        const AdviceSubject *subject = scope->subject;
        const uint32_t n = subject->product == PRODUCT_PD ? subject->n_cpus : subject->cpu_share;
        /* Does the process count on CPUs that it had before it was bound? */
        const bool outdated = subject->gomaxprocs > 0
                                      ? subject->gomaxprocs != n
                                      : subject->go == GO_ONCE && subject->bound_after_start;

        advice->value = n;
        if (subject->pid == 0)
                return subject_shares_cpus(subject);
        if (subject->gomaxprocs == n)
                advice->effect = HOLDS_ALREADY;
        if (subject->gomaxprocs > 0 && subject->gomaxprocs == subject->cpu_share)
                advice->note =
                        "The running process already has {gomaxprocs}; the setting keeps it.";
        else if (subject->gomaxprocs > 0)
                advice->note = "The running process has {gomaxprocs}: a Go program reads the "
                               "number when it starts, and follows a later change only if it was "
                               "built with Go 1.25 or later and does not set the number itself.";
        else if (subject->go == GO_FOLLOWS)
                advice->note = "The running process was built with Go 1.25 or later and follows "
                               "its CPUs, unless it sets the number itself.";
        else if (subject->go == GO_ONCE)
                advice->note =
                        subject->bound_after_start
                                ? "The running process is a Go program that started before it was "
                                  "bound: it still counts on the CPUs that it had then."
                                : "The running process has read the number when it started.";
        else
                advice->note = "The running process's number is unknown: a Go program reads it "
                               "when it starts, and follows a later change only if it was built "
                               "with Go 1.25 or later and does not set the number itself.";
        return subject_shares_cpus(subject) || outdated;
}

static uint64_t memory_limit_bytes(const AdviceSubject *subject) {
        return advice_whole_mib(memory_part(subject->memory_share_bytes, 80, 100));
}

static bool give_memory_limit(const AdviceScope *scope, Advice *advice) {
        const uint64_t bytes = memory_limit_bytes(scope->subject);

        advice->value = advice_max(bytes, ADVICE_MEMORY_LIMIT_MIN);
        if (bytes < ADVICE_MEMORY_LIMIT_MIN)
                advice->reason = "The minimum that TiDB accepts: 80 % of {memory_part} is less, "
                                 "and too little for a TiDB server.";
        if (scope->subject->said.version >= ADVICE_ARBITRATOR_VERSION)
                advice->note = "With the memory arbitrator (tidb_mem_arbitrator_mode) 95 % suits.";
        return scope->subject->memory_share_bytes > 0 && !scope->subject->limited;
}

static bool give_gogc(const AdviceScope *scope, Advice *advice) {
        const AdviceSubject *subject = scope->subject;
        const uint64_t limit = memory_limit_bytes(subject);
        const uint64_t base = advice_max(subject->need_bytes, ADVICE_GOGC_BASE_BYTES);
        /* By published measurements; UINT64_MAX: more than any machine has. */
        const uint64_t need = base <= UINT64_MAX / (ADVICE_GOGC_GROWTH + 1)
                                      ? base * ADVICE_GOGC_GROWTH
                                      : UINT64_MAX;
        uint64_t light = 0;

        advice->base_bytes = base;
        advice->cost_bytes = need - base;
        advice->note = "A variable of TiDB 7.5 and later, for the whole cluster. GOGC in the "
                       "environment does nothing since TiDB 5.2, which sets it itself.";
        if (subject->need_bytes >= ADVICE_GOGC_BASE_BYTES)
                advice->reason = "Memory is free for more than the 500 up to which TiDB raises "
                                 "GOGC by itself: less frequent garbage collection raised a field "
                                 "case from 4365 to 7205 TPS (100 to 1000, 2 to 16 GB). It needs "
                                 "up to {cost} in addition to the {base} that it uses now.";
        /* The known memory of PD, HAProxy and others on its nodes, divided by the number of
         * instances that share these nodes. */
        for (size_t i = 0; i < scope->report->n_subjects; i++) {
                const AdviceSubject *other = &scope->report->subjects[i];
                const NodeSet both = id_set_and(&subject->nodes, &other->nodes);
                const uint64_t common = id_set_count(&both);

                if (!product_info(other->product)->heavy && common > 0 &&
                    __builtin_add_overflow(light,
                                           other->need_bytes / id_set_count(&other->nodes) * common,
                                           &light))
                        return false;
        }
        light /= subject->n_sharers + 1;
        return light < limit && need <= limit - light &&
               (subject->said.version == 0 || subject->said.version >= ADVICE_GOGC_VERSION);
}

static bool subject_needs_readpool(const AdviceSubject *subject) {
        return subject_shares_cpus(subject) || subject->bound_after_start;
}

static bool give_readpool(const AdviceScope *scope, Advice *advice) {
        if (scope->subject->said.version >= ADVICE_CPU_THRESHOLD_VERSION)
                return false;
        advice->value =
                advice_max(80 * (uint64_t)scope->subject->cpu_share / 100, ADVICE_READPOOL_LEAST);
        return subject_needs_readpool(scope->subject);
}

/* The CPUs that it sees follow its affinity (SysQuota::cpu_cores_quota()). */
static bool give_cpu_threshold(const AdviceScope *scope, Advice *advice) {
        const AdviceSubject *subject = scope->subject;

        advice->value = advice_max(80 * (uint64_t)subject->cpu_share / subject->cpus_seen, 1);
        return subject->said.version >= ADVICE_CPU_THRESHOLD_VERSION &&
               subject_needs_readpool(subject);
}

/* TiKV, BackupConfig: half of the CPUs that it sees when it starts, 1 to 8. */
static bool give_backup(const AdviceScope *scope, Advice *advice) {
        advice->value = advice_min(advice_max(scope->subject->cpu_share / 2, 1), 8);
        return scope->subject->bound_after_start && advice->value < 8;
}

/* On CPUs of its own TiKV's defaults suit: they count the CPUs that it has when it starts. */
static bool give_on_few_cpus(const AdviceScope *scope, _unused_ Advice *advice) {
        return scope->subject->cpu_share <= ADVICE_FEW_CPUS && subject_shares_cpus(scope->subject);
}

static bool give_grpc(const AdviceScope *scope, Advice *advice) {
        const AdviceSubject *subject = scope->subject;
        bool beside_tidb = false;

        for (size_t i = 0; i < subject->n_sharers; i++)
                beside_tidb |= scope->report->subjects[subject->sharers[i]].product == PRODUCT_TIDB;
        return beside_tidb && give_on_few_cpus(scope, advice) &&
               subject->cpu_share < ADVICE_FEW_CPUS;
}

static bool give_disk_rate(const AdviceScope *scope, _unused_ Advice *advice) {
        return scope->subject->n_device_sharers > 0;
}

/* What each of the stores on its disk takes for its own. */
static bool give_capacity(const AdviceScope *scope, Advice *advice) {
        const AdviceSubject *subject = scope->subject;
        size_t n = 1;

        for (size_t i = 0; i < subject->n_device_sharers; i++) {
                const Product other = scope->report->subjects[subject->device_sharers[i]].product;

                n += other == PRODUCT_TIKV || other == PRODUCT_TIFLASH;
        }
        advice->value = advice_whole_mib(subject->disk_bytes / n);
        return n > 1 && advice->value > 0;
}

/* TiFlash gets a number of bytes: a fraction would be one of the host (Settings.h, from 6.6 on). */
static bool give_memory_part(const AdviceScope *scope, Advice *advice) {
        const uint64_t bytes = scope->subject->memory_share_bytes,
                       percent = advice->rule == ADVICE_TIFLASH ? 80 : 45;

        advice->value = advice_max(advice_whole_mib(memory_part(bytes, percent, 100)), ADVICE_MIB);
        return bytes > 0 && !scope->subject->limited;
}

/* The field's 8-node hosts; with fewer CPUs TiKV's default of 2 suits. */
static bool give_pool(const AdviceScope *scope, _unused_ Advice *advice) {
        return scope->subject->cpu_share >= ADVICE_POOLS_CPUS;
}

/* --- A13: the label by which PD keeps the replicas of a region on different hosts --- */

static bool host_has_several_tikv(const AdviceReport *report) {
        size_t n = 0;

        for (size_t i = 0; i < report->n_subjects; i++)
                n += report->subjects[i].product == PRODUCT_TIKV;
        return n > 1;
}

static bool give_label(const AdviceScope *scope, Advice *advice) {
        const AdviceReport *report = scope->report;
        const char *labels = NULL; /* of a PD on this host */

        for (size_t i = 0; i < report->n_subjects && !labels; i++)
                if (report->subjects[i].product == PRODUCT_PD)
                        labels = server_report_find(&report->subjects[i].said,
                                                    SERVER_LOCATION_LABELS);
        (void)snprintf(advice->text, sizeof(advice->text), "%s",
                       report->host ? report->host : "(the name of this host)");
        return scope->subject->said.n_settings > 0 && host_has_several_tikv(report) &&
               !server_report_tells_host(&scope->subject->said, labels);
}

static bool give_location_labels(const AdviceScope *scope, Advice *advice) {
        const char *labels = server_report_find(&scope->subject->said, SERVER_LOCATION_LABELS);

        (void)strcpy(advice->text, "host");
        return scope->subject->said.n_settings > 0 && host_has_several_tikv(scope->report) &&
               (!labels || labels[0] == '\0');
}

/* R12: what others reach it by. */
static bool give_address(const AdviceScope *scope, Advice *advice) {
        const AdviceSubject *subject = scope->subject;

        if (!subject->card)
                return false;
        if (subject->address)
                (void)snprintf(advice->text, sizeof(advice->text), "%s", subject->address);
        else
                (void)snprintf(advice->text, sizeof(advice->text), "(the address of %.32s)",
                               subject->card);
        return true;
}

static bool give_haproxy_threads(const AdviceScope *scope, Advice *advice) {
        const uint32_t n = scope->subject->n_cpus;

        advice->value = advice_min(n, ADVICE_HAPROXY_THREADS_MAX);
        if (n > ADVICE_HAPROXY_THREADS_MAX)
                advice->reason = "64 threads are the maximum of a thread group; it is bound to "
                                 "{cpus}. HAProxy counts CPUs when it starts, and from 2.4 on only "
                                 "those of one node of the host, which it chooses and keeps to.";
        return true;
}

static bool give_haproxy_connections(const AdviceScope *scope, Advice *advice) {
        const uint64_t fits = scope->subject->memory_bytes / 10 / ADVICE_HAPROXY_CONNECTION_BYTES;

        advice->value = advice_min(fits, ADVICE_HAPROXY_MAXCONN);
        advice->cost_bytes = advice->value * ADVICE_HAPROXY_CONNECTION_BYTES;
        return advice->value > ADVICE_HAPROXY_MAXCONN_DEFAULT;
}

static bool give_jvm(const AdviceScope *scope, Advice *advice) {
        const AdviceSubject *subject = scope->subject;
        const uint32_t n_cpus = subject->cpu_share;
        const uint64_t heap =
                advice_whole_mib(memory_part(subject->memory_share_bytes, ADVICE_JVM_PERCENT, 100));
        char xmx[32] = "";

        if (heap > 0)
                (void)snprintf(xmx, sizeof(xmx), " -Xmx%" PRIu64 "m", heap / ADVICE_MIB);
        /* HotSpot's own formula, see -XX:ParallelGCThreads of java(1). */
        (void)snprintf(advice->text, sizeof(advice->text),
                       "-XX:ActiveProcessorCount=%u -XX:ParallelGCThreads=%u%s%s", n_cpus,
                       n_cpus <= 8 ? n_cpus : 8 + (n_cpus - 8) * 5 / 8, xmx,
                       id_set_count(&subject->nodes) == 1 ? " -XX:-UseNUMA" : "");
        return true;
}

#define POOL_REASON                                                                                \
        "3 from 16 CPUs on, as on the field's hosts of 8 nodes: it has {cpu_part}. TiKV's "        \
        "default is 2. Watch whether it helps: from 8.0 on writes have a pool of their own "       \
        "(raftstore.store-io-pool-size)."
#define ADDRESS_REASON                                                                             \
        "The network card {card} is on its node: by the address of that card, requests do not "    \
        "cross to another node."

/* In the order in which they are reported. `give` fills in the value, and what is different from
 * the usual; it returns whether the setting is advised. */
typedef struct AdviceRow {
        Product product;
        AdviceRule rule;
        const char *setting;
        AdviceWhere where;
        AdviceUnit unit;
        AdviceEffect effect;
        bool (*give)(const AdviceScope *scope, Advice *advice);
        const char *reason;
        uint64_t value; /* 0: `give` fills it in */
        bool at_most;   /* less is as good */
} AdviceRow;

static const AdviceRow advice_rules[] = {
        { PRODUCT_TIDB, ADVICE_MAX_PROCS, "performance.max-procs", IN_CONFIG, ADVICE_INTEGER,
          HOLDS_RESTART, give_go_threads,
          "It has {cpu_part}. Without the setting it runs as many threads as it sees CPUs when it "
          "starts." },
        { PRODUCT_TIDB, ADVICE_MEMORY_LIMIT, "tidb_server_memory_limit", IN_SQL, ADVICE_BYTES,
          HOLDS_ONLINE, give_memory_limit,
          "80 % of {memory_part}. TiDB's default uses the memory of the host, not of the nodes. "
          "The variable applies to the whole cluster: set the smallest of several values." },
        { PRODUCT_TIDB, ADVICE_GOGC, "tidb_gogc_tuner_max_value", IN_SQL, ADVICE_INTEGER,
          HOLDS_ONLINE, give_gogc,
          "Memory is free for more than the 500 up to which TiDB raises GOGC by itself: less "
          "frequent garbage collection raised a field case from 4365 to 7205 TPS (100 to 1000, 2 "
          "to 16 GB). It needs up to {cost} in addition to {base}, its assumed size under load.",
          ADVICE_GOGC_MOST },
        { PRODUCT_TIDB, ADVICE_ADDRESS, "--advertise-address", IN_ARGUMENTS, ADVICE_TEXT,
          HOLDS_RESTART, give_address, ADDRESS_REASON },
        { PRODUCT_TIKV, ADVICE_READPOOL, "readpool.unified.max-thread-count", IN_CONFIG,
          ADVICE_INTEGER, HOLDS_ONLINE, give_readpool,
          "80 % of its CPUs, and at least 4: it has {cpu_part}. The threads should be 60 to 90 % "
          "busy." },
        { PRODUCT_TIKV, ADVICE_READPOOL, "readpool.unified.cpu-threshold", IN_CONFIG,
          ADVICE_HUNDREDTHS, HOLDS_ONLINE, give_cpu_threshold,
          "80 % of its CPUs, as a part of those that it sees: it has {cpu_part}. From 8.5.5 on, "
          "with readpool.unified.auto-adjust-pool-size: true; before, max-thread-count." },
        { PRODUCT_TIKV, ADVICE_GRPC, "server.grpc-concurrency", IN_CONFIG, ADVICE_INTEGER,
          HOLDS_RESTART, give_grpc,
          "2 beside a TiDB on fewer than 8 CPUs each: it has {cpu_part}. TiKV takes 5, or 5 to 14 "
          "by its CPUs from 8.5.4 on. Raise it when these threads are more than 80 % busy.",
          2, true },
        { PRODUCT_TIKV, ADVICE_SCHEDULER, "storage.scheduler-worker-pool-size", IN_CONFIG,
          ADVICE_INTEGER, HOLDS_ONLINE, give_on_few_cpus,
          "2 up to 8 CPUs that others use too: it has {cpu_part}. The threads should be 50 to 75 % "
          "busy.",
          2, true },
        { PRODUCT_TIKV, ADVICE_COMPACTION, "rocksdb.max-background-jobs", IN_CONFIG, ADVICE_INTEGER,
          HOLDS_ONLINE, give_on_few_cpus,
          "3 up to 8 CPUs that others use too: it has {cpu_part}. If writes stall, raise this "
          "first.",
          3, true },
        { PRODUCT_TIKV, ADVICE_COMPACTION, "rocksdb.max-sub-compactions", IN_CONFIG, ADVICE_INTEGER,
          HOLDS_RESTART, give_on_few_cpus,
          "1 up to 8 CPUs that others use too: it has {cpu_part}. If writes still stall with more "
          "rocksdb.max-background-jobs, raise it to 2 or 3.",
          1, true },
        { PRODUCT_TIKV, ADVICE_DISK_RATE, "rocksdb.rate-bytes-per-sec", IN_CONFIG,
          ADVICE_BYTES_PER_SEC, HOLDS_ONLINE, give_disk_rate,
          "Its device {device} also serves {device_sharers}: a limit on compaction leaves "
          "bandwidth for them. 200MB fitted a host with 16 CPUs; raise it if writes stall or the "
          "device is faster.",
          200 * ADVICE_MIB, true },
        { PRODUCT_TIKV, ADVICE_DISK_RATE, "raftstore.capacity", IN_CONFIG, ADVICE_BYTES,
          HOLDS_RESTART, give_capacity,
          "Its part of the device {device}, which also serves {device_sharers}: without it each "
          "tells PD that all of the disk is its own. Less where its file system is smaller.",
          0, true },
        { PRODUCT_TIKV, ADVICE_BLOCK_CACHE, "storage.block-cache.capacity", IN_CONFIG, ADVICE_BYTES,
          HOLDS_ONLINE, give_memory_part,
          "45 % of {memory_part}. TiKV's default uses the memory of the host, not of the nodes.", 0,
          true },
        { PRODUCT_TIKV, ADVICE_BACKUP, "backup.num-threads", IN_CONFIG, ADVICE_INTEGER,
          HOLDS_ONLINE, give_backup,
          "Half of its CPUs: it has {cpu_part}. TiKV's default is half of the CPUs that it had "
          "when it started, before it was bound.",
          0, true },
        { PRODUCT_TIFLASH, ADVICE_TIFLASH, "profiles.default.max_memory_usage_for_all_queries",
          IN_CONFIG, ADVICE_INTEGER, HOLDS_ONLINE, give_memory_part,
          "80 % of {memory_part}, in bytes. TiFlash's default uses the memory of the host, not of "
          "the nodes." },
        { PRODUCT_TIKV, ADVICE_POOLS, "raftstore.store-pool-size", IN_CONFIG, ADVICE_INTEGER,
          HOLDS_ONLINE, give_pool, POOL_REASON, 3 },
        { PRODUCT_TIKV, ADVICE_POOLS, "raftstore.apply-pool-size", IN_CONFIG, ADVICE_INTEGER,
          HOLDS_ONLINE, give_pool, POOL_REASON, 3 },
        { PRODUCT_TIKV, ADVICE_LABELS, "server.labels.host", IN_CONFIG, ADVICE_TEXT, HOLDS_RESTART,
          give_label,
          "Several TiKV are on this host, and it has no label that says so: PD may put two "
          "replicas of a region on one host. The same name for all of them, and host in PD's "
          "replication.location-labels." },
        { PRODUCT_TIKV, ADVICE_ADDRESS, "--advertise-addr", IN_ARGUMENTS, ADVICE_TEXT,
          HOLDS_RESTART, give_address, ADDRESS_REASON },
        { PRODUCT_PD, ADVICE_MAX_PROCS, "GOMAXPROCS", IN_ENVIRONMENT, ADVICE_INTEGER, HOLDS_RESTART,
          give_go_threads,
          "It has {cpus}. Without the setting it runs as many threads as it saw CPUs when it "
          "started." },
        { PRODUCT_PD, ADVICE_LABELS, SERVER_LOCATION_LABELS, IN_CONFIG, ADVICE_LIST, HOLDS_ONLINE,
          give_location_labels,
          "Several TiKV are on this host, and PD has no list of labels by which it keeps replicas "
          "on different hosts. A running cluster takes it by pd-ctl config set location-labels "
          "host." },
        { PRODUCT_PD, ADVICE_ADDRESS, "--advertise-client-urls", IN_ARGUMENTS, ADVICE_TEXT,
          HOLDS_RESTART, give_address, ADDRESS_REASON },
        { PRODUCT_JAVA, ADVICE_JVM, JVM_OPTIONS, IN_ENVIRONMENT, ADVICE_TEXT, HOLDS_RESTART,
          give_jvm,
          "It has {cpu_part}. A JVM counts CPUs when it starts. The heap is 60 % of {memory_part}. "
          "Flags on its command line override these." },
        { PRODUCT_HAPROXY, ADVICE_HAPROXY, "nbthread", IN_HAPROXY, ADVICE_INTEGER, HOLDS_RELOAD,
          give_haproxy_threads,
          "One thread for each CPU: it is bound to {cpus}. HAProxy counts CPUs when it starts, and "
          "from 2.4 on only those of one node of the host, which it chooses and keeps to." },
        { PRODUCT_HAPROXY, ADVICE_HAPROXY, "maxconn", IN_HAPROXY, ADVICE_INTEGER, HOLDS_RELOAD,
          give_haproxy_connections,
          "2000, a common default, limited a field case. This many connections use up to {cost} of "
          "memory. Frontends and servers have their own limits." },
};

/* Has the server said that it has it so, or, where less is as good, less? 0 is no limit. */
static bool advice_is_so_already(const Advice *advice, bool at_most) {
        uint64_t value;

        if (!advice->now)
                return false;
        if (advice->unit == ADVICE_HUNDREDTHS) {
                const double is = strtod(advice->now, NULL) * 100;

                return is > (double)advice->value - 0.5 && is < (double)advice->value + 0.5;
        }
        if (advice->unit == ADVICE_TEXT || advice->unit == ADVICE_LIST ||
            server_setting_parse(advice->now, &value) < 0)
                return false;
        return value == advice->value || (at_most && value > 0 && value < advice->value);
}

/* An address may have a scheme and a port. */
static bool has_word(const char *text, const char *word, size_t n) {
        static const char ends[] = " ,:/[]"; /* and the end of the text */

        for (const char *at = text; *at; at++)
                if (strncmp(at, word, n) == 0 && strchr(ends, at[n]) &&
                    (at == text || strchr(ends, at[-1])))
                        return true;
        return false;
}

/* Was it started with that number, or with each word of the text? */
static bool advice_is_given(const Advice *advice, const ServerReport *start) {
        const char *given = server_report_find(start, advice->setting);
        const char *word = advice->text;
        uint64_t value;

        if (!given)
                return false;
        if (advice->unit == ADVICE_INTEGER)
                return server_setting_parse(given, &value) >= 0 && value == advice->value;
        for (size_t n; *word; word += n + strspn(word + n, " ")) {
                n = strcspn(word, " ");
                if (!has_word(given, word, n))
                        return false;
        }
        return true;
}

/* --- what is an instance's own of the CPUs and the memory where it is placed --- */

static void subject_init(const AdviceInput *input, size_t i, AdviceSubject *subject) {
        const ServerInstance *instance = &input->instances[i];
        const CpuSet all = topology_cpus_of(input->topology, &instance->nodes);
        const CpuSet *place = id_set_is_empty(&instance->cpus) ? &all : &instance->cpus;

        *subject = (AdviceSubject){
                .instance = *instance,
                .unplaced = !id_set_is_empty(&instance->nodes)      ? ""
                            : instance->reason && *instance->reason ? instance->reason
                                                                    : "it has no place",
                .memory_bytes = topology_memory_bytes(input->topology, &instance->nodes),
        };
        subject->cpus = by_hand_left(&instance->by_hand, place);
        subject->product = match_product(
                instance->exe, instance->policy ? &instance->policy->match : NULL, instance->unit);
        subject->weight = match_weight(instance->exe, instance->policy, instance->unit);
        /* A part of the memory is no size to give advice on. */
        for (size_t k = 0; k < input->topology->n_nodes; k++)
                if (id_set_has(&instance->nodes, input->topology->nodes[k].id) &&
                    input->topology->nodes[k].memory_unknown)
                        subject->memory_bytes = 0;
        subject->whole_nodes = id_set_equal(&subject->cpus, &all);
        subject->n_cpus = id_set_count(&subject->cpus);
}

/* TiDB and TiKV instances that are placed share the memory and CPUs of their nodes. */
static bool subject_is_sharer(const AdviceSubject *subject) {
        return product_info(subject->product)->heavy && subject->unplaced[0] == '\0';
}

/* The part of its nodes' memory that its weight has among the sharers of each of them. */
static uint64_t subject_memory_share(const AdviceInput *input, const AdviceReport *report,
                                     const AdviceSubject *subject) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < input->topology->n_nodes; i++) {
                const Node *node = &input->topology->nodes[i];
                const uint64_t own = limit_node_weight(subject->weight, &subject->nodes, node->id);
                uint64_t all = 0;

                for (size_t k = 0; own > 0 && k < report->n_subjects; k++)
                        if (subject_is_sharer(&report->subjects[k]))
                                all += limit_node_weight(report->subjects[k].weight,
                                                         &report->subjects[k].nodes, node->id);
                if (all > 0 && __builtin_add_overflow(
                                       bytes, memory_part(node->memory_bytes, own, all), &bytes))
                        return UINT64_MAX;
        }
        return bytes;
}

static int subject_weigh(const AdviceInput *input, AdviceReport *report, size_t index) {
        AdviceSubject *subject = &report->subjects[index];
        const ServerInstance *instance = &input->instances[index];
        const uint32_t quota = server_quota_cpus(instance, false);

        subject->cpu_share = subject->n_cpus;
        subject->memory_share_bytes = subject->memory_bytes;
        if (subject_is_sharer(subject)) {
                double share = 0;

                /* Of each CPU it has its part: its weight is divided among all of its CPUs. */
                ID_SET_FOREACH(cpu, &subject->cpus) {
                        double all = 0;

                        for (size_t i = 0; i < report->n_subjects; i++) {
                                const AdviceSubject *other = &report->subjects[i];

                                if (subject_is_sharer(other) &&
                                    id_set_has(&other->cpus, (uint32_t)cpu))
                                        all += (double)other->weight / other->n_cpus;
                        }
                        /* The instance itself is one of the sharers. */
                        share += (double)subject->weight / subject->n_cpus / all;
                }
                /* Three thirds are one; no sum of parts of 8192 CPUs is off by as much. */
                subject->cpu_share = share < 1 ? 1 : (uint32_t)(share + 1e-6);
                if (subject->memory_bytes > 0)
                        subject->memory_share_bytes = subject_memory_share(input, report, subject);
        }
        /* What its unit sets itself. */
        subject->cpu_share = (uint32_t)advice_min(subject->cpu_share, quota);
        subject->cpus_seen = (uint32_t)advice_min(subject->n_cpus, quota);
        subject->limited =
                instance->limit_bytes > 0 && (subject->memory_share_bytes == 0 ||
                                              instance->limit_bytes < subject->memory_share_bytes);
        if (subject->limited)
                subject->memory_share_bytes = instance->limit_bytes;
        subject->sharers = calloc(report->n_subjects, sizeof(*subject->sharers));
        subject->device_sharers = calloc(report->n_subjects, sizeof(*subject->device_sharers));
        if (!subject->sharers || !subject->device_sharers)
                return -ENOMEM;
        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *other = &report->subjects[i];

                if (i == index)
                        continue;
                if (subject_is_sharer(other) && id_set_intersects(&subject->nodes, &other->nodes))
                        subject->sharers[subject->n_sharers++] = i;
                if (subject->device && other->device && strcmp(subject->device, other->device) == 0)
                        subject->device_sharers[subject->n_device_sharers++] = i;
        }
        return 0;
}

int advice_build(const AdviceInput *input, AdviceReport *ret) {
        _cleanup_advice_report_ AdviceReport report = {
                .subjects = calloc(input->n_instances + 1, sizeof(*report.subjects)),
                .daemon_binds = input->daemon_binds,
                .host = input->host,
        };

        if (!report.subjects)
                return -ENOMEM;
        report.n_subjects = input->n_instances;
        for (size_t i = 0; i < report.n_subjects; i++)
                subject_init(input, i, &report.subjects[i]);
        for (size_t i = 0; i < report.n_subjects; i++)
                if (subject_weigh(input, &report, i) < 0)
                        return -ENOMEM;
        for (size_t i = 0; i < report.n_subjects; i++) {
                const AdviceSubject *subject = &report.subjects[i];
                const AdviceScope scope = { .report = &report, .subject = subject };

                if (subject->unplaced[0] != '\0' || subject->n_cpus == 0)
                        continue;
                for (size_t k = 0; k < ELEMENTSOF(advice_rules); k++) {
                        const AdviceRow *rule = &advice_rules[k];
                        Advice advice = { .rule = rule->rule,
                                          .subject = i,
                                          .setting = rule->setting,
                                          .where = rule->where,
                                          .unit = rule->unit,
                                          .effect = rule->effect,
                                          .value = rule->value,
                                          .reason = rule->reason,
                                          .note = "" };

                        if (rule->product != subject->product || !rule->give(&scope, &advice))
                                continue;
                        if (advice.where == IN_CONFIG)
                                advice.now = server_report_find(&subject->said, advice.setting);
                        if (advice_is_so_already(&advice, rule->at_most) ||
                            advice_is_given(&advice, &subject->given))
                                continue;
                        if (ARRAY_RESERVE(report.items, report.allocated, report.n_items + 1) < 0)
                                return -ENOMEM;
                        report.items[report.n_items++] = advice;
                }
        }
        *ret = TAKE_STRUCT(report);
        return 0;
}
