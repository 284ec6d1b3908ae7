/* What systemd's errors become: of its own kinds libsystemd knows none. */
#include <sys/socket.h>
#include <sys/un.h>

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
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
        (void)bus_units_close(bus);
        (void)alarm(0);
        (void)sd_event_unref(event);
        (void)close(fd);
        (void)unlink(address.sun_path);
}

/* --- what a scope has set, out of systemd's answer --- */

typedef struct Answer {
        sd_bus *bus;
        sd_bus_message *message;
} Answer;

/* No one is at the other end: messages are made here, and read here. */
static void answer_init(Answer *a) {
        int ends[2];

        *a = (Answer){ 0 };
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_true(sd_bus_new(&a->bus) >= 0);
        assert_true(sd_bus_set_fd(a->bus, ends[0], ends[0]) >= 0);
        assert_true(sd_bus_start(a->bus) >= 0);
        closep(&ends[1]);
        assert_true(sd_bus_message_new_method_call(a->bus, &a->message, "a.b", "/a", "a.b", "C") >=
                    0);
        assert_true(sd_bus_message_open_container(a->message, 'a', "{sv}") >= 0);
}

static void answer_done(Answer *a) {
        sd_bus_message_unref(a->message);
        bus_units_close(a->bus);
}
#define _cleanup_answer_ _cleanup_(answer_done)

#define ANSWER_TEST(test) TEST_WITH(test, Answer, a, answer_init, answer_done)

static BusScopeState parse(Answer *a) {
        BusScopeState got;

        assert_true(sd_bus_message_close_container(a->message) >= 0);
        assert_true(sd_bus_message_seal(a->message, 1, 0) >= 0);
        assert_int_equal(bus_scope_parse(a->message, &got), 0);
        return got;
}

#define add(a, ...) assert_true(sd_bus_message_append((a)->message, "{sv}", __VA_ARGS__) >= 0)

/* What systemd 257 answers for a scope of which nothing was asked. */
static void add_unset(Answer *a) {
        static const char *const numbers[] = {
                "CPUWeight",          "StartupCPUWeight", "CPUQuotaPerSecUSec",
                "CPUQuotaPeriodUSec", "IOWeight",         "BlockIOWeight",
                "MemoryHigh",         "MemoryMax",        "MemoryLimit",
                "MemorySwapMax",      "MemoryZSwapMax",   "StartupMemoryMax",
                "CPUShares",          "RuntimeMaxUSec",   "MemoryPressureThresholdUSec"
        };
        static const char *const zeroes[] = { "MemoryMin", "MemoryLow", "DefaultMemoryLow",
                                              "StartupMemoryLow", "RuntimeRandomizedExtraUSec" };
        static const char *const used[] = { "MemoryCurrent",  "MemoryPeak",
                                            "TasksCurrent",   "CPUUsageNSec",
                                            "IPEgressBytes",  "IOReadOperations",
                                            "ControlGroupId", "EffectiveMemoryMax",
                                            "MemoryAvailable" };

        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                add(a, numbers[i], "t", UINT64_MAX);
        for (size_t i = 0; i < ELEMENTSOF(zeroes); i++)
                add(a, zeroes[i], "t", UINT64_C(0));
        for (size_t i = 0; i < ELEMENTSOF(used); i++)
                add(a, used[i], "t", UINT64_C(4096));
        add(a, "Slice", "s", "user-1000.slice");
        add(a, "ControlGroup", "s", "/user.slice/user-1000.slice/session-1.scope");
        add(a, "Result", "s", "success");
        add(a, "KillMode", "s", "control-group");
        add(a, "KillSignal", "i", 15);
        add(a, "SendSIGKILL", "b", 1);
        add(a, "OOMPolicy", "s", "continue");
        add(a, "CPUAccounting", "b", 1);
        add(a, "TasksMax", "t", UINT64_C(4915));
        add(a, "TimeoutStopUSec", "t", UINT64_C(77));
        add(a, "SendSIGHUP", "b", 1);
        add(a, "DevicePolicy", "s", "auto");
        add(a, "ManagedOOMSwap", "s", "auto");
        add(a, "ManagedOOMMemoryPressure", "s", "auto");
        add(a, "ManagedOOMMemoryPressureLimit", "u", 0);
        add(a, "ManagedOOMPreference", "s", "none");
        add(a, "MemoryPressureWatch", "s", "auto");
        add(a, "MemoryZSwapWriteback", "b", 1);
        add(a, "AllowedCPUs", "ay", 0);
        add(a, "DeviceAllow", "a(ss)", 0);
        add(a, "IPAddressDeny", "a(iayu)", 0);
        add(a, "BPFProgram", "a(ss)", 0);
        add(a, "RestrictNetworkInterfaces", "(bas)", 0, 0);
        add(a, "Delegate", "b", 0);
}

