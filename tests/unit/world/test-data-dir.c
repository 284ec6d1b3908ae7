/* Data directories out of command lines and open files, of a dump and of living
 * processes. */
#include <ftw.h>
#include <limits.h>

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/world/storage.h"

static void assert_cmdline(const char *bytes, size_t size, const char *data_dir) {
        const char *got = data_dir_parse_cmdline(bytes, size);

        assert_string_equal(got ? got : "", data_dir ? data_dir : "");
        assert_true(!got == !data_dir);
}

#define LINE(text) text "\0", sizeof(text)

TEST(cmdline) {
        /* As TiUP starts them. */
        assert_cmdline(
                LINE("bin/tikv-server\0--addr\0:20160\0--data-dir\0/d\0--config\0conf/t.toml"),
                "/d");
        assert_cmdline(LINE("bin/pd-server\0--name=pd-1\0--data-dir=/d\0--config=conf/pd.toml"),
                       "/d");
        assert_cmdline(LINE("x\0-data-dir\0/d\0-config\0c"), "/d");
        assert_cmdline(LINE("x\0-data-dir=/d\0-config=c"), "/d");
        assert_cmdline(LINE("x\0-s\0d\0-C\0c"), "d");
        assert_cmdline(LINE("x\0-s/d\0-C/c"), "/d");
        assert_cmdline(LINE("x\0-s=./d\0-C=../c"), "./d");
        assert_cmdline(LINE("x\0--store=/d"), "/d");
        assert_cmdline(LINE("x\0--store\0/d"), "/d");
        assert_cmdline(LINE("x\0--data-dir=/a\0--data-dir=/b"), "/b");
        /* The value of an option is none itself. */
        assert_cmdline(LINE("x\0--data-dir\0--data-dir=c"), "--data-dir=c");
}

