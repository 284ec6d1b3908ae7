/* YAML text to a tree with positions, over the events of libyaml.
 *
 * Its document API would be shorter, but follows aliases silently (even in a circle) and forgets
 * their places. What the keys mean is policy-load's business. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/config/policy-yaml-fault.h"
#include "tidbnumad/config/policy-yaml.h"

typedef struct Builder {
        yaml_parser_t parser;
        const SourceFile *file;
        Diagnostics *errors;
        size_t n_nodes;
        bool refused; /* something was reported, although parsing went on */
} Builder;

#define REFUSE(b, span, ...)                                                                       \
        ((b)->refused = true, diagnostics_add_at((b)->errors, (b)->file, (span), __VA_ARGS__))

#define REFUSE_EVENT(b, event, ...) REFUSE((b), span_of(event), __VA_ARGS__)

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

static int refuse_syntax(Builder *b) {
        if (b->parser.error == YAML_MEMORY_ERROR)
                return -ENOMEM;
        policy_yaml_refuse_syntax(b->file, &b->parser, b->errors);
        b->refused = true;
        return -EINVAL;
}

static int next_event(Builder *b, yaml_event_t *ret) {
        return yaml_parser_parse(&b->parser, ret) ? 0 : refuse_syntax(b);
}

static bool is_null(const yaml_event_t *event) {
        static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

        for (size_t i = 0; i < ELEMENTSOF(nulls); i++)
                if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                    strcmp((const char *)event->data.scalar.value, nulls[i]) == 0)
                        return true;
        return false;
}

/* In quotes it is meant. In a text of several lines it leads to an error of the syntax. */
static void refuse_lookalike(Builder *b, const yaml_event_t *event) {
        const char *message = NULL;
        SourceSpan at = span_of(event);
        size_t index;

        if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
            event->end_mark.line == event->start_mark.line)
                message = policy_yaml_lookalike((const char *)event->data.scalar.value,
                                                event->data.scalar.length, &index);
        if (!message)
                return;
        at.column += (uint32_t)index;
        at.length = 1;
        REFUSE(b, at, "%s", message);
}

static int build_scalar(Builder *b, const yaml_event_t *event, YamlNode *node) {
        const char *value = (const char *)event->data.scalar.value;

        refuse_lookalike(b, event);
        if (strlen(value) != event->data.scalar.length) {
                REFUSE_EVENT(b, event, "a NUL character inside a value, expected text");
                value = "";
        }
        node->kind = is_null(event) ? YAML_KIND_EMPTY : YAML_KIND_SCALAR;
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        node->text = strdup(value);
        return node->text ? 0 : -ENOMEM;
}

static void refuse_tag(Builder *b, const yaml_event_t *event) {
        if ((event->type == YAML_SCALAR_EVENT && event->data.scalar.tag) ||
            (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.tag) ||
            (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.tag))
                REFUSE_EVENT(b, event, "a tag (`!`), expected the value alone");
}

static const yaml_char_t *anchor_of(const yaml_event_t *event) {
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return event->data.scalar.anchor;
        case YAML_SEQUENCE_START_EVENT:
                return event->data.sequence_start.anchor;
        case YAML_MAPPING_START_EVENT:
                return event->data.mapping_start.anchor;
        default:
                return NULL;
        }
}

static int build_node(Builder *b, const yaml_event_t *event, unsigned depth, YamlNode *node);

/* A list or a mapping in brackets on one line is marked whole, others at their beginning. */
static void close_span(const yaml_event_t *end, YamlNode *node) {
        bool bracket = end->end_mark.index > end->start_mark.index;

        if (bracket && end->start_mark.line + 1 == node->at.line)
                node->at.length = (uint32_t)end->end_mark.column + 1 - node->at.column;
}

static int build_children(Builder *b, yaml_event_type_t end, unsigned depth, YamlNode *node) {
        for (;;) {
                _cleanup_(yaml_event_delete) yaml_event_t event = { 0 };
                int r;

                r = next_event(b, &event);
                if (r == 0 && event.type == end)
                        close_span(&event, node);
                if (r < 0 || event.type == end)
                        return r;
                if (ARRAY_RESERVE(node->children, node->allocated, node->n_children + 1) < 0)
                        return -ENOMEM;
                r = build_node(b, &event, depth, &node->children[node->n_children++]);
                if (r < 0)
                        return r;
        }
}

/* Recursion is bounded by YAML_DEPTH_MAX. */
static int build_node(Builder *b, const yaml_event_t *event, unsigned depth, YamlNode *node) {
        const yaml_char_t *anchor = anchor_of(event);

        node->at = span_of(event);
        if (anchor) {
                node->anchor = strdup((const char *)anchor);
                if (!node->anchor)
                        return -ENOMEM;
        }
        if (depth > YAML_DEPTH_MAX) {
                REFUSE_EVENT(b, event, "nested too deep, expected at most %u levels",
                             YAML_DEPTH_MAX);
                return -EINVAL;
        }
        if (++b->n_nodes > YAML_NODES_MAX) {
                REFUSE_EVENT(b, event, "too much in one file, expected at most %u values",
                             YAML_NODES_MAX);
                return -EINVAL;
        }
        refuse_tag(b, event);
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return build_scalar(b, event, node);
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
}

static int build_document(Builder *b, YamlNode *root) {
        bool seen = false;

        for (;;) {
                _cleanup_(yaml_event_delete) yaml_event_t event = { 0 };
                int r;

                r = next_event(b, &event);
                if (r < 0 || event.type == YAML_STREAM_END_EVENT)
                        return r;
                if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT)
                        continue;
                if (event.type == YAML_DOCUMENT_START_EVENT) {
                        if (seen) {
                                REFUSE_EVENT(b, &event,
                                             "a second document, expected one document in a file");
                                return -EINVAL;
                        }
                        seen = true;
                        continue;
                }
                r = build_node(b, &event, 1, root);
                if (r < 0)
                        return r;
        }
}

int policy_yaml_parse(const SourceFile *file, YamlNode *ret, Diagnostics *errors) {
        _cleanup_yaml_node_ YamlNode root = { .at = { 1, 1, 0 } };
        Builder b = { .file = file, .errors = errors };
        int r;

        if (!yaml_parser_initialize(&b.parser))
                return -ENOMEM;
        yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&b.parser, (const unsigned char *)file->text, file->size);
        r = build_document(&b, &root);
        yaml_parser_delete(&b.parser);
        if (r == 0)
                r = policy_yaml_expand(file, &root, errors);
        if (r == 0 && b.refused)
                r = -EINVAL;
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(root);
        return 0;
}
