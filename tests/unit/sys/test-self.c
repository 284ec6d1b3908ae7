/* What this process costs, against what it knows of itself. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/self.h"

typedef struct Cost {
        double cpu, start;
        uint64_t resident, fds;
} Cost;

static Cost read_cost(void) {
        Cost c;

        assert_int_equal(self_read(&c.cpu, &c.resident, &c.fds, &c.start), 0);
        return c;
}

static void test_self(void **state) {
        enum { SIZE = 32 << 20 };
        Cost before = read_cost(), after;
        char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        clock_t end = clock() + CLOCKS_PER_SEC / 20;

        (void)state;
        assert_true(memory != MAP_FAILED && fd >= 0);
        memset(memory, 1, SIZE);
        while (clock() < end)
                ;
        after = read_cost();
        assert_int_equal(after.fds, before.fds + 1);
        assert_true(after.resident >= before.resident + SIZE / 2);
        assert_true(after.cpu >= before.cpu + 0.03 && after.cpu < before.cpu + 60);
        /* It began a moment ago, and that does not change. */
        assert_true(before.start <= (double)time(NULL) + 1 &&
                    before.start > (double)time(NULL) - 120);
        assert_true(after.start - before.start < 0.5 && before.start - after.start < 0.5);
        (void)munmap(memory, SIZE);
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_self) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
