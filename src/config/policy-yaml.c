/* YAML text to a tree with positions, over the events of libyaml.
 *
 * Its document API would be shorter, but follows aliases silently (even in a circle) and forgets
 * their places. What the keys mean is policy-load's business. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/config/policy-yaml.h"

typedef struct Anchor {
        const YamlNode *node;
        bool open; /* the walk is inside of it */
} Anchor;

typedef struct Builder {
        yaml_parser_t parser;
        const SourceFile *file;
        Diagnostics *errors;
        size_t n_nodes;
        Anchor anchors[YAML_ANCHORS_MAX];
        size_t n_anchors;
        size_t n_expanded; /* values out of aliases */
} Builder;

#define REFUSE(b, at, ...) diagnostics_add_at((b)->errors, (b)->file, (at), __VA_ARGS__)

/* What begins on one line and ends on another is marked to the end of the first. */
static SourceSpan span_of(const yaml_event_t *event) {
        const yaml_mark_t *start = &event->start_mark, *end = &event->end_mark;
        size_t length = end->line > start->line ? UINT32_MAX : end->column - start->column;

        return (SourceSpan){ .line = (uint32_t)start->line + 1,
                             .column = (uint32_t)start->column + 1,
                             .length = (uint32_t)length };
}

void yaml_node_done(YamlNode *node) {
        for (size_t i = 0; i < node->n_children; i++)
                yaml_node_done(&node->children[i]);
        free(node->children);
        free(node->text);
        free(node->anchor);
        *node = (YamlNode){ 0 };
}

const char *yaml_show(const char *text, char buffer[static YAML_SHOWN_MAX]) {
        size_t i = 0;

        for (; text[i] && i < YAML_SHOWN_MAX - 4; i++)
                buffer[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
        strcpy(buffer + i, text[i] ? "..." : "");
        return buffer;
}

static int next_event(Builder *b, yaml_event_t *ret) {
        if (yaml_parser_parse(&b->parser, ret))
                return 0;
        if (b->parser.error == YAML_MEMORY_ERROR)
                return -ENOMEM;
        policy_yaml_refuse_syntax(b->file, &b->parser, b->errors);
        return -EINVAL;
}

static int build_node(Builder *b, const yaml_event_t *event, unsigned depth, YamlNode *node);

static int build_children(Builder *b, yaml_event_type_t end, unsigned depth, YamlNode *node) {
        for (;;) {
                _cleanup_(yaml_event_delete) yaml_event_t event = { 0 };
                int r;

                r = next_event(b, &event);
                if (r < 0)
                        return r;
                if (event.type == end) {
                        /* A list or a mapping in brackets on one line is marked whole, others at
                         * their beginning. */
                        if (event.end_mark.index > event.start_mark.index &&
                            event.start_mark.line + 1 == node->at.line)
                                node->at.length =
                                        (uint32_t)event.end_mark.column + 1 - node->at.column;
                        return 0;
                }
                if (ARRAY_RESERVE(node->children, node->allocated, node->n_children + 1) < 0)
                        return -ENOMEM;
                r = build_node(b, &event, depth, &node->children[node->n_children++]);
                if (r < 0)
                        return r;
        }
}

/* Recursion is bounded by YAML_DEPTH_MAX. */
static int build_node(Builder *b, const yaml_event_t *event, unsigned depth, YamlNode *node) {
        static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
        const yaml_char_t *anchor = NULL, *tag = NULL;
        const char *value = NULL, *message = NULL; /* of a scalar, as the three below */
        bool plain = false;
        size_t length = 0, index;
        SourceSpan at;

        node->at = span_of(event);
        if (event->type == YAML_SCALAR_EVENT) {
                anchor = event->data.scalar.anchor;
                tag = event->data.scalar.tag;
                value = (const char *)event->data.scalar.value;
                length = event->data.scalar.length;
                plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        } else if (event->type == YAML_SEQUENCE_START_EVENT) {
                anchor = event->data.sequence_start.anchor;
                tag = event->data.sequence_start.tag;
        } else if (event->type == YAML_MAPPING_START_EVENT) {
                anchor = event->data.mapping_start.anchor;
                tag = event->data.mapping_start.tag;
        }
        if (anchor) {
                node->anchor = strdup((const char *)anchor);
                if (!node->anchor)
                        return -ENOMEM;
        }
        if (depth > YAML_DEPTH_MAX) {
                REFUSE(b, span_of(event), "nested too deep, expected at most %u levels",
                       YAML_DEPTH_MAX);
                return -EINVAL;
        }
        if (++b->n_nodes > YAML_NODES_MAX) {
                REFUSE(b, span_of(event), "too much in one file, expected at most %u values",
                       YAML_NODES_MAX);
                return -EINVAL;
        }
        if (tag)
                REFUSE(b, span_of(event), "a tag (`!`), expected the value alone");
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                break;
        case YAML_SEQUENCE_START_EVENT:
                node->kind = YAML_KIND_LIST;
                return build_children(b, YAML_SEQUENCE_END_EVENT, depth + 1, node);
        case YAML_MAPPING_START_EVENT:
                node->kind = YAML_KIND_MAPPING;
                return build_children(b, YAML_MAPPING_END_EVENT, depth + 1, node);
        default:
                node->kind = YAML_KIND_ALIAS;
                node->text = strdup((const char *)event->data.alias.anchor);
                return node->text ? 0 : -ENOMEM;
        }
        /* In quotes it is meant. In a text of several lines it leads to an error of the syntax. */
        if (plain && event->end_mark.line == event->start_mark.line)
                message = policy_yaml_lookalike(value, length, &index);
        if (message) {
                at = node->at;
                at.column += (uint32_t)index;
                at.length = 1;
                REFUSE(b, at, "%s", message);
        }
        node->kind = YAML_KIND_SCALAR;
        for (size_t i = 0; plain && i < ELEMENTSOF(nulls); i++)
                if (strcmp(value, nulls[i]) == 0)
                        node->kind = YAML_KIND_EMPTY;
        node->quoted = !plain;
        if (strlen(value) != length) {
                REFUSE(b, span_of(event), "a NUL character inside a value, expected text");
                value = "";
        }
        node->text = strdup(value);
        return node->text ? 0 : -ENOMEM;
}

