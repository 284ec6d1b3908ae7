/* The keys of a mapping: unknown, missing and duplicate ones are reported. */
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-loader.h"
#include "tidbnumad/config/policy-words.h"

/* One mapping while its keys are read. */
typedef struct Section {
        const YamlNode *node;
        const char *path;                /* "" at the top */
        void *target;                    /* what its keys are fields of, see PolicyKey.offset */
        uint32_t given[POLICY_KEYS_MAX]; /* the line of each key of the table; 0: not given */
        bool meant[POLICY_KEYS_MAX];     /* given, but misspelled: it is not missing as well */
        bool merged;                     /* any key may be meant */
} Section;

static int load_value(PolicyLoader *l, const PolicyKey *key, const YamlNode *node, void *target) {
        bool section = key->type == POLICY_KEY_SECTION;

        if (!section && key->type != POLICY_KEY_LIST)
                return policy_field_load(l, key, node, target);
        if (node->kind != (section ? YAML_KIND_MAPPING : YAML_KIND_LIST)) {
                policy_refuse_value(l, key, node, NULL);
                return 0;
        }
        return section ? policy_section_load(l, node, key->path, target)
                       : policy_entries_load(l, key, node, target);
}

/* How near two paths are: the length of what they begin with alike. */
static size_t nearness(const char *a, const char *b) {
        size_t n = 0;

        while (a[n] && a[n] == b[n])
                n++;
        return n;
}

/* The place where a key of that name would be right: the nearest one, the first among equals. */
static const PolicyKey *find_elsewhere(const char *parent, const char *name) {
        const PolicyKey *keys, *found = NULL;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++)
                if (strcmp(policy_key_leaf(&keys[i]), name) == 0 &&
                    (!found || nearness(keys[i].path, parent) > nearness(found->path, parent)))
                        found = &keys[i];
        return found;
}

static void render_siblings(Text *text, const char *parent) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++)
                if (policy_key_is_below(&keys[i], parent))
                        text_appendf(text, "%s`%s`", text->length ? ", " : "",
                                     policy_key_leaf(&keys[i]));
}

static void refuse_merge_key(PolicyLoader *l, Section *s, const YamlNode *at) {
        POLICY_REFUSE(l, at,
                      "a merge key (`<<`) is not supported, expected the keys themselves; an alias "
                      "(`*`) can replace a whole value");
        s->merged = true;
}

/* {nodes: 0,4} means to YAML: the keys `nodes` and `4`. */
static bool is_rest_of_list(const YamlNode *at) {
        return *at->text && at->text[strspn(at->text, "0123456789-")] == '\0';
}

static void refuse_rest_of_list(PolicyLoader *l, const Section *s, const YamlNode *at) {
        char shown[YAML_SHOWN_MAX];

        POLICY_REFUSE(
                l, at,
                "unknown key `%s` in `%s`, expected quotes around a list with commas inside braces",
                yaml_show(at->text, shown), s->path);
}

/* What an operator requests of the running daemon is no policy: a broken file would disarm it. */
static const struct {
        const char *path, *name, *instead;
} commands[] = {
        { "enforcement", "release", "tidbnumactl release NAME" },
        { "enforcement", "replan", "tidbnumactl replan NAME" },
};

static bool refuse_command(PolicyLoader *l, const Section *s, const YamlNode *at) {
        for (size_t i = 0; i < ELEMENTSOF(commands); i++)
                if (strcmp(s->path, commands[i].path) == 0 &&
                    strcmp(at->text, commands[i].name) == 0) {
                        POLICY_REFUSE(l, at,
                                      "`%s.%s` is no key of a policy, expected the command: %s",
                                      s->path, commands[i].name, commands[i].instead);
                        return true;
                }
        return false;
}

static void refuse_unknown(PolicyLoader *l, Section *s, const YamlNode *at) {
        const PolicyKey *nearest = policy_key_nearest(s->path, at->text);
        const PolicyKey *elsewhere = nearest ? NULL : find_elsewhere(s->path, at->text);
        _cleanup_text_ Text expected = { 0 };
        char where[POLICY_KEY_PATH_MAX + 8], shown[YAML_SHOWN_MAX];

        (void)snprintf(where, sizeof(where), *s->path ? "in `%s`" : "at the top%s", s->path);
        if (nearest) {
                text_appendf(&expected, "did you mean `%s`?", policy_key_leaf(nearest));
                s->meant[policy_key_index(nearest)] = true;
        } else if (elsewhere)
                text_appendf(&expected, "expected it as `%s`", elsewhere->path);
        else
                render_siblings(&expected, s->path);
        POLICY_REFUSE(l, at, "unknown key `%s` %s, %s%s", yaml_show(at->text, shown), where,
                      nearest || elsewhere ? "" : "expected one of ",
                      expected.data ? expected.data : "another");
}

static int load_pair(PolicyLoader *l, Section *s, const YamlNode *at, const YamlNode *value) {
        const PolicyKey *key;
        uint32_t *given;

        if (!at->text) {
                POLICY_REFUSE(l, at, "a key is not plain text, expected a word before the colon");
                return 0;
        }
        key = policy_key_find(s->path, at->text);
        if (!key) {
                if (strcmp(at->text, "<<") == 0 && !at->quoted)
                        refuse_merge_key(l, s, at);
                else if (*s->path && is_rest_of_list(at))
                        refuse_rest_of_list(l, s, at);
                else if (!refuse_command(l, s, at))
                        refuse_unknown(l, s, at);
                return 0;
        }
        given = &s->given[policy_key_index(key)];
        if (*given > 0) {
                POLICY_REFUSE(l, at,
                              "`%s` is given twice, expected it once; the first is in line %u",
                              key->path, *given);
                return 0;
        }
        *given = at->at.line;
        return load_value(l, key, value, s->target);
}

static void check_given(PolicyLoader *l, const Section *s) {
        _cleanup_text_ Text choice = { 0 };
        bool chosen = false;
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++) {
                bool given = s->given[i] > 0 || s->meant[i] || s->merged;
                char allowed[POLICY_KEY_ALLOWED_MAX];

                if (!policy_key_is_below(&keys[i], s->path))
                        continue;
                if (keys[i].need == POLICY_KEY_REQUIRED && !given)
                        POLICY_REFUSE(l, s->node, "`%s` is missing, expected %s", keys[i].path,
                                      policy_key_allowed(&keys[i], allowed));
                if (keys[i].need == POLICY_KEY_ONE_OF) {
                        chosen = chosen || given;
                        text_appendf(&choice, "%s`%s`", choice.length ? " or " : "",
                                     policy_key_leaf(&keys[i]));
                }
        }
        if (choice.length > 0 && !chosen)
                POLICY_REFUSE(l, s->node, "`%s` is %s, expected at least %s", s->path,
                              s->node->n_children == 0 ? "empty" : "too wide", choice.data);
}

int policy_section_load(PolicyLoader *l, const YamlNode *node, const char *path, void *target) {
        Section s = { .node = node, .path = path, .target = target };

        for (size_t i = 0; i + 1 < node->n_children; i += 2) {
                int r = load_pair(l, &s, &node->children[i], &node->children[i + 1]);

                if (r < 0)
                        return r;
        }
        check_given(l, &s);
        return 0;
}
