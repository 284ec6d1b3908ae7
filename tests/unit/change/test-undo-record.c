/* What a record knows: which value is ours, which CPUs a thread had. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "set-before.h"
#include "tidbnumad/change/record.h"

static int will_set(UndoValues *v, const char *value) {
        const IdSet set = id_set(value);

        return undo_values_add(v, ID_VIEW(&set));
}

static bool is_ours(const UndoValues *v, const char *value) {
        const IdSet set = id_set(value);

        return undo_values_have(v, ID_VIEW(&set));
}

TEST(what_is_ours) {
        UndoValues v = { 0 };

        assert_false(is_ours(&v, "0-3"));
        assert_false(is_ours(&v, ""));
        assert_ids(undo_values_last(&v), "");
        assert_int_equal(will_set(&v, "2"), 1);
        assert_true(is_ours(&v, "2"));
        assert_false(is_ours(&v, "1"));
        assert_int_equal(will_set(&v, "2"), 0); /* is written down already */
        undo_values_clear(&v);
        assert_false(is_ours(&v, "2"));
}

/* Between the record and the change, the daemon may be killed: either value may be in place. */
TEST(one_value_to_the_next) {
        UndoValues v = { 0 };

        (void)will_set(&v, "2");
        assert_int_equal(will_set(&v, "3"), 1);
        assert_int_equal(will_set(&v, "4"), 1); /* 3 was refused, or seemed to be */
        assert_true(is_ours(&v, "2") && is_ours(&v, "3") && is_ours(&v, "4"));
        assert_ids(undo_values_last(&v), "4");
        assert_int_equal(will_set(&v, "2"), 1); /* is wanted again */
        assert_ids(undo_values_last(&v), "2");
        undo_values_confirm(&v);
        assert_true(is_ours(&v, "2"));
        assert_false(is_ours(&v, "3") || is_ours(&v, "4"));
        undo_values_clear(&v);
}

TEST(no_more_values_than_that) {
        UndoValues v = { 0 };

        for (uint32_t i = 0; i < UNDO_VALUES_MAX + 2; i++) {
                IdSet one = { 0 };

                id_set_add(&one, i);
                assert_int_equal(undo_values_add(&v, ID_VIEW(&one)), 1);
        }
        assert_int_equal(v.n, UNDO_VALUES_MAX);
        assert_true(is_ours(&v, "0")); /* it is in place if none of the other writes succeeded */
        assert_false(is_ours(&v, "1") || is_ours(&v, "2"));
        assert_true(is_ours(&v, "3"));
        assert_ids(undo_values_last(&v), "9");
        undo_values_clear(&v);
}

static void add(UndoProcess *p, pid_t tid, const char *mask) {
        const CpuSet set = mask ? cpu_set(mask) : (CpuSet){ 0 };

        assert_int_equal(undo_process_add_thread(p, tid, mask ? &set : NULL), 0);
}

static void assert_mask(const UndoProcess *p, pid_t tid, uint64_t start, const char *expected) {
        const CpuSet *mask = undo_process_mask(p, tid, start);

        if (!expected)
                assert_null(mask);
        else
                assert_ids(*mask, expected);
}

static UndoRecord *new_record(void) {
        UndoRecord *r = NULL;

        assert_int_equal(undo_record_new("a", "a.service", &r), 0);
        return r;
}

static UndoProcess *new_process(UndoRecord *r, pid_t pid) {
        const ProcessId id = { .pid = pid, .start_ticks = 50 };
        UndoProcess *p = NULL;

        assert_int_equal(undo_record_add(r, &id, &p), 0);
        p->noted_ticks = 100;
        return p;
}

TEST(masks_of_threads) {
        UndoRecord *r = new_record();
        UndoProcess *p = new_process(r, 10);

        add(p, 10, NULL);
        add(p, 11, NULL);
        add(p, 12, "3");
        add(p, 13, "3");
        add(p, 15, "3"); /* beside a gap */
        add(p, 16, "4");
        add(p, 17, NULL);
        assert_int_equal(p->n_threads, 5);
        assert_int_equal(p->n_masks, 2);
        assert_mask(p, 9, 60, NULL);
        assert_mask(p, 10, 60, NULL);
        assert_mask(p, 12, 60, "3");
        assert_mask(p, 13, 100, "3");
        assert_mask(p, 14, 60, NULL); /* not seen: as the first one */
        assert_mask(p, 15, 60, "3");
        assert_mask(p, 16, 60, "4");
        assert_mask(p, 16, 101, NULL); /* another thread, that got the number since */
        assert_mask(p, 18, 60, NULL);
        undo_record_free(r);
}

/* One for each subset of the CPUs is what an attacker makes. */
TEST(not_every_mask_is_kept) {
        UndoProcess p = { .id.pid = 1 };
        uint32_t index;

        for (uint32_t i = 0; i < UNDO_MASKS_MAX + 10; i++) {
                CpuSet mask = { 0 };

                id_set_add(&mask, i);
                assert_int_equal(undo_process_find_mask(&p, &mask, &index), 0);
                assert_int_equal(index, i < UNDO_MASKS_MAX ? i : UNDO_FOLLOWS);
        }
        assert_int_equal(p.n_masks, UNDO_MASKS_MAX);
        free(p.masks);
}

