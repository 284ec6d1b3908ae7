/* Why a file is not valid YAML, in the words of a user who wrote it by hand. */
#pragma once

#include <yaml.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/source-file.h"

/* Adds one message for the error of `parser`: its place, what is wrong, and the remedy. */
void policy_yaml_refuse_syntax(const SourceFile *file, const yaml_parser_t *parser,
                               Diagnostics *errors);

/* Finds a character in a plain value that is easily confused with another one, such as a no-break
 * space. Returns a text that names the character and its replacement; `ret_index` is the number of
 * characters before it. NULL: there is none. */
const char *policy_yaml_lookalike(const char *text, size_t size, size_t *ret_index);
