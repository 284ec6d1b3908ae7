/* The way back: which instances are to be restored, and what prevents that. */
#include "release-life.h"

/* --- what is wanted --- */

static void set_release(Life *l, char **globs, size_t n) {
        requests_done(&l->m.host.requests);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(requests_add(&l->m.host.requests, globs[i], true), 0);
}

UNIT_LIFE_TEST(wanted) {
        unsigned n;
        char *globs[] = { (char *)"nobody", (char *)"a.serv*" };
        char *name[] = { (char *)"a" };

        bind(l, "2", "1");
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 0); /* it has an instance */
        set_release(l, globs, 1);
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 0);
        set_release(l, globs, 2);
        l->m.host.policies.mode = ENFORCEMENT_OBSERVE; /* paused: an explicit request acts */
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 1);
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 1);
        release(l);
        assert_as_before();
        l->m.host.policies.mode = ENFORCEMENT_ENFORCE;
        set_release(l, globs, 0);
        bind(l, "2", "1");
        undo_release_begin(&l->m.undo, l->m.undo.records.records[0], "a test");
        l->m.host.policies.mode = ENFORCEMENT_OBSERVE; /* paused in the middle of another one */
        n = world.n_operations;
        undo_release_at_due(&l->m.undo, UINT64_MAX / 4);
        assert_int_equal(world.n_operations, n);
        l->m.host.policies.mode = ENFORCEMENT_ENFORCE;
        release(l);
        assert_as_before();
        bind(l, "2", "1");
        set_release(l, name, 1);
        undo_release_check_all(&l->m.undo);
        release(l);
        assert_as_before();
}

static bool is_asked(Life *l) {
        undo_release_check(&l->m.undo, l->instance);
        return undo_release_note_asked(&l->m.undo, l->instance);
}

/* Its port, and with that its name, becomes known when it is bound already. */
THREADS_LIFE_TEST(named_later) {
        char *globs[] = { (char *)"a:4000" };

        bind(l, "2", "1");
        set_release(l, globs, 1);
        assert_false(is_asked(l));
        assert_int_equal(l->m.undo.releases.n, 0);
        free(l->instance->name);
        l->instance->name = strdup("a:4000");
        l->m.host.policies.mode = ENFORCEMENT_OBSERVE; /* paused */
        assert_true(is_asked(l));
        assert_int_equal(l->m.undo.releases.n, 1);
        assert_true(is_asked(l));
        assert_int_equal(l->m.undo.releases.n, 1);
        release(l);
        assert_as_before();
        assert_true(is_asked(l)); /* nothing is left to do */
        assert_int_equal(l->m.undo.releases.n, 0);
}

UNIT_LIFE_TEST(no_place_any_more) {
        UndoRecord *record;

        undo_release_check(&l->m.undo, l->instance); /* nothing is known yet, or was done */
        assert_int_equal(undo_get(&l->m.undo.records, "a", "a.service", NULL, &record), 0);
        undo_adopt(&l->m.undo, l->instance);
        record->cpus.noted = record->mems.noted =
                true; /* what its unit sets may leave it no place */
        l->instance->planned = (Assignment){ .known = true, .refusal = REFUSAL_CGROUP_NODES };
        undo_release_check(&l->m.undo, l->instance);
        assert_int_equal(l->m.undo.releases.n, 0);
        undo_reset(&l->m.undo, record);
        l->instance->planned = (Assignment){ .known = false };
        bind(l, "2", "1");
        place_end(l->instance);
        l->instance->planned = (Assignment){ .known = false };
        undo_release_check(&l->m.undo, l->instance);
        l->instance->planned = (Assignment){ .known = true, .refusal = REFUSAL_NO_PORT_YET };
        undo_release_check(&l->m.undo, l->instance);
        l->instance->planned.refusal = REFUSAL_NONE;
        l->instance->planned.placement.nodes = node_set("1");
        undo_release_check(&l->m.undo, l->instance);
        l->instance->planned.refusal = REFUSAL_RESERVED;
        l->instance->planned.placement.nodes = node_set("");
        l->m.host.policies.mode = ENFORCEMENT_OBSERVE;
        undo_release_check(&l->m.undo, l->instance);
        assert_int_equal(l->m.undo.releases.n, 0);
        l->m.host.policies.mode = ENFORCEMENT_ENFORCE;
        undo_release_check(&l->m.undo, l->instance);
        assert_int_equal(l->m.undo.releases.n, 1);
        release(l);
        assert_as_before();
}

