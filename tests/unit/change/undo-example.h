/* A record with something in each of its places. To be included after cmocka.h. */
#pragma once

#include "set-before.h"
#include "tidbnumad/change/record.h"

static inline UndoProcess *example_process(UndoRecord *r, pid_t pid, uint64_t start) {
        const ProcessId id = { .pid = pid, .start_ticks = start };
        const CpuSet one = cpu_set("1"), many = cpu_set("0,2,4-7");
        UndoProcess *p = NULL;

        assert_int_equal(undo_record_add(r, &id, &p), 0);
        p->noted_ticks = start + 70;
        assert_int_equal(undo_process_add_thread(p, pid, NULL), 0);
        assert_int_equal(undo_process_add_thread(p, pid + 1, &one), 0);
        assert_int_equal(undo_process_add_thread(p, pid + 2, &one), 0);
        assert_int_equal(undo_process_add_thread(p, pid + 9, &many), 0);
        p->masks_set = true;
        p->given = true;
        return p;
}

static inline void example_add(UndoValues *values, const char *list) {
        const IdSet value = id_set(list);

        assert_int_equal(undo_values_add(values, ID_VIEW(&value)), 1);
}

static inline UndoRecord *example_record(const char *instance, const char *unit) {
        UndoRecord *r = NULL;

        assert_int_equal(undo_record_new(instance, unit, &r), 0);
        set_before(&r->cpus, id_set("0-3"));
        r->cpus.origin = UNDO_PERSISTENT;
        r->cpus.noted = r->mems.noted = unit != NULL;
        example_add(&r->cpus.ours, "3");
        example_add(&r->cpus.ours, "2");
        example_add(&r->mems.ours, "2");
        set_file(&r->cpus, "0-3");
        set_file(&r->mems, "");
        example_add(&r->given, "16,18");
        example_add(&r->given, "8-15");
        example_process(r, 50, 1050)->cpuset = strdup("/a \"b\"\\\xff%41");
        (void)example_process(r, 90, 1090);
        return r;
}

/* The same of one whose unit has a memory limit of ours. */
static inline UndoRecord *example_limited(void) {
        const uint64_t before = UINT64_C(64) << 30;
        UndoRecord *r = example_record("tikv-20160", "tikv-20160.service");

        assert_int_equal(undo_property_set(&r->limit, UNIT_BYTES(&before), UNDO_PERSISTENT), 0);
        set_limit(r, UINT64_C(9) << 30, 17);
        set_limit(r, UINT64_C(7) << 30, 4711);
        return r;
}

/* The same of one that is in a scope of ours. */
static inline UndoRecord *example_scope(void) {
        UndoRecord *r = example_record("tidb-server:4000", NULL);

        assert_int_equal(undo_record_set_scope(r, "tidbnumad-tidb-server:4000-7.scope",
                                               "/user.slice/a\xff%b.scope"),
                         0);
        r->cpus.noted = r->mems.noted = true;
        return r;
}

static inline void assert_same_values(const UndoValues *a, const UndoValues *b) {
        assert_int_equal(a->n, b->n);
        for (size_t i = 0; i < a->n; i++)
                assert_true(id_set_equal(&a->values[i], &b->values[i]));
}

static inline void assert_same_property(const UndoProperty *a, const UndoProperty *b) {
        assert_true(id_view_equal(undo_property_before(a), undo_property_before(b)));
        assert_same_values(&a->ours, &b->ours);
        assert_int_equal(a->origin, b->origin);
        assert_int_equal(!a->file, !b->file);
        if (a->file)
                assert_true(id_set_equal(a->file, b->file));
}

static inline void assert_same_process(const UndoProcess *a, const UndoProcess *b) {
        assert_int_equal(a->id.pid, b->id.pid);
        assert_int_equal(a->id.start_ticks, b->id.start_ticks);
        assert_int_equal(a->noted_ticks, b->noted_ticks);
        assert_int_equal(a->masks_set, b->masks_set);
        assert_int_equal(a->given, b->given);
        assert_int_equal(a->leader, b->leader);
        assert_int_equal(a->n_masks, b->n_masks);
        assert_int_equal(a->n_threads, b->n_threads);
        for (size_t i = 0; i < a->n_masks; i++)
                assert_true(id_set_equal(&a->masks[i], &b->masks[i]));
        for (size_t i = 0; i < a->n_threads; i++)
                assert_memory_equal(&a->threads[i], &b->threads[i], sizeof(a->threads[i]));
        assert_int_equal(!a->cpuset, !b->cpuset);
        if (a->cpuset)
                assert_string_equal(a->cpuset, b->cpuset);
}

static inline void assert_same_record(const UndoRecord *a, const UndoRecord *b) {
        assert_string_equal(a->instance, b->instance);
        assert_int_equal(!a->unit, !b->unit);
        if (a->unit)
                assert_string_equal(a->unit, b->unit);
        assert_int_equal(!a->scope, !b->scope);
        if (a->scope) {
                assert_string_equal(a->scope, b->scope);
                assert_string_equal(a->home, b->home);
        }
        assert_int_equal(a->cpus.noted, b->cpus.noted);
        if (a->cpus.noted) {
                assert_same_property(&a->cpus, &b->cpus);
                assert_same_property(&a->mems, &b->mems);
        }
        assert_int_equal(a->limit.noted, b->limit.noted);
        assert_same_property(&a->limit, &b->limit);
        assert_int_equal(a->limit.since_ticks, b->limit.since_ticks);
        assert_same_values(&a->given, &b->given);
        assert_int_equal(a->n_processes, b->n_processes);
        for (size_t i = 0; i < a->n_processes; i++)
                assert_same_process(&a->processes[i], &b->processes[i]);
}
