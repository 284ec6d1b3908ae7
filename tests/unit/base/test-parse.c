/* Numbers, sizes and times as people type them into a policy. */

#include "../../support/test.h"

#include "tidbnumad/base/text.h"

TEST(u64) {
        uint64_t v = 7;

        assert_int_equal(parse_u64("0", &v), 0);
        assert_int_equal(v, 0);
        assert_int_equal(parse_u64("18446744073709551615", &v), 0);
        assert_true(v == UINT64_MAX);
        v = 7;
        assert_int_equal(parse_u64("18446744073709551616", &v), -ERANGE);
        assert_int_equal(parse_u64("", &v), -EINVAL);
        assert_int_equal(parse_u64(" 1", &v), -EINVAL);
        assert_int_equal(parse_u64("-1", &v), -EINVAL);
        assert_int_equal(parse_u64("+1", &v), -EINVAL);
        assert_int_equal(parse_u64("1 ", &v), -EINVAL);
        assert_int_equal(v, 7);
}

TEST(size) {
        uint64_t v = 7;

        assert_int_equal(parse_size("256MiB", &v), 0);
        assert_int_equal(v, 256 << 20);
        assert_int_equal(parse_size("1.5KiB", &v), 0);
        assert_int_equal(v, 1536);
        assert_int_equal(parse_size("2kB", &v), 0);
        assert_int_equal(v, 2000);
        v = 7;
        assert_int_equal(parse_size("256", &v), -EINVAL); /* a unit is required */
        assert_int_equal(parse_size("256M", &v), -EINVAL);
        assert_int_equal(parse_size("1.MiB", &v), -EINVAL);
        assert_int_equal(parse_size("MiB", &v), -EINVAL);
        assert_int_equal(parse_size("99999999999999999999B", &v), -ERANGE);
        assert_int_equal(parse_size("20000000TiB", &v), -ERANGE);
        assert_int_equal(v, 7);
}

TEST(duration) {
        uint64_t v;

        assert_int_equal(parse_duration("10s", &v), 0);
        assert_int_equal(v, 10000000);
        assert_int_equal(parse_duration("1.5min", &v), 0);
        assert_int_equal(v, 90000000);
        assert_int_equal(parse_duration("250ms", &v), 0);
        assert_int_equal(v, 250000);
        assert_int_equal(parse_duration("10", &v), -EINVAL);
        assert_int_equal(parse_duration("10 s", &v), -EINVAL);
}

TEST(percent) {
        uint64_t v;

        assert_int_equal(parse_percent("1%", &v), 0);
        assert_int_equal(v, 10000);
        assert_int_equal(parse_percent("0.05%", &v), 0);
        assert_int_equal(v, 500);
        assert_int_equal(parse_percent("1", &v), -EINVAL);
        assert_int_equal(parse_percent("1 %", &v), -EINVAL);
        assert_int_equal(parse_percent("99999999999999999999%", &v), -ERANGE);
}
