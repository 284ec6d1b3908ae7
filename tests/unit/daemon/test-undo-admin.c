/* What the admin sets on bound units, read again. systemd and the files are the test's. */
#include "../../support/fake-tree.h"
#include "../../support/test.h"
#include "../change/set-before.h"

#include "capture.h"
#include "rooms.h"
#include "tidbnumad/daemon/undo/undoing.h"

static struct {
        const char *fragment, *drop_in; /* texts; NULL: it cannot be read */
        const char *path;               /* of the drop-in */
        bool late;                      /* the worker has not read them in time */
        uint64_t memory_max;
        unsigned n_reads;
        BusUnitReply reply; /* of the read that is in flight */
        void *userdata;
        sd_bus *bus; /* which is not connected: its slots are those of reads in flight */
} systemd;

static int nothing(_unused_ sd_bus_message *message, _unused_ void *userdata,
                   _unused_ sd_bus_error *error) {
        return 0;
}

int __wrap_backend_systemd_ensure_bus(Backend *backend);
int __wrap_backend_systemd_ensure_bus(_unused_ Backend *backend) {
        return 0;
}

int __wrap_bus_manager_read_unit(sd_bus *bus, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot);
int __wrap_bus_manager_read_unit(_unused_ sd_bus *bus, _unused_ const char *unit,
                                 BusUnitReply reply, void *userdata, sd_bus_slot **ret_slot) {
        systemd.n_reads++;
        systemd.reply = reply;
        systemd.userdata = userdata;
        return sd_bus_add_filter(systemd.bus, ret_slot, nothing, NULL);
}

int __wrap_worker_read_script(Workers *workers, const Sysroot *sysroot, const char *path, bool any,
                              char **ret);
int __wrap_worker_read_script(_unused_ Workers *workers, _unused_ const Sysroot *sysroot,
                              const char *path, bool any, char **ret) {
        const char *text = strcmp(path, "/etc/x.service") == 0 ? systemd.fragment : systemd.drop_in;

        assert_true(any);
        if (systemd.late)
                return -ETIME;
        if (!text)
                return -ETIMEDOUT;
        *ret = strdup(text);
        return 0;
}

typedef struct World {
        Rooms rooms;
        Policy policy;
        UndoRecord *record;
        Instance *instance;
} World;

/* A service whose values before are recorded: nothing is set. */
static Instance *recorded(World *w, pid_t pid, const char *name, UndoRecord **ret) {
        const char *unit = fmt("%s.service", name);
        Process process = { .id = { pid, 100 }, .exe = strdup("/x"), .unit = strdup(unit) };
        Instance *i = rooms_add(&w->rooms, &w->policy, &process, NULL);

        assert_int_equal(undo_get(&w->rooms.undo.records, name, unit, NULL, ret), 0);
        (*ret)->cpus.noted = (*ret)->mems.noted = true;
        undo_adopt(&w->rooms.undo, i);
        return i;
}

/* Its last process does. */
static void instance_ends(World *w, Instance *i) {
        registry_remove_process(&w->rooms.registry, i, 0);
        assert_ptr_equal(registry_take_ended(&w->rooms.registry), i);
        undo_release_note_left(&w->rooms.undo, i);
        rooms_free_instance(i);
}

static void init(World *w) {
        *w = (World){ .policy = { .name = (char *)"p" } };
        memset(&systemd, 0, sizeof(systemd));
        assert_int_equal(sd_bus_new(&systemd.bus), 0);
        systemd.fragment = "[Service]\n";
        systemd.drop_in = "[Service]\n";
        systemd.path = "/etc/systemd/system.control/x.service.d/50-AllowedCPUs.conf";
        systemd.memory_max = UINT64_MAX;
        rooms_init(&w->rooms);
        w->rooms.host.journal.max_priority = LOG_INFO;
        w->instance = recorded(w, 10, "x", &w->record);
        (void)instance_take(w->instance, WORK_DISPATCHED);
}

