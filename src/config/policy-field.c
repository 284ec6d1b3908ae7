/* A key's value: into its field, and are its nodes and CPUs there? */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-list.h"
#include "tidbnumad/config/policy-loader.h"
#include "tidbnumad/config/policy-value.h"
#include "tidbnumad/config/policy-words.h"

const char *policy_describe(const YamlNode *node, char buffer[static POLICY_DESCRIBED_MAX]) {
        char shown[YAML_SHOWN_MAX];

        switch (node->kind) {
        case YAML_KIND_LIST:
                return "a list";
        case YAML_KIND_MAPPING:
                return "a mapping";
        case YAML_KIND_EMPTY:
        case YAML_KIND_ALIAS:
                return "empty";
        case YAML_KIND_SCALAR:
                break;
        }
        (void)snprintf(buffer, POLICY_DESCRIBED_MAX, "`%s`", yaml_show(node->text, shown));
        return buffer;
}

void policy_refuse_value(PolicyLoader *l, const PolicyKey *key, const YamlNode *node,
                         const char *reason) {
        char allowed[POLICY_KEY_ALLOWED_MAX], shown[POLICY_DESCRIBED_MAX];

        POLICY_REFUSE(l, node, "`%s` is %s%s%s%s, expected %s", key->path,
                      policy_describe(node, shown), reason ? " (" : "", reason ? reason : "",
                      reason ? ")" : "", policy_key_allowed(key, allowed));
}

/* All that the machine has, also what is switched off or hidden from us. */
static IdSet present(const Topology *topology, bool cpus) {
        CpuSet all_cpus = topology_cpus(topology);
        NodeSet all_nodes = topology_nodes(topology);
        IdSet all;

        id_set_union(&all_cpus, &topology->hidden_cpus);
        id_set_union(&all_cpus, &topology->offline_cpus);
        id_set_union(&all_nodes, &topology->hidden_nodes);
        id_view_convert(cpus ? ID_VIEW(&all_cpus) : ID_VIEW(&all_nodes), ID_TARGET(&all));
        return all;
}

/* A node that is absent is as good as avoided: policy-check warns of that one. */
static void check_present(PolicyLoader *l, const PolicyKey *key, const YamlNode *node,
                          const IdSet *ids, bool cpus) {
        char missing[ID_SET_LIST_MAX], there[ID_SET_LIST_MAX];
        IdSet all, lacking = *ids;

        if (!l->topology || strcmp(key->path, "policies[].place.avoid") == 0)
                return;
        all = present(l->topology, cpus);
        id_set_subtract(&lacking, &all);
        if (id_set_is_empty(&lacking))
                return;
        if (id_set_render_list(&lacking, missing, sizeof(missing)) < 0)
                strcpy(missing, "numbers"); /* thousands of single ones */
        (void)id_set_render_list(&all, there, sizeof(there));
        POLICY_REFUSE(l, node,
                      "`%s` names %s %s, which this machine does not have, expected some of %s",
                      key->path, cpus ? "CPU" : "node", missing, there);
}

static void append_cards(const DeviceList *devices, Text *text) {
        for (size_t i = 0; i < devices->n_devices; i++)
                if (devices->devices[i].kind == DEVICE_NET)
                        text_appendf(text, "%s%s", text->length ? ", " : "",
                                     devices->devices[i].name);
}

/* Where no card at all is known, such as in a container, any name will do. */
static void check_card(PolicyLoader *l, const PolicyKey *key, const YamlNode *node) {
        _cleanup_text_ Text cards = { 0 };
        char shown[YAML_SHOWN_MAX];

        if (!l->devices || key->type != POLICY_KEY_INTERFACES ||
            device_list_find(l->devices, DEVICE_NET, node->text))
                return;
        append_cards(l->devices, &cards);
        if (cards.length > 0)
                POLICY_REFUSE(l, node,
                              "`%s` names the network card %s, which this machine does not have, "
                              "expected some of %s",
                              key->path, yaml_show(node->text, shown), cards.data);
}

static int load_items(PolicyLoader *l, const PolicyKey *key, const YamlNode *node, void *field) {
        bool cpus;

        if (node->n_children == 0 && !key->empty_ok) {
                policy_refuse_value(l, key, node, "it is empty");
                return 0;
        }
        policy_list_clear(key, field);
        for (size_t i = 0; i < node->n_children; i++) {
                const YamlNode *item = &node->children[i];
                const IdView ids = policy_list_ids(key, field, &cpus);
                IdSet before, added;
                const char *reason = NULL;
                int r = -EINVAL;

                id_view_convert(ids, ID_TARGET(&before));
                if (item->kind == YAML_KIND_SCALAR)
                        r = policy_list_add(key, item->text, field, &reason);
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        policy_refuse_value(l, key, item, reason);
                else
                        check_card(l, key, item);
                if (r < 0)
                        continue;
                id_view_convert(ids, ID_TARGET(&added));
                id_set_subtract(&added, &before);
                check_present(l, key, item, &added, cpus);
        }
        return 0;
}

static int load_scalar(PolicyLoader *l, const PolicyKey *key, const YamlNode *node, void *field) {
        const char *reason = NULL;
        IdSet ids;
        bool cpus;
        int r = -EINVAL;

        /* A number in quotes is that number: lists of them need quotes, and templates write them.
         */
        if (node->quoted && key->type == POLICY_KEY_BOOL)
                reason = "a text in quotes";
        else if (node->kind == YAML_KIND_SCALAR)
                r = policy_value_parse(key, node->text, field, &reason);
        if (r == -EINVAL) {
                policy_refuse_value(l, key, node, reason);
                return 0;
        }
        if (r < 0)
                return r;
        check_card(l, key, node);
        id_view_convert(policy_list_ids(key, field, &cpus), ID_TARGET(&ids));
        check_present(l, key, node, &ids, cpus);
        return 0;
}

int policy_field_load(PolicyLoader *l, const PolicyKey *key, const YamlNode *node, void *target) {
        void *field = (char *)target + key->offset;

        if (key->is_set_offset > 0)
                *(bool *)((char *)target + key->is_set_offset) = true;
        if (l->places)
                l->places[policy_key_index(key)] = (PolicyPlace){ .file = l->file, .at = node->at };
        return node->kind == YAML_KIND_LIST && policy_list_is(key)
                       ? load_items(l, key, node, field)
                       : load_scalar(l, key, node, field);
}

int policy_field_set_defaults(const char *path, void *target) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++) {
                const char *reason;
                int r;

                if (!keys[i].default_text || !policy_key_is_part(&keys[i], path) ||
                    strcmp(keys[i].default_text, "[]") == 0)
                        continue;
                r = policy_value_parse(&keys[i], keys[i].default_text,
                                       (char *)target + keys[i].offset, &reason);
                if (r < 0)
                        return r;
        }
        return 0;
}
