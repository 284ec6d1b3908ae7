#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-yaml.h"
#include "tidbnumad/config/tiup.h"

/* tiup's pkg/cluster/spec: names and defaults. */
static const struct Section {
        const char *name;
        TiupComponent component;
        const char *port_keys[2];
        uint16_t ports[2];
        bool has_data;
} sections[] = {
        { "pd_servers", TIUP_PD, { "client_port", "peer_port" }, { 2379, 2380 }, true },
        { "tidb_servers", TIUP_TIDB, { "port", "status_port" }, { 4000, 10080 }, false },
        { "tikv_servers", TIUP_TIKV, { "port", "status_port" }, { 20160, 20180 }, true },
};

typedef struct Reader {
        const SourceFile *file;
        const YamlNode *global; /* NULL: none */
        TiupTopology *topology;
        Diagnostics *errors;
} Reader;

#define REFUSE(r, at, ...) diagnostics_add_at((r)->errors, (r)->file, (at), __VA_ARGS__)

/* The value of a key; NULL: not given. */
static const YamlNode *find(const YamlNode *mapping, const char *key) {
        for (size_t i = 0; mapping && mapping->kind == YAML_KIND_MAPPING && i < mapping->n_children;
             i += 2)
                if (mapping->children[i].kind == YAML_KIND_SCALAR &&
                    strcmp(mapping->children[i].text, key) == 0 &&
                    mapping->children[i + 1].kind != YAML_KIND_EMPTY)
                        return &mapping->children[i + 1];
        return NULL;
}

static const char *find_text(const YamlNode *mapping, const char *key) {
        const YamlNode *node = find(mapping, key);

        return node && node->kind == YAML_KIND_SCALAR ? node->text : NULL;
}

/* A mapping in braces begins before its first key, and so does one with an anchor, whose keys may
 * be those of others too; an alias is elsewhere. */
static bool is_in_lines(const YamlNode *mapping) {
        return mapping->kind == YAML_KIND_MAPPING && mapping->n_children > 0 && !mapping->anchor &&
               mapping->at.line == mapping->children[0].at.line &&
               mapping->at.column == mapping->children[0].at.column;
}

static void read_ports(const Reader *r, const YamlNode *entry, const struct Section *section,
                       TiupServer *server) {
        for (size_t i = 0; i < 2; i++) {
                const YamlNode *node = find(entry, section->port_keys[i]);
                uint64_t port = section->ports[i];

                if (node && (node->kind != YAML_KIND_SCALAR || parse_u64(node->text, &port) < 0 ||
                             port == 0 || port > UINT16_MAX))
                        REFUSE(r, node->at, "`%s` is not a port, expected a number from 1 to 65535",
                               section->port_keys[i]);
                server->ports[i] = (uint16_t)port;
        }
}

/* TiUP: an absolute directory is meant; of `global`, each server has one of its own below it; what
 * is relative is below the deploy directory. NULL in *ret: not known. */
static int find_dir(const Reader *r, const YamlNode *entry, const char *key, const char *below,
                    const TiupServer *server, char **ret) {
        const char *own = find_text(entry, key), *global = find_text(r->global, key);
        int n = 0;

        *ret = NULL;
        if (own && own[0] == '/')
                n = asprintf(ret, "%s", own);
        else if (!own && global && global[0] == '/')
                n = asprintf(ret, "%s/%s", global, server->name);
        else if (below)
                n = asprintf(ret, "%s/%s", below, own ? own : global ? global : "data");
        if (n < 0)
                *ret = NULL;
        return n < 0 ? -ENOMEM : 0;
}

