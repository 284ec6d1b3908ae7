#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidbnumad/ctl/archive.h"
#include "tidbnumad/ctl/output.h"

static int remove_one(const char *path, _unused_ const struct stat *st, _unused_ int type,
                      _unused_ struct FTW *ftw) {
        return remove(path);
}

void temporary_folder_done(TemporaryFolder *folder) {
        closep(&folder->fd);
        if (*folder->path)
                (void)nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        *folder = TEMPORARY_FOLDER_NONE;
}

int temporary_folder_make(TemporaryFolder *ret) {
        const char *tmp = getenv("TMPDIR");
        int r;

        *ret = TEMPORARY_FOLDER_NONE;
        if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s/tidbnumad-gather.XXXXXX",
                             tmp && strlen(tmp) < 32 ? tmp : "/tmp") >= sizeof(ret->path) ||
            !mkdtemp(ret->path)) {
                r = errno ? -errno : -EIO;
                *ret->path = '\0';
                output_line(stderr, "tidbnumactl: cannot make a folder in %s: %s",
                            tmp ? tmp : "/tmp", strerror(-r));
                return r;
        }
        ret->fd = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (ret->fd >= 0)
                return 0;
        r = -errno;
        output_line(stderr, "tidbnumactl: cannot open %s: %s", ret->path, strerror(-r));
        return r;
}

static int spawn_tar(const char *const *argv, int out, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        int r = posix_spawn_file_actions_init(&actions);

        if (r != 0)
                return -r;
        if (out >= 0)
                r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawnp(ret, argv[0], &actions, NULL, (char *const *)argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static int run_tar(const char *const *argv, int out) {
        int status, r;
        pid_t pid;

        r = spawn_tar(argv, out, &pid);
        if (r < 0)
                return r;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int archive_pack(const TemporaryFolder *folder, int to_fd) {
        const char *const argv[] = { "tar",       "--create",  "--gzip",      "--file=-",
                                     "--owner=0", "--group=0", "--directory", folder->path,
                                     ".",         NULL };
        int r = run_tar(argv, to_fd);

        return r < 0 ? r : fsync(to_fd) == 0 ? 0 : -EIO;
}

/* The unpacked files belong to this user, whatever the archive contains, and none is written
 * outside of the folder. */
int archive_unpack(const char *archive, const TemporaryFolder *folder) {
        const char *const argv[] = { "tar",
                                     "--extract",
                                     "--force-local",
                                     "--file",
                                     archive,
                                     "--no-same-owner",
                                     "--no-same-permissions",
                                     "--directory",
                                     folder->path,
                                     NULL };

        return run_tar(argv, -1);
}
