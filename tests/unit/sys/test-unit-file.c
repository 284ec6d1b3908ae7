/* What unit files set, as systemd reads it. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../support/id-sets.h"
#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/unit-file.h"

TEST(texts) {
        static const struct {
                const char *text, *list;
                bool changed;
        } rows[] = {
                { "", "", false },
                { "[Service]\nAllowedCPUs=0-6\n", "0-6", true },
                { "[Service]\nAllowedCPUs=0-6", "0-6", true },
                { "[Service]\r\nAllowedCPUs = 0-2,4 6\r\n", "0-2,4,6", true },
                { "[Service]\nAllowedCPUs=\"0-2\" 7\n", "0-2,7", true },
                { "[Service]\nAllowedCPUs=1\nAllowedCPUs=3\n", "1,3", true },
                { "[Service]\nAllowedCPUs=1\nAllowedCPUs=\n", "", true },
                { "[Service]\nAllowedCPUs=1\nAllowedCPUs=\nAllowedCPUs=5\n", "5", true },
                { "[Service]\nAllowedCPUs=1 \\\n# no\n  ; no\n 2\n", "1-2", true },
                { "[Service]\nAllowedCPUs=1 \\\n\nAllowedCPUs=4\n", "1,4", true },
                { "[Service]\n#AllowedCPUs=1\n ;AllowedCPUs=1\n", "", false },
                { "[Service]\n# a \\\nAllowedCPUs=1\n", "1", true },
                { "[Unit]\nAllowedCPUs=1\n[Slice]\nAllowedCPUs=2\n", "", false },
                { "AllowedCPUs=1\n", "", false },
                { "[Service]\nAllowedCPUs=none\n", "", false },
                { "[Service]\nAllowedCPUs=1\nAllowedCPUs=2-x\n", "1", true },
                { "[Service]\nAllowedCPUsX=1\nStartupAllowedCPUs=1\n", "", false },
                { "[Service]\nAllowedCPUs\n[Service", "", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                IdSet set = { 0 };

                print_message("%s\n", rows[i].text);
                assert_int_equal(unit_file_add(rows[i].text, "AllowedCPUs", &set), rows[i].changed);
                assert_id_view(ID_VIEW(&set), rows[i].list);
        }
}

TEST(files_add_up) {
        IdSet set = { 0 };

        assert_true(unit_file_add("[Service]\nAllowedMemoryNodes=1\n", "AllowedMemoryNodes", &set));
        assert_true(unit_file_add("[Service]\nAllowedMemoryNodes=3\n", "AllowedMemoryNodes", &set));
        assert_id_view(ID_VIEW(&set), "1,3");
        assert_true(unit_file_add("[Service]\nAllowedMemoryNodes=\n", "AllowedMemoryNodes", &set));
        assert_id_view(ID_VIEW(&set), "");
}

/* --- scripts of ExecStart=: what is read, and what is not opened --- */

static int try(const char *folder, const char *name, char **ret) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        char path[256];

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
        return script_read(&sysroot, path, false, ret);
}

static void write_file(const char *folder, const char *name, const char *text, size_t n) {
        char path[256];
        FILE *f;

        (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
        f = fopen(path, "w");
        assert_non_null(f);
        for (size_t i = 0; i < n; i++)
                assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
}

TEST(files) {
        char folder[] = "/tmp/test-script-XXXXXX", path[256];
        char *text = NULL;

        assert_non_null(mkdtemp(folder));
        write_file(folder, "run.sh", "#!/bin/bash\nexec x\n", 1);
        write_file(folder, "binary", "\177ELF", 1);
        write_file(folder, "long", "#!/bin/bash\n", SCRIPT_BYTES_MAX / 8);
        (void)snprintf(path, sizeof(path), "%s/link", folder);
        assert_int_equal(symlink("run.sh", path), 0);
        (void)snprintf(path, sizeof(path), "%s/loop", folder);
        assert_int_equal(symlink("loop", path), 0);
        (void)snprintf(path, sizeof(path), "%s/pipe", folder);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(try(folder, "run.sh", &text), 0);
        assert_string_equal(text, "#!/bin/bash\nexec x\n");
        free(text);
        assert_int_equal(try(folder, "link", &text), 0);
        free(text);
        assert_int_equal(try(folder, "binary", &text), -ENOEXEC);
        assert_int_equal(try(folder, "long", &text), -E2BIG);
        assert_int_equal(try(folder, "loop", &text), -ELOOP);
        assert_int_equal(try(folder, "pipe", &text), -EINVAL); /* and does not wait for a writer */
        assert_int_equal(try(folder, "none", &text), -ENOENT);
        static const char *const names[] = { "run.sh", "binary", "long", "link", "loop", "pipe" };
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
                (void)unlink(path);
        }
        (void)rmdir(folder);
}

/* --- user names and numbers --- */

TEST(users) {
        uid_t uid = 7;

        assert_int_equal(user_to_uid("root", &uid), 0);
        assert_int_equal(uid, 0);
        assert_int_equal(user_to_uid("1234567", &uid), 0); /* need not have a name */
        assert_int_equal(uid, 1234567);
        assert_int_equal(user_to_uid("4294967294", &uid), 0);
        assert_true(uid == 4294967294u);
        uid = 7;
        /* (uid_t)-1 means "no user" to the kernel. */
        assert_true(user_to_uid("4294967295", &uid) < 0);
        assert_true(user_to_uid("4294967296", &uid) < 0);
        assert_true(user_to_uid("no-such-user-here", &uid) < 0);
        assert_true(user_to_uid("", &uid) < 0);
        assert_true(user_to_uid("-1", &uid) < 0);
        assert_true(user_to_uid("0 ", &uid) < 0);
        assert_int_equal(uid, 7);
}
