/* Policy folders on a real file system: which files are read, and what is refused. */
#include <ftw.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/policy-dir.h"

/* The test works inside a scratch folder, so that paths in messages are short and known. */
static const char *const dirs[] = { "usr", "etc", "run" };

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

static int setup(void **state) {
        static char path[] = "/tmp/test-policy-dir.XXXXXX";

        strcpy(path + strlen(path) - 6, "XXXXXX");
        *state = mkdtemp(path);
        (void)umask(022);
        return *state && chdir(path) == 0 && mkdir("usr", 0755) == 0 && mkdir("etc", 0755) == 0
                       ? 0
                       : -1;
}

static int teardown(void **state) {
        return chdir("/") < 0 ? -1 : nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *path, const char *text) {
        _cleanup_fclose_ FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
}

static void assert_files(const char *const *expected) {
        _cleanup_source_file_list_ SourceFileList list = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        int r = policy_dir_read(dirs, ELEMENTSOF(dirs), false, &list, &errors, &warnings);
        size_t n = 0;

        if (errors.n_messages > 0)
                fail_msg("%s", errors.messages[0]);
        assert_int_equal(r, 0);
        for (; expected[n]; n++) {
                assert_true(n < list.n_files);
                assert_string_equal(list.files[n].path, expected[n]);
                assert_string_equal(list.files[n].name, strchr(expected[n], '/') + 1);
        }
        assert_int_equal(list.n_files, n);
}

/* The list is filled before, so that one that was touched shows. */
static void assert_refused(const char *expected) {
        SourceFileList list = { .n_files = 7 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };

        assert_int_equal(policy_dir_read(dirs, ELEMENTSOF(dirs), false, &list, &errors, &warnings),
                         -EINVAL);
        assert_int_equal(list.n_files, 7);
        assert_null(list.files);
        assert_int_equal(errors.n_messages, 1);
        assert_string_equal(errors.messages[0], expected);
}

/* Who names a folder wants its policies. */
TEST(named_and_missing, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_source_file_list_ SourceFileList list = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        const char *const one[] = { "etc", "missing" };

        assert_int_equal(policy_dir_read(one, 2, false, &list, &errors, &warnings), 0);
        assert_int_equal(policy_dir_read(one, 2, true, &list, &errors, &warnings), -EINVAL);
        assert_int_equal(errors.n_messages, 1);
        assert_string_equal(errors.messages[0], "missing: No such file or directory, expected a "
                                                "folder of policy files");
}

TEST(precedence_and_order, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_source_file_list_ SourceFileList list = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };

        write_file("usr/90-z.yaml", "usr z");
        write_file("usr/50-m.yaml", "usr m");
        write_file("etc/50-m.yaml", "etc m");
        write_file("etc/10-a.yaml", "");
        write_file("etc/50-m.yml", "");
        write_file("etc/.hidden.yaml", "");
        write_file("etc/.yaml", "");
        assert_int_equal(mkdir("etc/old", 0755), 0);
        assert_files(
                (const char *const[]){ "etc/10-a.yaml", "etc/50-m.yaml", "usr/90-z.yaml", NULL });
        assert_int_equal(policy_dir_read(dirs, ELEMENTSOF(dirs), false, &list, &errors, &warnings),
                         0);
        assert_string_equal(list.files[1].text, "etc m");
        assert_int_equal(list.files[1].size, 5);
        assert_int_equal(list.files[0].size, 0);
        assert_int_equal(warnings.n_messages, 1);
        assert_string_equal(warnings.messages[0],
                            "etc/50-m.yml: is not read, because its name does not end in .yaml; "
                            "rename it, or move it out of the policy folder");
}

TEST(mask, .setup_func = setup, .teardown_func = teardown) {
        write_file("usr/a.yaml", "");
        write_file("usr/b.yaml", "");
        assert_int_equal(symlink("/dev/null", "etc/a.yaml"), 0);
        assert_files((const char *const[]){ "usr/b.yaml", NULL });
        /* A later folder brings it back. */
        assert_int_equal(mkdir("run", 0755), 0);
        write_file("run/a.yaml", "");
        assert_files((const char *const[]){ "run/a.yaml", "usr/b.yaml", NULL });
}

TEST(hidden_file_is_not_judged, .setup_func = setup, .teardown_func = teardown) {
        write_file("usr/a.yaml", "");
        assert_int_equal(chmod("usr/a.yaml", 0666), 0);
        write_file("etc/a.yaml", "");
        assert_files((const char *const[]){ "etc/a.yaml", NULL });
}

TEST(links_inside, .setup_func = setup, .teardown_func = teardown) {
        write_file("usr/a.yaml", "");
        assert_int_equal(symlink("a.yaml", "usr/b.yaml"), 0);
        assert_int_equal(symlink("usr/a.yaml", "etc/c.yaml"), 0); /* the name as configured */
        assert_files((const char *const[]){ "usr/a.yaml", "usr/b.yaml", "etc/c.yaml", NULL });
}