UNIT_LIFE_TEST(watched_only) {
        bind(l, "2", "1");
        l->policy.built_in = true; /* the last file of policies is gone */
        l->m.host.policies_known = false;
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 0); /* refused since the start: nothing is known */
        l->m.host.policies_known = true;
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 1);
        release(l);
        assert_as_before();
}

/* Its unit was started again with another User=. */
UNIT_LIFE_TEST(unit_of_another_user) {
        Policy named = { .match = { .unit = (char *)"a.servic[e]" } };
        Process process = { .id = { 10, 7 }, .exe = strdup("/srv/a"), .unit = strdup("a.service") };
        IgnoredList *ignored = &l->m.registry.ignored;
        ProcHandle none = PROC_HANDLE_NONE;

        bind(l, "2", "1");
        l->m.host.policies.policies = &named;
        l->m.host.policies.n_policies = 1;
        assert_int_equal(ignored_add(ignored, &process, &none, &l->policy, MATCH_OTHER_USER), 0);
        ignored->processes[0].process.uid = 5;
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 0); /* it has an instance */
        registry_remove_process(&l->m.registry, l->instance, 0);
        rooms_free_instance(registry_take_ended(&l->m.registry));
        l->instance = NULL;
        ignored->processes[0].process.uid = 0; /* it may change it itself */
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 0);
        ignored->processes[0].process.uid = 5;
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 1);
        release(l);
        assert_as_before();
        l->m.host.policies = (PolicySet){ 0 };
}

/* The operator asks for it while the policies are refused since the start. */
UNIT_LIFE_TEST(asked_while_no_policy_is_known) {
        char *name[] = { (char *)"a" };

        bind(l, "2", "1");
        l->policy.built_in = true;
        l->m.host.policies_known = false;
        set_release(l, name, 1);
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 1);
        release(l);
        assert_as_before();
}

/* Its process lives, and is no policy's any more. */
THREADS_LIFE_TEST(without_an_instance) {
        bind(l, "2", "1");
        registry_remove_process(&l->m.registry, l->instance, 0);
        rooms_free_instance(registry_take_ended(&l->m.registry));
        l->instance = NULL;
        assert_int_equal(count_files(), 1);
        undo_release_check_all(&l->m.undo);
        assert_int_equal(l->m.undo.releases.n, 1);
        release(l);
        assert_as_before();
}

UNIT_LIFE_TEST(not_bound_again_on_its_way_back) {
        const Step set = { .kind = STEP_SET_CPUS, .reason = "" };

        bind(l, "2", "1");
        undo_release_begin(&l->m.undo, l->m.undo.records.records[0], "a test");
        l->instance->binding.placement.cpus = cpu_set("3");
        assert_false(bind_carry_out(&l->m.binding, l->instance, &set, 0));
        assert_true(is(ID_VIEW(&world.cpus), "2"));
        release(l);
        assert_as_before();
}

THREADS_LIFE_TEST(stop) {
        assert_false(undo_release_before_stop(&l->m.undo)); /* keep */
        l->m.host.policies.on_stop = ON_STOP_RESTORE;
        assert_false(undo_release_before_stop(&l->m.undo)); /* nothing to restore */
        bind(l, "2", "1");
        l->m.host.policies.mode = ENFORCEMENT_OBSERVE;
        assert_false(undo_release_before_stop(&l->m.undo)); /* paused */
        l->m.host.policies.mode = ENFORCEMENT_ENFORCE;
        assert_true(undo_release_before_stop(&l->m.undo));
        assert_int_equal(l->m.undo.releases.n, 1);
        assert_false(host_enforces(&l->m.host)); /* nothing is bound from now on */
        assert_false(l->m.host.queued & HOST_WORK_EXIT);
        release(l);
        assert_as_before();
        assert_true(l->m.host.queued & HOST_WORK_EXIT); /* and not before */
}