static void done(World *w) {
        rooms_free_instances(&w->rooms);
        undo_admin_end(&w->rooms.undo);
        undo_release_done(&w->rooms.undo);
        undo_done(&w->rooms.undo.records);
        sd_bus_unref(systemd.bus);
}
#define WORLD_TEST(test) TEST_WITH(test, World, w, init, done)

/* True: the instance learns of it. */
static bool answer(World *w, const char *says) {
        const BusUnit unit = { .load_state = "loaded",
                               .fragment = "/etc/x.service",
                               .drop_ins = { systemd.path },
                               .n_drop_ins = 1,
                               .memory_max = systemd.memory_max };
        Capture capture;

        CAPTURE_STDERR(&capture, systemd.reply(0, &unit, systemd.userdata));
        if (says)
                assert_contains(capture.text, says);
        else
                assert_string_equal(capture.text, "");
        return w->instance && instance_take(w->instance, WORK_ADMIN);
}

static bool read_again(World *w, const char *says) {
        undo_admin_read_all(&w->rooms.undo);
        return answer(w, says);
}

WORLD_TEST(set_after_the_binding) {
        assert_false(read_again(w, NULL));
        systemd.drop_in = "[Service]\nAllowedCPUs=\nAllowedCPUs=0-6\n";
        assert_true(read_again(w, "50-AllowedCPUs.conf sets AllowedCPUs=0-6"));
        assert_id_view(undo_property_before(&w->record->cpus), "0-6");
        assert_int_equal(w->record->cpus.origin, UNDO_PERSISTENT);
        assert_false(read_again(w, NULL)); /* once */
        systemd.drop_in = "[Service]\n";
        assert_true(read_again(w, "no file of x.service sets AllowedCPUs="));
        assert_int_equal(w->record->cpus.origin, UNDO_UNSET);
        assert_id_view(undo_property_before(&w->record->cpus), "");
}

WORLD_TEST(several_files) {
        systemd.fragment = "[Service]\nAllowedMemoryNodes=1\n";
        systemd.drop_in = "[Service]\nAllowedMemoryNodes=3\n";
        assert_true(read_again(w, "sets AllowedMemoryNodes=1,3"));
        assert_id_view(undo_property_before(&w->record->mems), "1,3");
        assert_id_view(undo_property_before(&w->record->cpus), "");
}

/* What is set at run time is in such files too: by us, or by somebody before us. */
WORLD_TEST(values_of_run_time) {
        systemd.path = "/run/systemd/system.control/x.service.d/50-AllowedCPUs.conf";
        systemd.drop_in = "[Service]\nAllowedCPUs=3\n";
        assert_false(read_again(w, NULL));
        systemd.path = "/run/systemd/transient/x.service.d/50-AllowedCPUs.conf";
        assert_false(read_again(w, NULL));
        systemd.path = "/run/systemd/transient/x.service";
        assert_true(read_again(w, "sets AllowedCPUs=3"));
        set_before(&w->record->cpus, id_set("2"));
        systemd.path = "/run/systemd/system.control/x.service.d/50-AllowedCPUs.conf";
        assert_false(read_again(w, NULL));
        assert_id_view(undo_property_before(&w->record->cpus), "2");
        systemd.path = "/etc/x.conf"; /* reverted */
        systemd.drop_in = "[Service]\n";
        assert_true(read_again(w, "no file of x.service sets AllowedCPUs="));
}

WORLD_TEST(what_is_not_known_changes_nothing) {
        set_before(&w->record->cpus, id_set("2"));
        w->record->cpus.origin = UNDO_PERSISTENT;
        systemd.drop_in = NULL;
        assert_false(read_again(w, NULL));
        assert_id_view(undo_property_before(&w->record->cpus), "2");
        w->record->restoring = true;
        systemd.drop_in = "[Service]\nAllowedCPUs=3\n";
        assert_false(read_again(w, NULL));
        undo_admin_read_all(&w->rooms.undo);
        systemd.reply(-ENOTCONN, NULL, systemd.userdata);
        assert_false(instance_take(w->instance, WORK_ADMIN));
        assert_id_view(undo_property_before(&w->record->cpus), "2");
}

