/* Pressure stall information: the text, and a control group of this test's own making. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/cgroup.h"

#define FULL "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"

TEST(text) {
        Pressure p = { 0 };

        assert_int_equal(
                pressure_parse("some avg10=12.50 avg60=1.00 avg300=0.00 total=123456789012" FULL,
                               &p),
                0);
        assert_true(fabs(p.recent - 0.125) < 1e-9);
        assert_int_equal(p.total_usec, UINT64_C(123456789012));
        assert_int_equal(pressure_parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=0", &p), 0);
        assert_true(p.recent == 0);
}

TEST(texts_that_are_none) {
        static const char *const texts[] = {
                "",
                "some",
                "some avg10=x avg60=1.00 avg300=0.00 total=1",
                "some avg10=101 avg60=1.00 avg300=0.00 total=1",
                "some avg10=-1 avg60=1.00 avg300=0.00 total=1",
                "some avg10=nan avg60=1.00 avg300=0.00 total=1",
                "some avg10=1 avg60=1.00 avg300=0.00",
                "some avg10=1 avg60=1.00 avg300=0.00 total=",
                "full avg10=1.00 avg60=1.00 avg300=0.00 total=1",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                Pressure p = { .total_usec = 7 };

                if (pressure_parse(texts[i], &p) != -EBADMSG)
                        fail_msg("is taken: %s", texts[i]);
                assert_int_equal(p.total_usec, 7);
        }
}

/* Memory and CPU together, "some" of each. */
FAKE_TEST(group) {
        _cleanup_close_ int fd = -EBADF;
        Pressure p = { .total_usec = 7 };

        fake_write(tree, "group/memory.pressure",
                   "some avg10=1.00 avg60=0.00 avg300=0.00 total=1000" FULL);
        assert_int_equal(pressure_read(tree->fd, &p), -EOPNOTSUPP);
        fd = openat(tree->fd, "group", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pressure_read(fd, &p), -EOPNOTSUPP);
        assert_int_equal(p.total_usec, 7);
        fake_write(tree, "group/cpu.pressure",
                   "some avg10=10.00 avg60=0.00 avg300=0.00 total=30" FULL);
        assert_int_equal(pressure_read(fd, &p), 0);
        assert_int_equal(p.total_usec, 1030);
        assert_true(fabs(p.recent - 0.11) < 1e-9);
}
