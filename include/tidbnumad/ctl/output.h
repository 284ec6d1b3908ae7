/* Standard output: the terminal's width, and whether all of it arrived. */
#pragma once

#include <jansson.h>

#include "tidbnumad/base/text.h"

/* Columns of the terminal behind standard output; 0 where there is none. */
unsigned output_width(void);

/* 0, or negative errno with a word on stderr. Of a reader that has gone (EPIPE) nothing is said. */
int output_text(const Text *text);

/* Takes over `json`, NULL too. */
int output_json(json_t *json);

/* One line, whatever is in its names: base/utf8.h. */
void output_line(FILE *stream, const char *format, ...) _printf_(2, 3);
