/* A report that the tests of advice share: a TiDB and a TiKV on one node, a PD that is not bound
 * strictly, a HAProxy, a TiDB without nodes, a JVM. */
#pragma once

#include <string.h>

#include "tidbnumad/model/advice.h"

enum { EXAMPLE_TIDB, EXAMPLE_TIKV, EXAMPLE_PD, EXAMPLE_HAPROXY, EXAMPLE_NOWHERE, EXAMPLE_JVM };

typedef struct AdviceExample {
        AdviceSubject subjects[6];
        Advice items[8];
        size_t on_tidb[1], on_tikv[1], with_pd[1];
        AdviceReport report;
} AdviceExample;

static const uint16_t example_tidb_ports[] = { 4000, 10080 };
static const uint16_t example_tikv_ports[] = { 20180, 20161 };
static const uint16_t example_pd_ports[] = { 2380, 2379 };

static inline void example_place(AdviceSubject *subject, const char *nodes, const char *cpus) {
        (void)id_set_parse_list(nodes, &subject->nodes);
        (void)id_set_parse_list(cpus, &subject->cpus);
        subject->unplaced = "";
        subject->whole_nodes = true;
        subject->n_cpus = id_set_count(&subject->cpus);
        subject->cpu_share = subject->n_cpus;
        subject->memory_bytes = UINT64_C(32) << 30;
        subject->memory_share_bytes = subject->memory_bytes;
}

static inline void example_subjects(AdviceExample *e) {
        e->subjects[EXAMPLE_TIDB] = (AdviceSubject){ .name = (char *)"tidb-4000",
                                                     .product = PRODUCT_TIDB,
                                                     .ports = (uint16_t *)example_tidb_ports,
                                                     .n_ports = 2,
                                                     .need_bytes = UINT64_C(3) << 30,
                                                     .pid = 1,
                                                     .gomaxprocs = 64 };
        e->subjects[EXAMPLE_TIKV] = (AdviceSubject){ .name = (char *)"tikv-20161",
                                                     .product = PRODUCT_TIKV,
                                                     .ports = (uint16_t *)example_tikv_ports,
                                                     .n_ports = 2,
                                                     .device = "nvme0n1" };
        e->subjects[EXAMPLE_PD] = (AdviceSubject){ .name = (char *)"pd-2379",
                                                   .product = PRODUCT_PD,
                                                   .ports = (uint16_t *)example_pd_ports,
                                                   .n_ports = 2,
                                                   .memory = MEMORY_PREFERRED,
                                                   .device = "nvme0n1" };
        e->subjects[EXAMPLE_HAPROXY] =
                (AdviceSubject){ .name = (char *)"haproxy", .product = PRODUCT_HAPROXY };
        e->subjects[EXAMPLE_NOWHERE] = (AdviceSubject){ .name = (char *)"tidb-4001",
                                                        .product = PRODUCT_TIDB,
                                                        .unplaced = "no nodes are left" };
        e->subjects[EXAMPLE_JVM] =
                (AdviceSubject){ .name = (char *)"app", .product = PRODUCT_JAVA };
        for (size_t i = 0; i < 6; i++)
                if (i != EXAMPLE_NOWHERE)
                        example_place(&e->subjects[i], "1", "16-31");
        e->subjects[EXAMPLE_JVM].unplaced = "it has no place";
        for (size_t i = EXAMPLE_TIDB; i <= EXAMPLE_TIKV; i++) {
                e->subjects[i].cpu_share = 8;
                e->subjects[i].memory_share_bytes = UINT64_C(16) << 30;
                e->subjects[i].n_sharers = 1;
        }
        e->on_tidb[0] = EXAMPLE_TIKV;
        e->on_tikv[0] = EXAMPLE_TIDB;
        e->with_pd[0] = EXAMPLE_PD;
        e->subjects[EXAMPLE_TIDB].sharers = e->on_tidb;
        e->subjects[EXAMPLE_TIKV].sharers = e->on_tikv;
        e->subjects[EXAMPLE_TIKV].device_sharers = e->with_pd;
        e->subjects[EXAMPLE_TIKV].n_device_sharers = 1;
}

static inline void example_items(AdviceExample *e) {
        const Advice items[] = {
                { ADVICE_MAX_PROCS, EXAMPLE_TIDB, "performance.max-procs", IN_CONFIG,
                  ADVICE_INTEGER, 8, HOLDS_RESTART, "It has {cpu_part}.", "Now {gomaxprocs}." },
                { ADVICE_MEMORY_LIMIT, EXAMPLE_TIDB, "tidb_server_memory_limit", IN_SQL,
                  ADVICE_BYTES, UINT64_C(13107) << 20, HOLDS_ONLINE, "80 % of {memory_part}.", "" },
                { ADVICE_GOGC, EXAMPLE_TIDB, "GOGC", IN_ENVIRONMENT, ADVICE_INTEGER, 200,
                  HOLDS_RESTART, "{cost} beside {base}.", "", UINT64_C(3) << 30,
                  (UINT64_C(5) << 30) / 2 },
                { ADVICE_READPOOL, EXAMPLE_TIKV, "readpool.unified.max-thread-count", IN_CONFIG,
                  ADVICE_INTEGER, 6, HOLDS_ONLINE, "80 % of its CPUs.", "" },
                { ADVICE_DISK_RATE, EXAMPLE_TIKV, "gc.max-write-bytes-per-sec", IN_CONFIG,
                  ADVICE_BYTES_PER_SEC, 300 * 1024, HOLDS_ONLINE,
                  "{device} serves {device_sharers}.", "" },
                { ADVICE_BLOCK_CACHE, EXAMPLE_TIKV, "storage.block-cache.capacity", IN_CONFIG,
                  ADVICE_BYTES, UINT64_C(7) << 30, HOLDS_ONLINE, "45 % of {memory_part}.", "" },
                { ADVICE_HAPROXY, EXAMPLE_HAPROXY, "nbthread", IN_HAPROXY, ADVICE_INTEGER, 16,
                  HOLDS_RELOAD, "It is bound to {cpus}.", "" },
                { ADVICE_HAPROXY, EXAMPLE_HAPROXY, "maxconn", IN_HAPROXY, ADVICE_INTEGER, 20000,
                  HOLDS_RELOAD, "They take {cost}.", "", 0, UINT64_C(644) << 20 },
        };

        memcpy(e->items, items, sizeof(items));
}

/* Not to be freed with advice_report_done(). */
static inline void advice_example_init(AdviceExample *e) {
        *e = (AdviceExample){ 0 };
        example_subjects(e);
        example_items(e);
        e->report = (AdviceReport){ .subjects = e->subjects,
                                    .n_subjects = ELEMENTSOF(e->subjects),
                                    .items = e->items,
                                    .n_items = ELEMENTSOF(e->items) };
}

#define ADVICE_TEST(test) TEST_WITH(test, AdviceExample, e, advice_example_init, (void))
