/* Each difference between the two formats. What the reference parser says is
 * test-openmetrics-python's. */
#include <string.h>

#include "../../support/test.h"

#include "tidbnumad/exporter/openmetrics.h"

static void check(const char *text, const char *expected) {
        _cleanup_text_ Text out = { 0 };

        openmetrics_append(&out, text, strlen(text));
        assert_string_equal(out.data ? out.data : "", expected);
}

TEST(counters_lose_their_suffix) {
        check("# HELP a_total All of them.\n# TYPE a_total counter\na_total{x=\"1\"} 2\n",
              "# HELP a All of them.\n# TYPE a counter\na_total{x=\"1\"} 2\n");
        check("# TYPE a_total counter\n# HELP a_total x\na_total 1\n",
              "# TYPE a counter\n# HELP a_total x\na_total 1\n"); /* nobody writes it so */
        check("# HELP a x\n# TYPE a counter\na 1\n", "# HELP a x\n# TYPE a unknown\na 1\n");
        check("# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
              "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n");
        check("# HELP a_total x\n# TYPE a counter\na 1\n",
              "# HELP a_total x\n# TYPE a unknown\na 1\n"); /* the TYPE of another */
        check("# HELP _total x\n# TYPE _total counter\n",
              "# HELP _total x\n# TYPE _total unknown\n");
}

TEST(info) {
        check("# HELP a_info x\n# TYPE a_info gauge\na_info{v=\"1\"} 1\n",
              "# HELP a x\n# TYPE a info\na_info{v=\"1\"} 1\n");
        check("# TYPE ainfo gauge\nainfo 1\n", "# TYPE ainfo gauge\nainfo 1\n");
}

TEST(other_types) {
        check("# TYPE a untyped\na 1\n", "# TYPE a unknown\na 1\n");
        check("# TYPE a histogram\n", "# TYPE a histogram\n");
}

TEST(help_is_escaped) {
        check("# HELP a say \"x\\\\y\\n\"\n", "# HELP a say \\\"x\\\\y\\n\\\"\n");
        check("# HELP a \n", "# HELP a \n");
        check("# HELP a\n", "# HELP a \n");
}

TEST(bounds_of_buckets) {
        check("h_bucket{le=\"1\"} 2\nh_bucket{p=\"le\",le=\"10\"} 3\n",
              "h_bucket{le=\"1.0\"} 2\nh_bucket{p=\"le\",le=\"10.0\"} 3\n");
        check("h_bucket{le=\"0.5\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_bucket{le=\"5e-05\"} 3\n",
              "h_bucket{le=\"0.5\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_bucket{le=\"5e-05\"} 3\n");
        check("h_bucket{role=\"1\"} 2\n", "h_bucket{role=\"1\"} 2\n");
        check("h{le=\"1\"} 2\n", "h{le=\"1\"} 2\n"); /* no bucket */
        check("h_bucket{le=\"\"} 2\n", "h_bucket{le=\"\"} 2\n");
        check("h_bucket{le=\"1", "h_bucket{le=\"1\n");
}

TEST(what_has_no_place) {
        check("\n# a comment\n#\n\na 1\n# EOF\n", "a 1\n");
        check("a 1", "a 1\n");
        check("", "");
        check("# HELP ", "");
        check("# TYPE  counter\n", "");
        check("# TYPE a", "# TYPE a \n");
}