TEST(cmdline_of_others) {
        assert_cmdline(LINE("tidb-server\0--store=tikv\0--path=h:2379\0--status=10080\0-s"), NULL);
        assert_cmdline(LINE("tidb-server\0-store=tikv\0-status=10080\0-store\0tikv\0-socket=/s"),
                       NULL);
        assert_cmdline(LINE("haproxy\0-sf\0"
                            "12\0-st\0"
                            "13\0-Ws\0-f\0/etc/haproxy.cfg"),
                       NULL);
        assert_cmdline(LINE("x\0--data-directory=/d\0data-dir=/d\0---data-dir=/d"), NULL);
        assert_cmdline(LINE("x\0--data-dir="), NULL);
        assert_cmdline(LINE("x\0--data-dir"), NULL);
        assert_cmdline(LINE("--data-dir=/d"), NULL); /* the program's name */
        assert_cmdline(LINE("x\0-\0\0--\0-s="), NULL);
        assert_cmdline("", 0, NULL);
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

#define DATA_DIR_TEST(test, arguments)                                                             \
        TEST_AFTER(test, FakeTree, tree, fake_server(tree, arguments), fake_done)

static int read_fake(const FakeTree *tree, char **ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        return data_dir_read(&tree->sysroot, &handle, ret);
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

DATA_DIR_TEST(sources_in_order, LINE("tikv-server\0--data-dir=data")) {
        assert_fake(tree, "/srv/data");
        write_cmdline(tree, LINE("tikv-server"));
        assert_fake(tree, "/srv/lock");
        fake_link(tree, "proc/50/fd/3", "/LOCK");
        assert_fake(tree, "/");
        fake_link(tree, "proc/50/fd/3", "/srv/LOCK (deleted)");
        assert_fake_fails(tree, -ENODATA);
        fake_link(tree, "proc/50/fd/3", "/srv/BLOCK");
        assert_fake_fails(tree, -ENODATA);
        fake_link(tree, "proc/50/fd/3", "/srv/a\nb/LOCK");
        assert_fake_fails(tree, -EBADMSG);
        write_cmdline(tree, LINE("tikv-server\0-s\0/a\nb"));
        assert_fake_fails(tree, -EBADMSG);
}

/* A configuration file may name another directory, and is not read. */
DATA_DIR_TEST(no_configuration_is_read, LINE("tikv-server\0--config\0/srv/t.toml")) {
        fake_write(tree, "srv/t.toml", "[storage]\ndata-dir = \"/table\"\n");
        assert_fake(tree, "/srv/lock");
}

DATA_DIR_TEST(files_of_a_store, LINE("tikv-server")) {
        fake_link(tree, "proc/50/fd/3", "/deploy/log/tikv.log");
        assert_fake_fails(tree, -ENODATA);
        fake_link(tree, "proc/50/fd/4", "/data/db/000017.log");
        assert_fake(tree, "/data/db");
        fake_link(tree, "proc/50/fd/5", "/data/LOCK");
        assert_fake(tree, "/data");
        fake_remove(tree, "proc/50/fd/5");
        fake_link(tree, "proc/50/fd/4", "/data/db/000018.sst");
        assert_fake(tree, "/data/db");
        fake_link(tree, "proc/50/fd/4", "/data/db/.sst");
        assert_fake_fails(tree, -ENODATA);
        fake_link(tree, "proc/50/fd/4", "/data/db/000018.sst.tmp");
        assert_fake_fails(tree, -ENODATA);
}

DATA_DIR_TEST(cwd_that_is_gone, LINE("tikv-server\0--data-dir=data")) {
        assert_fake(tree, "/srv/data");
        fake_link(tree, "proc/50/cwd", "/srv (deleted)");
        assert_fake(tree, "/srv/lock"); /* the next source */
        fake_remove(tree, "proc/50/cwd");
        assert_fake(tree, "/srv/lock");
        write_cmdline(tree, LINE("tikv-server\0--data-dir=/data"));
        assert_fake(tree, "/data");
        fake_remove(tree, "proc/50/fd");
        assert_fake(tree, "/data");
        write_cmdline(tree, LINE("tikv-server\0--data-dir=data"));
        assert_fake_fails(tree, -ESRCH);
}

/* --- data-dir-live --- */

/* Data directories of processes that live, also in roots of their own. */

/* A process that pretends to be a server. All paths are those of this machine. */
typedef struct Server {
        const char *line; /* its command line, with one blank between the arguments */
        const char *cwd;
        const char *root; /* chroot, or NULL */
        const char *lock; /* to hold open, or NULL */
        bool remove_cwd;
} Server;

/* main() has seen to it that there is so much behind the program's name. */
#define ROOM 256

/* Over this program's own arguments, where the kernel reads the command line from. */
static void data_dir_live_write_cmdline(const char *line) {
        char *area = program_invocation_name;

        memset(area, 0, strlen(area) + 1 + ROOM);
        for (const char *p = line; *p; p++)
                *area++ = *p == ' ' ? '\0' : *p;
}

static void serve(const Server *server, int ready) {
        if (chdir(server->cwd) < 0 || (server->root && chroot(server->root) < 0))
                _exit(2);
        if (server->lock && open(server->lock, O_RDWR | O_CREAT, 0600) < 0)
                _exit(3);
        if (server->remove_cwd && rmdir(server->cwd) < 0)
                _exit(4);
        data_dir_live_write_cmdline(server->line);
        if (write(ready, "", 1) != 1)
                _exit(5);
        child_wait();
}

/* 0: it may not do that here. */
static pid_t start(const Server *server) {
        int ends[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid = child_fork();
        if (pid == 0)
                serve(server, ends[1]);
        closep(&ends[1]);
        if (read(ends[0], &byte, 1) != 1) {
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                pid = 0;
        }
        closep(&ends[0]);
        return pid;
}

static int read_live(pid_t pid, char **ret) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, pid, &handle), 0);
        return data_dir_read(&sysroot, &handle, ret);
}

static void assert_server(const Server *server, const char *expected) {
        _cleanup_free_ char *found = NULL;
        pid_t pid = start(server);
        int r;

        if (pid == 0)
                skip_because("not allowed here");
        r = read_live(pid, &found);
        child_end(pid);
        if (!expected) {
                assert_int_equal(r, -ENODATA);
                assert_null(found);
                return;
        }
        assert_int_equal(r, 0);
        assert_string_equal(found, expected);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

/* A folder to run in, real in all its parts. */
static int make_folder(void **state) {
        char path[] = "/tmp/data-dir-XXXXXX";

        if (!mkdtemp(path))
                return -1;
        *state = realpath(path, NULL);
        return *state ? chdir(*state) : -1;
}

static int remove_folder(void **state) {
        int r = nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);

        free(*state);
        return r;
}

