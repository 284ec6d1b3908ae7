/* What the parts of the loader share: where it is, and how it reports what is wrong there. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/config/policy-merge.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/config/policy-yaml.h"
#include "tidbnumad/model/device.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

typedef struct PolicyLoader {
        const SourceFile *file;
        size_t file_index;
        const Topology *topology;  /* NULL: any number will do */
        const DeviceList *devices; /* NULL: any name of a card will do */
        Diagnostics *errors, *warnings;
        PolicyPlace *places; /* of the thing that is read now, for each row of the table; NULL: not
                                wanted */
        PolicyDraft *draft;  /* the policy that is read now, or NULL */
        PolicyMerge merge;
        PolicySet *set;
} PolicyLoader;

#define POLICY_REFUSE(l, node, ...)                                                                \
        diagnostics_add_at((l)->errors, (l)->file, (node)->at, __VA_ARGS__)

/* "`tidb`", "a list" … */
#define POLICY_DESCRIBED_MAX (YAML_SHOWN_MAX + 2)
const char *policy_describe(const YamlNode *node, char buffer[static POLICY_DESCRIBED_MAX]);

/* "`key` is `value` (reason), expected …" */
void policy_refuse_value(PolicyLoader *l, const PolicyKey *key, const YamlNode *node,
                         const char *reason);

/* The value of a key that holds no other keys, into the thing that `target` is. Returns 0, also
 * when it was refused; -ENOMEM. */
int policy_field_load(PolicyLoader *l, const PolicyKey *key, const YamlNode *node, void *target);

/* The defaults of the table, for all that is part of `path`. Returns 0 or -ENOMEM. */
int policy_field_set_defaults(const char *path, void *target);

/* The keys of a mapping. `path` is "" at the top. Returns as above. */
int policy_section_load(PolicyLoader *l, const YamlNode *node, const char *path, void *target);

/* A list of mappings. */
int policy_entries_load(PolicyLoader *l, const PolicyKey *key, const YamlNode *node, void *target);
