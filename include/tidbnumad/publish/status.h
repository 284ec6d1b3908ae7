/* A snapshot as JSON. */
#pragma once

#include "tidbnumad/model/snapshot.h"

/* Renders the whole state as one JSON object: indented by 2, keys in a fixed order, a newline at
 * the end. What is not known is null; integers above 2^63-1 are that number. Strings that are not
 * UTF-8 get U+FFFD (utf8.h). The text is the caller's to free. Returns 0 or -ENOMEM. */
int status_render(const Snapshot *snapshot, char **ret_json);