/* TiUP takes "a.b: 1" and "a: {b: 1}" alike. Recursion is bounded by YAML_DEPTH_MAX. */
static int add_settings(const YamlNode *mapping, const char *prefix, TiupServer *server) {
        for (size_t i = 0; mapping->kind == YAML_KIND_MAPPING && i < mapping->n_children; i += 2) {
                _cleanup_free_ char *path = NULL;
                int r;

                if (asprintf(&path, "%s%s%s", prefix, *prefix ? "." : "",
                             mapping->children[i].text ? mapping->children[i].text : "") < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
                r = add_settings(&mapping->children[i + 1], path, server);
                if (r < 0 || ARRAY_RESERVE(server->settings, server->settings_allocated,
                                           server->n_settings + 1) < 0)
                        return -ENOMEM;
                server->settings[server->n_settings++] = TAKE_PTR(path);
        }
        return 0;
}

static int read_config(const YamlNode *entry, TiupServer *server) {
        const YamlNode *config = NULL;

        server->config_fits = true;
        for (size_t i = 0; i < entry->n_children; i += 2)
                if (entry->children[i].kind == YAML_KIND_SCALAR &&
                    strcmp(entry->children[i].text, "config") == 0)
                        config = &entry->children[i + 1];
        if (!config)
                return 0;
        server->config_fits = is_in_lines(config);
        if (server->config_fits)
                server->config_at = config->children[0].at;
        return add_settings(config, "", server);
}

/* systemd's syntax, in which a letter is a power of 1024; a percentage, or what it refuses, counts
 * as not known. */
static uint64_t parse_limit(const char *text) {
        const size_t n = text ? strlen(text) : 0;
        const bool has_unit = n > 0 && strchr("KMGT", text[n - 1]);
        char size[32];
        uint64_t bytes;

        if (n == 0 || n + sizeof("iB") > sizeof(size))
                return 0;
        (void)snprintf(size, sizeof(size), "%s%s", text, has_unit ? "iB" : "B");
        return parse_size(size, &bytes) == 0 ? bytes : 0;
}

static int read_server(const Reader *r, const struct Section *section, const YamlNode *entry) {
        /* The host name is used as the name of a folder, so it must be safe as one. */
        static const char safe[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:[]%-";
        const char *component = tiup_component_to_string(section->component);
        const YamlNode *host = find(entry, "host"), *nodes = find(entry, "numa_node");
        const char *limit = find_text(find(entry, "resource_control"), "memory_limit");
        _cleanup_free_ char *deploy = NULL;
        TiupTopology *t = r->topology;
        TiupServer *server;

        if (!host || host->kind != YAML_KIND_SCALAR || !*host->text || strchr(".-", *host->text) ||
            host->text[strspn(host->text, safe)] != '\0') {
                REFUSE(r, host ? host->at : entry->at, "%s, expected the name or address of a host",
                       host ? "not a host" : "no `host`");
                return 0;
        }
        if (ARRAY_RESERVE(t->servers, t->allocated, t->n_servers + 1) < 0)
                return -ENOMEM;
        server = &t->servers[t->n_servers++];
        *server = (TiupServer){ .component = section->component,
                                .at = entry->at,
                                .host_at = host->at,
                                .in_lines = is_in_lines(entry) };
        read_ports(r, entry, section, server);
        if (nodes) {
                if (nodes->kind != YAML_KIND_SCALAR ||
                    (*nodes->text && id_set_parse_list(nodes->text, &server->nodes) < 0))
                        REFUSE(r, nodes->at,
                               "`numa_node` is not a list of nodes, expected such as \"0,1\"");
                server->numa_at = nodes->at;
        }
        if (!limit)
                limit = find_text(find(r->global, "resource_control"), "memory_limit");
        server->memory_limit = parse_limit(limit);
        server->host = strdup(host->text);
        if (asprintf(&server->name, "%s-%u", component, server->ports[0]) < 0)
                server->name = NULL;
        if (asprintf(&server->unit, "%s-%u.service", component, server->ports[0]) < 0)
                server->unit = NULL;
        if (!server->host || !server->name || !server->unit)
                return -ENOMEM;
        if (section->has_data &&
            (find_dir(r, entry, "deploy_dir", NULL, server, &deploy) < 0 ||
             find_dir(r, entry, "data_dir", deploy, server, &server->data_dir) < 0))
                return -ENOMEM;
        if (read_config(entry, server) < 0)
                return -ENOMEM;
        for (size_t i = 0; i + 1 < t->n_servers; i++)
                if (t->servers[i].host && strcmp(t->servers[i].host, server->host) == 0 &&
                    strcmp(t->servers[i].name, server->name) == 0) {
                        REFUSE(r, server->host_at,
                               "a second %s on host `%s`, expected another port; the first is in "
                               "line %u",
                               server->name, server->host, t->servers[i].host_at.line);
                        break;
                }
        return 0;
}

static int read_root(Reader *r, const YamlNode *root) {
        if (root->kind != YAML_KIND_MAPPING) {
                REFUSE(r, root->at,
                       "not a topology of TiUP, expected sections such as `tidb_servers`");
                return 0;
        }
        r->global = find(root, "global");
        for (size_t s = 0; s < ELEMENTSOF(sections); s++) {
                const YamlNode *list = find(root, sections[s].name);

                if (list && list->kind != YAML_KIND_LIST)
                        REFUSE(r, list->at, "`%s` is not a list, expected one entry a server",
                               sections[s].name);
                for (size_t i = 0; list && list->kind == YAML_KIND_LIST && i < list->n_children;
                     i++)
                        if (read_server(r, &sections[s], &list->children[i]) < 0)
                                return -ENOMEM;
        }
        for (size_t i = 0; i + 1 < root->n_children; i += 2) {
                const char *key = root->children[i].text;
                bool known = false;

                for (size_t s = 0; s < ELEMENTSOF(sections); s++)
                        known |= key && strcmp(key, sections[s].name) == 0;
                if (!known && text_ends_with(key, "_servers") &&
                    root->children[i + 1].kind == YAML_KIND_LIST)
                        r->topology->n_others += root->children[i + 1].n_children;
        }
        if (r->topology->n_servers == 0 && r->errors->n_messages == 0)
                REFUSE(r, root->at,
                       "no servers, expected `pd_servers`, `tidb_servers` or `tikv_servers`");
        return 0;
}

int tiup_parse(const SourceFile *file, TiupTopology *ret, Diagnostics *errors) {
        _cleanup_tiup_topology_ TiupTopology topology = { 0 };
        _cleanup_yaml_node_ YamlNode root = { 0 };
        Reader reader = { .file = file, .topology = &topology, .errors = errors };
        int r = policy_yaml_parse(file, &root, errors);

        if (r >= 0)
                r = read_root(&reader, &root);
        if (r >= 0 && errors->error < 0)
                r = -ENOMEM;
        if (r >= 0 && errors->n_messages > 0)
                r = -EINVAL;
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(topology);
        return 0;
}
