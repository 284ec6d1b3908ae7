#include <arpa/inet.h>
#include <ifaddrs.h>
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

/* --- where it answers --- */

static bool is_of_host(const HttpAddress *address) {
        struct ifaddrs *list = NULL;
        bool found = false;

        if (getifaddrs(&list) < 0)
                return false;
        for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
                const void *a = i->ifa_addr;

                if (!a || i->ifa_addr->sa_family != address->any.sa_family)
                        continue;
                found = address->any.sa_family == AF_INET
                                ? ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
                                          address->in.sin_addr.s_addr
                                : memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                                         &address->in6.sin6_addr, sizeof(struct in6_addr)) == 0;
        }
        freeifaddrs(list);
        return found;
}

/* "10080", "0.0.0.0:20180", "[::]:20180", "http://10.0.1.5:2379,…". A wildcard or a host name is
 * asked at the loopback interface: no name is looked up. */
static const char *parse_address(const char *value, HttpAddress *ret) {
        char text[128], *host, *port;
        uint64_t number;

        if (strncmp(value, "https://", 8) == 0)
                return "its status port uses TLS";
        value += strncmp(value, "http://", 7) == 0 ? 7 : 0;
        (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(value, ",/"), value);
        port = strrchr(text, ':');
        host = port ? text : NULL;
        if (port)
                *port++ = '\0';
        if (parse_u64(port ? port : text, &number) < 0 || number == 0 || number > UINT16_MAX)
                return "its arguments name no status port";
        *ret = http_loopback((uint16_t)number);
        if (!host)
                return NULL;
        if (*host == '[' && strchr(host, ']')) {
                *strchr(host, ']') = '\0';
                host++;
        }
        if (inet_pton(AF_INET, host, &ret->in.sin_addr) == 1) {
                if (ret->in.sin_addr.s_addr == htonl(INADDR_ANY))
                        *ret = http_loopback((uint16_t)number);
        } else if (strchr(host, ':')) {
                *ret = (HttpAddress){ .in6 = { .sin6_family = AF_INET6,
                                               .sin6_port = htons((uint16_t)number) } };
                if (inet_pton(AF_INET6, host, &ret->in6.sin6_addr) != 1)
                        return "its arguments name no status port";
                if (IN6_IS_ADDR_UNSPECIFIED(&ret->in6.sin6_addr))
                        *ret = http_loopback((uint16_t)number);
        } else
                *ret = http_loopback((uint16_t)number);
        return is_of_host(ret) ? NULL : "its status address is not of this host";
}

const char *ask_address_parse(Product product, const char *bytes, size_t size, HttpAddress *ret) {
        const ProductStatus *status = &product_info(product)->status;
        const char *value = NULL;

        if (!status->address)
                return "its program is none whose status port is known: name one with metrics in "
                       "its policy";
        for (size_t i = 0; status->options[i] && !value; i++)
                value = ask_argument(bytes, size, status->options[i]);
        return parse_address(value && *value ? value : status->address, ret);
}

const char *ask_address_find(const Sysroot *sysroot, const Observed *o, uint16_t port,
                             HttpAddress *ret) {
        const Member *first = &o->members[0];

        if (port > 0)
                *ret = http_loopback(port);
        else {
                _cleanup_free_ char *bytes = NULL;
                const char *why;
                size_t size = 0;

                if (cmdline_read(first->handle, &bytes, &size) < 0)
                        return "its arguments cannot be read";
                why = ask_address_parse(product_of(first->process.exe, NULL, o->unit), bytes, size,
                                        ret);
                if (why)
                        return why;
        }
        /* In a container's own network another process may have the port here. */
        if (proc_in_host_namespace(sysroot, first->handle, PROC_NAMESPACE_NETWORK) <= 0)
                return "it has a network of its own";
        port = http_port(ret);
        for (size_t i = 0; i < o->ports.n_ports; i++)
                if (o->ports.ports[i] == port)
                        return NULL;
        return "it does not listen on its status port";
}

/* --- its answer --- */

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
        const Product product = product_of(o->members[0].process.exe, NULL, o->unit);
        PromReader reader = { .handler = take_gomaxprocs };
        HttpAddress address;
        uint32_t n = 0;

        *ret_port = 0;
        if (!sysroot->live || (product != PRODUCT_TIDB && product != PRODUCT_PD) ||
            ask_address_find(sysroot, o, 0, &address))
                return 0;
        *ret_port = http_port(&address);
        reader.userdata = &n;
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
