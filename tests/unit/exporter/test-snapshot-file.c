/* Only regular files of plausible size are read, and whole. */

#include "../../support/test.h"

#include "tidbnumad/exporter/snapshot-file.h"

#include "fixture.h"

static Fixture fixture;

static int setup(void **state) {
        (void)state;
        fixture_init(&fixture);
        return 0;
}

static int teardown(void **state) {
        (void)state;
        fixture_done(&fixture);
        return 0;
}

static int read_file(const char *directory, const char *name, SnapshotFile *ret) {
        _cleanup_close_ int fd = -EBADF;
        SnapshotId id;
        int r = snapshot_file_open(directory, name, &id, &fd);

        return r < 0 ? r : snapshot_file_read_fd(fd, &id, ret);
}

TEST(whole_file, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_snapshot_file_ SnapshotFile file = { 0 };

        fixture_write(&fixture, "metrics.prom", "a 1\n", 4, 1780000000.5, 0);
        assert_int_equal(read_file(fixture.dir, "metrics.prom", &file), 0);
        assert_string_equal(file.data, "a 1\n");
        assert_int_equal(file.size, 4);
        assert_true(snapshot_id_age(&file.id, 1780000003.0) == 2.5);
        assert_true(snapshot_id_age(&file.id, 1770000000.0) == 0); /* the clock was set back */
}

TEST(nothing_there, .setup_func = setup, .teardown_func = teardown) {
        SnapshotFile file = { .size = 7 };

        assert_int_equal(read_file(fixture.dir, "metrics.prom", &file), -ENOENT);
        assert_int_equal(read_file("/nonexistent", "metrics.prom", &file), -ENOENT);
        assert_int_equal(file.size, 7); /* untouched */
}

/* A file that took its place is another, whatever its content and times are. */
TEST(which_it_is, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_close_ int first_fd = -EBADF, again_fd = -EBADF, second_fd = -EBADF;
        SnapshotId first, again, second;

        fixture_write(&fixture, "metrics.prom", "x", 1, 1780000000, 0);
        assert_int_equal(snapshot_file_open(fixture.dir, "metrics.prom", &first, &first_fd), 0);
        assert_int_equal(snapshot_file_open(fixture.dir, "metrics.prom", &again, &again_fd), 0);
        assert_true(snapshot_id_equal(&first, &again));
        fixture_write(&fixture, "metrics.prom", "x", 1, 1780000000, 0);
        assert_int_equal(snapshot_file_open(fixture.dir, "metrics.prom", &second, &second_fd), 0);
        assert_false(snapshot_id_equal(&first, &second));
        again = first;
        again.mtime_nsec++;
        assert_false(snapshot_id_equal(&first, &again));
        again = first;
        again.size++;
        assert_false(snapshot_id_equal(&first, &again));
}

TEST(links_and_fifos, .setup_func = setup, .teardown_func = teardown) {
        SnapshotFile file;
        char path[128];

        fixture_write(&fixture, "target", "x", 1, 1780000000, 0);
        (void)snprintf(path, sizeof(path), "%s/metrics.prom", fixture.dir);
        assert_int_equal(symlink("target", path), 0);
        assert_int_equal(read_file(fixture.dir, "metrics.prom", &file), -ELOOP);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0644), 0);
        (void)alarm(10); /* a blocking open() ends the test badly */
        assert_int_equal(read_file(fixture.dir, "metrics.prom", &file), -EBADF);
        (void)alarm(0);
}

TEST(too_large, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_snapshot_file_ SnapshotFile file = { 0 };
        char path[128];

        fixture_write(&fixture, "metrics.prom", "", 0, 1780000000, 0);
        (void)snprintf(path, sizeof(path), "%s/metrics.prom", fixture.dir);
        assert_int_equal(truncate(path, (off_t)SNAPSHOT_FILE_MAX + 1), 0);
        assert_int_equal(read_file(fixture.dir, "metrics.prom", &file), -EFBIG);
        assert_int_equal(truncate(path, (off_t)SNAPSHOT_FILE_MAX), 0);
        assert_int_equal(read_file(fixture.dir, "metrics.prom", &file), 0);
        assert_int_equal(file.size, SNAPSHOT_FILE_MAX);
}
