/* The way back: which instances are to be given back, what prevents that, and the records without
 * which nothing is changed. */
#include "sequence-host.h"

static void bound_init(Daemon *d) {
        begin(d, 1, 0, REFUSED, 0);
        wait_for(d, INSTANCE_BOUND);
}
#define BOUND_TEST(test) TEST_WITH(test, Daemon, d, bound_init, end)

static bool is_releasing(const Daemon *d) {
        return d->rooms.undo.releases.n > 0;
}

static void ask_for(Daemon *d, const char *glob) {
        assert_int_equal(requests_add(&d->rooms.host.requests, glob, true), 0);
        undo_release_check_all(&d->rooms.undo);
}

static void assert_given_back(Daemon *d) {
        for (unsigned n = 0; n < PASSES_MAX && d->rooms.undo.records.n_records > 0; n++)
                daemon_pass(d);
        assert_as_before(d);
        assert_false(is_releasing(d));
}

static void end_instance(Daemon *d) {
        registry_remove_process(&d->rooms.registry, d->instance, 0);
        d->instance = NULL;
}

/* --- what is wanted --- */

/* What an operator asks for is done also while the daemon is paused, and where no policies are in
 * force, but not in a dry run. */
TEST(asked_for) {
        static const struct {
                const char *glob;
                EnforcementMode mode;
                bool no_policies, dry_run, given_back;
        } rows[] = {
                { "nobody", ENFORCEMENT_ENFORCE, .given_back = false },
                { "sequence-test", ENFORCEMENT_ENFORCE, .given_back = true },
                { "sequence-test.serv*", ENFORCEMENT_ENFORCE, .given_back = true },
                { "sequence-test", ENFORCEMENT_OBSERVE, .given_back = true },
                { "sequence-test", ENFORCEMENT_ENFORCE, .no_policies = true, .given_back = true },
                { "sequence-test", ENFORCEMENT_ENFORCE, .dry_run = true },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Daemon d;

                bound_init(&d);
                undo_release_check_all(&d.rooms.undo);
                assert_false(is_releasing(&d)); /* it has an instance */
                d.rooms.host.policies.mode = rows[k].mode;
                d.policy.built_in = rows[k].no_policies;
                d.rooms.host.policies_known = !rows[k].no_policies;
                d.args.dry_run = rows[k].dry_run;
                ask_for(&d, rows[k].glob);
                undo_release_check_all(&d.rooms.undo);
                assert_int_equal(d.rooms.undo.releases.n, rows[k].given_back);
                if (rows[k].given_back)
                        assert_given_back(&d);
                end(&d);
        }
}

/* Its port, and with that its name, becomes known when it is bound already. */
TEST(named_later) {
        Daemon d;

        world_init(SCOPE, "", "", "4-7");
        world.wanted.mems = world.effective.mems; /* in a scope memory is not bound */
        daemon_init(&d);
        wait_for(&d, INSTANCE_BOUND);
        ask_for(&d, "a:4000");
        daemon_pass(&d);
        assert_false(is_releasing(&d));
        rooms_set_port(d.instance, 4000);
        assert_int_equal(registry_rename(&d.rooms.registry, d.instance), 0);
        d.rooms.host.policies.mode = ENFORCEMENT_OBSERVE; /* paused */
        daemon_pass(&d);
        assert_true(is_releasing(&d));
        assert_given_back(&d);
        wait_for(&d, INSTANCE_RELEASED);
        end(&d);
}

/* A pause stops what nobody asked for, also in the middle. */
BOUND_TEST(paused) {
        unsigned n;

        undo_release_begin(&d->rooms.undo, d->rooms.undo.records.records[0], "a test");
        d->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        n = world.n_calls;
        daemon_pass(d);
        daemon_pass(d);
        assert_int_equal(world.n_calls, n);
        d->rooms.host.policies.mode = ENFORCEMENT_ENFORCE;
        assert_given_back(d);
}

/* Until it is unmasked, and what prevents it is said with the unit's name. */
BOUND_TEST(masked) {
        world.load_state = "masked";
        ask_for(d, "sequence-test");
        for (unsigned n = 0; n < PASSES_MAX && d->rooms.undo.releases.list[0]->retry.failures == 0;
             n++)
                daemon_pass(d);
        assert_string_equal(error_sentence(&d->rooms.undo.releases.list[0]->failure),
                            "systemd: its unit is masked; run systemctl unmask "
                            "sequence-test.service");
        world.load_state = "loaded";
        assert_given_back(d);
}

/* Its nodes change meanwhile: it is not bound to others before it is back. */
BOUND_TEST(not_bound_again_on_its_way_back) {
        undo_release_begin(&d->rooms.undo, d->rooms.undo.records.records[0], "a test");
        d->policy.place.nodes = node_set("0");
        host_queue(&d->rooms.host, HOST_WORK_PLAN);
        place_refresh(&d->rooms.placing);
        instance_queue(d->instance, WORK_POLICY);
        daemon_pass(d);
        assert_false(id_set_has(&world.properties.mems, 0) &&
                     !sets_equal(&world.properties, &world.before));
        assert_given_back(d);
}

