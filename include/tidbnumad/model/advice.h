/* Sizing advice: which settings of which instance should follow its placement, and why. Plain data;
 * what leads to it is plan's business, its text and JSON publish's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/product.h"
#include "tidbnumad/model/server-report.h"
#include "tidbnumad/model/workload.h"

/* The sizing rules, see the command advise in tidbnumactl(8). */
typedef enum AdviceRule {
        ADVICE_MAX_PROCS,    /* A1 */
        ADVICE_MEMORY_LIMIT, /* A2 */
        ADVICE_GOGC,         /* A3 */
        ADVICE_READPOOL,     /* A4 */
        ADVICE_GRPC,         /* A5 */
        ADVICE_SCHEDULER,    /* A6 */
        ADVICE_COMPACTION,   /* A7 */
        ADVICE_DISK_RATE,    /* A8 */
        ADVICE_BLOCK_CACHE,  /* A9 */
        ADVICE_HAPROXY,      /* A10 */
        ADVICE_JVM,          /* A11 */
        ADVICE_POOLS,        /* A12 */
        ADVICE_LABELS,       /* A13 */
        ADVICE_TIFLASH,      /* A14 */
        ADVICE_BACKUP,       /* A15 */
        ADVICE_ADDRESS,      /* R12 */
        N_ADVICE_RULES,
} AdviceRule;

const char *advice_rule_to_id(AdviceRule rule); /* "A1" */

typedef enum AdviceUnit {
        ADVICE_INTEGER,
        ADVICE_BYTES,
        ADVICE_BYTES_PER_SEC,
        ADVICE_HUNDREDTHS, /* of a number between 0 and 1 */
        ADVICE_TEXT,       /* `text` */
        ADVICE_LIST,       /* `text` has words with commas between them */
} AdviceUnit;

const char *advice_unit_to_string(AdviceUnit unit); /* "bytes-per-second" */

/* Where the setting is made. */
typedef enum AdviceWhere {
        IN_CONFIG,      /* the configuration file of the server: what TiUP calls `config` */
        IN_SQL,         /* a system variable of the whole cluster, by SET GLOBAL */
        IN_ENVIRONMENT, /* an environment variable of the process */
        IN_HAPROXY,     /* the section `global` of haproxy.cfg */
        IN_ARGUMENTS,   /* the command line, which TiUP makes of the entry's host */
} AdviceWhere;

const char *advice_where_to_string(AdviceWhere where); /* "config" */

/* What makes a changed value hold in a process that runs. */
typedef enum AdviceEffect {
        HOLDS_ALREADY, /* it has that value now */
        HOLDS_ONLINE,  /* it can be set while the server runs */
        HOLDS_RELOAD,
        HOLDS_RESTART, /* nothing but a restart */
} AdviceEffect;

const char *advice_effect_to_string(AdviceEffect effect); /* "restart" */

/* A list of CPUs, flags of a JVM or an address, with the zero. */
#define ADVICE_TEXT_MAX (ID_SET_LIST_MAX + 128)

/* One setting. */
typedef struct Advice {
        AdviceRule rule;
        size_t subject;      /* whose: index in the report's subjects; ascending */
        const char *setting; /* "performance.max-procs"; a constant */
        AdviceWhere where;
        AdviceUnit unit;
        uint64_t value; /* bytes are whole MiB, rates whole KiB */
        AdviceEffect effect;
        /* Sentences with placeholders, which publish/advice.h expands; constants. `note` is ""
         * where there is nothing to add for the process that runs now. */
        const char *reason;
        const char *note;
        uint64_t base_bytes; /* A3: the resident size that the cost is reckoned from; 0 else */
        uint64_t cost_bytes; /* A3, A10: memory that it will take; 0 else */
        char text[ADVICE_TEXT_MAX]; /* ADVICE_TEXT and ADVICE_LIST: the value */
        const char *now; /* what it has instead, as it says itself; borrowed; NULL: not known */
} Advice;

/* An instance, and what was weighed for it. */
typedef struct AdviceSubject {
        union {
                struct ServerInstance;
                ServerInstance instance;
        };
        Product product;
        const char *unplaced;  /* a sentence: why it has no nodes, and so no advice; "" else */
        bool whole_nodes;      /* `cpus` are all online CPUs of `nodes` */
        uint32_t n_cpus;       /* of `cpus`, without those that it is kept from by hand */
        uint32_t weight;       /* its policy's, else its product's */
        uint32_t cpu_share;    /* N: its part of them among the heavy instances there */
        uint32_t cpus_seen;    /* by the server: at most its quota */
        uint64_t memory_bytes; /* M: of `nodes`, together */
        uint64_t memory_share_bytes; /* likewise divided; at most what limits its control group */
        bool limited; /* that limit is less than its part: it sizes itself by it when it starts */
        size_t *sharers; /* indexes of the other heavy instances on its nodes; owned */
        size_t n_sharers;
        size_t *device_sharers; /* indexes of the others on `device`; owned */
        size_t n_device_sharers;
} AdviceSubject;

typedef struct AdviceReport {
        AdviceSubject *subjects; /* in the order of the input; owned */
        size_t n_subjects;
        Advice *items; /* by subject, then by rule; owned */
        size_t n_items;
        size_t allocated;  /* of `items` */
        bool daemon_binds; /* its policies are enforced: nothing else is to bind */
        const char *host;  /* its name; borrowed; NULL: not known */
} AdviceReport;

void advice_report_done(AdviceReport *report);
#define _cleanup_advice_report_ _cleanup_(advice_report_done)