TEST(links_outside, .setup_func = setup, .teardown_func = teardown) {
        write_file("outside.yaml", "");
        assert_int_equal(symlink("../outside.yaml", "etc/a.yaml"), 0);
        assert_refused("etc/a.yaml: a link to ../outside.yaml, expected a file, or a link to a "
                       "file in a policy folder or to /dev/null; replace it with a copy");
        assert_int_equal(unlink("etc/a.yaml"), 0);
        /* A chain is not followed: its last step could lead anywhere. */
        assert_int_equal(symlink("../outside.yaml", "etc/hop"), 0);
        assert_int_equal(symlink("hop", "etc/a.yaml"), 0);
        assert_refused("etc/a.yaml: a link to hop, expected a file, or a link to a file in a "
                       "policy folder or to /dev/null; replace it with a copy");
        assert_int_equal(unlink("etc/a.yaml"), 0);
        assert_int_equal(symlink("usr/../outside.yaml", "etc/a.yaml"), 0);
        assert_refused("etc/a.yaml: a link to usr/../outside.yaml, expected a file, or a link to a "
                       "file in a policy folder or to /dev/null; replace it with a copy");
}

TEST(link_to_writable_file, .setup_func = setup, .teardown_func = teardown) {
        write_file("etc/target", "");
        assert_int_equal(chmod("etc/target", 0646), 0);
        assert_int_equal(symlink("target", "etc/a.yaml"), 0);
        assert_refused("etc/a.yaml: group or others can write it (mode 0646), expected mode "
                       "0644; run `chmod go-w etc/a.yaml`");
}

TEST(writable, .setup_func = setup, .teardown_func = teardown) {
        write_file("etc/a.yaml", "");
        assert_int_equal(chmod("etc/a.yaml", 0664), 0);
        assert_refused("etc/a.yaml: group or others can write it (mode 0664), expected mode "
                       "0644; run `chmod go-w etc/a.yaml`");
        assert_int_equal(chmod("etc/a.yaml", 0644), 0);
        assert_int_equal(chmod("etc", 01777), 0);
        assert_refused("etc: group or others can write it (mode 1777), expected mode 0755; "
                       "run `chmod go-w etc`");
}

TEST(foreign_owner, .setup_func = setup, .teardown_func = teardown) {
        if (geteuid() != 0)
                skip();
        write_file("etc/a.yaml", "");
        assert_int_equal(chown("etc/a.yaml", 12345, 0), 0);
        assert_refused(
                "etc/a.yaml: belongs to user 12345, expected root; run `chown root etc/a.yaml`");
        assert_int_equal(chown("etc/a.yaml", 0, 0), 0);
        assert_int_equal(chown("etc", 12345, 0), 0);
        assert_refused("etc: belongs to user 12345, expected root; run `chown root etc`");
}

TEST(size, .setup_func = setup, .teardown_func = teardown) {
        write_file("etc/a.yaml", "");
        assert_int_equal(truncate("etc/a.yaml", SOURCE_FILE_MAX_BYTES), 0);
        assert_files((const char *const[]){ "etc/a.yaml", NULL });
        assert_int_equal(truncate("etc/a.yaml", SOURCE_FILE_MAX_BYTES + 1), 0);
        assert_refused("etc/a.yaml: larger than 1048576 bytes, expected at most that; split it "
                       "into several files");
}

/* A FIFO would hold up a reader that waits for a writer. */
TEST(not_regular, .setup_func = setup, .teardown_func = teardown) {
        assert_int_equal(mkfifo("etc/a.yaml", 0600), 0);
        assert_refused("etc/a.yaml: not a regular file, expected one; remove it or rename it so "
                       "that it does not end with .yaml");
        assert_int_equal(unlink("etc/a.yaml"), 0);
        assert_int_equal(mkdir("etc/a.yaml", 0755), 0);
        assert_refused("etc/a.yaml: not a regular file, expected one; remove it or rename it so "
                       "that it does not end with .yaml");
}

TEST(socket, .setup_func = setup, .teardown_func = teardown) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "etc/a.yaml" };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_refused("etc/a.yaml: cannot be read: No such device or address, expected a regular "
                       "file");
}

TEST(folder_is_none, .setup_func = setup, .teardown_func = teardown) {
        write_file("run", "");
        assert_refused("run: not a folder, expected a folder of policy files and not a link; "
                       "replace it with a folder");
        assert_int_equal(unlink("run"), 0);
        assert_int_equal(symlink("etc", "run"), 0);
        assert_refused("run: not a folder, expected a folder of policy files and not a link; "
                       "replace it with a folder");
}

TEST(all_refusals_are_told, .setup_func = setup, .teardown_func = teardown) {
        _cleanup_source_file_list_ SourceFileList list = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };

        assert_int_equal(mkfifo("etc/a.yaml", 0600), 0);
        assert_int_equal(mkfifo("etc/b.yaml", 0600), 0);
        assert_int_equal(policy_dir_read(dirs, ELEMENTSOF(dirs), false, &list, &errors, &warnings),
                         -EINVAL);
        assert_int_equal(errors.n_messages, 2);
}

/* --- policies that were last in force, for a start at which those of the folders are refused ---
 */

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
