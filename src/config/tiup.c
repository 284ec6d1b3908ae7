#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-yaml.h"
#include "tidbnumad/config/tiup.h"

/* The user of a topology that names none, and the folder of one that names none (pkg/cluster/spec
 * of TiUP, GlobalOptions). */
#define TIUP_USER "tidb"
#define TIUP_DEPLOY_DIR "deploy"
#define TIUP_DATA_DIR "data"
#define SERVERS "_servers"

typedef struct Reader {
        const SourceFile *file;
        const YamlNode *root, *global; /* `global` NULL: none */
        TiupTopology *topology;
        Diagnostics *errors;
} Reader;

#define REFUSE(r, at, ...) diagnostics_add_at((r)->errors, (r)->file, (at), __VA_ARGS__)

/* The value of one of its own keys, which may be empty; NULL: not given. */
static const YamlNode *yaml_find_key(const YamlNode *mapping, const char *key) {
        for (size_t i = 0; mapping && mapping->kind == YAML_KIND_MAPPING && i < mapping->n_children;
             i += 2)
                if (mapping->children[i].kind == YAML_KIND_SCALAR &&
                    strcmp(mapping->children[i].text, key) == 0)
                        return &mapping->children[i + 1];
        return NULL;
}

/* Likewise; NULL also where it is empty. */
static const YamlNode *yaml_find_own(const YamlNode *mapping, const char *key) {
        const YamlNode *value = yaml_find_key(mapping, key);

        return value && value->kind != YAML_KIND_EMPTY ? value : NULL;
}

/* Likewise, or of the mappings that it merges (`<<`, https://yaml.org/type/merge.html): its own
 * keys come first, then the first mapping of several. */
static const YamlNode *yaml_find(const YamlNode *mapping, const char *key) {
        const YamlNode *found = yaml_find_own(mapping, key), *merged = yaml_find_own(mapping, "<<");

        if (!found && merged && merged->kind == YAML_KIND_MAPPING)
                return yaml_find(merged, key);
        for (size_t i = 0;
             !found && merged && merged->kind == YAML_KIND_LIST && i < merged->n_children; i++)
                found = yaml_find(&merged->children[i], key);
        return found;
}

static const char *yaml_find_text(const YamlNode *mapping, const char *key) {
        const YamlNode *node = yaml_find(mapping, key);

        return node && node->kind == YAML_KIND_SCALAR ? node->text : NULL;
}

/* A mapping in braces begins before its first key, and so does one with an anchor, whose keys may
 * be those of others too; an alias is elsewhere. */
static bool is_in_lines(const YamlNode *mapping) {
        return mapping->kind == YAML_KIND_MAPPING && mapping->n_children > 0 && !mapping->anchor &&
               mapping->at.line == mapping->children[0].at.line &&
               mapping->at.column == mapping->children[0].at.column;
}

/* An edit replaces a part of one line. */
static bool is_on_one_line(const YamlNode *value) {
        return !value || value->at.length < UINT32_MAX;
}

/* Appends the folder: what is relative is below `base`. Without blanks around it, as TiUP's Abs()
 * takes it. */
static void append_dir(Text *text, const char *base, const char *dir, size_t length) {
        while (length > 0 && *dir == ' ') {
                dir++;
                length--;
        }
        while (length > 0 && dir[length - 1] == ' ')
                length--;
        if (length == 0 || *dir != '/')
                text_appendf(text, "%s/", base);
        text_appendf(text, "%.*s", (int)length, dir);
}

/* TiUP's rules (pkg/cluster/spec, setCustomDefaults() and expandRelativePath()): a deploy directory
 * is below the user's home. A data directory that the entry names is below its deploy directory;
 * without one, each server has its own below that of `global`, where that is absolute. A list is
 * TiFlash's: one directory a disk. */