TEST(young_threads_have_what_the_first_one_had) {
        UndoRecord *r = new_record();
        UndoProcess *p = new_process(r, 10);

        add(p, 7, NULL); /* numbers go round */
        add(p, 10, "2-3");
        add(p, 12, NULL);
        assert_mask(p, 12, 60, NULL);
        assert_mask(p, 12, 101, "2-3");
        assert_mask(p, 99, 101, "2-3");
        undo_record_free(r);
}

TEST(inherits) {
        UndoRecord *r = new_record();
        UndoProcess *maker, *born;

        (void)new_process(r, 10);
        born = new_process(r, 20);
        maker = &r->processes[0];
        add(maker, 10, "2-3");
        add(maker, 11, "5");
        maker->cpuset = strdup("/home");
        add(born, 20, "7");
        add(born, 21, "7");
        assert_int_equal(undo_process_inherit(born, maker), 0);
        assert_mask(born, 20, 60, "2-3");
        assert_mask(born, 21, 60, "2-3");
        assert_string_equal(born->cpuset, "/home");
        maker->leader = UNDO_FOLLOWS;
        assert_int_equal(undo_process_inherit(born, maker), 0);
        assert_mask(born, 20, 60, NULL);
        undo_record_free(r);
}

TEST(find_and_remove) {
        UndoRecord *r = new_record();
        ProcessId id = { .pid = 20, .start_ticks = 50 };

        assert_true(undo_record_is_empty(r));
        (void)new_process(r, 10);
        (void)new_process(r, 20);
        assert_ptr_equal(undo_record_find(r, &id), &r->processes[1]);
        id.start_ticks = 51; /* the number, given to another one */
        assert_null(undo_record_find(r, &id));
        r->stale = false;
        undo_record_remove(r, 0);
        assert_true(r->stale);
        assert_int_equal(r->n_processes, 1);
        assert_int_equal(r->processes[0].id.pid, 20);
        assert_false(undo_record_is_empty(r));
        undo_record_remove(r, 0);
        assert_true(undo_record_is_empty(r));
        (void)will_set(&r->mems.ours, "2");
        assert_true(undo_record_is_empty(r)); /* the original value was not read yet */
        r->cpus.noted = r->mems.noted = true;
        assert_false(undo_record_is_empty(r));
        undo_record_free(r);
}

TEST(given) {
        UndoRecord *r = new_record();
        const CpuSet two = cpu_set("2"), three = cpu_set("3");

        new_process(r, 10)->given = true;
        r->stale = false;
        set_given(r, &two);
        assert_true(r->stale);
        assert_false(r->processes[0].given); /* others, that it has not got yet */
        r->processes[0].given = true;
        set_given(r, &two);
        assert_true(r->processes[0].given);
        set_given(r, &three);
        assert_true(is_ours(&r->given, "2") && is_ours(&r->given, "3"));
        undo_record_free(r);
}

static bool limit_is_ours(const UndoRecord *r, uint64_t bytes) {
        return undo_record_is_ours(r, UNIT_LIMIT, UNIT_BYTES(&bytes));
}

TEST(limits_that_may_be_ours) {
        const uint64_t last = 900;
        const UndoChange done = { .properties[UNIT_LIMIT] = UNIT_BYTES(&last) };
        UndoRecord *r = new_record();

        assert_int_equal(undo_record_limit_last(r), 0);
        assert_int_equal(undo_record_limit_before(r), UINT64_MAX);
        assert_false(limit_is_ours(r, UINT64_MAX));
        set_before(&r->limit, (IdSet){ 0 });
        set_limit(r, 100, 7);
        set_limit(r, 100, 9);
        assert_int_equal(r->limit.since_ticks, 7); /* the same is no news */
        for (uint64_t bytes = 200; bytes <= last; bytes += 100)
                set_limit(r, bytes, bytes);
        assert_int_equal(undo_record_limit_last(r), 900);
        assert_int_equal(r->limit.since_ticks, 900);
        assert_true(limit_is_ours(r, 100)); /* it was confirmed */
        assert_true(limit_is_ours(r, 800));
        assert_false(limit_is_ours(r, 200));
        assert_true(undo_record_has_unit(r));
        undo_record_did_change(r, &done);
        assert_true(limit_is_ours(r, 900));
        assert_false(limit_is_ours(r, 100));
        undo_record_forget_limit(r);
        assert_false(undo_record_has_unit(r));
        undo_record_free(r);
}

/* Where systemd has a value of ours, others have set what was there before; else it is theirs. */
TEST(what_others_have_set) {
        const IdSet theirs = id_set("0-3"), ours = id_set("2"), third = id_set("5");
        const UndoChange change = { .properties[UNIT_CPUS] = ID_VIEW(&ours) };
        UndoRecord *r = new_record();

        assert_id_view(undo_record_own(NULL, UNIT_CPUS, ID_VIEW(&ours)), "2");
        assert_id_view(undo_record_own(r, UNIT_CPUS, ID_VIEW(&ours)), "2");
        set_before(&r->cpus, theirs);
        assert_id_view(undo_record_own(r, UNIT_CPUS, ID_VIEW(&ours)), "2");
        assert_int_equal(undo_record_will_change(r, &change, 0), 0);
        assert_true(undo_record_is_ours(r, UNIT_CPUS, ID_VIEW(&ours)));
        assert_id_view(undo_record_own(r, UNIT_CPUS, ID_VIEW(&ours)), "0-3");
        assert_id_view(undo_record_own(r, UNIT_CPUS, ID_VIEW(&third)), "5");
        assert_id_view(undo_record_own(r, UNIT_MEMS, ID_VIEW(&ours)), "2");
        undo_record_free(r);
}
