/* The journal's messages about an instance. */
#pragma once

#include "tidbnumad/base/text.h"

/* Appends the last messages about the instance from the journal, oldest first, with a heading. If
 * there are none, or the journal cannot be read, appends a sentence that reports this. text->error
 * shows a failure. */
void status_history_render(const char *instance, Text *text);

/* Renders the output of journalctl's `-o json` as lines with local time and message. Invalid lines
 * are omitted. Returns the number of messages. */
size_t status_history_parse(const char *json_lines, Text *text);