static int read_data_dirs(const Reader *r, const YamlNode *entry, TiupServer *server) {
        const char *own = yaml_find_text(entry, "data_dir"),
                   *global = yaml_find_text(r->global, "data_dir");
        const char *deploy = yaml_find_text(entry, "deploy_dir"),
                   *user = yaml_find_text(r->global, "user");
        const char *all = yaml_find_text(r->global, "deploy_dir");
        _cleanup_text_ Text home = { 0 }, base = { 0 }, dirs = { 0 };

        text_appendf(&home, "/home/%s", user ? user : TIUP_USER);
        if (!home.data)
                return -ENOMEM;
        if (deploy)
                append_dir(&base, home.data, deploy, strlen(deploy));
        else {
                all = all ? all : TIUP_DEPLOY_DIR;
                append_dir(&base, home.data, all, strlen(all));
                text_appendf(&base, "/%s", server->name);
        }
        if (!base.data)
                return -ENOMEM;
        if (!own && global && global[0] == '/')
                text_appendf(&dirs, "%s/%s", global, server->name);
        else
                for (const char *dir = own ? own : global ? global : TIUP_DATA_DIR;; dir++) {
                        const size_t length = strcspn(dir, ",");

                        append_dir(&dirs, base.data, dir, length);
                        dir += length;
                        if (*dir == '\0')
                                break;
                        text_append(&dirs, ",");
                }
        if (home.error < 0 || base.error < 0 || dirs.error < 0)
                return -ENOMEM;
        server->data_dirs = TAKE_PTR(dirs.data);
        return 0;
}

