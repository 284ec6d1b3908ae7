#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <jansson.h>
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

/* The metrics of TiDB have some 500 kB, its settings 10 kB, those of TiKV 40 kB. */
static const HttpLimits metrics_limits = { .timeout_msec = 2000, .body_max_bytes = 16 << 20 },
                        json_limits = { .timeout_msec = 2000, .body_max_bytes = 1 << 20 };

enum { SETTINGS_DEPTH = 8 };

/* Go's metric, and TiDB's own, which is older. */
static const char *const gomaxprocs_metrics[] = { "go_sched_gomaxprocs_threads",
                                                  "tidb_server_maxprocs" };

/* The last value of an option on a command line, "--status=10080" or "-status 10080"; NULL: it is
 * not given. */
static const char *argument_of(const char *bytes, size_t size, const char *option) {
        const size_t length = strlen(option);
        const char *argument = cmdline_next(bytes, size, NULL), *next, *found = NULL;

        for (; argument; argument = next) {
                const char *name = argument + 1;

                next = cmdline_next(bytes, size, argument);
                if (*argument != '-')
                        continue;
                name += *name == '-';
                if (strncmp(name, option, length) != 0)
                        continue;
                if (name[length] == '=')
                        found = name + length + 1;
                else if (name[length] == '\0' && next)
                        found = next;
        }
        return found;
}

/* --- where it answers --- */

static bool address_is_of_host(const HttpAddress *address) {
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
const char *ask_address_parse(Product product, const char *bytes, size_t size, HttpAddress *ret) {
        const ProductStatus *status = &product_info(product)->status;
        const char *value = NULL;
        char text[128], *host, *port;
        struct in_addr v4;
        struct in6_addr v6;
        uint64_t number;

        if (!status->address)
                return "its program is none whose status port is known: name one with metrics in "
                       "its policy";
        for (size_t i = 0; status->options[i] && !value; i++)
                value = argument_of(bytes, size, status->options[i]);
        if (!value || !*value)
                value = status->address;
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
        if (inet_pton(AF_INET, host, &v4) == 1) {
                if (v4.s_addr != htonl(INADDR_ANY))
                        ret->in.sin_addr = v4;
        } else if (inet_pton(AF_INET6, host, &v6) == 1) {
                if (!IN6_IS_ADDR_UNSPECIFIED(&v6))
                        *ret = (HttpAddress){ .in6 = { .sin6_family = AF_INET6,
                                                       .sin6_port = htons((uint16_t)number),
                                                       .sin6_addr = v6 } };
        } else if (strchr(host, ':'))
                return "its arguments name no status port";
        return address_is_of_host(ret) ? NULL : "its status address is not of this host";
}

const char *ask_address_find(const Sysroot *sysroot, const HostInstance *o, uint16_t port,
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
        for (size_t i = 0; i < o->n_ports; i++)
                if (o->ports[i] == port)
                        return NULL;
        return "it does not listen on its status port";
}

/* --- its answers --- */

static void take_metric(const PromSample *sample, void *userdata) {
        ServerInstance *server = userdata;

        if (strcmp(sample->name, "tikv_server_info") == 0 && sample->version)
                server->said.version = server_version_parse(sample->version);
        for (size_t i = 0; i < ELEMENTSOF(gomaxprocs_metrics); i++)
                if (!sample->labelled && strcmp(sample->name, gomaxprocs_metrics[i]) == 0 &&
                    sample->value >= 1 && sample->value <= UINT32_MAX &&
                    sample->value <= floor(sample->value))
                        server->gomaxprocs = (uint32_t)sample->value;
}

/* The rest of the body is not of interest. */
static int read_until_found(const char *bytes, size_t size, void *userdata) {
        PromReader *reader = userdata;
        const ServerInstance *server = reader->userdata;

        prom_reader_add(reader, bytes, size);
        return server->gomaxprocs > 0 || server->said.version > 0;
}

static int collect_body(const char *bytes, size_t size, void *userdata) {
        Text *text = userdata;

        text_append_bytes(text, bytes, size);
        return text->error;
}

/* -EILSEQ: it is no JSON. The caller frees it. */
static int ask_json(const HttpAddress *address, const char *path, json_t **ret, Error *error) {
        _cleanup_text_ Text body = { 0 };
        const int r = http_get(address, path, &json_limits, collect_body, &body, error);

        if (r < 0)
                return r;
        *ret = json_loadb(text_string(&body), body.length, 0, NULL);
        return *ret ? 0
                    : error_set(error, -EILSEQ, "its port %u answers with what is no JSON",
                                http_port(address));
}

/* Deeper ones than `depth` are left out: no server has such. */
static int add_settings(ServerReport *report, const char *section, json_t *object, unsigned depth) {
        const char *key;
        json_t *value;
        int r = 0;

        json_object_foreach(object, key, value) {
                bool has_text = !json_is_object(value) && !json_is_null(value);
                _cleanup_text_ Text name = { 0 }, text = { 0 };
                const json_t *word;
                size_t i;

                text_appendf(&name, "%s%s%s", section, *section ? "." : "", key);
                if (json_is_string(value))
                        text_append(&text, json_string_value(value));
                else if (json_is_boolean(value))
                        text_append(&text, json_is_true(value) ? "true" : "false");
                else if (json_is_integer(value))
                        text_appendf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
                else if (json_is_real(value))
                        text_appendf(&text, "%g", json_real_value(value));
                /* A list of words, as PD's location-labels; others are not compared. */
                json_array_foreach(value, i, word) {
                        has_text = has_text && json_is_string(word);
                        if (has_text)
                                text_appendf(&text, "%s%s", i > 0 ? "," : "",
                                             json_string_value(word));
                }
                if (json_is_object(value) && depth > 0)
                        r = add_settings(report, must_text(&name), value, depth - 1);
                else if (has_text)
                        r = server_report_add(report, must_text(&name), must_text(&text));
                if (must(r) < 0)
                        return r;
        }
        return 0;
}

/* What of its start advise may have been followed by. */
static int note_given(const HostInstance *o, Product product, ServerReport *given) {
        static const char *const options[] = { "--advertise-address", "--advertise-addr",
                                               "--advertise-client-urls" };
        const ProcHandle *handle = o->members[0].handle;
        _cleanup_free_ char *bytes = NULL, *line = NULL;
        _cleanup_text_ Text flags = { 0 };
        char environment[4096], number[24];
        size_t size = 0, n_threads = 0;
        int r = 0;

        if (cmdline_read(handle, &bytes, &size) < 0)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(options) && r >= 0; i++) {
                const char *value = argument_of(bytes, size, options[i] + 2);

                if (value)
                        r = server_report_add(given, options[i], value);
        }
        for (size_t i = 0; i < o->n_members && product == PRODUCT_HAPROXY; i++) {
                const size_t n = proc_count_threads(o->members[i].handle);

                n_threads = n > n_threads ? n : n_threads; /* a master has one */
        }
        if (r >= 0 && n_threads > 0) {
                (void)snprintf(number, sizeof(number), "%zu", n_threads);
                r = server_report_add(given, "nbthread", number);
        }
        if (r < 0 || product != PRODUCT_JAVA)
                return r;
        if (environment_read(handle, JVM_OPTIONS, environment, sizeof(environment)) >= 0)
                text_append(&flags, environment);
        /* Its command line counts as well. */
        r = cmdline_join(bytes, size, &line);
        text_appendf(&flags, " %s", line ? line : "");
        return r < 0 ? r : server_report_add(given, JVM_OPTIONS, must_text(&flags));
}

