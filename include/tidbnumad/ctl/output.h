/* Standard output: the terminal's width, and whether all of it arrived. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/error.h"
#include "tidbnumad/base/text.h"

/* Columns of the terminal on standard output; 0: it is no terminal. */
unsigned output_width(void);

/* Are colours used? Only on a terminal, and not if NO_COLOR is set or TERM is dumb. */
bool output_colors(void);

/* Does the locale have other letters than ASCII? */
bool output_utf8(void);

/* On a terminal, lines are broken between words so that they fit, and continued with an indentation
 * of two. Where the locale is not UTF-8, other letters than ASCII become "~" or "?". Control
 * characters are escaped, but for colours. 0, or negative errno, with a message on stderr unless
 * the reader has gone (EPIPE). */
int output_text(const Text *text);

/* Renders what output_text() writes to such a terminal or file. */
void output_fit(const Text *text, unsigned width, bool colors, bool utf8, Text *ret);

/* JSON is written as it is. */
int output_json(const Text *text);

/* A message, on standard error as a rule: fitted as by output_text(), without colours. */
void output_lines(FILE *stream, const Text *text);

/* Prints one line; control characters in names are escaped, see base/text.h. */
void output_line(FILE *stream, const char *format, ...) _printf_(2, 3);

/* Prints its sentence, if it has one, and empties it. */
void output_error(Error *error);

/* Without memory a command says so and ends: what it holds is its own alone. Else they return what
 * they are given: any result but -ENOMEM, any block, the text. Not for `top`, while it has the
 * terminal. */
int must(int r);
void *must_have(void *memory);
const char *must_text(const Text *text);

/* What helps this user, who may not read a process. */
const char *output_may_read(void);
