/* Clocks. */
#include "../../support/test.h"

#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc.h"

/* In the unit of /proc/PID/stat: this process began before now, and not long ago. */
TEST(ticks) {
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        uint64_t now;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, getpid(), &self), 0);
        now = clock_boottime_ticks();
        assert_true(self.start_ticks <= now);
        assert_true(now - self.start_ticks < 3600 * 100);
}
