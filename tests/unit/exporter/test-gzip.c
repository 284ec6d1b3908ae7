/* What zlib makes of our pieces: it looks at the sums of every byte. */

#include "../../support/test.h"

#include "tidbnumad/exporter/gzip.h"

#include "fixture.h"

static void check(const char *plain, size_t size, const char *tail) {
        _cleanup_gzip_start_ GzipStart start = { 0 };
        _cleanup_text_ Text end = { 0 }, whole = { 0 };
        _cleanup_free_ char *bytes = NULL;

        assert_int_equal(gzip_start(plain, size, &start), 0);
        text_append(&end, tail);
        assert_int_equal(gzip_finish(start.crc, start.n_plain, &end), 0);
        bytes = malloc(start.size + end.length);
        memcpy(bytes, start.data, start.size);
        memcpy(bytes + start.size, end.data, end.length);
        unzip(bytes, start.size + end.length, &whole);
        assert_int_equal(whole.length, size + strlen(tail));
        assert_memory_equal(whole.data ? whole.data : "", plain, size);
        assert_string_equal((whole.data ? whole.data : "") + size, tail);
}

TEST(both_parts_come_back) {
        _cleanup_free_ char *large = malloc(1 << 20);
        uint32_t random = 1;

        check("", 0, "");
        check("a 1\n", 4, "b 2\n");
        check("", 0, "b 2\n");
        check("a 1\n", 4, "");
        for (size_t i = 0; i < 1 << 20; i++) { /* what does not compress */
                random = random * 1664525 + 1013904223;
                large[i] = (char)('0' + (random >> 24) % 64);
        }
        check(large, 1 << 20, "b 2\n");
}

TEST(it_is_smaller) {
        _cleanup_gzip_start_ GzipStart start = { 0 };
        _cleanup_text_ Text text = { 0 };

        for (int i = 0; i < 1000; i++)
                text_appendf(&text, "tidbnumad_instance_threads{name=\"tikv-%d\"} %d\n", i, i);
        assert_int_equal(gzip_start(text.data, text.length, &start), 0);
        assert_true(start.size < text.length / 5);
}

TEST(a_tail_that_is_too_long) {
        _cleanup_text_ Text tail = { 0 };

        for (size_t i = 0; i < GZIP_TAIL_MAX; i++)
                text_append(&tail, "x");
        assert_int_equal(gzip_finish(0, 0, &tail), 0);
        assert_int_equal(tail.length, GZIP_TAIL_MAX + 13);
        text_reset(&tail);
        for (size_t i = 0; i < GZIP_TAIL_MAX + 1; i++)
                text_append(&tail, "x");
        assert_int_equal(gzip_finish(0, 0, &tail), -EMSGSIZE);
        assert_int_equal(tail.length, GZIP_TAIL_MAX + 1); /* untouched */
}
