/* The table of keys as a JSON Schema, for editors and other tools. */
#pragma once

#include "tidbnumad/base/text.h"

/* Appends a whole schema (draft 7, which editors know best), with a final newline. What it takes,
 * the loader may still refuse: it knows nothing of the machine, nor of what contradicts itself. */
void policy_schema_render(Text *text);
