/* A host with instances at given nodes, and what is advised for them. To be included after
 * cmocka.h. */
#pragma once

#include "../../support/id-sets.h"
#include "tidbnumad/plan/advice.h"

#define HOST_NODES_MAX 16
#define HOST_INSTANCES_MAX 32
#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)
#define KIB (UINT64_C(1) << 10)

typedef struct Host {
        Node nodes[HOST_NODES_MAX];
        Topology topology;
        ServerInstance instances[HOST_INSTANCES_MAX];
        size_t n;
        AdviceReport report;
} Host;

static inline void host_done(Host *host) {
        advice_report_done(&host->report);
}
#define _cleanup_host_ _cleanup_(host_done)

/* Nodes of `cpus` CPUs each, numbered through. */
static inline void host_init(Host *host, size_t n_nodes, uint32_t cpus, uint64_t memory_bytes) {
        *host = (Host){ .topology = { .nodes = host->nodes, .n_nodes = n_nodes } };
        for (uint32_t i = 0; i < n_nodes; i++) {
                host->nodes[i].id = i;
                host->nodes[i].memory_bytes = memory_bytes;
                for (uint32_t cpu = i * cpus; cpu < (i + 1) * cpus; cpu++)
                        id_set_add(&host->nodes[i].cpus, cpu);
        }
}

#define HOST_TEST(test, n_nodes, cpus, memory)                                                     \
        TEST_AFTER(test, Host, host, host_init(host, n_nodes, cpus, memory), host_done)

/* An instance with all CPUs of its nodes. */
static inline ServerInstance *host_add(Host *host, const char *name, const char *exe,
                                       const char *nodes) {
        ServerInstance *instance = &host->instances[host->n++];

        *instance = (ServerInstance){ .name = (char *)name, .exe = (char *)exe };
        instance->nodes = node_set(nodes);
        instance->cpus = topology_cpus_of(&host->topology, &instance->nodes);
        instance->reason = "";
        return instance;
}

static inline void host_advise(Host *host) {
        AdviceInput input = { .topology = &host->topology,
                              .instances = host->instances,
                              .n_instances = host->n };

        assert_int_equal(advice_build(&input, &host->report), 0);
        assert_int_equal(host->report.n_subjects, host->n);
}

/* The n-th advice of that setting for that instance; NULL: none. */
static inline const Advice *host_find(const Host *host, const char *instance, const char *setting) {
        for (size_t i = 0; i < host->report.n_items; i++) {
                const Advice *advice = &host->report.items[i];

                if (strcmp(host->report.subjects[advice->subject].name, instance) == 0 &&
                    strcmp(advice->setting, setting) == 0)
                        return advice;
        }
        return NULL;
}

static inline void host_assert(const Host *host, const char *instance, const char *setting,
                               uint64_t value) {
        const Advice *advice = host_find(host, instance, setting);

        if (!advice)
                fail_msg("%s: no advice for %s", instance, setting);
        if (advice->value != value)
                fail_msg("%s: %s is %llu, expected %llu", instance, setting,
                         (unsigned long long)advice->value, (unsigned long long)value);
}

static inline size_t host_count(const Host *host, const char *instance) {
        size_t n = 0;

        for (size_t i = 0; i < host->report.n_items; i++)
                n += strcmp(host->report.subjects[host->report.items[i].subject].name, instance) ==
                     0;
        return n;
}