/* TiUP takes "a.b: 1" and "a: {b: 1}" alike. Recursion is bounded by YAML_DEPTH_MAX. */
static int add_settings(const YamlNode *mapping, const char *prefix, TiupServer *server) {
        if (mapping->kind == YAML_KIND_LIST && strcmp(prefix, "<<") == 0)
                for (size_t i = 0; i < mapping->n_children; i++)
                        if (add_settings(&mapping->children[i], "", server) < 0)
                                return -ENOMEM;
        for (size_t i = 0; mapping->kind == YAML_KIND_MAPPING && i < mapping->n_children; i += 2) {
                const char *key = mapping->children[i].text ? mapping->children[i].text : "";
                const bool below = *prefix && strcmp(prefix, "<<") != 0;
                _cleanup_free_ char *path = NULL;
                int r;

                if (asprintf(&path, "%s%s%s", below ? prefix : "", below ? "." : "", key) < 0) {
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

static int read_settings(const Reader *r, const ProductTiup *tiup, const YamlNode *entry,
                         TiupServer *server) {
        const YamlNode *all = yaml_find(r->root, "server_configs"),
                       *config = yaml_find_key(entry, "config");

        /* What is set for all servers of a component counts as well: TiUP puts `config` over it. */
        for (size_t i = 0; all && all->kind == YAML_KIND_MAPPING && i < all->n_children; i += 2) {
                const char *key = all->children[i].text;

                if (key && *key && strncmp(tiup->section, key, strlen(key)) == 0 &&
                    strcmp(tiup->section + strlen(key), SERVERS) == 0 &&
                    add_settings(&all->children[i + 1], "", server) < 0)
                        return -ENOMEM;
        }
        if (!config) /* one of its own would replace what it merges */
                config = yaml_find(entry, "config");
        else if (is_in_lines(config))
                server->config_at = config->children[0].at;
        server->config_fits = !config || server->config_at.line > 0;
        return config ? add_settings(config, "", server) : 0;
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

/* "200%" of one CPU, as systemd takes it. 0: none, or not known. */
static uint32_t parse_quota(const char *text) {
        const size_t n = text ? strcspn(text, "%") : 0;
        char digits[8];
        uint64_t percent;

        if (n == 0 || n >= sizeof(digits) || strcmp(text + n, "%") != 0)
                return 0;
        (void)snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
        return parse_u64(digits, &percent) == 0 ? (uint32_t)percent : 0;
}

/* What numactl(8) takes beside a list: its meaning depends on the host, or on who starts it. */
static bool is_numactl_word(const char *text) {
        static const char *const prefixes[] = { "!",   "+",      "netdev:", "file:",
                                                "ip:", "block:", "pci:" };

        for (size_t i = 0; i < ELEMENTSOF(prefixes); i++)
                if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
                        return text[strlen(prefixes[i])] != '\0';
        return strcmp(text, "all") == 0 || strcmp(text, "same") == 0;
}

/* `host`: the name of another server's host, for what `entry` describes on each; NULL: its own. */
static int read_server(const Reader *r, Product product, const YamlNode *entry, const char *host) {
        const ProductInfo *info = product_info(product);
        const YamlNode *nodes = yaml_find(entry, "numa_node"),
                       *own_nodes = yaml_find_key(entry, "numa_node"),
                       *own_cores = yaml_find_key(entry, "numa_cores");
        const char *cores = yaml_find_text(entry, "numa_cores");
        const YamlNode *own = yaml_find(entry, "resource_control"),
                       *all = yaml_find(r->global, "resource_control");
        const char *memory = yaml_find_text(own, "memory_limit"),
                   *quota = yaml_find_text(own, "cpu_quota");
        TiupTopology *t = r->topology;
        TiupServer *server;

        if (ARRAY_RESERVE(t->servers, t->allocated, t->n_servers + 1) < 0)
                return -ENOMEM;
        server = &t->servers[t->n_servers++];
        *server = (TiupServer){ .product = product,
                                .at = entry->at,
                                .on_each_host = host,
                                .in_lines = !host && is_in_lines(entry) &&
                                            yaml_find_own(entry, "host") &&
                                            is_on_one_line(yaml_find_own(entry, "host")) &&
                                            is_on_one_line(own_nodes) && is_on_one_line(own_cores),
                                .host = strdup(host ? host : yaml_find_text(entry, "host")) };
        if (!host)
                server->host_at = yaml_find(entry, "host")->at;
        for (size_t k = 0; k < ELEMENTSOF(info->tiup.ports) && info->tiup.port_keys[k]; k++) {
                const YamlNode *node = yaml_find(entry, info->tiup.port_keys[k]);
                uint64_t port = info->tiup.ports[k];

                if (node && (node->kind != YAML_KIND_SCALAR || parse_u64(node->text, &port) < 0 ||
                             port == 0 || port > UINT16_MAX))
                        REFUSE(r, node->at, "`%s` is not a port, expected a number from 1 to 65535",
                               info->tiup.port_keys[k]);
                server->ports[k] = (uint16_t)port;
        }
        if (nodes && nodes->kind == YAML_KIND_SCALAR && is_numactl_word(nodes->text))
                server->nodes_unknown = true;
        else if (nodes && (nodes->kind != YAML_KIND_SCALAR ||
                           (*nodes->text && id_set_parse_list(nodes->text, &server->nodes) < 0)))
                REFUSE(r, nodes->at,
                       "`numa_node` is not a list of nodes, expected such as \"0,1\"");
        if (own_nodes)
                server->numa_at = own_nodes->at;
        if (own_cores)
                server->cores_at = own_cores->at;
        server->has_cores = cores && *cores;
        if (server->has_cores && id_set_parse_list(cores, &server->cores) < 0)
                server->cores = (CpuSet){ 0 };
        /* The entry's own limits come before those of all servers. */
        server->memory_limit = parse_limit(memory ? memory : yaml_find_text(all, "memory_limit"));
        server->cpu_quota = parse_quota(quota ? quota : yaml_find_text(all, "cpu_quota"));
        server->name = text_new("%s-%u", info->name, server->ports[0]);
        server->unit = text_new("%s-%u.service", info->name, server->ports[0]);
        if (!server->host || !server->name || !server->unit ||
            (info->tiup.has_data_dir && read_data_dirs(r, entry, server) < 0) ||
            (!host && read_settings(r, &info->tiup, entry, server) < 0))
                return -ENOMEM;
        for (size_t i = 0; i + 1 < t->n_servers; i++)
                if (strcmp(t->servers[i].host, server->host) == 0 &&
                    strcmp(t->servers[i].name, server->name) == 0) {
                        REFUSE(r, server->host_at,
                               "a second %s on host `%s`, expected another port; the first is in "
                               "line %u",
                               server->name, server->host, t->servers[i].host_at.line);
                        break;
                }
        return 0;
}

static bool is_exporter_ignored(const YamlNode *root, const char *host) {
        for (size_t i = 0; i + 1 < root->n_children; i += 2) {
                const YamlNode *list = &root->children[i + 1];

                for (size_t k = 0; list->kind == YAML_KIND_LIST && k < list->n_children; k++)
                        if (text_equal(yaml_find_text(&list->children[k], "host"), host) &&
                            text_equal(yaml_find_text(&list->children[k], "ignore_exporter"),
                                       "true"))
                                return true;
        }
        return false;
}

#define SAFE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:[]%-"

static int read_root(Reader *r, const YamlNode *root) {
        const YamlNode none = { .kind = YAML_KIND_EMPTY, .at = root->at };
        const YamlNode *monitored = yaml_find(root, "monitored");
        TiupTopology *t = r->topology;
        size_t n;

        if (root->kind != YAML_KIND_MAPPING) {
                REFUSE(r, root->at,
                       "not a topology of TiUP, expected sections such as `tidb_servers`");
                return 0;
        }
        r->root = root;
        r->global = yaml_find(root, "global");
        t->user_units = text_equal(yaml_find_text(r->global, "systemd_mode"), "user");
        for (size_t i = 0; i + 1 < root->n_children; i += 2) {
                const YamlNode *key = &root->children[i], *list = &root->children[i + 1];
                Product product = PRODUCT_OTHER; /* whose servers the section lists */

                if (key->kind != YAML_KIND_SCALAR)
                        continue;
                for (Product p = PRODUCT_OTHER + 1; p < N_PRODUCTS && product == PRODUCT_OTHER; p++)
                        if (text_equal(product_info(p)->tiup.section, key->text) &&
                            text_ends_with(key->text, SERVERS))
                                product = p;
                if (product != PRODUCT_OTHER && list->kind != YAML_KIND_LIST &&
                    list->kind != YAML_KIND_EMPTY)
                        REFUSE(r, list->at, "`%s` is not a list, expected one entry a server",
                               key->text);
                if (list->kind != YAML_KIND_LIST || list->n_children == 0)
                        continue;
                if (product == PRODUCT_OTHER) {
                        if (ARRAY_RESERVE(t->others, t->others_allocated, t->n_others + 1) < 0)
                                return -ENOMEM;
                        t->others[t->n_others] =
                                (TiupOthers){ strdup(key->text), list->n_children };
                        if (!t->others[t->n_others++].section)
                                return -ENOMEM;
                        continue;
                }
                for (size_t k = 0; k < list->n_children; k++) {
                        const YamlNode *entry = &list->children[k];
                        const YamlNode *host = yaml_find(entry, "host");

                        /* The host's name is used as the name of a folder, so it must be safe as
                         * one. */
                        if (!host || host->kind != YAML_KIND_SCALAR || !*host->text ||
                            strchr(".-", *host->text) || host->text[strspn(host->text, SAFE)])
                                REFUSE(r, host ? host->at : entry->at,
                                       "%s, expected the name or address of a host",
                                       host ? "not a host" : "no `host`");
                        else if (read_server(r, product, entry, NULL) < 0)
                                return -ENOMEM;
                }
        }
        /* TiUP runs exporters on the hosts of all servers, but for those with a server that says
         * `ignore_exporter` (pkg/cluster/manager, getMonitorHosts()); also without `monitored`,
         * whose ports have defaults (pkg/cluster/spec, MonitoredOptions). */
        n = t->n_servers;
        for (size_t i = 0; i < n; i++) {
                const char *host = t->servers[i].host;
                bool wanted = !is_exporter_ignored(root, host);

                for (size_t k = 0; k < i; k++)
                        wanted &= strcmp(t->servers[k].host, host) != 0;
                for (Product p = PRODUCT_OTHER + 1; wanted && p < N_PRODUCTS; p++)
                        if (text_equal(product_info(p)->tiup.section, "monitored") &&
                            read_server(r, p, monitored ? monitored : &none, host) < 0)
                                return -ENOMEM;
        }
        if (t->n_servers == 0 && r->errors->n_messages == 0)
                REFUSE(r, root->at,
                       "no servers, expected such as `pd_servers`, `tidb_servers` or "
                       "`tikv_servers`");
        return 0;
}

/* What an earlier plan has left below a host is replaced: it would go on to speak of that plan. */
static void find_notes(const SourceFile *file, TiupTopology *topology) {
        SourceLine line = { 0 };

        for (uint32_t number = 1; source_line_next(file, &line); number++) {
                const char *note = line.start + strspn(line.start, " ");

                if (strncmp(note, TIUP_NOTE, strlen(TIUP_NOTE)) != 0)
                        continue;
                for (size_t i = 0; i < topology->n_servers; i++)
                        if (topology->servers[i].host_at.line + 1 == number)
                                topology->servers[i].note_at =
                                        (SourceSpan){ number, (uint32_t)(note - line.start) + 1,
                                                      (uint32_t)(line.end - note) };
        }
}

int tiup_parse(const SourceFile *file, TiupTopology *ret, Diagnostics *errors) {
        _cleanup_tiup_topology_ TiupTopology topology = { 0 };
        _cleanup_yaml_node_ YamlNode root = { 0 };
        Reader reader = { .file = file, .topology = &topology, .errors = errors };
        int r = policy_yaml_parse(file, &root, errors);

        if (r >= 0)
                r = read_root(&reader, &root);
        find_notes(file, &topology);
        if (r >= 0 && errors->error < 0)
                r = -ENOMEM;
        if (r >= 0 && errors->n_messages > 0)
                r = -EINVAL;
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(topology);
        return 0;
}
