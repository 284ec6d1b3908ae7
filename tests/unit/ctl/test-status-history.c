/* The journal's lines, as they are shown. */
#include <time.h>

#include "../../support/test.h"

#include "tidbnumad/ctl/status-history.h"

TEST(lines) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(setenv("TZ", "UTC", 1), 0);
        tzset();
        assert_int_equal(
                status_history_parse(
                        "{\"__REALTIME_TIMESTAMP\":\"1780000000123456\",\"MESSAGE\":\"bound\\u001b["
                        "2J\",\"_BOOT_ID\":\"x\"}\n"
                        "not json\n"
                        "{\"__REALTIME_TIMESTAMP\":\"1780000001000000\",\"MESSAGE\":[1,2]}\n"
                        "{\"__REALTIME_TIMESTAMP\":\"1780000002000000\",\"MESSAGE\":\"moved\"}",
                        &text),
                2);
        assert_string_equal(text.data, "  2026-05-28 20:26:40  bound\\x1b[2J\n"
                                       "  2026-05-28 20:26:42  moved\n");
}

TEST(nothing) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(status_history_parse("", &text), 0);
        assert_int_equal(status_history_parse("null\n[]\n\n{}\n", &text), 0);
        assert_int_equal(text.length, 0);
}
