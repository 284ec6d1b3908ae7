/* What status reports of programs that cannot know that they were bound. */

#include "../../support/test.h"

#include "tidbnumad/ctl/status-problems.h"

static void assert_threads(const char *exe, uint64_t n_threads, bool bound, const char *shown) {
        StatusInstance one = { .name = "a-1",
                               .exe = exe,
                               .state = "bound",
                               .reason = "",
                               .cpus = "4-7",
                               .cpu_bound = bound,
                               .n_threads = n_threads };
        const StatusFile status = { .instances = &one, .n_instances = 1, .time_seconds = 1000 };
        const StatusQuestion q = { .status = &status, .now_seconds = 1000, .alive = true };
        _cleanup_text_ Text text = { 0 };

        status_problems_render(&q, &text);
        if (shown)
                assert_non_null(strstr(text.data, shown));
        else
                assert_true(text.length == 0 || !strstr(text.data, "threads"));
}

/* Threads say nothing of GOMAXPROCS: a Go program keeps some for calls that block, and from 1.25 on
 * it follows the CPUs that it has. */
TEST(go_threads) {
        assert_threads("/deploy/bin/tidb-server", 1700, true, NULL);
        assert_threads("/deploy/bin/pd-server", 1700, true, NULL);
}
