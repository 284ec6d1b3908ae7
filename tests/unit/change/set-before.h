/* Sets what a unit's property had before. */
#pragma once

#include "../../support/id-sets.h"
#include "tidbnumad/change/record.h"

static inline void set_before(UndoProperty *property, IdSet before) {
        assert_int_equal(undo_property_set(property, ID_VIEW(&before), UNDO_RUNTIME), 0);
}

/* The file of the unit's cgroup had that. */
static inline void set_file(UndoProperty *property, const char *list) {
        const IdSet value = id_set(list);

        property->file = malloc(sizeof(value));
        assert_non_null(property->file);
        *property->file = value;
}

/* Its threads are given these CPUs. */
static inline void set_given(UndoRecord *record, const CpuSet *cpus) {
        const UndoChange change = { .given = ID_VIEW(cpus) };

        assert_int_equal(undo_record_will_change(record, &change, 0), 0);
}

/* Its unit has this memory limit of ours. */
static inline void set_limit(UndoRecord *record, uint64_t bytes, uint64_t now_ticks) {
        const UndoChange change = { .properties[UNIT_LIMIT] = UNIT_BYTES(&bytes) };

        assert_int_equal(undo_record_will_change(record, &change, now_ticks), 0);
}
