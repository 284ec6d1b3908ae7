/* What status and plan say of a placement alike, as JSON. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* PlacementWarning bits as a list of {"rule", "text"}. NULL: no memory. */
json_t *placement_json_warnings(uint32_t warnings);
