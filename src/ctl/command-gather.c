/* tidbnumactl gather: collects the inputs of a plan of this host in one file, for somebody else. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tidbnumad/ctl/archive.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/dump.h"
#include "tidbnumad/sys/program.h"
#include "tidbnumad/sys/unit-file.h"

static const char readme[] =
        "Made by tidbnumactl gather. To plan on it, unpack it, and run there:\n"
        "  tidbnumactl plan --sysroot . --policy-dir tidbnumad.d\n"
        "  tidbnumactl check --sysroot . --policy-dir tidbnumad.d\n"
        "proc, sys       what tidbnumad reads of the machine and of the processes that its "
        "policies name\n"
        "tidbnumad.d     the policy files; etc/passwd: the users that they name\n"
        "status.json, metrics.prom, journal.txt: what the daemon reports\n"
        "Secrets in command lines are masked as tidbnumactl(8) describes.\n";

/* --- a folder, and the archive of it --- */

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

int temporary_folder_make(TemporaryFolder *ret, Error *error) {
        const char *tmp = getenv("TMPDIR");
        int r;

        *ret = TEMPORARY_FOLDER_NONE;
        if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s/tidbnumad-gather.XXXXXX",
                             tmp && strlen(tmp) < 32 ? tmp : "/tmp") >= sizeof(ret->path) ||
            !mkdtemp(ret->path)) {
                r = errno ? -errno : -EIO;
                *ret->path = '\0';
                return error_prefix(error, r, "cannot make a folder in %s: ", tmp ? tmp : "/tmp");
        }
        ret->fd = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return ret->fd < 0 ? error_prefix(error, -errno, "cannot open %s: ", ret->path) : 0;
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

        return program_run(argv, -1);
}

/* --- what is gathered --- */

static int add_processes(const TemporaryFolder *g, const Sysroot *sysroot,
                         const HostInstances *list) {
        int r = 0;

        for (size_t i = 0; i < list->n_instances; i++)
                for (size_t k = 0; k < list->instances[i].n_members && r >= 0; k++) {
                        const ProcHandle *handle = list->instances[i].members[k].handle;

                        r = handle->silent ? 0 : dump_process(sysroot, handle->pid, g->fd);
                }
        return r;
}

/* The effective files of all folders in one folder: by their names they are read in the same order.
 */
static int add_policies(const TemporaryFolder *g, const Policies *policies) {
        _cleanup_text_ Text users = { 0 };
        int r = 0;

        for (size_t i = 0; i < policies->files.n_files && r >= 0; i++) {
                const SourceFile *f = &policies->files.files[i];
                char path[512];

                (void)snprintf(path, sizeof(path), "tidbnumad.d/%s", f->name);
                r = dump_write(g->fd, path, f->text, f->size);
        }
        for (size_t i = 0; i < policies->set.n_policies; i++) {
                const PolicyMatch *match = &policies->set.policies[i].match;

                if (match->user && match->uid_known && !user_is_number(match->user))
                        text_appendf(&users, "%s:x:%u:%u::/:\n", match->user, match->uid,
                                     match->uid);
        }
        if (r >= 0 && users.length > 0)
                r = users.error < 0 ? users.error
                                    : dump_write(g->fd, "etc/passwd", users.data, users.length);
        return r;
}

/* --- the command --- */

int command_gather(const Args *args, Error *error) {
        const time_t now = (time_t)clock_realtime_seconds();
        char host[HOST_NAME_MAX + 1] = "", day[16] = "", name[HOST_NAME_MAX + 64];
        static const char *const published[] = { "status.json", "metrics.prom" };
        const char *output = args->output ? args->output : name;
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args, .machine = &machine };
        _cleanup_temporary_folder_ TemporaryFolder folder = TEMPORARY_FOLDER_NONE;
        _cleanup_close_ int out = -EBADF, runtime_dir = -EBADF;
        _cleanup_text_ Text journal = { 0 };
        struct tm tm;
        int r;

        /* Of several hosts and days side by side: "tidbnumad-gather-db7-20261127.tar.gz". */
        (void)gethostname(host, HOST_NAME_MAX);
        for (char *c = host; *c; c++)
                if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
                        *c = '_';
        if (localtime_r(&now, &tm))
                (void)strftime(day, sizeof(day), "%Y%m%d", &tm);
        (void)snprintf(name, sizeof(name), "tidbnumad-gather-%s-%s.tar.gz", host, day);
        r = machine_open(args, &machine, error);
        if (r < 0)
                return r;
        /* With invalid policies there are no processes, but everything else. */
        (void)situation_load(&s, error);
        output_error(error);
        out = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (out < 0)
                return error_prefix(error, -errno, "cannot create %s: ", output);
        r = temporary_folder_make(&folder, error);
        if (r >= 0) {
                r = dump_machine(&machine.sysroot, folder.fd);
                if (r >= 0)
                        r = add_processes(&folder, &machine.sysroot, &s.instances);
                if (r >= 0)
                        r = add_processes(&folder, &machine.sysroot, &s.ignored);
                if (r >= 0)
                        r = add_policies(&folder, s.policies);
                runtime_dir = open(args->runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                for (size_t i = 0; i < ELEMENTSOF(published) && runtime_dir >= 0 && r >= 0; i++) {
                        _cleanup_free_ char *data = NULL;
                        size_t size;

                        if (path_read_alloc(runtime_dir, &data, &size, "%s", published[i]) >= 0)
                                r = dump_write(folder.fd, published[i], data, size);
                }
                if (r >= 0 &&
                    program_read(
                            (const char *const[]){ "journalctl", "--no-pager", "--quiet",
                                                   "--unit=tidbnumad", "--unit=tidbnumad-exporter",
                                                   "--output=short-iso", "--lines=5000", NULL },
                            &journal) >= 0)
                        r = dump_write(folder.fd, "journal.txt", text_string(&journal),
                                       journal.length);
                if (r >= 0)
                        r = dump_write(folder.fd, "README", readme, strlen(readme));
                if (r < 0)
                        r = error_prefix(error, r, "cannot write to %s: ", folder.path);
        }
        if (r >= 0) {
                const char *const argv[] = { "tar",       "--create",  "--gzip",      "--file=-",
                                             "--owner=0", "--group=0", "--directory", folder.path,
                                             ".",         NULL };

                r = program_run(argv, out);
                if (r >= 0 && fsync(out) < 0)
                        r = -EIO;
                if (r < 0)
                        r = error_prefix(error, r, "cannot run tar for %s: ", output);
        }
        if (r < 0) {
                (void)unlink(output);
                return r;
        }
        output_line(stdout,
                    "Wrote %s; it holds no secrets of command lines, but names of hosts, "
                    "users, paths and devices",
                    output);
        if (geteuid() != 0)
                output_line(stderr, "note: run it as root to include the processes of other users");
        return EXIT_SUCCESS;
}
