/* The policies that were last in force, for a start at which those of the folders are refused. */
#include <sys/stat.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/policy-dir.h"

static void put(const FakeTree *tree, const char *name, const char *text) {
        int fd = openat(tree->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        (void)close(fd);
}

FAKE_TEST(as_they_were) {
        _cleanup_source_file_list_ SourceFileList files = { 0 }, read = { 0 };
        struct stat st;

        assert_int_equal(source_file_list_add(&files, "/etc/a b\n3 4\n.yaml", "x: \0y\n7 8", 9), 0);
        assert_int_equal(source_file_list_add(&files, "/etc/b.yaml", "", 0), 0);
        assert_int_equal(source_file_list_add(&files, "/etc/c.yaml", "version: 1\n", 11), 0);
        assert_int_equal(policy_kept_write(tree->fd, &files), 0);
        assert_int_equal(fstatat(tree->fd, POLICY_KEPT_FILE, &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(policy_kept_read(tree->fd, &read), 1);
        assert_int_equal(read.n_files, 3);
        for (size_t i = 0; i < 3; i++) {
                assert_string_equal(read.files[i].path, files.files[i].path);
                assert_string_equal(read.files[i].name, files.files[i].name);
                assert_int_equal(read.files[i].size, files.files[i].size);
                assert_memory_equal(read.files[i].text, files.files[i].text,
                                    files.files[i].size + 1);
        }
}

/* No file in force is not the same as nothing kept. */
FAKE_TEST(no_files) {
        _cleanup_source_file_list_ SourceFileList files = { 0 }, read = { 0 };

        assert_int_equal(policy_kept_read(tree->fd, &read), 0);
        assert_int_equal(policy_kept_write(tree->fd, &files), 0);
        assert_int_equal(policy_kept_read(tree->fd, &read), 1);
        assert_int_equal(read.n_files, 0);
}

FAKE_TEST(what_somebody_else_could_have_written) {
        _cleanup_source_file_list_ SourceFileList files = { 0 }, read = { 0 };

        assert_int_equal(policy_kept_write(tree->fd, &files), 0);
        assert_int_equal(fchmodat(tree->fd, POLICY_KEPT_FILE, 0620, 0), 0);
        assert_int_equal(policy_kept_read(tree->fd, &read), -EPERM);
        assert_int_equal(unlinkat(tree->fd, POLICY_KEPT_FILE, 0), 0);
        put(tree, "other", "tidbnumad policies 1\n");
        assert_int_equal(symlinkat("other", tree->fd, POLICY_KEPT_FILE), 0);
        assert_int_equal(policy_kept_read(tree->fd, &read), -EPERM);
}

FAKE_TEST(too_much_is_not_kept_and_nor_is_what_was_there) {
        _cleanup_source_file_list_ SourceFileList files = { 0 }, read = { 0 };
        _cleanup_free_ char *text = calloc(1, SOURCE_FILE_MAX_BYTES);

        assert_int_equal(policy_kept_write(tree->fd, &files), 0);
        for (size_t i = 0; i < POLICY_KEPT_MAX_BYTES / SOURCE_FILE_MAX_BYTES; i++)
                assert_int_equal(
                        source_file_list_add(&files, "a.yaml", text, SOURCE_FILE_MAX_BYTES), 0);
        assert_int_equal(policy_kept_write(tree->fd, &files), -EFBIG);
        assert_int_equal(policy_kept_read(tree->fd, &read), 0);
}

TEST(other_texts) {
        static const char *const texts[] = {
                "",
                "tidbnumad policies 2\n",
                "tidbnumad policies 1",
                "tidbnumad policies 1\nx",
                "tidbnumad policies 1\n1\n",
                "tidbnumad policies 1\n1 1\n",
                "tidbnumad policies 1\n1 1\na",
                "tidbnumad policies 1\n0 1\na",
                "tidbnumad policies 1\n 1 1\nab",
                "tidbnumad policies 1\n1 -1\nab",
                "tidbnumad policies 1\n1 18446744073709551615\nab",
                "tidbnumad policies 1\n99999999999999999999999999 1\nab",
                "tidbnumad policies 1\n1 1048577\nab",
                "tidbnumad policies 1\n1 1\nab3",
        };
        _cleanup_source_file_list_ SourceFileList read = { 0 };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_int_equal(policy_kept_parse(texts[i], strlen(texts[i]), &read), -EBADMSG);
        assert_int_equal(policy_kept_parse("tidbnumad policies 1\n1 1\n\0b", 27, &read), -EBADMSG);
}

/* --- a file that is missing --- */

FAKE_TEST(a_file_beside_the_missing_one) {
        static const char *const names[] = { "tidb.yaml~", ".tidb.yaml.swp", "#tidb.yaml#",
                                             "tidb.yaml.off" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *path = text_new("%s/tidb.yaml", tree->path), *found = NULL;

                put(tree, "other.yaml~", "");
                assert_null(policy_dir_find_beside(path));
                put(tree, names[i], "");
                found = policy_dir_find_beside(path);
                assert_non_null(found);
                assert_string_equal(found, names[i]);
                put(tree, "tidb.yaml", "");
                assert_null(policy_dir_find_beside(path));
                assert_int_equal(unlinkat(tree->fd, "tidb.yaml", 0), 0);
                assert_int_equal(unlinkat(tree->fd, names[i], 0), 0);
        }
        assert_null(policy_dir_find_beside("/nonexistent/tidb.yaml"));
}

FAKE_TEST(a_folder_beside_the_missing_one) {
        _cleanup_free_ char *path = text_new("%s/policies.d/tidb.yaml", tree->path), *found = NULL;

        assert_null(policy_dir_find_beside(path));
        assert_int_equal(mkdirat(tree->fd, "policies.d.old", 0755), 0);
        found = policy_dir_find_beside(path);
        assert_non_null(found);
        assert_string_equal(found, "policies.d.old");
}
