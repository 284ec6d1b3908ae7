/* Data directories out of command lines, configurations and open files of a dump. Those of living
 * processes are in test-data-dir-live.c. */
#include <errno.h>
#include <limits.h>
#include <sys/ioctl.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/observe/data-dir.h"

static void assert_cmdline(const char *bytes, size_t size, const char *data_dir,
                           const char *config) {
        const char *got_dir = "?", *got_config = "?";

        data_dir_parse_cmdline(bytes, size, &got_dir, &got_config);
        assert_string_equal(got_dir ? got_dir : "", data_dir ? data_dir : "");
        assert_string_equal(got_config ? got_config : "", config ? config : "");
        assert_true(!got_dir == !data_dir && !got_config == !config);
}

#define LINE(text) text "\0", sizeof(text)

TEST(cmdline) {
        /* As TiUP starts them. */
        assert_cmdline(
                LINE("bin/tikv-server\0--addr\0:20160\0--data-dir\0/d\0--config\0conf/t.toml"),
                "/d", "conf/t.toml");
        assert_cmdline(LINE("bin/pd-server\0--name=pd-1\0--data-dir=/d\0--config=conf/pd.toml"),
                       "/d", "conf/pd.toml");
        assert_cmdline(LINE("x\0-data-dir\0/d\0-config\0c"), "/d", "c");
        assert_cmdline(LINE("x\0-data-dir=/d\0-config=c"), "/d", "c");
        assert_cmdline(LINE("x\0-s\0d\0-C\0c"), "d", "c");
        assert_cmdline(LINE("x\0-s/d\0-C/c"), "/d", "/c");
        assert_cmdline(LINE("x\0-s=./d\0-C=../c"), "./d", "../c");
        assert_cmdline(LINE("x\0--store=/d"), "/d", NULL);
        assert_cmdline(LINE("x\0--store\0/d"), "/d", NULL);
        assert_cmdline(LINE("x\0--data-dir=/a\0--data-dir=/b"), "/b", NULL);
        /* The value of an option is none itself. */
        assert_cmdline(LINE("x\0--data-dir\0--config=c"), "--config=c", NULL);
        assert_cmdline(LINE("x\0--config\0-s\0/d"), NULL, "-s");
}

TEST(cmdline_of_others) {
        assert_cmdline(LINE("tidb-server\0--store=tikv\0--path=h:2379\0--status=10080\0-C"), NULL,
                       NULL);
        assert_cmdline(LINE("tidb-server\0-store=tikv\0-status=10080\0-store\0tikv\0-socket=/s"),
                       NULL, NULL);
        assert_cmdline(LINE("haproxy\0-sf\0"
                            "12\0-st\0"
                            "13\0-Ws\0-f\0/etc/haproxy.cfg"),
                       NULL, NULL);
        assert_cmdline(LINE("x\0--config-check\0--data-directory=/d\0data-dir=/d\0---data-dir=/d"),
                       NULL, NULL);
        assert_cmdline(LINE("x\0--data-dir=\0--config="), NULL, NULL);
        assert_cmdline(LINE("x\0--data-dir"), NULL, NULL);
        assert_cmdline(LINE("--data-dir=/d"), NULL, NULL); /* the program's name */
        assert_cmdline(LINE("x\0-\0\0--\0-s="), NULL, NULL);
        assert_cmdline("", 0, NULL, NULL);
}

static void assert_joined(const char *base, const char *path, const char *expected) {
        _cleanup_free_ char *joined = NULL;

        assert_int_equal(data_dir_join(base, path, &joined), 0);
        assert_string_equal(joined, expected);
}

TEST(join) {
        static const char *const bad[] = { "/a\nb", "/a\x1b[2J", "/a\x7f", "/\xc2\x9b",
                                           "relative/\t" };
        char *joined = (char *)7, longest[PATH_MAX + 1];

        assert_joined("/b", "/a", "/a");
        assert_joined("/b", "a", "/b/a");
        assert_joined("/", "./a//b/./", "/a/b");
        assert_joined("/b", ".", "/b");
        assert_joined("/b", "../.a/..b", "/b/../.a/..b");
        assert_joined(NULL, "///", "/");
        assert_joined(NULL, "/\xc3\xa4 \"x\"", "/\xc3\xa4 \"x\"");
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(data_dir_join("/b", bad[i], &joined), -EBADMSG);
        assert_int_equal(data_dir_join("/b\n", "a", &joined), -EBADMSG);
        assert_int_equal(data_dir_join("b", "a", &joined), -EBADMSG);
        assert_int_equal(data_dir_join(NULL, "a", &joined), -ENODATA);
        memset(longest, 'a', sizeof(longest));
        longest[0] = '/';
        longest[PATH_MAX] = '\0';
        assert_int_equal(data_dir_join(NULL, longest, &joined), -EBADMSG);
        assert_ptr_equal(joined, (char *)7);
        longest[PATH_MAX - 1] = '\0';
        assert_joined(NULL, longest, longest);
        assert_int_equal(data_dir_join("/b", longest + 1, &joined), -EBADMSG);
}

static void write_cmdline(const FakeTree *tree, const char *bytes, size_t size) {
        _cleanup_close_ int fd = -EBADF;

        fake_write(tree, "proc/50/cmdline", "");
        fd = openat(tree->fd, "proc/50/cmdline", O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, size), size);
}

/* A dump's process 50 in /srv, with this command line, and an open LOCK as the last source. */
static void fake_server(FakeTree *tree, const char *bytes, size_t size) {
        fake_init(tree);
        fake_process(tree, 50, 1, "/x", "/", "0");
        fake_link(tree, "proc/50/cwd", "/srv");
        fake_link(tree, "proc/50/fd/3", "/srv/lock/LOCK");
        fake_mkdir(tree, "srv");
        write_cmdline(tree, bytes, size);
}

