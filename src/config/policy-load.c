/* Policy files into a set: the keys of each mapping, their values, and how files go together. What
 * contradicts itself is policy-check's, which keys there are policy-table's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-check.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/config/policy-loader.h"
#include "tidbnumad/config/policy-table.h"

/* What is read now, and how it reports what is wrong there. */
typedef struct Loader {
        const SourceFile *file;
        size_t file_index;
        const Topology *topology;  /* NULL: any number will do */
        const DeviceList *devices; /* NULL: any name of a card will do */
        Diagnostics *errors;
        PolicyPlace *places; /* of the thing that is read now, for each row of the table */
        PolicyMerge merge;
        PolicySet *set;
} Loader;

#define REFUSE(l, node, ...) diagnostics_add_at((l)->errors, (l)->file, (node)->at, __VA_ARGS__)

/* --- a key's value: into its field, and are its nodes and CPUs there? --- */

/* "`tidb`", "a list" … */
#define DESCRIBED_MAX (YAML_SHOWN_MAX + 2)
static const char *node_describe(const YamlNode *node, char buffer[static DESCRIBED_MAX]) {
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
        (void)snprintf(buffer, DESCRIBED_MAX, "`%s`", yaml_show(node->text, shown));
        return buffer;
}

/* "`key` is `value` (reason), expected …" */
static void refuse_value(Loader *l, const PolicyKey *key, const YamlNode *node,
                         const char *reason) {
        char allowed[POLICY_KEY_ALLOWED_MAX], shown[DESCRIBED_MAX];

        REFUSE(l, node, "`%s` is %s%s%s%s, expected %s", key->path, node_describe(node, shown),
               reason ? " (" : "", reason ? reason : "", reason ? ")" : "",
               policy_key_allowed(key, allowed));
}

/* A node that is absent is as good as avoided: policy-check warns of that one. */
static void check_ids(Loader *l, const PolicyKey *key, const YamlNode *node, const IdSet *ids,
                      bool cpus) {
        IdSet all, lacking = *ids;
        CpuSet all_cpus;
        NodeSet all_nodes;

        if (!l->topology || strcmp(key->path, "policies[].place.avoid") == 0)
                return;
        all_cpus = topology_cpus(l->topology);
        all_nodes = topology_nodes(l->topology);
        /* All that the machine has, also what is switched off or hidden from us. */
        id_set_union(&all_cpus, &l->topology->hidden_cpus);
        id_set_union(&all_cpus, &l->topology->offline_cpus);
        id_set_union(&all_nodes, &l->topology->hidden_nodes);
        id_view_convert(cpus ? ID_VIEW(&all_cpus) : ID_VIEW(&all_nodes), ID_TARGET(&all));
        id_set_subtract(&lacking, &all);
        if (id_set_is_empty(&lacking))
                return;
        REFUSE(l, node, "`%s` names %s %s, which this machine does not have, expected some of %s",
               key->path, cpus ? "CPU" : "node", policy_ids_list(&lacking), id_set_list(&all));
}

/* A value into its field. A key that takes several values has one of them, or a list. Returns 0,
 * also when something was refused; -ENOMEM. */
static int load_value(Loader *l, const PolicyKey *key, const YamlNode *node, void *field) {
        const bool list = node->kind == YAML_KIND_LIST && policy_list_is(key);
        const size_t n = list ? node->n_children : 1;
        bool cpus;
        const IdView ids = policy_list_ids(key, field, &cpus);

        if (n == 0 && !key->empty_ok) {
                refuse_value(l, key, node, "it is empty");
                return 0;
        }
        if (list)
                policy_list_clear(key, field);
        for (size_t i = 0; i < n; i++) {
                const YamlNode *item = list ? &node->children[i] : node;
                IdSet before = { 0 }, added;
                _cleanup_text_ Text cards = { 0 };
                char shown[YAML_SHOWN_MAX];
                const char *reason = NULL;
                int r = -EINVAL;

                if (list)
                        id_view_convert(ids, ID_TARGET(&before));
                /* A number in quotes is that number: lists of them need quotes, and templates write
                 * them. */
                if (item->quoted && key->type == POLICY_KEY_BOOL)
                        reason = "a text in quotes";
                else if (item->kind == YAML_KIND_SCALAR)
                        r = list ? policy_list_add(key, item->text, false, field, &reason)
                                 : policy_value_parse(key, item->text, field, &reason);
                if (r == -ENOMEM)
                        return r;
                if (r < 0) {
                        refuse_value(l, key, item, reason);
                        continue;
                }
                id_view_convert(ids, ID_TARGET(&added));
                id_set_subtract(&added, &before);
                check_ids(l, key, item, &added, cpus);
                if (!l->devices || key->type != POLICY_KEY_INTERFACES ||
                    device_list_find(l->devices, DEVICE_NET, item->text))
                        continue;
                /* Where no card at all is known, such as in a container, any name will do. */
                for (size_t k = 0; k < l->devices->n_devices; k++)
                        if (l->devices->devices[k].kind == DEVICE_NET)
                                text_appendf(&cards, "%s%s", cards.length ? ", " : "",
                                             l->devices->devices[k].name);
                if (cards.length > 0)
                        REFUSE(l, item,
                               "`%s` names the network card %s, which this machine does not have, "
                               "expected some of %s",
                               key->path, yaml_show(item->text, shown), cards.data);
        }
        return 0;
}

