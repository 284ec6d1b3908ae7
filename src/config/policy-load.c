/* Policy files into a set: what one file holds. How files go together is policy-merge's business,
 * what a single value may be policy-value's, which keys there are policy-table's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/config/policy-merge.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/config/policy-value.h"
#include "tidbnumad/config/policy-yaml.h"

typedef struct Loader {
        const SourceFile *file;
        size_t file_index;
        const Topology *topology; /* NULL: any node number will do */
        Diagnostics *errors;
        PolicyMerge merge;
} Loader;

/* One mapping while its keys are read. */
typedef struct Section {
        const YamlNode *node;
        const char *path; /* "" at the top */
        void *target;     /* Policy, PolicyInstance or PolicySet, see PolicyKey.offset */
        uint32_t given[POLICY_KEYS_MAX]; /* the line of each key of the table; 0: not given */
        bool meant[POLICY_KEYS_MAX];     /* given, but misspelled: it is not missing as well */
} Section;

#define REFUSE(l, node, format, ...)                                                               \
        diagnostics_addf((l)->errors, "%s:%u:%u: " format, (l)->file->path, (node)->line,          \
                         (node)->column, ##__VA_ARGS__)

static int load_mapping(Loader *l, const YamlNode *node, const char *path, void *target);

/* "`tidb`", "a list" … */
static const char *describe(const YamlNode *node, char buffer[static YAML_SHOWN_MAX + 2]) {
        char shown[YAML_SHOWN_MAX];

        switch (node->kind) {
        case YAML_KIND_LIST:
                return "a list";
        case YAML_KIND_MAPPING:
                return "a mapping";
        case YAML_KIND_EMPTY:
                return "empty";
        case YAML_KIND_SCALAR:
                break;
        }
        (void)snprintf(buffer, YAML_SHOWN_MAX + 2, "`%s`", yaml_show(node->text, shown));
        return buffer;
}

static void refuse_value(Loader *l, const PolicyKey *key, const YamlNode *node,
                         const char *reason) {
        char allowed[POLICY_KEY_ALLOWED_MAX], shown[YAML_SHOWN_MAX + 2];

        REFUSE(l, node, "`%s` is %s%s%s%s, expected %s", key->path, describe(node, shown),
               reason ? " (" : "", reason ? reason : "", reason ? ")" : "",
               policy_key_allowed(key, allowed));
}

static int check_nodes(Loader *l, const PolicyKey *key, const YamlNode *node,
                       const NodeSet *nodes) {
        char missing[ID_SET_LIST_MAX], present[ID_SET_LIST_MAX];
        NodeSet all, lacking = *nodes;

        if (!l->topology)
                return 0;
        all = topology_nodes(l->topology);
        id_set_remove_all(&lacking, &all);
        if (id_set_is_empty(&lacking))
                return 0;
        if (id_set_render_list(&lacking, missing, sizeof(missing)) < 0)
                strcpy(missing, "numbers"); /* thousands of single ones */
        (void)id_set_render_list(&all, present, sizeof(present));
        REFUSE(l, node, "`%s` names node %s, which this machine does not have, expected some of %s",
               key->path, missing, present);
        return -EINVAL;
}

static int load_scalar(Loader *l, const PolicyKey *key, const YamlNode *node, void *target) {
        void *field = (char *)target + key->offset;
        const char *reason = NULL;
        int r = -EINVAL;

        if (key->type == POLICY_KEY_VERSION && node->quoted)
                reason = "a text in quotes";
        else if (node->kind == YAML_KIND_SCALAR)
                r = policy_value_parse(key, node->text, field, &reason);
        if (r == -EINVAL) {
                refuse_value(l, key, node, reason);
                return 0;
        }
        if (r == 0 && key->type == POLICY_KEY_NODES)
                (void)check_nodes(l, key, node, field);
        return r;
}

static int load_policy(Loader *l, const YamlNode *node) {
        _cleanup_(policy_draft_done) PolicyDraft draft = { .file_index = l->file_index };
        const YamlNode *name;
        int r;

        draft.policy.line = node->line;
        draft.policy.file = strdup(l->file->path);
        if (!draft.policy.file)
                return -ENOMEM;
        r = policy_draft_set_defaults(&draft);
        if (r < 0)
                return r;
        r = load_mapping(l, node, "policies[]", &draft.policy);
        if (r < 0 || !draft.policy.name)
                return r;
        draft.column = node->column;
        name = yaml_node_find(node, "name");
        draft.name_line = name->line;
        draft.name_column = name->column;
        return policy_merge_add(&l->merge, &draft, l->errors);
}

static int load_instance(Loader *l, const YamlNode *node, Policy *policy) {
        PolicyInstance *instances;

        instances = reallocarray(policy->instances, policy->n_instances + 1, sizeof(*instances));
        if (!instances)
                return -ENOMEM;
        policy->instances = instances;
        instances[policy->n_instances] = (PolicyInstance){ 0 };
        return load_mapping(l, node, "policies[].instances[]", &instances[policy->n_instances++]);
}

static int load_list(Loader *l, const PolicyKey *key, const YamlNode *node, void *target) {
        for (size_t i = 0; i < node->n_children; i++) {
                const YamlNode *entry = &node->children[i];
                char shown[YAML_SHOWN_MAX + 2];
                int r;

                if (entry->kind != YAML_KIND_MAPPING) {
                        REFUSE(l, entry, "an entry of `%s` is %s, expected a mapping", key->path,
                               describe(entry, shown));
                        continue;
                }
                r = strcmp(key->path, "policies") == 0 ? load_policy(l, entry)
                                                       : load_instance(l, entry, target);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int load_value(Loader *l, const PolicyKey *key, const YamlNode *node, void *target) {
        bool section = key->type == POLICY_KEY_SECTION;

        if (!section && key->type != POLICY_KEY_LIST)
                return load_scalar(l, key, node, target);
        if (node->kind != (section ? YAML_KIND_MAPPING : YAML_KIND_LIST)) {
                refuse_value(l, key, node, NULL);
                return 0;
        }
        return section ? load_mapping(l, node, key->path, target) : load_list(l, key, node, target);
}

/* A value that stands for what happens anyway. */
static bool is_accepted(const PolicyKey *key, const YamlNode *node) {
        if (!key->accepted)
                return false;
        if (node->kind == YAML_KIND_LIST)
                return node->n_children == 0 && strcmp(key->accepted, "[]") == 0;
        return node->kind == YAML_KIND_SCALAR && strcmp(key->accepted, node->text) == 0;
}

static void refuse_unsupported(Loader *l, const PolicyKey *key, const YamlNode *at) {
        REFUSE(l, at, "`%s` is known but not carried out by this version; remove it%s%s%s",
               key->path, key->accepted ? " or set it to `" : "",
               key->accepted ? key->accepted : "", key->accepted ? "`" : "");
}

/* The place where a key of that name would be right. */
static const PolicyKey *find_elsewhere(const char *name) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++)
                if (keys[i].supported && strcmp(policy_key_leaf(&keys[i]), name) == 0)
                        return &keys[i];
        return NULL;
}

static void render_siblings(Text *text, const char *parent) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++)
                if (keys[i].supported && policy_key_is_below(&keys[i], parent))
                        text_appendf(text, "%s`%s`", text->length ? ", " : "",
                                     policy_key_leaf(&keys[i]));
}

