/* Scopes of ours: the way home. */
#include "scope-host.h"

static int send_home(Host *h) {
        undo_restore_begin(&h->restore, h->record);
        return scope_send_home(&h->backend, &h->restore);
}

/* --- and home --- */

static void in_scope(Host *h) {
        write_procs(HOME, "40\n");
        write_procs(SCOPE, "50\n60\n");
        fake_process(&h->tree, 50, 1, "/srv/tidb-server", SCOPE, "0-7");
        assert_int_equal(undo_record_set_scope(h->record, NAME, HOME), 0);
}

HOST_TEST(all_come_home) {
        char text[256];

        in_scope(h);
        fake_process(&h->tree, 61, 60, "/bin/helper", SCOPE, "0-7");
        kernel.born = "61";
        assert_int_equal(send_home(h), 1);
        assert_string_equal(read_procs(SCOPE, text), "");
        assert_string_equal(read_procs(HOME, text), "40\n50\n60\n61");
        assert_null(h->restore.shortfall);
        assert_int_equal(send_home(h), 1); /* once more: nothing is left to do */
        assert_int_equal(kernel.n_writes, 3);
}

/* The number in the list is another's by now. */
HOST_TEST(a_number_given_to_another) {
        char text[256];

        in_scope(h);
        fake_process(&h->tree, 60, 1, "/bin/other", "/user.slice/user-8.slice/" NAME, "0-7");
        fake_process(&h->tree, 61, 1, "/bin/other", SCOPE "-2", "0-7");
        write_procs(SCOPE, "60\n61\n50\n");
        assert_int_equal(send_home(h), -EAGAIN);
        assert_string_equal(read_procs(HOME, text), "40\n50");
        assert_int_equal(kernel.n_writes, 1);
}

HOST_TEST(nothing_to_send) {
        assert_int_equal(undo_record_set_scope(h->record, NAME, HOME), 0);
        assert_int_equal(send_home(h), 1); /* it was never made, or has ended */
        write_procs(SCOPE, "70\n");        /* which has ended meanwhile */
        assert_int_equal(send_home(h), -EAGAIN);
        assert_int_equal(kernel.n_writes, 0);
}

HOST_TEST(home_is_gone) {
        static const int errors[] = { -EOPNOTSUPP, -ENOENT, -ENODEV };

        in_scope(h);
        for (size_t i = 0; i < ELEMENTSOF(errors); i++) {
                kernel.error = errors[i];
                assert_int_equal(send_home(h), 0);
                assert_non_null(strstr(h->restore.shortfall, "stays in its own scope"));
        }
        kernel.error = -EPERM;
        assert_int_equal(send_home(h), -EPERM);
        assert_null(h->restore.shortfall);
        kernel.error = 0;
        fake_remove(&h->tree, "sys/fs/cgroup" HOME);
        assert_int_equal(send_home(h), 0);
        assert_non_null(h->restore.shortfall);
}

/* A scope of which no record was left: the original cgroup of its processes is unknown. */
HOST_TEST(home_is_not_known) {
        write_procs(SCOPE, "50\n");
        assert_int_equal(undo_record_set_scope(h->record, NAME, SCOPE), 0);
        assert_int_equal(send_home(h), 0);
        assert_non_null(h->restore.shortfall);
        assert_int_equal(kernel.n_writes, 0);
}
