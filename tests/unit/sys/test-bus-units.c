/* What systemd's errors become: of its own kinds libsystemd knows none. */
#include <sys/socket.h>
#include <sys/un.h>

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

/* A bus that takes the connection and never answers: alarm(2) ends the test where that is waited
 * for. */
TEST(bus_that_does_not_answer) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sd_event *event;
        sd_bus *bus;

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/test-bus-%d", getpid());
        (void)unlink(address.sun_path);
        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(
                setenv("DBUS_SYSTEM_BUS_ADDRESS", fmt("unix:path=%s", address.sun_path), 1), 0);
        assert_true(sd_event_new(&event) >= 0);
        (void)alarm(20);
        assert_int_equal(bus_units_open(event, &bus), 0);
        assert_int_equal(bus_units_start(bus, "a.service"), 0);
        assert_int_equal(bus_units_flush(bus, 50000), -ETIMEDOUT);
        (void)bus_units_close(bus);
        (void)alarm(0);
        (void)sd_event_unref(event);
        (void)close(fd);
        (void)unlink(address.sun_path);
}