/* The defaults of the table, for the thing whose keys are below `path`, and in no list below it.
 * Returns 0 or -ENOMEM. */
static int load_defaults(const char *path, void *target) {
        const size_t length = strlen(path);
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++) {
                const char *text = keys[i].default_text, *reason;
                int r;

                if (!text || strcmp(text, "[]") == 0 || strncmp(keys[i].path, path, length) != 0 ||
                    strstr(keys[i].path + length, "[]") ||
                    (length > 0 && keys[i].path[length] != '.'))
                        continue;
                r = policy_value_parse(&keys[i], text, (char *)target + keys[i].offset, &reason);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- the keys of a mapping: unknown, missing and duplicate ones are reported --- */

/* Which keys of one mapping are there, for each row of the table. */
typedef struct Section {
        const char *path;                /* "" at the top */
        uint32_t given[POLICY_KEYS_MAX]; /* the line of the key; 0: not given */
        bool meant[POLICY_KEYS_MAX];     /* given, but misspelled: it is not missing as well */
        bool merged;                     /* any key may be meant */
} Section;

static int load_entries(Loader *l, const PolicyKey *key, const YamlNode *node, void *target);

/* How near two paths are: the length of what they begin with alike. */
static size_t path_nearness(const char *a, const char *b) {
        size_t n = 0;

        while (a[n] && a[n] == b[n])
                n++;
        return n;
}

static void refuse_unknown(Loader *l, Section *s, const YamlNode *at) {
        /* What an operator requests of the running daemon is no policy: a broken file would disarm
         * it. */
        static const struct {
                const char *path, *name, *instead;
        } commands[] = {
                { "enforcement", "release", "tidbnumactl release NAME" },
                { "enforcement", "replan", "tidbnumactl replan NAME" },
        };
        const PolicyKey *nearest, *elsewhere = NULL, *keys;
        const size_t n = policy_keys(&keys);
        Suggestion similar = { .word = at->text };
        _cleanup_text_ Text expected = { 0 };
        char where[POLICY_KEY_PATH_MAX + 8], shown[YAML_SHOWN_MAX];

        for (size_t i = 0; i < ELEMENTSOF(commands); i++)
                if (strcmp(s->path, commands[i].path) == 0 &&
                    strcmp(at->text, commands[i].name) == 0) {
                        REFUSE(l, at, "`%s.%s` is no key of a policy, expected the command: %s",
                               s->path, commands[i].name, commands[i].instead);
                        return;
                }
        if (strcmp(at->text, "<<") == 0 && !at->quoted) {
                REFUSE(l, at,
                       "a merge key (`<<`) is not supported, expected the keys themselves; "
                       "an alias (`*`) can replace a whole value");
                s->merged = true;
                return;
        }
        /* {nodes: 0,4} means to YAML: the keys `nodes` and `4`. */
        if (*s->path && *at->text && at->text[strspn(at->text, "0123456789-")] == '\0') {
                REFUSE(l, at,
                       "unknown key `%s` in `%s`, expected quotes around a list with "
                       "commas inside braces",
                       yaml_show(at->text, shown), s->path);
                return;
        }
        for (size_t i = 0; i < n; i++)
                if (policy_key_is_below(&keys[i], s->path))
                        suggest(&similar, policy_key_leaf(&keys[i]));
        nearest = similar.nearest ? policy_key_find(s->path, similar.nearest) : NULL;
        /* The place where a key of that name would be right: the nearest one, the first among
         * equals. */
        for (size_t i = 0; !nearest && i < n; i++)
                if (strcmp(policy_key_leaf(&keys[i]), at->text) == 0 &&
                    (!elsewhere || path_nearness(keys[i].path, s->path) >
                                           path_nearness(elsewhere->path, s->path)))
                        elsewhere = &keys[i];
        (void)snprintf(where, sizeof(where), *s->path ? "in `%s`" : "at the top%s", s->path);
        if (nearest) {
                text_appendf(&expected, "did you mean `%s`?", policy_key_leaf(nearest));
                s->meant[policy_key_index(nearest)] = true;
        } else if (elsewhere)
                text_appendf(&expected, "expected it as `%s`", elsewhere->path);
        for (size_t i = 0; !nearest && !elsewhere && i < n; i++)
                if (policy_key_is_below(&keys[i], s->path))
                        text_appendf(&expected, "%s`%s`", expected.length ? ", " : "",
                                     policy_key_leaf(&keys[i]));
        REFUSE(l, at, "unknown key `%s` %s, %s%s", yaml_show(at->text, shown), where,
               nearest || elsewhere ? "" : "expected one of ",
               expected.data ? expected.data : "another");
}

/* `path` is "" at the top, `target` what its keys are fields of, see PolicyKey.offset. Returns 0,
 * also when something was refused; -ENOMEM. */
static int load_section(Loader *l, const YamlNode *node, const char *path, void *target) {
        Section s = { .path = path };
        _cleanup_text_ Text choice = { 0 };
        bool chosen = false;
        const PolicyKey *keys;
        size_t n;

        for (size_t i = 0; i + 1 < node->n_children; i += 2) {
                const YamlNode *at = &node->children[i], *value = &node->children[i + 1];
                const PolicyKey *key = at->text ? policy_key_find(path, at->text) : NULL;
                uint32_t *given = key ? &s.given[policy_key_index(key)] : NULL;
                int r = 0;

                if (!at->text)
                        REFUSE(l, at, "a key is not plain text, expected a word before the colon");
                else if (!key)
                        refuse_unknown(l, &s, at);
                else if (*given > 0)
                        REFUSE(l, at,
                               "`%s` is given twice, expected it once; the first is in line %u",
                               key->path, *given);
                if (!key || *given > 0)
                        continue;
                *given = at->at.line;
                if (key->type != POLICY_KEY_SECTION && key->type != POLICY_KEY_LIST) {
                        if (key->is_set_offset > 0)
                                *(bool *)((char *)target + key->is_set_offset) = true;
                        l->places[policy_key_index(key)] =
                                (PolicyPlace){ .file = l->file, .at = value->at };
                        r = load_value(l, key, value, (char *)target + key->offset);
                } else if (value->kind !=
                           (key->type == POLICY_KEY_SECTION ? YAML_KIND_MAPPING : YAML_KIND_LIST))
                        refuse_value(l, key, value, NULL);
                else
                        r = key->type == POLICY_KEY_SECTION
                                    ? load_section(l, value, key->path, target)
                                    : load_entries(l, key, value, target);
                if (r < 0)
                        return r;
        }
        n = policy_keys(&keys);
        for (size_t k = 0; k < n; k++) {
                bool given = s.given[k] > 0 || s.meant[k] || s.merged;
                char allowed[POLICY_KEY_ALLOWED_MAX];

                if (!policy_key_is_below(&keys[k], path))
                        continue;
                if (keys[k].need == POLICY_KEY_REQUIRED && !given)
                        REFUSE(l, node, "`%s` is missing, expected %s", keys[k].path,
                               policy_key_allowed(&keys[k], allowed));
                if (keys[k].need == POLICY_KEY_ONE_OF) {
                        chosen = chosen || given;
                        text_appendf(&choice, "%s`%s`", choice.length ? " or " : "",
                                     policy_key_leaf(&keys[k]));
                }
        }
        if (choice.length > 0 && !chosen)
                REFUSE(l, node, "`%s` is %s, expected at least %s", path,
                       node->n_children == 0            ? "empty"
                       : text_ends_with(path, ".match") ? "too wide"
                                                        : "incomplete",
                       choice.data);
        return 0;
}

/* --- what is watched on a host without any policy --- */

/* A policy for each product, which changes nothing: after the installation of the package the
 * report has the host's database before anybody has written a line. Only services: a program of
 * that name that some user starts is no part of it. */
static int add_builtin(PolicySet *set) {
        set->policies = calloc(N_PRODUCTS, sizeof(*set->policies));
        if (!set->policies)
                return -ENOMEM;
        for (Product i = PRODUCT_OTHER + 1; i < N_PRODUCTS; i++) {
                const ProductInfo *info = product_info(i);
                Policy *policy = &set->policies[set->n_policies++];

                if (load_defaults("policies[]", policy) < 0)
                        return -ENOMEM;
                policy->name = strdup(info->name);
                policy->match.exe = strdup(info->exe);
                policy->match.args = info->words ? text_new("* %s*", info->words) : NULL;
                policy->match.only_services = true;
                policy->file = strdup("");
                policy->memory = MEMORY_NONE;
                policy->migrate = MIGRATE_NONE;
                policy->built_in = true;
                if (!policy->name || !policy->match.exe || !policy->file ||
                    (info->words && !policy->match.args))
                        return -ENOMEM;
        }
        return 0;
}

/* --- files --- */

#define NAME "policies[].name"

static void draft_done(PolicyDraft *draft) {
        policy_done(&draft->policy);
}

/* Adds a policy and drops an earlier file's policy of the same name: the later one wins, in its own
 * place. What cannot be added is reported. */
static int load_policy(Loader *l, const YamlNode *node) {
        _cleanup_(draft_done) PolicyDraft draft = { .file_index = l->file_index,
                                                    .file = l->file,
                                                    .policy.at = node->at };
        PolicyPlace *const outer = l->places;
        const size_t before = l->errors->n_added;
        PolicyMerge *merge = &l->merge;
        PolicyDraft *earlier = NULL;
        NodeSet left;
        int r;

        draft.policy.file = strdup(l->file->path);
        if (!draft.policy.file)
                return -ENOMEM;
        r = load_defaults("policies[]", &draft.policy);
        if (r < 0)
                return r;
        /* A policy's keys record their places in its draft. */
        l->places = draft.places;
        r = load_section(l, node, "policies[]", &draft.policy);
        l->places = outer;
        draft.faulty = l->errors->n_added > before;
        if (r < 0 || !draft.policy.name)
                return r;
        /* Without a count each instance gets all of them. None at all would mean all of the
         * machine: that is refused later. */
        left = id_set_minus(&draft.policy.place.nodes, &draft.policy.place.avoid);
        if (!draft.policy.place.count_is_set && !id_set_is_empty(&left))
                draft.policy.place.nodes = left;
        for (size_t i = 0; i < merge->n_drafts && !earlier; i++)
                if (strcmp(merge->drafts[i].policy.name, draft.policy.name) == 0)
                        earlier = &merge->drafts[i];
        if (earlier && earlier->file_index == draft.file_index) {
                diagnostics_add_at(l->errors, l->file, policy_draft_span(&draft, NAME),
                                   "a second policy `%s`, expected each name once in a file; the "
                                   "first is in line %u",
                                   draft.policy.name, policy_draft_span(earlier, NAME).line);
                return 0;
        }
        if (earlier) {
                draft_done(earlier);
                ARRAY_REMOVE(merge->drafts, merge->n_drafts, (size_t)(earlier - merge->drafts));
        }
        if (merge->n_drafts == POLICIES_MAX) {
                if (!merge->full)
                        REFUSE(l, node,
                               "one policy too many, expected at most %u in all files together",
                               POLICIES_MAX);
                merge->full = true;
                return 0;
        }
        if (ARRAY_RESERVE(merge->drafts, merge->allocated, merge->n_drafts + 1) < 0)
                return -ENOMEM;
        merge->drafts[merge->n_drafts++] = TAKE_STRUCT(draft);
        return 0;
}

/* A list of mappings. */
static int load_entries(Loader *l, const PolicyKey *key, const YamlNode *node, void *target) {
        const PolicyKey *nodes = policy_key_at("policies[].instances[].nodes");
        const bool policies = strcmp(key->path, "policies") == 0;
        PolicySet *set = l->set;
        Policy *policy = target; /* of a list of instances */

        if (policies && word_list_add(&set->listing, l->file->path) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < node->n_children; i++) {
                const YamlNode *entry = &node->children[i];
                char shown[DESCRIBED_MAX];
                int r;

                if (entry->kind != YAML_KIND_MAPPING) {
                        REFUSE(l, entry, "an entry of `%s` is %s, expected a mapping", key->path,
                               node_describe(entry, shown));
                        continue;
                }
                if (policies)
                        r = load_policy(l, entry);
                else if (strcmp(key->path, "irq") == 0) {
                        IrqPolicy *irqs, *irq;

                        irqs = reallocarray(set->irqs, set->n_irqs + 1, sizeof(*irqs));
                        if (!irqs)
                                return -ENOMEM;
                        set->irqs = irqs;
                        irq = &irqs[set->n_irqs++];
                        *irq = (IrqPolicy){ .file = strdup(l->file->path), .at = entry->at };
                        if (!irq->file)
                                return -ENOMEM;
                        r = load_defaults("irq[]", irq);
                        if (r == 0)
                                r = load_section(l, entry, "irq[]", irq);
                } else {
                        const size_t n = policy->n_instances;
                        PolicyInstance *instances;

                        instances = reallocarray(policy->instances, n + 1, sizeof(*instances));
                        if (!instances)
                                return -ENOMEM;
                        policy->instances = instances;
                        instances[n] = (PolicyInstance){ .at = entry->at };
                        policy->n_instances = n + 1;
                        r = load_section(l, entry, "policies[].instances[]", &instances[n]);
                        instances[n].nodes_at = l->places[policy_key_index(nodes)].at;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

int policy_set_parse(const SourceFileList *files, const Topology *topology,
                     const DeviceList *devices, PolicySet *ret, Diagnostics *errors,
                     Diagnostics *warnings) {
        _cleanup_policy_set_ PolicySet set;
        Loader l = { .topology = topology, .devices = devices, .errors = errors, .set = &set };
        PolicyPlace places[POLICY_KEYS_MAX] = { 0 };
        char shown[DESCRIBED_MAX];
        size_t before = errors->n_added;
        int r;

        policy_set_init(&set);
        l.places = places;
        r = load_defaults("", &set);
        for (size_t i = 0; i < files->n_files && r == 0; i++) {
                _cleanup_yaml_node_ YamlNode root = { 0 };

                l.file = &files->files[i];
                l.file_index = i;
                r = policy_yaml_parse(l.file, &root, errors);
                if (r == -EINVAL) /* reported */
                        r = 0;
                else if (r == 0 && root.kind == YAML_KIND_EMPTY)
                        /* Of an editor or a play that was cut short, as likely as meant. */
                        diagnostics_add_at(errors, l.file, (SourceSpan){ 1, 1, 0 },
                                           "the file is empty, expected policies; if it is to have "
                                           "none, write `version: 1` and `policies: []`, or remove "
                                           "it");
                else if (r == 0 && root.kind != YAML_KIND_MAPPING)
                        REFUSE(&l, &root, "the file is %s, expected a mapping with `version: 1`",
                               node_describe(&root, shown));
                else if (r == 0)
                        r = load_section(&l, &root, "", &set);
        }
        policy_check_reserve(&set.host.reserve, places, &l.merge, topology, warnings);
        policy_check_irqs(&set, files, warnings);
        if (r == 0) {
                /* A policy that is refused is no draft. */
                if (l.merge.n_drafts == 0 && set.listing.n_words > 0 && errors->n_added == before)
                        diagnostics_add_path(
                                warnings, set.listing.words[0],
                                "`policies: []`, and no other file has a policy: what the "
                                "daemon has bound is released when this comes into force");
                policy_check_drafts(&l.merge, topology, errors, warnings);
        }
        if (r == 0 && (errors->error < 0 || warnings->error < 0))
                r = -ENOMEM;
        if (r == 0 && errors->n_added > before)
                r = -EINVAL;
        if (r == 0 && l.merge.n_drafts == 0)
                r = add_builtin(&set);
        else if (r == 0) {
                set.policies = calloc(l.merge.n_drafts, sizeof(*set.policies));
                r = set.policies ? 0 : -ENOMEM;
                for (; r == 0 && set.n_policies < l.merge.n_drafts; set.n_policies++)
                        set.policies[set.n_policies] =
                                TAKE_STRUCT(l.merge.drafts[set.n_policies].policy);
        }
        for (size_t i = 0; i < l.merge.n_drafts; i++)
                draft_done(&l.merge.drafts[i]);
        free(l.merge.drafts);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(set);
        return 0;
}