/* `systemctl set-property`, and at once `tidbnumactl release`. */
WORLD_TEST(a_release_waits_for_what_is_read) {
        systemd.drop_in = "[Service]\nAllowedCPUs=3\n";
        w->rooms.host.stopping = true;
        undo_admin_read(&w->rooms.undo, w->record);
        undo_release_begin(&w->rooms.undo, w->record, "it is tested");
        undo_release_at_due(&w->rooms.undo, UINT64_MAX / 2);
        assert_true(answer(w, "sets AllowedCPUs=3"));
        assert_id_view(undo_property_before(&w->record->cpus), "3");
}

/* What a busy host's worker reads late is not lost until the next daemon-reload. */
WORLD_TEST(a_late_worker) {
        systemd.drop_in = "[Service]\nAllowedCPUs=3\n";
        undo_admin_read_late(&w->rooms.undo);
        assert_int_equal(systemd.n_reads, 0); /* nothing is late yet */
        systemd.late = true;
        assert_false(read_again(w, NULL));
        systemd.late = false;
        undo_admin_read_late(&w->rooms.undo);
        assert_int_equal(systemd.n_reads, 2);
        assert_true(answer(w, "sets AllowedCPUs=3"));
        assert_id_view(undo_property_before(&w->record->cpus), "3");
        undo_admin_read_late(&w->rooms.undo);
        assert_int_equal(systemd.n_reads, 2);
}

/* A limit of ours that is about to be written. */
static const uint64_t our_limit = 5000;

static UndoChange limit_begin(World *w, FakeTree *tree) {
        const UndoChange change = { .properties[UNIT_LIMIT] = UNIT_BYTES(&our_limit),
                                    .exclusive = true };

        fake_init(tree);
        assert_int_equal(undo_open(&w->rooms.undo.records, tree->fd), 0);
        assert_int_equal(undo_note_limit(&w->rooms.host.sysroot, w->record, UINT64_MAX), 0);
        assert_int_equal(undo_before(&w->rooms.undo, w->record, &change), 0);
        return change;
}

/* At the start of the daemon both are under way: what systemd has read is older than our limit. */
WORLD_TEST(a_limit_that_is_written_while_it_is_read) {
        Undoing *undo = &w->rooms.undo;
        _cleanup_fake_ FakeTree tree = { .fd = -EBADF };
        UndoChange change;

        undo_admin_read_all(undo);
        change = limit_begin(w, &tree);
        assert_false(answer(w, NULL));
        assert_ptr_equal(undo_limit_of(w->instance), w->record);
        systemd.memory_max = our_limit;
        undo_after(undo, w->record, &change, true);
        undo_admin_read_late(undo); /* is read once more, behind it */
        assert_int_equal(systemd.n_reads, 2);
        assert_false(answer(w, NULL));
        assert_int_equal(undo_record_limit_last(undo_limit_of(w->instance)), our_limit);
        systemd.memory_max = 4000;
        assert_true(read_again(w, NULL)); /* the admin's */
        assert_null(undo_limit_of(w->instance));
}

/* A daemon that ended in between had recorded it, and reclaimed page cache by it. Nobody would lift
 * it if it were forgotten; the property is still to be set. */
WORLD_TEST(a_limit_that_was_recorded_and_not_set) {
        _cleanup_fake_ FakeTree tree = { .fd = -EBADF };
        const UndoChange change = limit_begin(w, &tree);

        undo_after(&w->rooms.undo, w->record, &change, false);
        assert_false(w->record->limit_unset);
        assert_true(read_again(w, NULL));
        assert_true(w->record->limit_unset);
        assert_int_equal(undo_record_limit_last(undo_limit_of(w->instance)), our_limit);
        assert_false(read_again(w, NULL));
        assert_int_equal(undo_before(&w->rooms.undo, w->record, &change), 0);
        undo_after(&w->rooms.undo, w->record, &change, true);
        assert_false(w->record->limit_unset);
        systemd.memory_max = our_limit;
        assert_false(read_again(w, NULL));
}

