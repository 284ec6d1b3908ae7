/* Warnings of the planner, as JSON. */
#include "tidbnumad/publish/placement-json.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/publish/object.h"

static json_t *warning(PlacementWarning warning) {
        Object o = object_new();

        object_set(&o, "rule", object_string(placement_warning_to_rule(warning)));
        object_set(&o, "text", object_string(placement_warning_to_string(warning)));
        return object_finish(&o);
}

json_t *placement_json_warnings(uint32_t warnings) {
        json_t *array = json_array();

        for (unsigned bit = 0; bit < N_PLACEMENT_WARNINGS && array; bit++)
                if (warnings & (1u << bit))
                        array = object_append(array, warning((PlacementWarning)(1u << bit)));
        return array;
}