static int read_fake(const FakeTree *tree, char **ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        return data_dir_read(&tree->sysroot, &handle, 997, ret);
}

static void assert_fake(const FakeTree *tree, const char *expected) {
        _cleanup_free_ char *found = NULL;

        assert_int_equal(read_fake(tree, &found), 0);
        assert_string_equal(found, expected);
}

static void assert_fake_fails(const FakeTree *tree, int error) {
        char *found = (char *)7;

        assert_int_equal(read_fake(tree, &found), error);
        assert_ptr_equal(found, (char *)7);
}

TEST(sources_in_order) {
        _cleanup_fake_ FakeTree tree;

        fake_server(&tree, LINE("tikv-server\0--data-dir=data\0--config=t.toml"));
        fake_write(&tree, "srv/t.toml", "data-dir = \"top\"\n[storage]\ndata-dir = \"table\"\n");
        assert_fake(&tree, "/srv/data");
        write_cmdline(&tree, LINE("tikv-server\0--config=t.toml"));
        assert_fake(&tree, "/srv/table");
        fake_write(&tree, "srv/t.toml", "data-dir = \"/top\"\n[log]\nlevel = \"info\"\n");
        assert_fake(&tree, "/top");
        fake_write(&tree, "srv/t.toml", "[log]\nlevel = \"info\"\n");
        assert_fake(&tree, "/srv/lock");
        write_cmdline(&tree, LINE("tikv-server"));
        assert_fake(&tree, "/srv/lock");
        fake_link(&tree, "proc/50/fd/3", "/LOCK");
        assert_fake(&tree, "/");
        fake_link(&tree, "proc/50/fd/3", "/srv/LOCK (deleted)");
        assert_fake_fails(&tree, -ENODATA);
        fake_link(&tree, "proc/50/fd/3", "/srv/BLOCK");
        assert_fake_fails(&tree, -ENODATA);
        fake_link(&tree, "proc/50/fd/3", "/srv/a\nb/LOCK");
        assert_fake_fails(&tree, -EBADMSG);
        write_cmdline(&tree, LINE("tikv-server\0-s\0/a\nb"));
        assert_fake_fails(&tree, -EBADMSG);
}

TEST(cwd_that_is_gone) {
        _cleanup_fake_ FakeTree tree;

        fake_server(&tree, LINE("tikv-server\0--data-dir=data"));
        assert_fake(&tree, "/srv/data");
        fake_link(&tree, "proc/50/cwd", "/srv (deleted)");
        assert_fake(&tree, "/srv/lock"); /* the next source */
        fake_remove(&tree, "proc/50/cwd");
        assert_fake(&tree, "/srv/lock");
        write_cmdline(&tree, LINE("tikv-server\0--data-dir=/data"));
        assert_fake(&tree, "/data");
        fake_remove(&tree, "proc/50/fd");
        assert_fake(&tree, "/data");
        write_cmdline(&tree, LINE("tikv-server\0--data-dir=data"));
        assert_fake_fails(&tree, -ESRCH);
}

/* With /srv/t.toml as given by the caller: it says nothing, and does not hang. */
static void assert_config_ignored(const FakeTree *tree) {
        (void)alarm(20);
        assert_fake(tree, "/srv/lock");
        (void)alarm(0);
        fake_remove(tree, "srv/t.toml");
}

TEST(configs_that_are_none) {
        _cleanup_fake_ FakeTree tree;
        _cleanup_close_ int big = -EBADF, fifo = -EBADF;
        int unread = 0;

        fake_server(&tree, LINE("tikv-server\0--config=/srv/t.toml"));
        assert_fake(&tree, "/srv/lock"); /* there is none */
        assert_int_equal(mkfifoat(tree.fd, "srv/t.toml", 0666), 0);
        fifo = openat(tree.fd, "srv/t.toml", O_RDWR | O_NONBLOCK | O_CLOEXEC);
        assert_int_equal(write(fifo, "x", 1), 1);
        assert_config_ignored(&tree);
        assert_int_equal(ioctl(fifo, FIONREAD, &unread), 0);
        assert_int_equal(unread, 1); /* nobody has touched it */
        fake_mkdir(&tree, "srv/t.toml");
        assert_config_ignored(&tree);
        fake_link(&tree, "srv/t.toml", "t.toml");
        assert_config_ignored(&tree);
        fake_link(&tree, "srv/t.toml", "/dev/zero"); /* below the root: not there */
        assert_config_ignored(&tree);
        fake_write(&tree, "srv/t.toml", "data-dir = \"/d\" #");
        assert_fake(&tree, "/d");
        big = openat(tree.fd, "srv/t.toml", O_WRONLY | O_CLOEXEC);
        assert_int_equal(ftruncate(big, (off_t)DATA_DIR_CONFIG_MAX_BYTES), 0);
        assert_fake(&tree, "/d");
        assert_int_equal(ftruncate(big, (off_t)DATA_DIR_CONFIG_MAX_BYTES + 1), 0);
        assert_config_ignored(&tree);
}

/* Links inside of the root are followed as the process follows them, and never out of it. */
TEST(config_below_the_root) {
        _cleanup_fake_ FakeTree tree;
        char outside[64];

        fake_server(&tree, LINE("tikv-server\0--config=/srv/../../../srv/conf"));
        fake_link(&tree, "srv/conf", "/etc/t.toml");
        fake_write(&tree, "etc/t.toml", "data-dir = \"/inside\"");
        assert_fake(&tree, "/inside");
        /* By its name on this machine it would be found. */
        (void)snprintf(outside, sizeof(outside), "%s/etc/t.toml", tree.path);
        fake_link(&tree, "srv/conf", outside);
        assert_fake(&tree, "/srv/lock");
}