/* With each property that is set, systemd writes the limit to the kernel's file again. */
WORLD_TEST(a_limit_that_is_lifted_is_lifted_for_systemd) {
        InstanceMemoryLimit *l = &w->instance->binding.limit;
        _cleanup_fake_ FakeTree tree;
        const UndoChange change = limit_begin(w, &tree);

        undo_after(&w->rooms.undo, w->record, &change, true);
        l->memory = (LimitMemory){ .limit_bytes = our_limit, .current_bytes = our_limit };
        l->memory_known = true;
        assert_null(undo_target(w->instance).unlimited); /* it is in force */
        l->memory.limit_bytes = UINT64_MAX;
        assert_ptr_equal(undo_target(w->instance).unlimited, w->record);
        l->memory.current_bytes = our_limit / 2; /* it will be in force */
        assert_null(undo_target(w->instance).unlimited);
        l->lifted = true;
        assert_ptr_equal(undo_target(w->instance).unlimited, w->record);
        l->memory.limit_bytes = UINT64_C(1) << 30; /* the admin's */
        assert_null(undo_target(w->instance).unlimited);
}

/* Its instance ends before systemd or the worker has answered: nothing is read for a record that is
 * gone, and the next unit has its turn. */
WORLD_TEST(ends_during_a_reload) {
        UndoRecord *other;
        Instance *y = recorded(w, 20, "y", &other);

        systemd.drop_in = "[Service]\nAllowedCPUs=3\n";
        undo_admin_read_all(&w->rooms.undo);
        instance_ends(w, w->instance);
        w->instance = y;
        assert_int_equal(w->rooms.undo.records.n_records, 1);
        assert_false(answer(w, NULL));
        assert_int_equal(systemd.n_reads, 2);
        assert_id_view(undo_property_before(&other->cpus), "");

        systemd.late = true;
        assert_false(answer(w, NULL));
        instance_ends(w, y);
        w->instance = NULL;
        systemd.late = false;
        undo_admin_read_late(&w->rooms.undo);
        assert_int_equal(systemd.n_reads, 2);
}

/* With values of ours on the unit the record stays: it has what the unit gets back then. */
WORLD_TEST(ends_with_values_of_ours_on_its_unit) {
        const IdSet ours = id_set("2");

        assert_int_equal(undo_values_add(&w->record->cpus.ours, ID_VIEW(&ours)), 1);
        systemd.drop_in = "[Service]\nAllowedCPUs=3\n";
        systemd.late = true;
        assert_false(read_again(w, NULL));
        instance_ends(w, w->instance);
        w->instance = NULL;
        systemd.late = false;
        undo_admin_read_late(&w->rooms.undo);
        assert_false(answer(w, "sets AllowedCPUs=3"));
        assert_id_view(undo_property_before(&w->record->cpus), "3");
}

/* Nobody waits for the answer any more, so the release must not either. */
WORLD_TEST(ends_while_its_limit_is_written) {
        Undoing *undo = &w->rooms.undo;
        _cleanup_fake_ FakeTree tree;

        w->instance->binding.binder = &w->rooms.binding;
        assert_int_equal(sd_bus_add_filter(systemd.bus, &w->instance->binding.limit.call.slot,
                                           nothing, NULL),
                         0);
        (void)limit_begin(w, &tree);
        instance_ends(w, w->instance);
        w->instance = NULL;
        backend_init(&w->rooms.host.backend, &w->rooms.host.sysroot, NULL);
        w->rooms.host.stopping = true;
        undo_release_begin(undo, w->record, "it is tested");
        undo_release_at_due(undo, UINT64_MAX / 2);
        assert_int_equal(systemd.n_reads, 1); /* it goes on: what the unit has */
}

/* Not of a scope of ours, and not before the unit's own values are noted. */
WORLD_TEST(what_has_no_files) {
        w->record->cpus.noted = w->record->mems.noted = false;
        undo_admin_read_all(&w->rooms.undo);
        w->record->cpus.noted = w->record->mems.noted = true;
        w->record->scope = strdup("tidbnumad-x.scope");
        undo_admin_read(&w->rooms.undo, w->record);
        assert_int_equal(systemd.n_reads, 0);
}
