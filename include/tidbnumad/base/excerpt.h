/* The line of a text that a message is about, with a caret under the place. */
#pragma once

#include "tidbnumad/base/source-file.h"
#include "tidbnumad/base/text.h"

/* So much of a long line is shown, around the place. */
#define EXCERPT_WIDTH 100u

/* Appends two lines, the second without its newline: the source as it is safe on a terminal (one
 * "?" for each character that is not printable ASCII), and a "^" under the column with "~" under
 * the rest of the span. Tabs stand in both, so that they align. Appends nothing where the text has
 * no such line. Lines end where YAML says they do. */
void excerpt_render(const SourceFile *file, SourceSpan at, Text *text);