static void refuse_unknown(Loader *l, Section *s, const YamlNode *at) {
        const PolicyKey *nearest = policy_key_nearest(s->path, at->text), *keys;
        const PolicyKey *elsewhere = nearest ? NULL : find_elsewhere(at->text);
        _cleanup_text_ Text expected = { 0 };
        char where[POLICY_KEY_PATH_MAX + 8], shown[YAML_SHOWN_MAX];

        (void)snprintf(where, sizeof(where), *s->path ? "in `%s`" : "at the top%s", s->path);
        (void)policy_keys(&keys);
        if (nearest) {
                text_appendf(&expected, "did you mean `%s`?", policy_key_leaf(nearest));
                s->meant[nearest - keys] = true;
        } else if (elsewhere)
                text_appendf(&expected, "expected it as `%s`", elsewhere->path);
        else
                render_siblings(&expected, s->path);
        REFUSE(l, at, "unknown key `%s` %s, %s%s", yaml_show(at->text, shown), where,
               nearest || elsewhere ? "" : "expected one of ",
               expected.data ? expected.data : "another");
}

static int load_pair(Loader *l, Section *s, const YamlNode *at, const YamlNode *value) {
        const PolicyKey *keys, *key;

        if (!at->text) {
                REFUSE(l, at, "a key is not plain text, expected a word before the colon");
                return 0;
        }
        key = policy_key_find(s->path, at->text);
        if (!key) {
                refuse_unknown(l, s, at);
                return 0;
        }
        (void)policy_keys(&keys);
        if (s->given[key - keys] > 0) {
                REFUSE(l, at, "`%s` is given twice, expected it once; the first is in line %u",
                       key->path, s->given[key - keys]);
                return 0;
        }
        s->given[key - keys] = at->line;
        if (key->supported)
                return load_value(l, key, value, s->target);
        if (!is_accepted(key, value))
                refuse_unsupported(l, key, at);
        return 0;
}

