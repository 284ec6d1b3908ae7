/* A small fake /proc and /sys in a scratch folder, for tests that read through a Sysroot. */
#pragma once

#include <ftw.h>

#include "id-sets.h"
#include "test.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/sysroot.h"

typedef struct FakeTree {
        char path[32];
        int fd; /* of the folder */
        Sysroot sysroot;
} FakeTree;

static inline int fake_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *ftw) {
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

/* A file or a whole folder of the tree; it must be there. */
static inline void fake_remove(const FakeTree *tree, const char *name) {
        assert_int_equal(
                nftw(fmt("%s/%s", tree->path, name), fake_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void fake_mkdir(const FakeTree *tree, const char *name) {
        char path[512];

        (void)snprintf(path, sizeof(path), "%s", name);
        for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                (void)mkdirat(tree->fd, path, 0755);
                *slash = '/';
        }
        assert_true(mkdirat(tree->fd, path, 0755) == 0 || errno == EEXIST);
}

static inline void fake_mkdir_of(const FakeTree *tree, const char *name) {
        const char *slash = strrchr(name, '/');

        if (!slash)
                return;
        fake_mkdir(tree, fmt("%.*s", (int)(slash - name), name));
}

static inline void fake_write(const FakeTree *tree, const char *name, const char *text) {
        _cleanup_close_ int fd = -EBADF;

        fake_mkdir_of(tree, name);
        fd = openat(tree->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Also over a link that is there. */
static inline void fake_link(const FakeTree *tree, const char *name, const char *target) {
        fake_mkdir_of(tree, name);
        (void)unlinkat(tree->fd, name, 0);
        assert_int_equal(symlinkat(target, tree->fd, name), 0);
}

/* In memory, where there is such a place: a machine is many small files. */
static inline const char *fake_scratch(void) {
        return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* Everything that the tree is to show may be written later: only folders are held. */
static inline void fake_init_in(FakeTree *tree, const char *folder) {
        (void)snprintf(tree->path, sizeof(tree->path), "%s/fake-tree-XXXXXX", folder);
        assert_non_null(mkdtemp(tree->path));
        tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(tree->fd >= 0);
        fake_mkdir(tree, "proc");
        fake_mkdir(tree, "sys/fs/cgroup");
        assert_int_equal(sysroot_open(tree->path, &tree->sysroot), 0);
}

static inline void fake_init(FakeTree *tree) {
        fake_init_in(tree, fake_scratch());
}

static inline void fake_done(FakeTree *tree) {
        sysroot_close(&tree->sysroot);
        closep(&tree->fd);
        (void)nftw(tree->path, fake_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
#define _cleanup_fake_ _cleanup_(fake_done)

#define FAKE_TEST(test) TEST_WITH(test, FakeTree, tree, fake_init, fake_done)
#define TREE_TEST(test) TEST_WITH(test, FakeTree, tree, fake_init, fake_done)

static inline void fake_stat_file(const FakeTree *tree, const char *folder, int pid, int parent,
                                  char state, unsigned start, unsigned cpu) {
        fake_write(tree, fmt("%s/stat", folder),
                   fmt("%d (a) R 1 (b) %c %d 1 1 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 %u 4096 "
                       "25 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 %u 0 0 0 0 0 0 0 0 0 0 "
                       "0 0 0\n",
                       pid, state, parent, start, cpu));
}

static inline void fake_status_file(const FakeTree *tree, const char *folder, const char *cpus) {
        fake_write(tree, fmt("%s/status", folder),
                   fmt("Name:\ta\nState:\tS (sleeping)\nUid:\t0\t997\t0\t0\nGid:\t0\t0\t0\t0\n"
                       "Cpus_allowed:\tff\nCpus_allowed_list:\t%s\n"
                       "Mems_allowed:\t3\nMems_allowed_list:\t0-1\n",
                       cpus));
}

/* One thread of a process, on these CPUs, and where it last ran. */
static inline void fake_thread(const FakeTree *tree, int pid, int tid, const char *cpus,
                               unsigned last_cpu) {
        const char *folder = fmt("proc/%d/task/%d", pid, tid);

        fake_stat_file(tree, folder, tid, 1, 'S', 5, last_cpu);
        fake_status_file(tree, folder, cpus);
}

/* A process with its first thread. `cgroup` is the path of the unified hierarchy. */
static inline void fake_process(const FakeTree *tree, int pid, int parent, const char *exe,
                                const char *cgroup, const char *cpus) {
        const char *folder = fmt("proc/%d", pid);

        fake_stat_file(tree, folder, pid, parent, 'S', 1000 + (unsigned)pid, 0);
        fake_status_file(tree, folder, cpus);
        fake_link(tree, fmt("%s/exe", folder), exe);
        fake_write(tree, fmt("%s/comm", folder),
                   fmt("%.15s\n", strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe));
        fake_write(tree, fmt("%s/statm", folder), "271 191 179 140 0 76 0\n");
        fake_write(tree, fmt("%s/cgroup", folder), fmt("0::%s\n", cgroup));
        fake_thread(tree, pid, pid, cpus, 0);
}

/* This host. */
static inline void live_init(Sysroot *sysroot) {
        assert_int_equal(sysroot_open(NULL, sysroot), 0);
}

#define LIVE_TEST(test) TEST_WITH(test, Sysroot, sysroot, live_init, sysroot_close)
