/* Data directories of processes that live, also in roots of their own. */
#include <ftw.h>
#include <limits.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/world/storage.h"

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
static void write_cmdline(const char *line) {
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
        write_cmdline(server->line);
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

TEST(cwd_that_is_gone, .setup_func = make_folder, .teardown_func = remove_folder) {
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

        if (argc == 1) { /* again, with a long line: see write_cmdline() */
                memset(room, '-', sizeof(room) - 1);
                room[sizeof(room) - 1] = '\0';
                (void)execv("/proc/self/exe", (char *[]){ argv[0], room, NULL });
                return 1;
        }
        return test_run_all();
}