/* --- without a place --- */

static void replan(Daemon *d) {
        host_queue(&d->rooms.host, HOST_WORK_PLAN);
        place_refresh(&d->rooms.placing);
        undo_release_check_all(&d->rooms.undo);
}

BOUND_TEST(no_place_any_more) {
        PolicyInstance by_port = { .match.port = 4000 };

        d->policy.place.nodes = node_set("");
        d->policy.instances = &by_port;
        d->policy.n_instances = 1;
        place_note_policies(&d->rooms.placing, &d->rooms.host.policies);
        replan(d);
        assert_false(is_releasing(d)); /* its port may become known */
        d->policy.n_instances = 0;
        d->policy.place.nodes = node_set("1");
        d->nodes[1].cpus = cpu_set("");
        d->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        replan(d);
        assert_false(is_releasing(d));
        d->rooms.host.policies.mode = ENFORCEMENT_ENFORCE;
        undo_release_check_all(&d->rooms.undo);
        assert_true(is_releasing(d));
        assert_given_back(d);
}

/* What its unit sets itself leaves it no place, as its record says. */
TEST(never_had_a_place) {
        const Place places[] = { { .nodes = node_set("1") },
                                 { .count = 1, .avoid = node_set("0") } };

        for (size_t k = 0; k < ELEMENTSOF(places); k++) {
                Daemon d;

                world_init(SERVICE, "", "0", "4-7");
                daemon_init(&d);
                d.policy.place = places[k];
                for (unsigned n = 0; n < 10; n++) {
                        daemon_pass(&d);
                        undo_release_check_all(&d.rooms.undo);
                        assert_false(is_releasing(&d));
                }
                assert_int_equal(d.rooms.undo.records.n_records, 1);
                assert_int_equal(world.n_writes, 0);
                end(&d);
        }
}

/* --- without a policy --- */

/* The last file of policies is gone; but where they are refused since the start, nothing is known.
 */
BOUND_TEST(watched_only) {
        d->policy.built_in = true;
        d->rooms.host.policies_known = false;
        undo_release_check_all(&d->rooms.undo);
        assert_false(is_releasing(d));
        d->rooms.host.policies_known = true;
        d->rooms.host.reloading = true; /* nor before all were looked at */
        undo_release_check_all(&d->rooms.undo);
        assert_false(is_releasing(d));
        d->rooms.host.reloading = false;
        undo_release_check_all(&d->rooms.undo);
        assert_true(is_releasing(d));
        assert_given_back(d);
}

/* Its unit starts again: with another User= it is given back; root may change it itself. */
TEST(unit_without_an_instance) {
        static const struct {
                const char *unit; /* that a policy names */
                uid_t user;       /* of an ignored process in it; UINT_MAX: none */
                bool given_back;
        } rows[] = {
                { "sequence-tes[t].service", UINT_MAX, false },
                { "another.service", UINT_MAX, true },
                { "sequence-tes[t].service", 0, false },
                { "sequence-tes[t].service", 5, true },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Process process = { .id = { 10, 7 },
                                    .exe = strdup("/srv/a"),
                                    .unit = strdup("sequence-test.service"),
                                    .uid = rows[k].user };
                Policy named = { .name = (char *)"p", .match.unit = (char *)rows[k].unit };
                ProcHandle none = PROC_HANDLE_NONE;
                Daemon d;

                bound_init(&d);
                d.rooms.host.policies.policies = &named;
                if (rows[k].user != UINT_MAX)
                        assert_int_equal(ignored_add(&d.rooms.registry.ignored, &process, &none,
                                                     &named, MATCH_OTHER_USER),
                                         0);
                undo_release_check_all(&d.rooms.undo);
                assert_false(is_releasing(&d)); /* it has an instance */
                end_instance(&d);
                undo_release_check_all(&d.rooms.undo);
                assert_int_equal(is_releasing(&d), rows[k].given_back);
                if (rows[k].given_back)
                        assert_given_back(&d);
                process_done(&process);
                end(&d);
        }
}

/* --- the end of the daemon --- */

BOUND_TEST(stop) {
        Undoing *undo = &d->rooms.undo;
        Host *host = &d->rooms.host;

        assert_false(undo_release_before_stop(undo)); /* keep */
        host->policies.on_stop = ON_STOP_RESTORE;
        host->policies.mode = ENFORCEMENT_OBSERVE;
        assert_false(undo_release_before_stop(undo)); /* paused */
        host->policies.mode = ENFORCEMENT_ENFORCE;
        assert_true(undo_release_before_stop(undo));
        assert_true(is_releasing(d));
        assert_false(host_enforces(host)); /* nothing is bound from now on */
        while (d->rooms.undo.records.n_records > 0) {
                assert_false(host->queued & HOST_WORK_EXIT);
                daemon_pass(d);
        }
        assert_given_back(d);
        assert_true(host->queued & HOST_WORK_EXIT);
        undo_release_end_stop(undo);
        assert_false(undo_release_before_stop(undo)); /* nothing to restore */
}

/* --- the folder of records --- */

static void daemon_start_anew(Daemon *d) {
        daemon_done(d);
        daemon_init(d);
}

