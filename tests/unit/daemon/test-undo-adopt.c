/* Without policies: what an earlier run has bound, as policies that hold it where it is. */
#include "../../support/id-sets.h"
#include "../../support/test.h"

#include "tidbnumad/daemon/undo/undoing.h"

/* Two nodes of four CPUs each, and what an earlier run has written. */
typedef struct World {
        Node nodes[2];
        Host host;
        Undoing undo;
        UndoRecord *records[4];
} World;

static void world_begin(World *w) {
        *w = (World){ .nodes = { { .id = 0, .cpus = cpu_set("0-3") },
                                 { .id = 1, .cpus = cpu_set("4-7") } } };
        w->host.topology = (Topology){ .nodes = w->nodes, .n_nodes = 2 };
        w->undo = (Undoing){ .host = &w->host, .records = { .records = w->records } };
}

static UndoRecord *add(World *w, const char *name, const char *unit) {
        UndoRecord *record;

        assert_int_equal(undo_record_new(name, unit, &record), 0);
        w->records[w->undo.records.n_records++] = record;
        return record;
}

static void set(UndoValues *values, const char *text) {
        const CpuSet value = cpu_set(text);

        assert_true(undo_values_add(values, ID_VIEW(&value)) >= 0);
}

static void world_done(World *w) {
        for (size_t i = 0; i < w->undo.records.n_records; i++)
                undo_record_free(w->records[i]);
}
#define _cleanup_world_ _cleanup_(world_done)

TEST(a_unit) {
        _cleanup_world_ World w;
        _cleanup_policy_set_ PolicySet set_of = { 0 };
        UndoRecord *record;
        const Policy *p;

        world_begin(&w);
        record = add(&w, "tikv-1", "tikv\\x2d[1].service");
        set(&record->cpus.ours, "0-3");
        set(&record->cpus.ours, "4-6"); /* the last is what is wanted */
        set(&record->mems.ours, "1");
        assert_int_equal(undo_make_policies(&w.undo, &set_of), 0);
        assert_int_equal(set_of.n_policies, 1);
        assert_int_equal(set_of.mode, ENFORCEMENT_ENFORCE);
        assert_int_equal(policy_set_count_written(&set_of), 0);
        p = &set_of.policies[0];
        assert_string_equal(p->match.unit, "tikv\\\\x2d\\[1].service"); /* it alone */
        assert_null(p->match.ids);
        assert_ids(p->place.nodes, "1");
        assert_false(p->place.count_is_set);
        assert_int_equal(p->cpus.choice, CPUS_LIST);
        assert_ids(p->cpus.list, "4-6");
        assert_int_equal(p->memory, MEMORY_BIND);
        assert_int_equal(p->migrate, MIGRATE_NONE);
        assert_int_equal(p->backend, POLICY_BACKEND_AUTO);
}

/* A widened one: its place is that of its CPUs. */
TEST(a_unit_with_more_memory_nodes) {
        _cleanup_world_ World w;
        _cleanup_policy_set_ PolicySet set_of = { 0 };
        UndoRecord *record;

        world_begin(&w);
        record = add(&w, "tikv-1", "tikv-1.service");
        set(&record->cpus.ours, "4-7");
        set(&record->mems.ours, "0-1");
        assert_int_equal(undo_make_policies(&w.undo, &set_of), 0);
        assert_ids(set_of.policies[0].place.nodes, "1");
        assert_int_equal(set_of.policies[0].memory, MEMORY_BIND);
}

TEST(processes_by_affinity) {
        const ProcessId id = { .pid = 7, .start_ticks = 70 };
        _cleanup_world_ World w;
        _cleanup_policy_set_ PolicySet set_of = { 0 };
        UndoRecord *record;
        UndoProcess *process;
        const Policy *p;

        world_begin(&w);
        record = add(&w, "tidb:1", NULL);
        assert_int_equal(undo_record_add(record, &id, &process), 0);
        set(&record->given, "0-1");
        assert_int_equal(undo_make_policies(&w.undo, &set_of), 0);
        assert_int_equal(set_of.n_policies, 1);
        p = &set_of.policies[0];
        assert_null(p->match.unit);
        assert_int_equal(p->match.n_ids, 1);
        assert_true(process_id_equal(&p->match.ids[0], &id));
        assert_int_equal(p->memory, MEMORY_NONE);
        assert_int_equal(p->backend, POLICY_BACKEND_AFFINITY);
        assert_ids(p->cpus.list, "0-1");
}

TEST(what_cannot_be_held) {
        _cleanup_world_ World w;
        _cleanup_policy_set_ PolicySet set_of = { 0 };
        UndoRecord *record;

        world_begin(&w);
        (void)add(&w, "not yet bound", "a.service");
        record = add(&w, "its CPUs are gone", "b.service");
        set(&record->cpus.ours, "100-101");
        record = add(&w, "without a process", NULL);
        set(&record->given, "0");
        assert_int_equal(undo_make_policies(&w.undo, &set_of), 0);
        assert_int_equal(set_of.n_policies, 0);
}
