#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "tidbnumad/model/product.h"

#define SHARED "{share: shared}"

/* What the servers take by themselves, from their sources as of 2026: TiKV's memory-usage-limit is
 * 75 % (config.rs, MEMORY_USAGE_LIMIT_RATE; its block cache 45 % of that memory), TiDB's
 * tidb_server_memory_limit 80 % (vardef, DefTiDBServerMemoryLimit; 6.5 on), TiFlash's
 * max_memory_usage_for_all_queries 80 % (Settings.h, 6.6 on), a JVM's heap a quarter (java(1),
 * -XX:MaxRAMPercentage). None of them looks at cpuset.mems.
 *
 * Weights: TiDB, TiKV, TiFlash and a JVM take what they get; TiProxy copies packets in Go, and
 * TiCDC sorts, so both need more than HAProxy; TSO answers each transaction, in one thread. */
/* clang-format off */
static const ProductInfo products[N_PRODUCTS] = {
        [PRODUCT_OTHER] = { .weight = 2 },
        /* R3: exactly one node each. */
        [PRODUCT_TIDB] = { "tidb", "tidb-server", NULL, 8, true, 80, "{count: 1, share: exclusive}", "bind",
          { "tidb_servers", { "port", "status_port" }, { 4000, 10080 }, false, true, true }, { { "status" }, "10080", "/config", "/status" } },
        /* R4, R5. */
        [PRODUCT_TIKV] = { "tikv", "tikv-server", NULL, 8, true, 75, "{count: auto, near: storage, share: exclusive}", "bind",
          { "tikv_servers", { "port", "status_port" }, { 20160, 20180 }, true, true, true },
          { { "status-addr", "advertise-status-addr" }, "127.0.0.1:20180", "/config" } },
        /* Whole sockets, as far as others leave them: it makes a read pool for each node of the host, and queries use all CPUs. */
        [PRODUCT_TIFLASH] = { "tiflash", "tiflash", NULL, 8, true, 80, "{count: auto, near: storage, share: exclusive}", "bind",
          { "tiflash_servers", { "tcp_port", "flash_service_port" }, { 9000, 3930 }, true, true, true } },
        [PRODUCT_TSO] = { "tso", "pd-server", "services tso", 1, false, 0, SHARED, "bind",
          { "tso_servers", { "port" }, { 3379 }, false, true, false } },
        [PRODUCT_SCHEDULING] = { "scheduling", "pd-server", "services scheduling", 1, false, 0, SHARED, "bind",
          { "scheduling_servers", { "port" }, { 3379 }, false, true, false } },
        [PRODUCT_ROUTER] = { "router", "pd-server", "services router", 1, false, 0, SHARED, "bind",
          { "router_servers", { "port" }, { 3379 }, false, true, false } },
        [PRODUCT_RESOURCE_MANAGER] = { "resource-manager", "pd-server", "services resource-manager", 1, false, 0, SHARED, "bind",
          { "resource_manager_servers", { "port" }, { 3379 }, false, true, false } },
        [PRODUCT_PD] = { "pd", "pd-server", NULL, 1, false, 0, SHARED, "bind",
          { "pd_servers", { "client_port", "peer_port" }, { 2379, 2380 }, true, true, false }, { { "client-urls" }, "2379", "/pd/api/v1/config", "/pd/api/v1/version" } },
        /* The nearest node to the card: the card's own is reserved in the default policies. */
        [PRODUCT_TIPROXY] = { "tiproxy", "tiproxy", NULL, 4, false, 0, "{near: nic, share: shared}", "preferred",
          { "tiproxy_servers", { "port", "status_port" }, { 6000, 3080 }, false, true, false } },
        [PRODUCT_HAPROXY] = { "haproxy", "haproxy", NULL, 2, false, 0, SHARED, "bind", { NULL } },
        [PRODUCT_CDC] = { "cdc", "cdc", NULL, 4, false, 0, SHARED, "preferred",
          { "cdc_servers", { "port" }, { 8300 }, true, true, false } },
        [PRODUCT_TIKV_CDC] = { "tikv-cdc", "tikv-cdc", NULL, 4, false, 0, SHARED, "preferred",
          { "kvcdc_servers", { "port" }, { 8600 }, true, true, false } },
        [PRODUCT_PUMP] = { "pump", "pump", NULL, 2, false, 0, SHARED, "preferred",
          { "pump_servers", { "port" }, { 8250 }, true, true, false } },
        [PRODUCT_DRAINER] = { "drainer", "drainer", NULL, 2, false, 0, SHARED, "preferred",
          { "drainer_servers", { "port" }, { 8249 }, true, true, false } },
        [PRODUCT_PROMETHEUS] = { "prometheus", "prometheus", NULL, 2, false, 0, SHARED, "preferred",
          { "monitoring_servers", { "port", "ng_port" }, { 9090, 12020 }, true, true, false }, .aside = true },
        /* TiUP runs it in the unit of Prometheus. */
        [PRODUCT_NG_MONITORING] = { "ng-monitoring", "ng-monitoring-server", NULL, 2, false, 0, SHARED, "preferred", { NULL }, .aside = true },
        [PRODUCT_NODE_EXPORTER] = { "node_exporter", "node_exporter", NULL, 1, false, 0, SHARED, "preferred",
          { "monitored", { "node_exporter_port" }, { 9100 }, false, true, false }, .aside = true },
        [PRODUCT_BLACKBOX_EXPORTER] = { "blackbox_exporter", "blackbox_exporter", NULL, 1, false, 0, SHARED, "preferred",
          { "monitored", { "blackbox_exporter_port" }, { 9115 }, false, true, false }, .aside = true },
        [PRODUCT_GRAFANA] = { "grafana", "grafana-server", NULL, 1, false, 0, SHARED, "preferred",
          { "grafana_servers", { "port" }, { 3000 }, false, false, false }, .aside = true },
        [PRODUCT_ALERTMANAGER] = { "alertmanager", "alertmanager", NULL, 1, false, 0, SHARED, "preferred",
          { "alertmanager_servers", { "web_port", "cluster_port" }, { 9093, 9094 }, true, true, false }, .aside = true },
        [PRODUCT_DASHBOARD] = { "tidb-dashboard", "tidb-dashboard", NULL, 1, false, 0, SHARED, "preferred",
          { "tidb_dashboard_servers", { "port" }, { 12333 }, true, true, false }, .aside = true },
        [PRODUCT_BR] = { "br", "br", NULL, 2, false, 0, SHARED, "preferred", { NULL } },
        [PRODUCT_DUMPLING] = { "dumpling", "dumpling", NULL, 2, false, 0, SHARED, "preferred", { NULL } },
        [PRODUCT_LIGHTNING] = { "tidb-lightning", "tidb-lightning", NULL, 2, false, 0, SHARED, "preferred", { NULL } },
        [PRODUCT_SYSBENCH] = { "sysbench", "sysbench", NULL, 2, false, 0, SHARED, "preferred", { NULL } },
        [PRODUCT_GO_TPC] = { "go-tpc", "go-tpc", NULL, 2, false, 0, SHARED, "preferred", { NULL } },
        [PRODUCT_JAVA] = { "jvm", "java", NULL, 8, true, 25, "{count: 1, share: exclusive}", "preferred", { NULL } },
};
/* clang-format on */