static void check_given(Loader *l, const Section *s) {
        _cleanup_text_ Text choice = { 0 };
        bool chosen = false;
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++) {
                char allowed[POLICY_KEY_ALLOWED_MAX];

                if (!policy_key_is_below(&keys[i], s->path))
                        continue;
                if (keys[i].need == POLICY_KEY_REQUIRED && s->given[i] == 0 && !s->meant[i])
                        REFUSE(l, s->node, "`%s` is missing, expected %s", keys[i].path,
                               policy_key_allowed(&keys[i], allowed));
                if (keys[i].need == POLICY_KEY_ONE_OF) {
                        chosen = chosen || s->given[i] > 0 || s->meant[i];
                        text_appendf(&choice, "%s`%s`", choice.length ? " or " : "",
                                     policy_key_leaf(&keys[i]));
                }
        }
        if (choice.length > 0 && !chosen)
                REFUSE(l, s->node, "`%s` is too wide, expected at least %s", s->path, choice.data);
}

static int load_mapping(Loader *l, const YamlNode *node, const char *path, void *target) {
        Section s = { .node = node, .path = path, .target = target };

        for (size_t i = 0; i + 1 < node->n_children; i += 2) {
                int r = load_pair(l, &s, &node->children[i], &node->children[i + 1]);

                if (r < 0)
                        return r;
        }
        check_given(l, &s);
        return 0;
}

static int load_file(Loader *l, PolicySet *set) {
        _cleanup_yaml_node_ YamlNode root = { 0 };
        char shown[YAML_SHOWN_MAX + 2];
        int r;

        r = policy_yaml_parse(l->file, &root, l->errors);
        if (r == -EINVAL || (r == 0 && root.kind == YAML_KIND_EMPTY))
                return 0;
        if (r < 0)
                return r;
        if (root.kind != YAML_KIND_MAPPING) {
                REFUSE(l, &root, "the file is %s, expected a mapping with `version: 1`",
                       describe(&root, shown));
                return 0;
        }
        return load_mapping(l, &root, "", set);
}

int policy_set_parse(const SourceFileList *files, const Topology *topology, PolicySet *ret,
                     Diagnostics *errors, Diagnostics *warnings) {
        Loader l = { .topology = topology, .errors = errors };
        _cleanup_policy_set_ PolicySet set;
        size_t before = errors->n_messages;
        int r = 0;

        policy_set_init(&set);
        for (size_t i = 0; i < files->n_files && r == 0; i++) {
                l.file = &files->files[i];
                l.file_index = i;
                r = load_file(&l, &set);
        }
        policy_merge_warn(&l.merge, warnings);
        if (r == 0 && (errors->error < 0 || warnings->error < 0))
                r = -ENOMEM;
        if (r == 0 && errors->n_messages > before)
                r = -EINVAL;
        if (r == 0)
                r = policy_merge_finish(&l.merge, &set);
        policy_merge_done(&l.merge);
        if (r < 0)
                return r;
        *ret = set;
        set = (PolicySet){ 0 };
        return 0;
}
