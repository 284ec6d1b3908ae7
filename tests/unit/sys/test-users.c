/* User names and numbers. */

#include "../../support/test.h"

#include "tidbnumad/sys/unit-file.h"

TEST(users) {
        uid_t uid = 7;

        assert_int_equal(user_to_uid("root", &uid), 0);
        assert_int_equal(uid, 0);
        assert_int_equal(user_to_uid("1234567", &uid), 0); /* need not have a name */
        assert_int_equal(uid, 1234567);
        assert_int_equal(user_to_uid("4294967294", &uid), 0);
        assert_true(uid == 4294967294u);
        uid = 7;
        /* (uid_t)-1 means "no user" to the kernel. */
        assert_true(user_to_uid("4294967295", &uid) < 0);
        assert_true(user_to_uid("4294967296", &uid) < 0);
        assert_true(user_to_uid("no-such-user-here", &uid) < 0);
        assert_true(user_to_uid("", &uid) < 0);
        assert_true(user_to_uid("-1", &uid) < 0);
        assert_true(user_to_uid("0 ", &uid) < 0);
        assert_int_equal(uid, 7);
}
