/* Versions, settings and labels in the words of servers. */
#include "../../support/test.h"

#include "tidbnumad/model/server-report.h"

TEST(versions) {
        static const struct {
                const char *text;
                uint32_t version;
        } rows[] = {
                { "8.5.5", SERVER_VERSION(8, 5, 5) },
                { "v9.0.0-beta.2", SERVER_VERSION(9, 0, 0) },
                { "8.0.11-TiDB-v7.5.0", SERVER_VERSION(7, 5, 0) },
                { "5.7.25-TiDB-v6.1.7-20240101-abc", SERVER_VERSION(6, 1, 7) },
                { "8.0.11-TiDB-", 0 },
                { "8.0.11-TiDB-None", 0 },
                { "", 0 },
                { "8.5", 0 },
                { "8.5.", 0 },
                { "-8.5.5", 0 },
                { "12345.1.1", 0 },
                { "7.10.123", SERVER_VERSION(7, 10, 123) },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                print_message("%s\n", rows[i].text);
                assert_int_equal(server_version_parse(rows[i].text), rows[i].version);
        }
        assert_true(SERVER_VERSION(8, 5, 10) > SERVER_VERSION(8, 5, 9));
        assert_true(SERVER_VERSION(10, 0, 0) > SERVER_VERSION(9, 5, 9));
}

TEST(values) {
        static const struct {
                const char *text;
                int error;
                uint64_t value;
        } rows[] = {
                { "0", 0, 0 },
                { "8", 0, 8 },
                { "8GiB", 0, UINT64_C(8) << 30 },
                { "8GB", 0, UINT64_C(8) << 30 },
                { "7372MiB", 0, UINT64_C(7372) << 20 },
                { "1536K", 0, 1536 << 10 },
                { "100B", 0, 100 },
                { "1PiB", 0, UINT64_C(1) << 50 },
                { "99999PiB", -ERANGE, 0 },
                { "99999999999999999999", -ERANGE, 0 },
                { "123456789012345678901234567890", -EINVAL, 0 },
                { "", -EINVAL, 0 },
                { "-1", -EINVAL, 0 },
                { "1.5GiB", -EINVAL, 0 },
                { "8GiBs", -EINVAL, 0 },
                { "8iB", -EINVAL, 0 },
                { "GiB", -EINVAL, 0 },
                { "80%", -EINVAL, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t value = 0;

                print_message("%s\n", rows[i].text);
                assert_int_equal(server_setting_parse(rows[i].text, &value), rows[i].error);
                if (rows[i].error == 0)
                        assert_true(value == rows[i].value);
        }
}

TEST(labels) {
        _cleanup_server_report_ ServerReport tikv = { 0 };

        assert_false(server_report_tells_host(&tikv, NULL));
        assert_int_equal(server_report_add(&tikv, "server.labels.rack", "r1"), 0);
        assert_false(server_report_tells_host(&tikv, NULL));
        assert_false(server_report_tells_host(&tikv, "rack,machine"));
        assert_true(server_report_tells_host(&tikv, "zone,rack"));
        assert_true(server_report_tells_host(&tikv, "rack"));
        assert_int_equal(server_report_add(&tikv, "server.labels.host", "db1"), 0);
        assert_true(server_report_tells_host(&tikv, "zone,machine"));
        assert_true(server_report_tells_host(&tikv, ""));
}

TEST(no_end_of_settings) {
        _cleanup_server_report_ ServerReport report = { 0 };

        for (size_t i = 0; i < SERVER_SETTINGS_MAX; i++)
                assert_int_equal(server_report_add(&report, "a", "1"), 0);
        assert_int_equal(server_report_add(&report, "a", "1"), -E2BIG);
        assert_null(server_report_find(NULL, "a"));
}
