/* The lists of CPUs or nodes that the text of a unit file or drop-in assigns to a key of [Service],
 * as systemd reads them (systemd.syntax(7), config_parse_allowed_cpuset()): several assignments add
 * up, also those of several files; an empty one takes all before it back; what cannot be read is
 * left out. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/id-set.h"

/* Continues with the text of the next file. True: `set` is changed by it. */
bool unit_file_add(const char *text, const char *key, IdSet *set);
