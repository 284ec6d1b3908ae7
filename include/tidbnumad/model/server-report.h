/* A server as check and advise judge it, and the version and the settings that a running one
 * reports at its status port. Plain data; tidbnumactl asks the port only with --ask. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/instance.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/workload.h"

/* More than any server has: TiKV 8.5 has some 700. */
enum { SERVER_SETTINGS_MAX = 4096 };

#define JVM_OPTIONS "JAVA_TOOL_OPTIONS"

#define SERVER_LOCATION_LABELS "replication.location-labels" /* of PD */

/* Versions compare as numbers. */
#define SERVER_VERSION(major, minor, patch) ((major)*1000000u + (minor)*1000u + (patch))

typedef struct ServerSetting {
        char *name;  /* with the sections before it, "raftstore.store-pool-size" */
        char *value; /* as text; of a list its values, with commas between them */
} ServerSetting;

typedef struct ServerReport {
        uint32_t version;        /* SERVER_VERSION(); 0: not known */
        ServerSetting *settings; /* owned */
        size_t n_settings, allocated;
} ServerReport;

void server_report_done(ServerReport *report);
#define _cleanup_server_report_ _cleanup_(server_report_done)

/* Takes copies. -E2BIG: it has SERVER_SETTINGS_MAX; -ENOMEM. */
int server_report_add(ServerReport *report, const char *name, const char *value);

/* NULL: the server was not asked, or said nothing of that. */
const char *server_report_find(const ServerReport *report, const char *name);

/* The version in "v8.5.5", "8.5.5-alpha" or, as TiDB has it behind that of MySQL,
 * "8.0.11-TiDB-v8.5.5". 0: there is none in it. */
uint32_t server_version_parse(const char *text);

/* A setting that is a number, or a size in TiKV's form: "8GiB", and in older versions "8GB", are
 * powers of 1024 (ReadableSize in tikv_util/src/config.rs). -EINVAL, -ERANGE. */
int server_setting_parse(const char *value, uint64_t *ret);

/* PD keeps the replicas of a region on different places, by the labels of its
 * replication.location-labels, the last of which tells hosts apart. Has a TiKV such a label: the
 * last one of `location_labels` (with commas; NULL: not known) or "host"? */
bool server_report_tells_host(const ServerReport *tikv, const char *location_labels);

/* An instance, running or imagined, where the plan has it, and what is known of it for a judgement
 * of that and of its sizes. Borrowed; what is made of it may keep pointers. */
typedef struct ServerInstance {
        INSTANCE_IDENTITY;
        union { /* the fields are its own, and together they are `place` */
                struct Placement;
                Placement place;
        };
        const Policy
                *policy;     /* its match.exe gives the product where `exe` does not; may be NULL */
        int32_t pid;         /* of its oldest process; 0: it does not run */
        const char *device;  /* under its data directory, "nvme0n1"; NULL: not known */
        uint64_t disk_bytes; /* of that; 0: not known */
        uint64_t need_bytes; /* resident now, or its limit; 0: not known */
        uint64_t limit_bytes;       /* of its control group, such as MemoryMax=; 0: none */
        uint64_t asked_limit_bytes; /* by its policy, `memory_limit`; 0: none */
        uint32_t cpu_quota;         /* CPUQuota=, in percent of one CPU; 0: none, not known */
        ByHand by_hand;             /* it has only what that leaves of its place's CPUs */
        uint32_t gomaxprocs;        /* in its environment, or as it reports itself; 0: not known */
        bool gomaxprocs_reported;   /* by itself */
        GoCount go;                 /* how it counts its CPUs, if it runs */
        bool bound_after_start;     /* see InstanceInfo */
        ServerReport said;          /* by the server itself; empty: it was not asked, or did not
                                     * answer */
        ServerReport given;         /* what of its start advise names: options and JVM_OPTIONS */
        const char *card, *address; /* of several network cards the one of its node, and an address
                                     * of that card; NULL: none, not known */
        CpuSet allowed_cpus;        /* that it may use now; empty: not known */
        const char *memory_policy;  /* that it has set itself, as numa(7) has it; NULL: none */
        StartSource memory_source;  /* what of its start chooses memory nodes */
        bool start_known;           /* the daemon has read what its start chooses */
        const DeviceList *disks;    /* all of them; NULL: not known */
        HugeNeed huge;              /* reserved huge pages that it has mapped; none: not known */
        size_t n_read_threads;      /* TIKV_READ_THREADS; 0: none, not known */
} ServerInstance;

/* How many CPUs a quota is worth to a Go program. A part of one does not count and one is the
 * least, as for automaxprocs, by which programs set GOMAXPROCS themselves; with `parts` it counts,
 * and two are the least, as for Go since 1.25 (adjustCgroupGOMAXPROCS() in
 * runtime/cgroup_linux.go). UINT32_MAX: it has no quota. */
uint32_t server_quota_cpus(const ServerInstance *instance, bool parts);

/* The names of the threads of TiKV's unified read pool begin so: the kernel keeps 15 characters of
 * "unified-read-pool-0" (components/tikv_util/src/yatp_pool). */
#define TIKV_READ_THREADS "unified-read-po"