/* It cannot be opened when the daemon starts. */
BOUND_TEST(opens_late) {
        Undoing *undo = &d->rooms.undo;
        const int dir = world.tree.fd;
        unsigned n;

        assert_false(undo_start_late(undo)); /* it is open */
        assert_int_equal(renameat(dir, "undo", dir, "elsewhere"), 0);
        fake_write(&world.tree, "undo", "no folder");
        daemon_start_anew(d);
        assert_false(undo_is_open(undo));
        assert_non_null(strstr(undo_release_explain(undo, d->instance), "cannot be restored"));
        assert_false(undo_start_late(undo));
        d->policy.place.nodes = node_set("0");
        group_write("memory.numa_stat", "anon N0=4096 N1=0\nfile N0=0 N1=0");
        n = world.n_writes;
        (void)instance_take(d->instance, WORK_DISPATCHED);
        binding_work(&d->rooms.binding, d->instance, WORK_JOINED, world.now);
        for (unsigned s = 0; s < 10; s++)
                reconcile_due(&d->rooms.binding, world.now + SEC(s));
        assert_int_equal(world.n_writes, n); /* nothing is changed without a record */

        assert_int_equal(unlinkat(dir, "undo", 0), 0);
        assert_int_equal(renameat(dir, "elsewhere", dir, "undo"), 0);
        assert_true(undo_start_late(undo));
        assert_true(instance_take(d->instance, WORK_RECORD));
        instance_queue(d->instance, WORK_RECORD);
        assert_true(undo_is_open(undo));
        assert_true(undo_admin_limits_plan(undo, d->instance)); /* it has its record */
        assert_non_null(
                strstr(undo_release_explain(undo, d->instance), "original binding restored"));
        assert_false(undo_start_late(undo));
        world.wanted = (Sets){ id_set("0-3"), id_set("0") };
        wait_for(d, INSTANCE_BOUND);
        assert_bound(d);
        request(d, true);
        wait_for(d, INSTANCE_RELEASED);
        assert_as_before(d); /* what the earlier run had noted */
}

/* Of a dump nothing is ever restored. */
BOUND_TEST(folder_is_not_needed) {
        Undoing *undo = &d->rooms.undo;

        undo_done(&undo->records);
        d->args.dry_run = true;
        assert_true(undo_is_open(undo));
        d->args.dry_run = false;
        undo_init(&undo->records, &d->rooms.host.sysroot);
        assert_true(undo_start_late(undo));
}

/* --- what its unit sets itself --- */

TEST(own_properties) {
        static const struct {
                const char *cpus, *nodes;
                MemoryMode memory;
                const char *left_cpus, *left_nodes; /* NULL: nothing is */
        } rows[] = {
                { "2-7", "0-1", MEMORY_BIND, "2-5", "1" },
                { "2-5", "1-3", MEMORY_BIND, "2-5", "1" },
                { "2-5", "2", MEMORY_BIND, NULL, NULL },
                { "2-5", "2", MEMORY_PREFERRED, "2-5", "2" }, /* holds no memory anywhere */
                { "7", "1", MEMORY_BIND, NULL, NULL },
                { "7", "", MEMORY_BIND, "7", "" },
        };
        static const struct {
                const char *cpus, *nodes; /* that its groups allow; "": all */
                const char *left_cpus, *left_nodes;
        } limits[] = { { "", "", "0-5", "1" },
                       { "4-7", "0-5", "4-5", "1" },
                       { "7", "0", "0-5", "1" } };
        const Undoing *undo;
        CpuSet cpus = { 0 };
        NodeSet nodes = { 0 };
        Daemon d;

        world_init(SERVICE, "0-5", "1", "4-5");
        daemon_init(&d);
        undo = &d.rooms.undo;
        assert_ids(undo_open_nodes(undo, d.instance), "0-1"); /* it was not read yet: all */
        undo_add_admin_limits(undo, d.instance, &cpus, &nodes);
        assert_ids(cpus, "");
        wait_for(&d, INSTANCE_BOUND);
        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                Placement p = { .cpus = cpu_set(rows[k].cpus),
                                .nodes = node_set(rows[k].nodes),
                                .memory = rows[k].memory };
                const char *why = undo_apply_admin_limits(undo, d.instance, &p);

                assert_int_equal(why == NULL, rows[k].left_cpus != NULL);
                assert_ids(p.cpus, why ? rows[k].cpus : rows[k].left_cpus);
                assert_ids(p.nodes, why ? rows[k].nodes : rows[k].left_nodes);
        }
        assert_true(undo_admin_limits_plan(undo, d.instance)); /* it is placed among these */
        assert_ids(undo_open_nodes(undo, d.instance), "1");
        for (size_t k = 0; k < ELEMENTSOF(limits); k++) {
                cpus = cpu_set(limits[k].cpus);
                nodes = node_set(limits[k].nodes);
                undo_add_admin_limits(undo, d.instance, &cpus, &nodes);
                assert_ids(cpus, limits[k].left_cpus);
                assert_ids(nodes, limits[k].left_nodes);
        }
        end(&d);
}
