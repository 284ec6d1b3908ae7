/* Scripts of ExecStart=: what is read, and what is not opened. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../support/test.h"

#include "tidbnumad/sys/unit-file.h"

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