/* --- aliases: each becomes a copy of what its anchor names ---
 *
 * In the order of the file, so that what is copied has no aliases left, and an alias finds the last
 * anchor of its name before it. */

/* `to` is empty. A part of a copy that failed is freed with it. */
static int copy_node(Builder *b, const YamlNode *alias, const YamlNode *from, unsigned depth,
                     YamlNode *to) {
        if (depth > YAML_DEPTH_MAX) {
                REFUSE(b, alias->at, "the alias nests too deep, expected at most %u levels",
                       YAML_DEPTH_MAX);
                return -EINVAL;
        }
        if (++b->n_expanded > YAML_EXPANDED_MAX) {
                REFUSE(b, alias->at, "the aliases expand to too much, expected at most %u values",
                       YAML_EXPANDED_MAX);
                return -EINVAL;
        }
        *to = (YamlNode){ .kind = from->kind, .at = from->at, .quoted = from->quoted };
        if (from->text) {
                to->text = strdup(from->text);
                if (!to->text)
                        return -ENOMEM;
        }
        if (from->n_children == 0)
                return 0;
        to->children = calloc(from->n_children, sizeof(*to->children));
        if (!to->children)
                return -ENOMEM;
        to->allocated = from->n_children;
        while (to->n_children < from->n_children) {
                const YamlNode *child = &from->children[to->n_children];
                int r = copy_node(b, alias, child, depth + 1, &to->children[to->n_children++]);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Recursion is bounded by YAML_DEPTH_MAX. */
static int expand_node(Builder *b, YamlNode *node, unsigned depth) {
        const Anchor *anchor = NULL;
        const size_t own = b->n_anchors;
        char shown[YAML_SHOWN_MAX];
        YamlNode copy = { 0 };
        int r;

        if (node->kind == YAML_KIND_ALIAS) {
                for (size_t i = b->n_anchors; i > 0 && !anchor; i--)
                        if (strcmp(b->anchors[i - 1].node->anchor, node->text) == 0)
                                anchor = &b->anchors[i - 1];
                if (!anchor || anchor->open) {
                        REFUSE(b, node->at,
                               anchor ? "the alias `*%s` is inside the value of its anchor, "
                                        "expected it after that value"
                                      : "there is no anchor `&%s` before this alias, expected "
                                        "one; put a glob that begins with * in quotes",
                               yaml_show(node->text, shown));
                        return 0;
                }
                r = copy_node(b, node, anchor->node, depth, &copy);
                copy.at = node->at;
                yaml_node_done(node);
                *node = copy;
                return r;
        }
        if (node->anchor) {
                if (b->n_anchors == YAML_ANCHORS_MAX) {
                        REFUSE(b, node->at,
                               "too many anchors (`&`) in one file, expected at most %u",
                               YAML_ANCHORS_MAX);
                        return -EINVAL;
                }
                b->anchors[b->n_anchors++] = (Anchor){ node, true };
        }
        for (size_t i = 0; i < node->n_children; i++) {
                r = expand_node(b, &node->children[i], depth + 1);
                if (r < 0)
                        return r;
        }
        if (node->anchor)
                b->anchors[own].open = false;
        return 0;
}

/* --- the whole --- */

int policy_yaml_parse(const SourceFile *file, YamlNode *ret, Diagnostics *errors) {
        _cleanup_yaml_node_ YamlNode root = { .at = { 1, 1, 0 } };
        Builder b = { .file = file, .errors = errors };
        const size_t before = errors->n_added;
        bool has_document = false, at_end = false;
        int r = 0;

        if (!yaml_parser_initialize(&b.parser))
                return -ENOMEM;
        yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&b.parser, (const unsigned char *)file->text, file->size);
        while (r == 0 && !at_end) {
                _cleanup_(yaml_event_delete) yaml_event_t event = { 0 };

                r = next_event(&b, &event);
                if (r < 0)
                        break;
                at_end = event.type == YAML_STREAM_END_EVENT;
                if (at_end || event.type == YAML_STREAM_START_EVENT ||
                    event.type == YAML_DOCUMENT_END_EVENT)
                        continue;
                if (event.type != YAML_DOCUMENT_START_EVENT)
                        r = build_node(&b, &event, 1, &root);
                else if (has_document) {
                        REFUSE(&b, span_of(&event),
                               "a second document, expected one document in a file");
                        r = -EINVAL;
                } else
                        has_document = true;
        }
        yaml_parser_delete(&b.parser);
        if (r == 0)
                r = expand_node(&b, &root, 1);
        if (r == 0 && errors->n_added > before)
                r = -EINVAL;
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(root);
        return 0;
}
