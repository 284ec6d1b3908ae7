/* Policy files into a set: what one file holds. How files go together is policy-merge's business,
 * what contradicts itself policy-check's, which keys there are policy-table's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/config/policy-check.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/config/policy-loader.h"

/* --- what is watched on a host without any policy --- */

static int fill_builtin(Policy *policy, const char *name, const char *exe) {
        int r = policy_field_set_defaults("policies[]", policy);

        if (r < 0)
                return r;
        policy->name = strdup(name);
        policy->match.exe = strdup(exe);
        policy->match.only_services = true;
        policy->file = strdup("");
        policy->memory = MEMORY_NONE;
        policy->migrate = MIGRATE_NONE;
        policy->built_in = true;
        return policy->name && policy->match.exe && policy->file ? 0 : -ENOMEM;
}

/* Four policies that change nothing: after the installation of the package the report has the
 * host's database before anybody has written a line. Only services: a program of that name that
 * some user starts is no part of it. */
static int add_builtin(PolicySet *set) {
        static const struct {
                const char *name, *exe;
        } watched[] = {
                { "tidb", "tidb-server" },
                { "tikv", "tikv-server" },
                { "pd", "pd-server" },
                { "haproxy", "haproxy" },
        };

        set->policies = calloc(ELEMENTSOF(watched), sizeof(*set->policies));
        if (!set->policies)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(watched); i++) {
                int r = fill_builtin(&set->policies[set->n_policies++], watched[i].name,
                                     watched[i].exe);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- files --- */

/* A policy's keys record their places in its draft. */
static int load_policy_keys(PolicyLoader *l, const YamlNode *node, PolicyDraft *draft) {
        PolicyPlace *outer = l->places;
        size_t before = l->errors->n_added;
        int r;

        l->places = draft->places;
        l->draft = draft;
        r = policy_section_load(l, node, "policies[]", &draft->policy);
        l->draft = NULL;
        l->places = outer;
        draft->faulty = l->errors->n_added > before;
        return r;
}

static int load_policy(PolicyLoader *l, const YamlNode *node) {
        _cleanup_(policy_draft_done)
                PolicyDraft draft = { .file_index = l->file_index, .file = l->file };
        int r;

        draft.at = node->at;
        draft.policy.line = node->at.line;
        draft.policy.column = node->at.column;
        draft.policy.file = strdup(l->file->path);
        if (!draft.policy.file)
                return -ENOMEM;
        r = policy_field_set_defaults("policies[]", &draft.policy);
        if (r >= 0)
                r = load_policy_keys(l, node, &draft);
        if (r < 0 || !draft.policy.name)
                return r;
        return policy_merge_add(&l->merge, &draft, l->errors);
}

static int load_instance(PolicyLoader *l, const YamlNode *node, Policy *policy) {
        const PolicyKey *nodes = policy_key_at("policies[].instances[].nodes");
        size_t n = policy->n_instances + 1;
        PolicyInstance *instances;
        PolicyEntryPlace *entries;
        int r;

        instances = reallocarray(policy->instances, n, sizeof(*instances));
        if (!instances)
                return -ENOMEM;
        policy->instances = instances;
        entries = reallocarray(l->draft->entries, n, sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        l->draft->entries = entries;
        instances[n - 1] = (PolicyInstance){ .line = node->at.line, .column = node->at.column };
        policy->n_instances = n;
        r = policy_section_load(l, node, "policies[].instances[]", &instances[n - 1]);
        entries[n - 1] = (PolicyEntryPlace){ node->at, l->places[policy_key_index(nodes)].at };
        return r;
}

static int load_irq(PolicyLoader *l, const YamlNode *node) {
        IrqPolicy *irqs, *irq;
        int r;

        irqs = reallocarray(l->set->irqs, l->set->n_irqs + 1, sizeof(*irqs));
        if (!irqs)
                return -ENOMEM;
        l->set->irqs = irqs;
        irq = &irqs[l->set->n_irqs++];
        *irq = (IrqPolicy){ .line = node->at.line, .column = node->at.column };
        irq->file = strdup(l->file->path);
        if (!irq->file)
                return -ENOMEM;
        r = policy_field_set_defaults("irq[]", irq);
        return r < 0 ? r : policy_section_load(l, node, "irq[]", irq);
}

static int load_entry(PolicyLoader *l, const PolicyKey *key, const YamlNode *node, void *target) {
        if (strcmp(key->path, "policies") == 0)
                return load_policy(l, node);
        if (strcmp(key->path, "irq") == 0)
                return load_irq(l, node);
        return load_instance(l, node, target);
}

int policy_entries_load(PolicyLoader *l, const PolicyKey *key, const YamlNode *node, void *target) {
        if (strcmp(key->path, "policies") == 0 &&
            word_list_add(&l->set->listing, l->file->path) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < node->n_children; i++) {
                const YamlNode *entry = &node->children[i];
                char shown[POLICY_DESCRIBED_MAX];
                int r;

                if (entry->kind != YAML_KIND_MAPPING) {
                        POLICY_REFUSE(l, entry, "an entry of `%s` is %s, expected a mapping",
                                      key->path, policy_describe(entry, shown));
                        continue;
                }
                r = load_entry(l, key, entry, target);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int load_file(PolicyLoader *l) {
        _cleanup_yaml_node_ YamlNode root = { 0 };
        char shown[POLICY_DESCRIBED_MAX];
        int r;

        r = policy_yaml_parse(l->file, &root, l->errors);
        if (r == -EINVAL)
                return 0;
        if (r == 0 && root.kind == YAML_KIND_EMPTY) {
                /* Of an editor or a play that was cut short, as likely as meant. */
                diagnostics_add_at(l->errors, l->file, (SourceSpan){ 1, 1, 0 },
                                   "the file is empty, expected policies; if it is to have none, "
                                   "write `version: 1` and `policies: []`, or remove it");
                return 0;
        }
        if (r < 0)
                return r;
        if (root.kind != YAML_KIND_MAPPING) {
                POLICY_REFUSE(l, &root, "the file is %s, expected a mapping with `version: 1`",
                              policy_describe(&root, shown));
                return 0;
        }
        return policy_section_load(l, &root, "", l->set);
}

static int load_files(PolicyLoader *l, const SourceFileList *files) {
        PolicyPlace places[POLICY_KEYS_MAX] = { 0 };
        int r;

        l->places = places;
        r = policy_field_set_defaults("", l->set);
        for (size_t i = 0; i < files->n_files && r == 0; i++) {
                l->file = &files->files[i];
                l->file_index = i;
                r = load_file(l);
        }
        policy_check_reserve(&l->set->host.reserve, places, l->topology, l->warnings);
        policy_check_irqs(l->set, files, l->warnings);
        return r;
}

int policy_set_parse(const SourceFileList *files, const Topology *topology,
                     const DeviceList *devices, PolicySet *ret, Diagnostics *errors,
                     Diagnostics *warnings) {
        _cleanup_policy_set_ PolicySet set;
        PolicyLoader l = { .topology = topology,
                           .devices = devices,
                           .errors = errors,
                           .warnings = warnings,
                           .set = &set };
        size_t before = errors->n_added;
        int r;

        policy_set_init(&set);
        r = load_files(&l, files);
        if (r == 0) {
                policy_check_none(&l.merge, &set, warnings);
                policy_check_drafts(&l.merge, topology, errors, warnings);
        }
        if (r == 0 && (errors->error < 0 || warnings->error < 0))
                r = -ENOMEM;
        if (r == 0 && errors->n_added > before)
                r = -EINVAL;
        if (r == 0)
                r = l.merge.n_drafts > 0 ? policy_merge_finish(&l.merge, &set) : add_builtin(&set);
        policy_merge_done(&l.merge);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(set);
        return 0;
}