void ask_server(const Sysroot *sysroot, const HostInstance *o, bool ask, ServerInstance *server) {
        const Product product = product_of(o->members[0].process.exe, NULL, o->unit);
        const ProductStatus *paths = &product_info(product)->status;
        PromReader reader = { .handler = take_metric, .userdata = server };
        json_t *version_json = NULL, *settings = NULL;
        _cleanup_error_ Error why = { 0 };
        const char *version_text;
        HttpAddress address;
        GoVersion version;
        int r = 0;

        must(note_given(o, product, &server->given));
        if (go_version_read(o->members[0].handle, &version) >= 0)
                server->go = go_version_follows_cpus(&version) ? GO_FOLLOWS : GO_ONCE;
        ask = ask && sysroot->live && paths->config_path;
        if (ask)
                why.sentence = ask_address_find(sysroot, o, 0, &address);
        if (ask && !why.sentence) {
                /* After one question that it does not answer it is not asked another one: it may be
                 * slow. */
                r = http_get(&address, "/metrics", &metrics_limits, read_until_found, &reader,
                             &why);
                if (r >= 0 && paths->version_path)
                        r = ask_json(&address, paths->version_path, &version_json, &why);
                version_text = json_string_value(json_object_get(version_json, "version"));
                if (version_text)
                        server->said.version = server_version_parse(version_text);
                if (r >= 0)
                        r = ask_json(&address, paths->config_path, &settings, &why);
                if (r >= 0)
                        r = add_settings(&server->said, "", settings, SETTINGS_DEPTH);
                json_decref(version_json);
                json_decref(settings);
                if (r == -E2BIG)
                        r = error_set(&why, r, "its port %u answers with too many settings",
                                      http_port(&address));
        }
        must(r);
        if (why.sentence)
                output_line(stderr, "note: %s is not asked for its settings: %s", o->name,
                            why.sentence);
        server->gomaxprocs_reported = server->gomaxprocs > 0;
        if (!server->gomaxprocs_reported)
                server->gomaxprocs = instances_gomaxprocs(o);
}
