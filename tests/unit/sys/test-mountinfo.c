/* Mounts: lines as kernels write them, and which mount a path is on. */

#include "../../support/test.h"

#include "tidbnumad/sys/namespace.h"

TEST(line) {
        _cleanup_mount_table_ MountTable t = { 0 };

        assert_int_equal(mountinfo_parse("36 35 98:17 /mnt1 /mnt\\0402\\134x rw,noatime master:1 "
                                         "shared:7 - ext3 /dev/my\\011root rw,errors=continue\n"
                                         "37 36 0:45 / /empty rw - fuse.sshfs  rw\n",
                                         &t),
                         0);
        assert_int_equal(t.n_mounts, 2);
        assert_int_equal(t.mounts[0].id, 36);
        assert_int_equal(t.mounts[0].parent, 35);
        assert_int_equal(t.mounts[0].major, 98);
        assert_int_equal(t.mounts[0].minor, 17);
        assert_string_equal(t.mounts[0].point, "/mnt 2\\x");
        assert_string_equal(t.mounts[0].type, "ext3");
        assert_string_equal(t.mounts[0].source, "/dev/my\troot");
        assert_string_equal(t.mounts[1].source, "");
        assert_string_equal(t.mounts[1].type, "fuse.sshfs");
        assert_ptr_equal(mount_table_find_id(&t, 37), &t.mounts[1]);
        assert_null(mount_table_find_id(&t, 35));
}

TEST(what_is_no_mountinfo) {
        static const char *const broken[] = {
                "x\n",
                "36 35 98:0 /mnt1 /mnt2 rw ext3 /dev/root rw\n", /* no hyphen */
                "36 35 98:0 /mnt1 /mnt2 rw - ext3\n",
                "36 35 98:0 /mnt1 /mnt2 rw - ext3 /dev/root\n",
                "36 35 98 /mnt1 /mnt2 rw - ext3 /dev/root rw\n",
                "36 35 98:x /mnt1 /mnt2 rw - ext3 /dev/root rw\n",
                "36 35 4294967296:0 /mnt1 /mnt2 rw - ext3 /dev/root rw\n",
                "36 35 98:0 /mnt1 mnt2 rw - ext3 /dev/root rw\n",
                "a 35 98:0 /mnt1 /mnt2 rw - ext3 /dev/root rw\n",
                "36 35 98:0 / / rw - ext3 /dev/root rw\n\n37 36 0:1 / /a rw - tmpfs a rw\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(broken); i++) {
                MountTable t = { .allocated = 7 };

                assert_int_equal(mountinfo_parse(broken[i], &t), -EBADMSG);
                assert_int_equal(t.allocated, 7);
        }
}

TEST(unescape) {
        char text[] = "\\040\\134\\000\\400\\08\\1\\0a\\377";

        mountinfo_unescape(text);
        assert_string_equal(text, " \\\\000\\400\\08\\1\\0a\377");
}

static void assert_found(const char *text, const char *path, uint64_t id) {
        _cleanup_mount_table_ MountTable t = { 0 };
        const Mount *mount;

        assert_int_equal(mountinfo_parse(text, &t), 0);
        mount = mount_table_find(&t, path);
        if (id == 0)
                assert_null(mount);
        else {
                assert_non_null(mount);
                assert_int_equal(mount->id, id);
        }
}

TEST(deepest) {
        static const char text[] = "1 1 0:2 / / rw - rootfs rootfs rw\n"
                                   "30 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
                                   "41 40 8:4 / /data/kv rw - ext4 /dev/sda4 rw\n"
                                   "40 30 8:3 / /data rw - ext4 /dev/sda3 rw\n";

        assert_found(text, "/", 30);
        assert_found(text, "/dat", 30);
        assert_found(text, "/database", 30);
        assert_found(text, "/data", 40);
        assert_found(text, "/data/k", 40);
        assert_found(text, "/data/kv", 41);
        assert_found(text, "/data/kv/20160/db", 41);
        assert_found(text, "data", 0);
        assert_found("", "/", 0);
}

/* An automount, and what it brought. */
TEST(the_last_on_one_point) {
        static const char text[] = "30 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
                                   "40 30 0:30 / /data rw - autofs systemd-1 rw\n"
                                   "41 40 8:3 / /data rw - ext4 /dev/sda3 rw\n"
                                   "42 41 8:4 / /data rw - xfs /dev/sda4 rw\n";

        assert_found(text, "/data/x", 42);
}

/* /data/kv was mounted first, then another file system on /data. */
TEST(a_mount_that_is_hidden) {
        static const char text[] = "30 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
                                   "40 30 8:3 / /data/kv rw - ext4 /dev/sda3 rw\n"
                                   "41 30 8:4 / /data rw - ext4 /dev/sda4 rw\n";

        assert_found(text, "/data/kv", 41);
}

/* A file that was truncated, or written by hand. */
TEST(parts_and_circles) {
        assert_found("30 1 8:2 / / rw - ext4 a rw\n50 49 8:3 / /data/kv rw - ext4 b rw\n",
                     "/data/kv/x", 50);
        assert_found("40 30 8:3 / /data rw - ext4 a rw\n", "/srv", 0);
        assert_found("40 30 8:3 / /data rw - ext4 a rw\n30 1 8:3 / /srv rw - ext4 a rw\n", "/data",
                     40);
        assert_found("30 1 8:3 / / rw - ext4 a rw\n1 1 0:2 / / rw - rootfs a rw\n", "/data", 30);
        assert_found("2 3 8:3 / /a rw - ext4 a rw\n3 2 8:3 / /a rw - ext4 a rw\n", "/a", 0);
        assert_found("1 1 8:3 / / rw - ext4 a rw\n2 1 8:3 / /a rw - ext4 a rw\n"
                     "1 2 8:3 / /a rw - ext4 a rw\n",
                     "/a/b", 1);
}
