/* One YAML file as a tree with the place of each value.
 *
 * A small part of YAML: one document of mappings, lists and scalars. An alias becomes a copy of
 * what its anchor names, within a bound. Tags are refused, so that a file means what is written
 * in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/diagnostics.h"

/* The policy language needs 7 levels. */
#define YAML_DEPTH_MAX 16u
/* Values that the aliases of a file may expand to, all together. */
#define YAML_EXPANDED_MAX 10000u
#define YAML_ANCHORS_MAX 1000u
/* Enough for 1,024 policies with every key; keeps a hostile 1 MiB at a few MiB of memory. */
#define YAML_NODES_MAX 50000u

typedef enum YamlKind {
        YAML_KIND_EMPTY, /* nothing, or a plain ~ or null */
        YAML_KIND_SCALAR,
        YAML_KIND_LIST,
        YAML_KIND_MAPPING,
        YAML_KIND_ALIAS, /* only until it is expanded; `text` is the anchor's name */
} YamlKind;

typedef struct YamlNode {
        YamlKind kind;
        SourceSpan at; /* an expanded alias is at the place of the alias, and its content where it
                          was written */
        bool quoted;   /* a scalar in quotes or a block scalar */
        char *text;    /* of a scalar and of an empty node; holds no NUL; owned */
        char *anchor;  /* its name, or NULL; owned */
        struct YamlNode *children; /* a mapping: key, value, key, value …; owned */
        size_t n_children;
        size_t allocated;
} YamlNode;

void yaml_node_done(YamlNode *node);
#define _cleanup_yaml_node_ _cleanup_(yaml_node_done)

/* Parses a whole file. A file without content gives YAML_KIND_EMPTY. Returns 0; -EINVAL with
 * messages `path:line:column: …` added to `errors`; -ENOMEM. */
int policy_yaml_parse(const SourceFile *file, YamlNode *ret, Diagnostics *errors);

/* A value as it is safe to show on a terminal and in a log: short, printable ASCII. */
#define YAML_SHOWN_MAX 64u
const char *yaml_show(const char *text, char buffer[static YAML_SHOWN_MAX]);

/* Why a file is not valid YAML, in the words of a user who wrote it by hand. */

/* Adds one message for the error of `parser`: its place, what is wrong, and the remedy. */
void policy_yaml_refuse_syntax(const SourceFile *file, const yaml_parser_t *parser,
                               Diagnostics *errors);

/* Finds a character in a plain value that is easily confused with another one, such as a no-break
 * space. Returns a text that names the character and its replacement; `ret_index` is the number of
 * characters before it. NULL: there is none. */
const char *policy_yaml_lookalike(const char *text, size_t size, size_t *ret_index);
