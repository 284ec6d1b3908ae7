/* Sets what a unit's property had before. */
#pragma once

#include "../../support/id-sets.h"
#include "tidbnumad/change/record.h"

static inline void set_before(UndoProperty *property, IdSet before) {
        assert_int_equal(undo_property_set(property, ID_VIEW(&before), UNDO_RUNTIME), 0);
}