const ProductInfo *product_info(Product product) {
        return &products[product < N_PRODUCTS ? product : PRODUCT_OTHER];
}

const char *product_to_string(Product product) {
        const ProductInfo *info = product_info(product);

        return !info->exe ? "other" : info->words ? info->name : info->exe;
}

/* Where several products share an executable: by whole words of the command line, or of a glob for
 * one, or by the unit. */
static bool is_meant(const ProductInfo *info, const char *args, const char *unit) {
        const char *words = info->words, *at = args && words ? strstr(args, words) : NULL;
        const size_t n = strlen(info->name);

        return !words ||
               (at && (at == args || strchr(" *", at[-1])) && strchr(" *", at[strlen(words)])) ||
               (unit && strncmp(unit, info->name, n) == 0 && unit[n] == '-');
}

Product product_of(const char *exe, const char *args, const char *unit) {
        for (Product i = PRODUCT_OTHER + 1; exe && i < N_PRODUCTS; i++)
                if (strcmp(basename(exe), products[i].exe) == 0 &&
                    is_meant(&products[i], args, unit))
                        return i;
        return PRODUCT_OTHER;
}

Product product_of_pattern(const char *exe, const char *args, const char *unit) {
        Product found = PRODUCT_OTHER;

        for (Product i = PRODUCT_OTHER + 1; exe && i < N_PRODUCTS; i++) {
                if (fnmatch(basename(exe), products[i].exe, 0) != 0 ||
                    !is_meant(&products[i], args, unit))
                        continue;
                if (found == PRODUCT_OTHER)
                        found = i;
                else if (strcmp(products[found].exe, products[i].exe) != 0)
                        return PRODUCT_OTHER;
        }
        return found;
}
