/* What the admin sets on bound units, read again. systemd and the files are the test's. */
#include "../../support/test.h"
#include "../change/set-before.h"

#include "capture.h"
#include "rooms.h"
#include "tidbnumad/daemon/undo/undoing.h"

static struct {
        const char *fragment, *drop_in; /* texts; NULL: it cannot be read */
        const char *path;               /* of the drop-in */
        bool late;                      /* the worker has not read them in time */
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
        UndoRecord *record;
        Instance instance, *pointer;
} World;

static void init(World *w) {
        *w = (World){ 0 };
        memset(&systemd, 0, sizeof(systemd));
        assert_int_equal(sd_bus_new(&systemd.bus), 0);
        systemd.fragment = "[Service]\n";
        systemd.drop_in = "[Service]\n";
        systemd.path = "/etc/systemd/system.control/x.service.d/50-AllowedCPUs.conf";
        rooms_init(&w->rooms);
        w->rooms.host.journal.max_priority = LOG_INFO;
        w->pointer = &w->instance;
        w->rooms.registry.instances = &w->pointer;
        w->rooms.registry.n_instances = 1;
        assert_int_equal(undo_get(&w->rooms.undo.records, "x", "x.service", NULL, &w->record), 0);
        w->record->cpus.noted = w->record->mems.noted = true;
        w->instance.undo.record = w->record;
}

static void done(World *w) {
        undo_admin_end(&w->rooms.undo);
        undo_done(&w->rooms.undo.records);
        sd_bus_unref(systemd.bus);
}
#define WORLD_TEST(test) TEST_WITH(test, World, w, init, done)

/* True: the instance learns of it. */
static bool answer(World *w, const char *says) {
        const BusUnit unit = { .load_state = "loaded",
                               .fragment = "/etc/x.service",
                               .drop_ins = { systemd.path },
                               .n_drop_ins = 1 };
        Capture capture;

        CAPTURE_STDERR(&capture, systemd.reply(0, &unit, systemd.userdata));
        if (says)
                assert_contains(capture.text, says);
        else
                assert_string_equal(capture.text, "");
        return instance_take(&w->instance, WORK_ADMIN);
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
        w->record->releasing = true;
        systemd.drop_in = "[Service]\nAllowedCPUs=3\n";
        assert_false(read_again(w, NULL));
        undo_admin_read_all(&w->rooms.undo);
        systemd.reply(-ENOTCONN, NULL, systemd.userdata);
        assert_false(instance_take(&w->instance, WORK_ADMIN));
        assert_id_view(undo_property_before(&w->record->cpus), "2");
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

/* Its instance ends before systemd or the worker has answered: nothing is read for a record that is
 * gone, and the next unit has its turn. */
WORLD_TEST(ends_during_a_reload) {
        UndoRecord *other;

        assert_int_equal(undo_get(&w->rooms.undo.records, "y", "y.service", NULL, &other), 0);
        other->cpus.noted = other->mems.noted = true;
        systemd.drop_in = "[Service]\nAllowedCPUs=3\n";
        undo_admin_read_all(&w->rooms.undo);
        undo_release_note_left(&w->rooms.undo, &w->instance);
        assert_null(w->instance.undo.record);
        assert_false(answer(w, NULL));
        assert_int_equal(systemd.n_reads, 2);
        assert_id_view(undo_property_before(&other->cpus), "");

        systemd.late = true;
        w->instance.undo.record = other;
        assert_false(answer(w, NULL));
        undo_release_note_left(&w->rooms.undo, &w->instance);
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
        undo_release_note_left(&w->rooms.undo, &w->instance);
        w->rooms.registry.n_instances = 0;
        systemd.late = false;
        undo_admin_read_late(&w->rooms.undo);
        assert_false(answer(w, "sets AllowedCPUs=3"));
        assert_id_view(undo_property_before(&w->record->cpus), "3");
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
