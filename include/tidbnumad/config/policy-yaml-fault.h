/* Why a file is not valid YAML, in the words of a user who wrote it by hand. */
#pragma once

#include <yaml.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/source-file.h"

/* Adds one message for the error of `parser`: its place, what is wrong, and the remedy. */
void policy_yaml_refuse_syntax(const SourceFile *file, const yaml_parser_t *parser,
                               Diagnostics *errors);

/* A character in a plain value that looks like another one, such as a no-break space: what it is
 * and what to write in its place; `ret_index` counts the characters before it. NULL: none. */
const char *policy_yaml_lookalike(const char *text, size_t size, size_t *ret_index);