ANSWER_TEST(nothing_is_set) {
        BusScopeState got;

        add_unset(a);
        got = parse(a);
        if (got.limit)
                fail_msg("%s is no limit", got.limit);
        assert_false(got.delegated);
        assert_true(got.send_sighup);
        assert_true(got.has_oom_policy);
        assert_true(got.tasks_max == 4915);
        assert_true(got.stop_timeout_usec == 77);
}

#define assert_limit(name, ...)                                                                    \
        do {                                                                                       \
                _cleanup_answer_ Answer a_;                                                        \
                                                                                                   \
                answer_init(&a_);                                                                  \
                add_unset(&a_);                                                                    \
                add(&a_, name, __VA_ARGS__);                                                       \
                assert_string_equal(parse(&a_).limit, name);                                       \
        } while (false)

TEST(each_limit_and_filter_is_seen) {
        assert_limit("MemoryMax", "t", UINT64_C(4096));
        assert_limit("MemorySwapMax", "t", UINT64_C(0));
        assert_limit("MemoryLow", "t", UINT64_C(4096));
        assert_limit("RuntimeMaxUSec", "t", UINT64_C(1000));
        assert_limit("DevicePolicy", "s", "closed");
        assert_limit("DeviceAllow", "a(ss)", 1, "/dev/null", "rw");
        assert_limit("IPAddressDeny", "a(iayu)", 1, 2, 4, 0, 0, 0, 0, 0);
        assert_limit("IPEgressFilterPath", "as", 1, "/sys/fs/bpf/x");
        assert_limit("BPFProgram", "a(ss)", 1, "egress", "/sys/fs/bpf/x");
        assert_limit("RestrictNetworkInterfaces", "(bas)", 1, 1, "lo");
        assert_limit("RestrictNetworkInterfaces", "(bas)", 0, 1, "lo");
        assert_limit("AllowedCPUs", "ay", 1, 3);
        assert_limit("ManagedOOMSwap", "s", "kill");
        assert_limit("MemoryZSwapWriteback", "b", 0);
        /* Of what later versions have, only what looks unset is taken for that. */
        assert_limit("OfALaterVersion", "t", UINT64_C(0));
        assert_limit("OfALaterVersion", "s", "on");
        assert_limit("OfALaterVersion", "b", 1);
        assert_limit("OfALaterVersion", "u", 0);
        assert_limit("OfALaterVersion", "a{ss}", 1, "a", "b");
}

ANSWER_TEST(unknown_and_unset) {
        add_unset(a);
        add(a, "OfALaterVersion", "t", UINT64_MAX);
        add(a, "OfALaterVersion", "s", "");
        add(a, "OfALaterVersion", "b", 0);
        add(a, "OfALaterVersion", "a{ss}", 0);
        add(a, "Delegate", "b", 1);
        assert_true(parse(a).delegated);
}

ANSWER_TEST(rubbish) {
        BusScopeState got = { .stop_timeout_usec = 7 };

        add(a, "TasksMax", "s", "many");
        assert_true(sd_bus_message_close_container(a->message) >= 0);
        assert_true(sd_bus_message_seal(a->message, 1, 0) >= 0);
        assert_true(bus_scope_parse(a->message, &got) < 0);
        assert_int_equal(got.stop_timeout_usec, 7);
}
