/* Sizing advice for instances where they are placed: the rules A1 to A15 and R12. Pure. It suggests
 * and never applies anything.
 *
 * N and M are what is an instance's own. Where heavy instances (model/product.h) share CPUs or
 * nodes, each has a part of them by its weight, which is divided among all of its CPUs or nodes: 16
 * CPUs and 32 GiB with a TiDB and a TiKV of equal weight on them are 8 CPUs and 16 GiB for each,
 * which gives the figures of the field's three-node host. The others take
 * no part in that; what they hold now only lessens what A3 may spend.
 *
 * M is at most the limit of its control group, N at most its quota. A server that starts bound has
 * the right CPUs by itself (model/product.h has what each takes), and where that limit is less than
 * its part of the nodes, the right memory as well: then there is no advice.
 *
 * - A1 tidb performance.max-procs: N, at least 1, where it shares its CPUs, or counts on others
 * since it started before it was bound and was built with Go before 1.25; PD GOMAXPROCS: the CPUs
 * bound, where it does
 * - A2 tidb tidb_server_memory_limit: 80 % of M, at least the 512 MiB TiDB takes
 * - A3 tidb tidb_gogc_tuner_max_value: 1000, where that fits into A2's 80 %, by the field's 2 GB ->
 *   16 GB. Not GOGC: TiDB sets it itself since 5.2 (performance.gogc), and its tuner goes up to 500
 *   since 6.4
 * - A4 tikv readpool.unified.max-thread-count: 80 % of N, at least 4 as TiKV's own, where it
 * started before it was bound or shares its CPUs; from 8.5.5 on, where the version is known,
 * readpool.unified.cpu-threshold: that part of the CPUs that it sees
 * - A5 tikv server.grpc-concurrency: 2 for N < 8 beside a TiDB; else TiKV's own: 5, from 8.5.4 by
 * its CPUs 5 to 14
 * - A6 tikv storage.scheduler-worker-pool-size: 2 for N <= 8 on shared CPUs; else TiKV's own
 * - A7 tikv rocksdb.max-background-jobs: 3, rocksdb.max-sub-compactions: 1, likewise
 * - A8 tikv rocksdb.rate-bytes-per-sec: 200 MiB/s, where another instance's data is on the same
 *   device; raftstore.capacity: the disk divided by the TiKV and TiFlash on it. Not
 *   gc.max-write-bytes-per-sec: it does nothing with the compaction filter, since 5.0
 * - A9 tikv storage.block-cache.capacity: 45 % of M, at least 1 MiB
 * - A10 haproxy nbthread: the CPUs bound, at most 64; maxconn: 20000, less where they would take
 * more than a tenth of its nodes' memory. No cpu-map: its threads would have chosen fewer CPUs
 * - A11 JVM: ActiveProcessorCount: N; ParallelGCThreads by HotSpot's own formula; -Xmx: 60 % of M;
 *   -UseNUMA on one node
 * - A12 tikv raftstore.store-pool-size, apply-pool-size: 3 for N >= 16; else TiKV's own default, 2.
 *   Not tidb tikv-client.max-batch-wait-time: from 8.3 on batch-policy decides
 * - A13 tikv server.labels.host: the name of the host, where several TiKV are on it and it has said
 * that it has neither that label nor the last one of PD's location-labels; pd
 * replication.location-labels: host, where it has said that it has none. Else PD may put two
 * replicas of a region on one host
 * - A14 tiflash max_memory_usage_for_all_queries: 80 % of M
 * - A15 tikv backup.num-threads: half of N, at least 1 and at most 8 as TiKV's own, where it
 * started before it was bound. Not import.num-threads: 8, whatever the CPUs
 * - R12 where the policies name several network cards: the address of the card of its own node
 *
 * Where a server was asked for its settings, what it has so already is left out, and of what only
 * must not be more (A5 to A9, A15) also what is less.
 *
 * Sources. What TiKV takes itself is its code of August 2026 (8e964719), paths are in that tree;
 * the pages are of docs.pingcap.com for 8.5; the field's cases are tidb.net/blog/277ab318 (two
 * Xeon) and tidb.net/blog/c2edb2e5 (EPYC with eight nodes).
 *
 * - A1 tidb-configuration-file, performance.max-procs; Go 1.25's release notes: GOMAXPROCS follows
 * - A2 system-variables, tidb_server_memory_limit: from 6.4, 80 %, at least 512 MB;
 *   tidb_mem_arbitrator_mode: from 9.0
 * - A3 system-variables, tidb_gogc_tuner_max_value: from 7.5, 500; the measurement: the Xeon case
 * - A4 src/config/mod.rs, UnifiedReadPoolConfig: UNIFIED_READPOOL_MIN_CONCURRENCY, cpu_threshold;
 *   60 to 90 % busy: tune-tikv-thread-performance
 * - A5 src/server/config.rs, calculate_grpc_concurrency(): 3 for each connection between stores, 1
 *   to 4 by the CPUs, and 2; below 8 CPUs: the field
 * - A6 src/storage/config.rs: 8 from 16 CPUs on, else 1 to 4; 50 to 75 % busy:
 *   tune-tikv-thread-performance
 * - A7 src/config/mod.rs, get_background_jobs_limits(): 2 to 9 jobs, up to 3 parts
 * - A8 tikv-configuration-file, rocksdb.rate-bytes-per-sec; hybrid-deployment-topology,
 *   raftstore.capacity; garbage-collection-configuration: GC in the compaction filter, from 5.0
 * - A9 src/config/mod.rs, BLOCK_CACHE_RATE
 * - A10 HAProxy's configuration manual (2.4), nbthread and numa-cpu-mapping, and its management
 *   guide; the 2000: a case from the field
 * - A11 java(1); HotSpot, VM_Version::parallel_worker_threads(): all up to 8, then 5/8
 * - A12 components/batch-system/src/config.rs: 2; 3: the EPYC case
 * - A13 schedule-replicas-by-topology-labels
 * - A14 tiflash-configuration, max_memory_usage_for_all_queries: from 6.6
 * - A15 src/config/mod.rs, BackupConfig; components/sst_importer/src/config.rs
 *
 * What depends on M is left out where M is 0 (a machine description without memory). What is not
 * known gets no advice, and so does what has no nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/advice.h"
#include "tidbnumad/model/topology.h"

typedef struct AdviceInput {
        const Topology *topology;
        const ServerInstance *instances; /* all that they refer to must outlive the report */
        size_t n_instances;
        bool daemon_binds; /* the policies are enforced */
        const char *host;  /* its name; NULL: not known */
} AdviceInput;

/* 0 or -ENOMEM. */
int advice_build(const AdviceInput *input, AdviceReport *ret);
