/* The identity of a boot, and its clock. */
#include <errno.h>
#include <string.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/boot.h"
#include "tidbnumad/sys/proc.h"

#define ID "0a1b2c3d-0001-4000-8000-00000000000f"

TEST(parse) {
        char id[BOOT_ID_SIZE] = "untouched";

        assert_int_equal(boot_id_parse("", id), -EBADMSG);
        assert_int_equal(boot_id_parse(ID "0", id), -EBADMSG);
        assert_int_equal(boot_id_parse("0a1b2c3d-0001-4000-8000-00000000000g", id), -EBADMSG);
        assert_string_equal(id, "untouched");
        assert_int_equal(boot_id_parse(ID, id), 0);
        assert_string_equal(id, ID);
}

TEST(read) {
        char id[BOOT_ID_SIZE];
        _cleanup_fake_ FakeTree tree;

        fake_init(&tree);
        assert_int_equal(boot_id_read(&tree.sysroot, id), -ENOENT);
        fake_write(&tree, "proc/sys/kernel/random/boot_id", ID "\n");
        assert_int_equal(boot_id_read(&tree.sysroot, id), 0);
        assert_string_equal(id, ID);
}

/* In the unit of /proc/PID/stat: this process began before now, and not long ago. */
TEST(ticks) {
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        uint64_t now;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, getpid(), &self), 0);
        now = boot_ticks_now();
        assert_true(self.start_ticks <= now);
        assert_true(now - self.start_ticks < 3600 * 100);
}
