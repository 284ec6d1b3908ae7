/* Strings of unknown origin (paths, names from the kernel) as well-formed UTF-8. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/text.h"

/* Appends `length` bytes of `string` to `text`, with U+FFFD in place of each byte that is not part
 * of a well-formed sequence (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above
 * U+10FFFF). Control characters stay. Failure shows in text->error, as everywhere with Text. */
void utf8_sanitize(Text *text, const char *string, size_t length);
