/* What the daemon logged about an instance. */
#pragma once

#include "tidbnumad/base/text.h"

/* The last messages about the instance from the journal, oldest first, with a heading. If there is
 * none, or the journal cannot be read, a sentence says so. Failure shows in text->error. */
void status_history_render(const char *instance, Text *text);

/* journalctl's `-o json`, as lines of local time and message. Lines that are not of that form are
 * left out. Returns the number of messages. */
size_t status_history_parse(const char *json_lines, Text *text);
