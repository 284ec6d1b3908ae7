/* The programs of a TiDB cluster, and those that run beside it: one table, from which the built-in
 * and the default policies, the names of --instances, the sections of a TiUP topology, the weights
 * of the planner and the subjects of advice are made. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In the order of their policies: of one executable the more specific ones come first. */
typedef enum Product {
        PRODUCT_OTHER,
        PRODUCT_TIDB,
        PRODUCT_TIKV,
        PRODUCT_TIFLASH,
        PRODUCT_TSO, /* and the three after it: services of PD, the same executable */
        PRODUCT_SCHEDULING,
        PRODUCT_ROUTER,
        PRODUCT_RESOURCE_MANAGER,
        PRODUCT_PD,
        PRODUCT_TIPROXY,
        PRODUCT_HAPROXY,
        PRODUCT_CDC,
        PRODUCT_TIKV_CDC,
        PRODUCT_PUMP,
        PRODUCT_DRAINER,
        PRODUCT_PROMETHEUS,
        PRODUCT_NG_MONITORING,
        PRODUCT_NODE_EXPORTER,
        PRODUCT_BLACKBOX_EXPORTER,
        PRODUCT_GRAFANA,
        PRODUCT_ALERTMANAGER,
        PRODUCT_DASHBOARD,
        PRODUCT_BR,
        PRODUCT_DUMPLING,
        PRODUCT_LIGHTNING,
        PRODUCT_SYSBENCH,
        PRODUCT_GO_TPC,
        PRODUCT_JAVA,
        N_PRODUCTS,
} Product;

/* What TiUP's specification (pkg/cluster/spec at 1.16, "yaml:" tags of each …Spec) has for it. */
typedef struct ProductTiup {
        const char *section;      /* "tidb_servers"; NULL: it is no server of a topology */
        const char *port_keys[2]; /* of the port that is in the name of its unit, and another one;
                                   * NULL: it has only one */
        uint16_t ports[2];        /* their defaults */
        bool has_data_dir, has_numa_node, has_numa_cores;
} ProductTiup;

/* Where it reports its metrics, by the docs of TiDB 7.5 to 9.0 and their --help. */
typedef struct ProductStatus {
        const char *options[3]; /* of the address or port; the first that is given counts */
        const char *address;    /* without them; NULL: not known */
        /* What it answers with its settings and with its version, in JSON; NULL: with none. TiDB:
         * pkg/server/http_status.go; TiKV: status_server/mod.rs, whose version is in its metrics;
         * PD: server/api/router.go. */
        const char *config_path, *version_path;
} ProductStatus;

typedef struct ProductInfo {
        const char *name;  /* of its policy; TiUP calls its units NAME-PORT.service */
        const char *exe;   /* base name */
        const char *words; /* that its command line has; NULL: any */
        uint32_t weight;   /* the CPUs that it needs under load, beside others on a node */
        bool heavy; /* it sizes itself by all CPUs and all memory that it sees: those of its nodes
                     * are divided among the heavy ones there */
        uint32_t takes_percent; /* that of the memory that it sees, the least of the host's and its
                                 * unit's MemoryMax=, which it takes by itself; 0: by need */
        const char *place, *memory; /* of its default policy, in the words of tidbnumad.d(5) */
        ProductTiup tiup;
        ProductStatus status;
        bool aside; /* monitoring: kept off the nodes of exclusive instances */
} ProductInfo;

/* Of PRODUCT_OTHER the names are NULL, and the weight is that of an unknown program. */
const ProductInfo *product_info(Product product);

/* The executable, "tidb-server"; where several products share it, the name, "tso"; else "other". */
const char *product_to_string(Product product);

/* What a process is, by the path or base name of its executable, and where several products share
 * one, by its command line or its unit. Any may be NULL: not known. */
Product product_of(const char *exe, const char *args, const char *unit);

/* What the keys of a policy's match mean: the one product whose executable the last component of
 * `exe` fits, and likewise. PRODUCT_OTHER where it fits none or several. */
Product product_of_pattern(const char *exe, const char *args, const char *unit);
