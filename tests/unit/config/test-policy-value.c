/* Single values: what is taken, what is refused and for which reason. */

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/config/policy-loader.h"
#include "tidbnumad/model/memory.h"

typedef struct Case {
        const char *text;
        const char *reason; /* NULL: no more than the message of the type */
} Case;

static const PolicyKey interval = { .type = POLICY_KEY_DURATION,
                                    .min = 1000000,
                                    .max = UINT64_C(3600000000) };

static void assert_string_taken(PolicyKeyType type, const char *text) {
        _cleanup_free_ char *value = NULL;
        const PolicyKey key = { .type = type };
        const char *reason;

        assert_int_equal(policy_value_parse(&key, text, &value, &reason), 0);
        assert_string_equal(value, text);
}

static void assert_refused(const PolicyKey *key, const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                uint64_t value = 7, *target = &value;
                const char *reason;

                assert_int_equal(policy_value_parse(key, cases[i].text, target, &reason), -EINVAL);
                assert_int_equal(value, 7);
                if (cases[i].reason)
                        assert_string_equal(reason, cases[i].reason);
                else
                        assert_null(reason);
        }
}

TEST(exe) {
        static const Case cases[] = {
                { "", "it is empty" },
                { "a\nb", "it contains a control character" },
                { "a\xc2\x9b"
                  "b",
                  "it contains a control character" },
                { "bin/x", "a relative path" },
                { "./x", "a relative path" },
                { "tidb-*", "a glob has to be an absolute path" },
                { "/", "it names a folder" },
                { "/opt/", "it names a folder" },
                { "/opt//x", "paths from the kernel contain no //, /./ or /../" },
                { "/opt/../x", "paths from the kernel contain no //, /./ or /../" },
                { "/opt/[x", "a [ is not closed" },
                { "/opt/x\\", "it ends with a backslash" },
                { " tidb-server", "a blank at an end; remove it" },
                { "tidb-server ", "a blank at an end; remove it" },
                { "/opt/tidb-server ", "a blank at an end; remove it" },
                { "tidb-server run", "arguments belong to `args`; write ? for a blank in a path" },
                { "tidb-server --store=tikv",
                  "arguments belong to `args`; write ? for a blank in a path" },
                { "/usr/bin/java -jar x",
                  "arguments belong to `args`; write ? for a blank in a path" },
                { "/usr/bin/python3 /opt/x.py",
                  "arguments belong to `args`; write ? for a blank in a path" },
        };
        const PolicyKey key = { .type = POLICY_KEY_EXE };

        assert_string_taken(POLICY_KEY_EXE, "tidb-server");
        assert_string_taken(POLICY_KEY_EXE, "/opt/*/bin/t[!]a-k]kv-server");
        assert_string_taken(POLICY_KEY_EXE, "/opt/My Programs/bin/tidb-server");
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(unit) {
        static const char alternatives[] = "no unit name contains ( ) | { } or +, and globs are * "
                                           "? and [...]; write an entry for each alternative";
        static const Case cases[] = {
                { "", "it is empty" },
                { "tidb-4000", "it does not end with .service or .scope" },
                { ".service", "it does not end with .service or .scope" },
                { "system.slice", "it does not end with .service or .scope" },
                { "a b.service", "a unit name contains no spaces, slashes or control characters" },
                { "a/b.service", "a unit name contains no spaces, slashes or control characters" },
                { "a[b.service", "a [ is not closed" },
                { "tidb-(4000|4001).service", alternatives },
                { "tidb-{4000,4001}.service", alternatives },
                { "tidb-4+.service", alternatives },
                { "tidb-[(].service", alternatives },
                { "tidb-4000,4001.service", "a character that no unit name contains" },
                { "t\xc3\xad-*.service", "a character that no unit name contains" },
                { "!tidb-*.service", "a character that no unit name contains" },
        };
        const PolicyKey key = { .type = POLICY_KEY_UNIT };

        assert_string_taken(POLICY_KEY_UNIT, "tidb-*.service");
        assert_string_taken(POLICY_KEY_UNIT, "tidb@4000.service");
        assert_string_taken(POLICY_KEY_UNIT, "x.scope");
        assert_string_taken(POLICY_KEY_UNIT, "tidb-*");
        assert_string_taken(POLICY_KEY_UNIT, "tidb-[!a^]??:_\\\\x2d.service");
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(user_and_name) {
        static const Case users[] = { { "", "it is empty" },
                                      { "a b", "not the name of a user" },
                                      { "a:b", "not the name of a user" },
                                      { "ti*", "not the name of a user" },
                                      { "-1", "not the name of a user" } };
        static const Case names[] = {
                { "", "it is empty" },
                { "a/b", "a character that is not allowed" },
                { "\xc3\xa9", "a character that is not allowed" },
                { "a23456789012345678901234567890123456789012345678901234567890123456",
                  "it is too long" },
        };
        const PolicyKey user = { .type = POLICY_KEY_USER }, name = { .type = POLICY_KEY_NAME };

        assert_string_taken(POLICY_KEY_USER, "tidb");
        assert_string_taken(POLICY_KEY_USER, "1000");
        assert_string_taken(POLICY_KEY_NAME, "Tidb_1.x-2");
        assert_string_taken(POLICY_KEY_NAME,
                            "a234567890123456789012345678901234567890123456789012345678901234");
        assert_refused(&user, users, ELEMENTSOF(users));
        assert_refused(&name, names, ELEMENTSOF(names));
}

static void assert_event(const char *text, uint32_t type, uint64_t config) {
        const PolicyKey key = { .type = POLICY_KEY_EVENT };
        AccessEvent event = { .given = false };
        const char *reason;

        assert_int_equal(policy_value_parse(&key, text, &event, &reason), 0);
        assert_true(event.given);
        assert_int_equal(event.type, type);
        assert_int_equal(event.config, config);
}

TEST(event) {
        static const Case cases[] = {
                { "", NULL },
                { "raw:", NULL },
                { "0x", NULL },
                { "0x1g", NULL },
                { "0x-1", NULL },
                { "0x12345678901234567", NULL },
                { "-1", NULL },
                { " 1", NULL },
                { "raw: 1", NULL },
                { "18446744073709551616", NULL },
                { "1:2:3", NULL },
                { "raw", NULL },
                { ":1", "not a kind of events" },
                { "Raw:1", "not a kind of events" },
                { "hardware:1", "not a kind of events" },
                { "-1:1", "not a kind of events" },
                { "4294967296:1", "not a kind of events" },
                { "99999999999999999999:1", "not a kind of events" },
                { "12345678901234567890123:1", "not a kind of events" },
        };
        const PolicyKey key = { .type = POLICY_KEY_EVENT };

        assert_event("0x01d3", 4, 0x1d3);
        assert_event("467", 4, 467);
        assert_event("raw:0x01D3", 4, 0x1d3);
        assert_event("software:2", 1, 2);
        assert_event("10:0x31", 10, 0x31);
        assert_event("4294967295:0", UINT32_MAX, 0);
        assert_event("0xffffffffffffffff", 4, UINT64_MAX);
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(rate) {
        static const Case cases[] = {
                { "256MiB", "without /s" },
                { "256/s", "without a unit" },
                { "256", "without a unit and /s" },
                { "256mb", "without /s; units are KiB, MiB, GiB, kB, MB, GB" },
                { "256mb/s", "units are KiB, MiB, GiB, kB, MB, GB" },
                { "1.5M", "without /s; units are KiB, MiB, GiB, kB, MB, GB" },
                { "", "without /s" },
                { "0MiB/s", NULL },
                { "0.0001B/s", NULL },
                { "256 MiB/s", NULL },
                { "-1MiB/s", NULL },
                { "20000000TiB/s", "it is too large" },
        };
        const PolicyKey key = { .type = POLICY_KEY_RATE };
        const char *reason;
        uint64_t value;

        assert_int_equal(policy_value_parse(&key, "1B/s", &value, &reason), 0);
        assert_int_equal(value, 1);
        assert_int_equal(policy_value_parse(&key, "100MB/s", &value, &reason), 0);
        assert_int_equal(value, 100000000);
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(memory_limit) {
        static const Case cases[] = {
                { "64", "without a unit" },
                { "64gb", "units are KiB, MiB, GiB, kB, MB, GB" },
                { "1023KiB", "it is too small" },
                { "0GiB", "it is too small" },
                { "20000000TiB", "it is too large" },
                { "80%", NULL },
                { "Share", NULL },
                { "-1GiB", NULL },
                { "", NULL },
        };
        const PolicyKey key = { .type = POLICY_KEY_LIMIT };
        const char *reason;
        uint64_t value;

        assert_int_equal(policy_value_parse(&key, "none", &value, &reason), 0);
        assert_int_equal(value, MEMORY_LIMIT_NONE);
        assert_int_equal(policy_value_parse(&key, "share", &value, &reason), 0);
        assert_int_equal(value, MEMORY_LIMIT_SHARE);
        assert_int_equal(policy_value_parse(&key, "1MiB", &value, &reason), 0);
        assert_int_equal(value, MEMORY_LIMIT_MIN);
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(interval) {
        static const Case cases[] = {
                { "10", "without a unit" },
                { "999ms", "it is too short" },
                { "0s", "it is too short" },
                { "3601s", "it is too long" },
                { "99999999999999999999h", "it is too long" },
                { "10 s", NULL },
                { "", "it is empty" },
        };
        const char *reason;
        uint64_t value;

        assert_int_equal(policy_value_parse(&interval, "1000ms", &value, &reason), 0);
        assert_int_equal(value, 1000000);
        assert_int_equal(policy_value_parse(&interval, "1h", &value, &reason), 0);
        assert_int_equal(value, UINT64_C(3600000000));
        assert_refused(&interval, cases, ELEMENTSOF(cases));
}

TEST(nodes_beyond_any_machine) {
        static const Case cases[] = {
                { "1024", "no machine has a node of that number" },
                { "", "it is empty" },
                { "0x1", NULL },
                { "1,", NULL },
                { "0, 4", NULL },
                { "3-1", NULL },
        };
        const PolicyKey key = { .type = POLICY_KEY_NODES };

        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(cpus) {
        static const Case cases[] = {
                { "8192", "no machine has a CPU of that number" },
                { "", "it is empty" },
                { "ALL", NULL },
                { "all,1", NULL },
        };
        const PolicyKey key = { .type = POLICY_KEY_CPUS };

        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(args) {
        static const Case cases[] = {
                { "", "it is empty" },
                { "a\tb", "it contains a control character" },
                { "a[b", "a [ is not closed" },
        };
        const PolicyKey key = { .type = POLICY_KEY_ARGS };

        assert_string_taken(POLICY_KEY_ARGS, "*--store=tikv *");
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(metrics) {
        static const Case cases[] = {
                { "", "it is empty" },
                { "1a", "no metric has such a name" },
                { "a-b", "no metric has such a name" },
                { "a{b=\"c\"}", "labels; all label sets are added up" },
        };
        const PolicyKey key = { .type = POLICY_KEY_METRIC };

        assert_string_taken(POLICY_KEY_METRIC, "job:http_requests_total");
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(devices) {
        static const Case names[] = {
                { "", "it is empty" },
                { "eth*", "a glob, but names are expected here" },
                { "a/b",
                  "no device has a name with spaces, slashes, colons or control characters" },
                { "eth0:1",
                  "no device has a name with spaces, slashes, colons or control characters" },
                { "..", "no device has that name" },
                { "a234567890123456", "it is too long" },
        };
        static const Case globs[] = {
                { "", "it is empty" },
                { "eth[0", "a [ is not closed" },
                { "a b",
                  "no device has a name with spaces, slashes, colons or control characters" },
                { "a234567890123456", "it is too long" },
        };
        static const Case addresses[] = {
                { "", "not an address" },
                { "3b:00", "not an address" },
                { "3b:00.8", "not an address" },
                { "0000-3b:00.0", "not an address" },
                { "000g:3b:00.0", "not an address" },
                { "0000:3g:00.0", "not an address" },
                { "0000:3b:0x.0", "not an address" },
                { "3b-00.0", "not an address" },
                { "3b:00:0", "not an address" },
        };
        const PolicyKey name = { .type = POLICY_KEY_INTERFACES };
        const PolicyKey glob = { .type = POLICY_KEY_NET_GLOBS };
        const PolicyKey address = { .type = POLICY_KEY_PCI_ADDRESSES };

        assert_refused(&name, names, ELEMENTSOF(names));
        assert_refused(&glob, globs, ELEMENTSOF(globs));
        assert_refused(&address, addresses, ELEMENTSOF(addresses));
        assert_null(policy_text_fault(POLICY_KEY_INTERFACES, "a23456789012345"));
        assert_null(policy_text_fault(POLICY_KEY_NET_GLOBS, "a2345678901234567*"));
        assert_null(policy_text_fault(POLICY_KEY_NVME_GLOBS, "nvme[0-3]"));
        assert_null(policy_text_fault(POLICY_KEY_PCI_ADDRESSES, "FFFF:ff:1f.7"));
}

TEST(count) {
        static const Case cases[] = {
                { "0", NULL },
                { "-1", NULL },
                { "1.5", NULL },
                { "all", NULL },
                { "1025", "no machine has so many nodes" },
                { "99999999999999999999", "no machine has so many nodes" },
        };
        const PolicyKey key = { .type = POLICY_KEY_COUNT };
        uint32_t count = 7;
        const char *reason;

        assert_int_equal(policy_value_parse(&key, "1024", &count, &reason), 0);
        assert_int_equal(count, 1024);
        assert_int_equal(policy_value_parse(&key, "auto", &count, &reason), 0);
        assert_int_equal(count, 0);
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(number) {
        static const Case cases[] = {
                { "0", NULL },
                { "-1", NULL },
                { "auto", NULL },
                { "4097", "it is too large" },
                { "99999999999999999999", "it is too large" },
        };
        const PolicyKey key = { .type = POLICY_KEY_NUMBER, .min = 1, .max = 4096 };
        uint32_t number = 7;
        const char *reason;

        assert_int_equal(policy_value_parse(&key, "4096", &number, &reason), 0);
        assert_int_equal(number, 4096);
        assert_int_equal(policy_value_parse(&key, "1", &number, &reason), 0);
        assert_int_equal(number, 1);
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(percent) {
        static const Case cases[] = {
                { "1", "without a unit" },
                { "0%", "it is too little" },
                { "0.0099%", "it is too little" },
                { "100.1%", "it is too much" },
                { "99999999999999999999%", "it is too much" },
                { "1 %", NULL },
                { "%", NULL },
                { "", "it is empty" },
        };
        const PolicyKey key = { .type = POLICY_KEY_PERCENT, .min = 100, .max = 1000000 };
        uint32_t ppm = 7;
        const char *reason;

        assert_int_equal(policy_value_parse(&key, "0.01%", &ppm, &reason), 0);
        assert_int_equal(ppm, 100);
        assert_int_equal(policy_value_parse(&key, "100%", &ppm, &reason), 0);
        assert_int_equal(ppm, 1000000);
        assert_refused(&key, cases, ELEMENTSOF(cases));
}

TEST(switch) {
        static const Case cases[] = { { "true", NULL }, { "ON", NULL }, { "", NULL } };
        const PolicyKey key = { .type = POLICY_KEY_SWITCH };
        const char *reason;
        bool on = false;

        assert_int_equal(policy_value_parse(&key, "on", &on, &reason), 0);
        assert_true(on);
        assert_int_equal(policy_value_parse(&key, "off", &on, &reason), 0);
        assert_false(on);
        assert_refused(&key, cases, ELEMENTSOF(cases));
}
