/* Aliases in a tree of YAML: each becomes a copy of what its anchor names.
 *
 * In the order of the file, so that what is copied has no aliases left, and an alias finds the last
 * anchor of its name before it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/config/policy-yaml.h"

typedef struct Anchor {
        const YamlNode *node;
        bool open; /* the walk is inside of it */
} Anchor;

typedef struct Expansion {
        const SourceFile *file;
        Diagnostics *errors;
        Anchor anchors[YAML_ANCHORS_MAX];
        size_t n_anchors;
        size_t n_expanded;
        bool refused; /* and the walk goes on */
} Expansion;

#define REFUSE(x, node, ...) diagnostics_add_at((x)->errors, (x)->file, (node)->at, __VA_ARGS__)

static int copy_text(const char *text, char **ret) {
        *ret = text ? strdup(text) : NULL;
        return text && !*ret ? -ENOMEM : 0;
}

/* `to` is empty. A part of a copy that failed is freed with it. */
static int copy_node(Expansion *x, const YamlNode *alias, const YamlNode *from, unsigned depth,
                     YamlNode *to) {
        if (depth > YAML_DEPTH_MAX) {
                REFUSE(x, alias, "the alias nests too deep, expected at most %u levels",
                       YAML_DEPTH_MAX);
                return -EINVAL;
        }
        if (++x->n_expanded > YAML_EXPANDED_MAX) {
                REFUSE(x, alias, "the aliases expand to too much, expected at most %u values",
                       YAML_EXPANDED_MAX);
                return -EINVAL;
        }
        *to = (YamlNode){ .kind = from->kind, .at = from->at, .quoted = from->quoted };
        if (copy_text(from->text, &to->text) < 0)
                return -ENOMEM;
        if (from->n_children == 0)
                return 0;
        to->children = calloc(from->n_children, sizeof(*to->children));
        if (!to->children)
                return -ENOMEM;
        to->allocated = from->n_children;
        while (to->n_children < from->n_children) {
                const YamlNode *child = &from->children[to->n_children];
                int r = copy_node(x, alias, child, depth + 1, &to->children[to->n_children++]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static const Anchor *find_anchor(const Expansion *x, const char *name) {
        for (size_t i = x->n_anchors; i > 0; i--)
                if (strcmp(x->anchors[i - 1].node->anchor, name) == 0)
                        return &x->anchors[i - 1];
        return NULL;
}

static int expand_alias(Expansion *x, YamlNode *node, unsigned depth) {
        const Anchor *anchor = find_anchor(x, node->text);
        char shown[YAML_SHOWN_MAX];
        YamlNode copy = { 0 };
        int r;

        if (!anchor || anchor->open) {
                REFUSE(x, node,
                       anchor ? "the alias `*%s` is inside the value of its anchor, expected it "
                                "after that value"
                              : "there is no anchor `&%s` before this alias, expected one; put a "
                                "glob that begins with * in quotes",
                       yaml_show(node->text, shown));
                x->refused = true;
                return 0;
        }
        r = copy_node(x, node, anchor->node, depth, &copy);
        copy.at = node->at;
        yaml_node_done(node);
        *node = copy;
        return r;
}

/* Recursion is bounded by YAML_DEPTH_MAX. */
static int expand_node(Expansion *x, YamlNode *node, unsigned depth) {
        size_t own = x->n_anchors;

        if (node->kind == YAML_KIND_ALIAS)
                return expand_alias(x, node, depth);
        if (node->anchor) {
                if (x->n_anchors == YAML_ANCHORS_MAX) {
                        REFUSE(x, node, "too many anchors (`&`) in one file, expected at most %u",
                               YAML_ANCHORS_MAX);
                        return -EINVAL;
                }
                x->anchors[x->n_anchors++] = (Anchor){ node, true };
        }
        for (size_t i = 0; i < node->n_children; i++) {
                int r = expand_node(x, &node->children[i], depth + 1);

                if (r < 0)
                        return r;
        }
        if (node->anchor)
                x->anchors[own].open = false;
        return 0;
}

int policy_yaml_expand(const SourceFile *file, YamlNode *root, Diagnostics *errors) {
        Expansion x = { .file = file, .errors = errors };
        int r;

        r = expand_node(&x, root, 1);
        return r == 0 && x.refused ? -EINVAL : r;
}
