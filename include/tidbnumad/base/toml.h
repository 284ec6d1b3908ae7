/* One string out of a TOML file (toml.io, 1.0), for looking at the configuration of others: no tree
 * is built, and what is not understood is passed over, as its owner has judged it already. */
#pragma once

#include <stddef.h>

/* The string `key` of the table `table`, or of the top for NULL. Both are single names, without
 * dots. The first one counts. Found in the forms [table]                  table.key = "basic, with
 * escapes" key = 'literal' also with blanks, comments and quoted names; not in inline tables,
 * [[arrays of tables]] and strings of several lines. The text may hold any bytes. The caller owns
 * the result, which holds no NUL and otherwise any byte. -ENOENT: not there; -EBADMSG: it is there,
 * but no string, or a broken one; -ENOMEM. */
int toml_find_string(const char *text, size_t size, const char *table, const char *key, char **ret);
