/* What systemd's errors become: of its own kinds libsystemd knows none. */
#include <errno.h>

#include "../../support/test.h"

#include "tidbnumad/sys/bus-units.h"

static void assert_error(const char *name, int expected) {
        const sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(name, "because");

        assert_int_equal(bus_units_error(&error), -expected);
}

TEST(errors) {
        assert_error("org.freedesktop.systemd1.UnitMasked", ERFKILL);
        assert_error("org.freedesktop.systemd1.NoSuchUnit", ENOENT);
        assert_error("org.freedesktop.systemd1.LoadFailed", ENOEXEC);
        assert_error("org.freedesktop.systemd1.BadUnitSetting", ENOEXEC);
        assert_error("org.freedesktop.systemd1.UnitExists", EEXIST);
        assert_error("org.freedesktop.systemd1.NoUnitForPID", ESRCH);
        assert_error("org.freedesktop.systemd1.TransactionIsDestructive", EDEADLK);
        assert_error(SD_BUS_ERROR_SERVICE_UNKNOWN, ENOTCONN);
        assert_error(SD_BUS_ERROR_NAME_HAS_NO_OWNER, ENOTCONN);
        assert_error(SD_BUS_ERROR_DISCONNECTED, ENOTCONN);
        assert_error(SD_BUS_ERROR_ACCESS_DENIED, EACCES);
        assert_error(SD_BUS_ERROR_NO_REPLY, ETIMEDOUT);
        assert_error("System.Error.EPERM", EPERM);
        assert_error("org.freedesktop.systemd1.OfAnotherVersion", EIO);
        assert_int_equal(bus_units_error(NULL), 0);
}
