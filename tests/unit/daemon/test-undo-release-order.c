/* Several released at once: the masks of threads come after the groups of all of them. The backends
 * here only note what they are asked for, and a group's takes as long as the test wants. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "rooms.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

#define SEC(n) ((uint64_t)(n)*1000000)

static struct {
        const char *slow; /* whose group does not show yet */
        int slow_result;
        BackendCall *call; /* of that one */
        char said[64];     /* whose masks, in order */
        const ProcessId *late;
} seen;

bool __wrap_workers_write_group_of(const Workers *workers, const ProcessId *process);
bool __wrap_workers_write_group_of(_unused_ const Workers *workers, const ProcessId *process) {
        return seen.late && process_id_equal(seen.late, process);
}

static int fake_group(Backend *backend, UndoRestore *restore, BackendCall *call) {
        (void)backend;
        if (!seen.slow || strcmp(restore->record->instance, seen.slow) != 0)
                return 1;
        seen.call = call;
        return seen.slow_result;
}

static int fake_masks(Backend *backend, UndoRestore *restore, BackendCall *call) {
        (void)backend;
        (void)call;
        (void)strncat(seen.said, restore->record->instance,
                      sizeof(seen.said) - strlen(seen.said) - 1);
        return 1;
}

static const BackendOps group_ops = { .name = "group", .restore = fake_group };
static const BackendOps masks_ops = { .name = "masks", .restore = fake_masks };
static const BackendOps *const all_ops[] = {
        [BACKEND_SYSTEMD] = &group_ops,
        [BACKEND_CGROUP1] = &group_ops,
        [BACKEND_AFFINITY] = &masks_ops,
};

typedef struct TestHost {
        FakeTree tree;
        Args args;
        Rooms rooms;
        uint64_t now_usec;
} TestHost;

static void host_init(TestHost *h) {
        Rooms *m = &h->rooms;

        memset(&seen, 0, sizeof(seen));
        *h = (TestHost){ 0 };
        fake_init(&h->tree);
        *m = (Rooms){ .host.args = &h->args,
                      .host.sysroot = h->tree.sysroot,
                      .host.policies_known = true,
                      .host.journal = { .max_priority = LOG_EMERG } };
        rooms_wire(m);
        m->host.sysroot.live = true;
        m->host.backend.sysroot = &m->host.sysroot;
        m->host.backend.ops = &group_ops;
        m->host.backend.all = all_ops;
        assert_int_equal(undo_open(&m->undo.records, h->tree.fd), 0);
        assert_int_equal(sd_event_new(&m->host.event), 0);
        assert_int_equal(undo_release_start(&m->undo), 0);
        for (const char *name = "ab"; *name; name++) {
                const char instance[] = { *name, '\0' }, unit[] = { *name, '.', 's', '\0' };
                UndoRecord *record;

                assert_int_equal(undo_get(&m->undo.records, instance, unit, NULL, &record), 0);
                undo_release_begin(&m->undo, record, "the test wants it");
        }
        h->now_usec = clock_monotonic_usec();
}

static void host_done(TestHost *h) {
        undo_release_done(&h->rooms.undo);
        undo_done(&h->rooms.undo.records);
        requests_done(&h->rooms.host.requests);
        sd_event_unref(h->rooms.host.event);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

static void later(TestHost *h) {
        h->now_usec += SEC(1);
        undo_release_at_due(&h->rooms.undo, h->now_usec);
}

static void assert_masks_wait_for(const char *slow) {
        _cleanup_host_ TestHost h;

        host_init(&h);
        seen.slow = slow;
        seen.slow_result = -EAGAIN;
        later(&h);
        later(&h);
        assert_string_equal(seen.said, "");
        seen.slow = NULL;
        later(&h);
        later(&h);
        assert_int_equal(strlen(seen.said), 2);
        assert_int_equal(h.rooms.undo.releases.n, 0);
}

TEST(masks_wait_for_all_groups) {
        assert_masks_wait_for("a");
        assert_masks_wait_for("b");
}

/* On a busy host a group may fail once: when it is released after all, systemd disables the
 * controller, and masks that were restored before are lost. */
HOST_TEST(for_one_that_fails_once) {
        seen.slow = "b";
        seen.slow_result = -EIO;
        later(h);
        later(h);
        assert_string_equal(seen.said, "");
        seen.slow = NULL;
        for (unsigned i = 0; i < 5; i++)
                later(h);
        assert_int_equal(strlen(seen.said), 2);
        assert_int_equal(h->rooms.undo.releases.n, 0);
}

/* It is tried again for as long as it takes. */
HOST_TEST(not_for_one_that_keeps_failing) {
        seen.slow = "b";
        seen.slow_result = -EIO;
        for (unsigned i = 0; i < 20; i++)
                later(h);
        assert_string_equal(seen.said, "a");
        assert_int_equal(h->rooms.undo.releases.n, 1);
}

/* A pause stops what was not asked for, and what was is not held up by that. */
HOST_TEST(not_for_one_that_is_paused) {
        seen.slow = "b";
        seen.slow_result = -EAGAIN;
        assert_int_equal(requests_add(&h->rooms.host.requests, "a", true), 0);
        undo_release_check_all(&h->rooms.undo);
        h->rooms.host.requests.paused = true;
        later(h);
        later(h);
        assert_string_equal(seen.said, "a");
}

/* Stopping, and the last that was left fails for the last time: the end is not put off. */
HOST_TEST(the_last_is_given_up) {
        Undoing *undo = &h->rooms.undo;
        uint64_t usec;

        undo_release_done(undo);
        undo_forget(&undo->records, undo->records.records[0]);
        assert_int_equal(undo_release_start(undo), 0);
        h->rooms.host.policies.on_stop = ON_STOP_RESTORE;
        assert_true(undo_release_before_stop(&h->rooms.undo));
        seen.slow = "b";
        for (unsigned i = 0; i < 3; i++) {
                assert_true(h->rooms.undo.releases.n > 0);
                h->now_usec += SEC(5);
                undo_release_at_due(&h->rooms.undo, h->now_usec);
                seen.call->reply(&(Error){ .code = -EIO }, seen.call->userdata);
        }
        assert_int_equal(h->rooms.undo.releases.n, 0);
        assert_int_equal(h->rooms.undo.records.n_records, 1);
        assert_true(sd_event_source_get_time(h->rooms.undo.releases.timer, &usec) >= 0);
        assert_true(usec <= clock_monotonic_usec());
}

/* What binds it was late, and is not done yet. */
HOST_TEST(waits_for_a_late_write) {
        const ProcessId id = { .pid = 50, .start_ticks = 7 };
        UndoProcess *entry;

        assert_int_equal(undo_record_add(h->rooms.undo.records.records[0], &id, &entry), 0);
        seen.late = &id;
        later(h);
        later(h);
        assert_int_equal(h->rooms.undo.releases.n, 1);
        assert_string_equal(seen.said, "b");
        seen.late = NULL;
        later(h);
        assert_int_equal(h->rooms.undo.releases.n, 0);
}
