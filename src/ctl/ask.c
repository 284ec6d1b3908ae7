#include <math.h>
#include <string.h>

#include "tidbnumad/base/prometheus.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/ask.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/sys/go-version.h"
#include "tidbnumad/sys/http.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/ports.h"
#include "tidbnumad/sys/proc.h"

/* A body of TiDB has some 500 kB. */
static const HttpLimits ask_limits = { .timeout_msec = 2000, .body_max_bytes = 16 << 20 };

/* By product: the option, and the port without it. */
static const struct {
        const char *option;
        uint16_t port;
} ports[N_PRODUCTS] = {
        [PRODUCT_TIDB] = { "status", 10080 },
        [PRODUCT_PD] = { "client-urls", 2379 },
};

/* Go's metric, and TiDB's own, which is older. */
static const char *const metrics[] = { "go_sched_gomaxprocs_threads", "tidb_server_maxprocs" };

/* Of "--status=10080", "-status 10080" (`next` follows it). NULL: it is another option. */
static const char *value_of(const char *argument, const char *option, const char *next) {
        const size_t length = strlen(option);

        if (*argument++ != '-')
                return NULL;
        argument += *argument == '-';
        if (strncmp(argument, option, length) != 0)
                return NULL;
        if (argument[length] == '=')
                return argument + length + 1;
        return argument[length] == '\0' ? next : NULL;
}

const char *ask_argument(const char *bytes, size_t size, const char *option) {
        const char *argument = cmdline_next(bytes, size, NULL), *next, *found = NULL;

        for (; argument; argument = next) {
                const char *value;

                next = cmdline_next(bytes, size, argument);
                value = value_of(argument, option, next);
                found = value ? value : found;
        }
        return found;
}

/* The port in "10080", or in the first address of "http://0.0.0.0:2379,http://…"; 0: none. */
static uint16_t port_in(const char *value) {
        const size_t length = strcspn(value, ",");
        char text[8];
        size_t digits = 0;
        uint64_t port;

        while (digits < length && strchr("0123456789", value[length - digits - 1]))
                digits++;
        if (digits >= sizeof(text))
                return 0;
        memcpy(text, value + length - digits, digits);
        text[digits] = '\0';
        return parse_u64(text, &port) < 0 || port > UINT16_MAX ? 0 : (uint16_t)port;
}

uint16_t ask_port_of(Product product, const char *bytes, size_t size) {
        const char *value = NULL;

        if (ports[product].port > 0)
                value = ask_argument(bytes, size, ports[product].option);
        return value ? port_in(value) : ports[product].port;
}

/* Does the process itself listen there, in our network namespace? */
static bool is_its_port(const Sysroot *sysroot, const Observed *o, uint16_t port) {
        if (proc_in_host_namespace(sysroot, o->members[0].handle, PROC_NAMESPACE_NETWORK) <= 0)
                return false;
        for (size_t i = 0; i < o->ports.n_ports; i++)
                if (o->ports.ports[i] == port)
                        return true;
        return false;
}

static void take_gomaxprocs(const PromSample *sample, void *userdata) {
        uint32_t *n = userdata;

        for (size_t i = 0; i < ELEMENTSOF(metrics); i++)
                if (!sample->labelled && strcmp(sample->name, metrics[i]) == 0 &&
                    sample->value >= 1 && sample->value <= UINT32_MAX &&
                    sample->value <= floor(sample->value))
                        *n = (uint32_t)sample->value;
}

/* The rest of the body is not of interest. */
static int read_until_found(const char *bytes, size_t size, void *userdata) {
        PromReader *reader = userdata;
        const uint32_t *n = reader->userdata;

        prom_reader_add(reader, bytes, size);
        return *n > 0;
}

uint32_t ask_gomaxprocs(const Sysroot *sysroot, const Observed *o, uint16_t *ret_port) {
        _cleanup_free_ char *bytes = NULL;
        PromReader reader = { .handler = take_gomaxprocs };
        HttpAddress address;
        size_t size = 0;
        uint16_t port;
        uint32_t n = 0;

        *ret_port = 0;
        if (!sysroot->live || cmdline_read(o->members[0].handle, &bytes, &size) < 0)
                return 0;
        port = ask_port_of(product_of(o->members[0].process.exe, NULL, o->unit), bytes, size);
        if (port == 0 || !is_its_port(sysroot, o, port))
                return 0;
        *ret_port = port;
        reader.userdata = &n;
        address = http_loopback(port);
        return http_get(&address, "/metrics", &ask_limits, read_until_found, &reader, NULL) < 0 ? 0
                                                                                                : n;
}

static GoCount go_count_of(const Observed *o) {
        GoVersion version;

        if (go_version_read(o->members[0].handle, &version) < 0)
                return GO_UNKNOWN;
        return go_version_follows_cpus(&version) ? GO_FOLLOWS : GO_ONCE;
}

AskedGo ask_go(const Sysroot *sysroot, const Observed *o, bool ask) {
        AskedGo go = { .count = go_count_of(o) };
        uint16_t port = 0;

        if (ask)
                go.gomaxprocs = ask_gomaxprocs(sysroot, o, &port);
        go.reported = go.gomaxprocs > 0;
        if (go.reported)
                return go;
        if (port > 0)
                output_line(stderr, "note: %s does not report its GOMAXPROCS at port %u", o->name,
                            port);
        go.gomaxprocs = instances_gomaxprocs(o);
        return go;
}