static char *below(const char *folder, const char *name) {
        char *path;

        assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
        return path;
}

TEST(sources, .setup_func = make_folder, .teardown_func = remove_folder) {
        _cleanup_free_ char *data = below(*state, "data");
        Server server = { .line = "tikv-server --data-dir ./data", .cwd = *state };

        assert_server(&server, data);
        server.line = "tikv-server";
        assert_server(&server, NULL);
        server.lock = "LOCK";
        assert_server(&server, *state);
}

/* The configuration is somebody else's file: a FIFO in its place would hold up whoever opens it. */
TEST(configuration_is_left_alone, .setup_func = make_folder, .teardown_func = remove_folder) {
        const Server server = { .line = "tikv-server --config pipe -C pipe", .cwd = *state };

        assert_int_equal(mkfifo("pipe", 0666), 0);
        (void)alarm(60);
        assert_server(&server, NULL);
        (void)alarm(0);
}

/* The first one that was opened, whatever else is. */
TEST(first_lock, .setup_func = make_folder, .teardown_func = remove_folder) {
        _cleanup_close_ int first = -EBADF, second = -EBADF;
        _cleanup_free_ char *z = below(*state, "z");
        Server server = { .line = "tikv-server", .cwd = *state };

        assert_int_equal(mkdir("z", 0700), 0);
        assert_int_equal(mkdir("a", 0700), 0);
        first = open("z/LOCK", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        second = open("a/LOCK", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_true(first >= 0 && first < second);
        assert_server(&server, z); /* handed on by fork() */
}

TEST(data_dir_live_cwd_that_is_gone, .setup_func = make_folder, .teardown_func = remove_folder) {
        _cleanup_free_ char *cwd = below(*state, "cwd");
        Server server = { .line = "tikv-server --data-dir=data", .cwd = cwd, .remove_cwd = true };

        assert_int_equal(mkdir("cwd", 0700), 0);
        assert_server(&server, NULL);
        assert_int_equal(mkdir("cwd", 0700), 0);
        server.line = "tikv-server --data-dir=/data";
        assert_server(&server, "/data");
}

/* Files that it only reads are another's. */
TEST(only_files_open_for_writing, .setup_func = make_folder, .teardown_func = remove_folder) {
        _cleanup_close_ int read_only = -EBADF, table = -EBADF;
        _cleanup_free_ char *a = below(*state, "a");
        const Server server = { .line = "tikv-server", .cwd = *state };

        assert_int_equal(mkdir("z", 0700), 0);
        assert_int_equal(mkdir("a", 0700), 0);
        read_only = open("z/LOCK", O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(read_only >= 0);
        assert_server(&server, NULL);
        table = open("a/000012.sst", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(table >= 0);
        assert_server(&server, a);
}

TEST(chroot, .setup_func = make_folder, .teardown_func = remove_folder) {
        _cleanup_free_ char *root = below(*state, "root"), *cwd = below(*state, "root/srv");
        Server server = { .line = "tikv-server -s ./data", .cwd = cwd, .root = root };

        assert_int_equal(mkdir("root", 0755), 0);
        assert_int_equal(mkdir("root/srv", 0755), 0);
        assert_server(&server, "/srv/data");
        server.line = "tikv-server";
        server.lock = "LOCK";
        assert_server(&server, "/srv");
}

TEST(gone, .setup_func = make_folder, .teardown_func = remove_folder) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        const Server server = { .line = "tikv-server --data-dir=/data", .cwd = *state };
        char *found = (char *)7;
        pid_t pid = start(&server);

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, pid, &handle), 0);
        child_make_zombie(pid);
        assert_int_equal(data_dir_read(&sysroot, &handle, &found), -ESRCH); /* a zombie */
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(data_dir_read(&sysroot, &handle, &found), -ESRCH);
        assert_ptr_equal(found, (char *)7);
}

int main(int argc, char **argv) {
        char room[ROOM];

        if (argc == 1) { /* again, with a long line: see data_dir_live_write_cmdline() */
                memset(room, '-', sizeof(room) - 1);
                room[sizeof(room) - 1] = '\0';
                (void)execv("/proc/self/exe", (char *[]){ argv[0], room, NULL });
                return 1;
        }
        return test_run_all();
}
