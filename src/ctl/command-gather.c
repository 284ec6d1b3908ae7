/* tidbnumactl gather: what a plan of this host is made from, in one file for somebody else. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/sys/dump.h"
#include "tidbnumad/sys/journalctl.h"
#include "tidbnumad/sys/users.h"

static const char readme[] =
        "Made by tidbnumactl gather. To plan on it, unpack it, and run there:\n"
        "  tidbnumactl plan --sysroot . --policy-dir tidbnumad.d\n"
        "  tidbnumactl check --sysroot . --policy-dir tidbnumad.d\n"
        "proc, sys       what tidbnumad reads of the machine and of the processes that its "
        "policies name\n"
        "tidbnumad.d     the policy files; etc/passwd: the users that they name\n"
        "status.json, metrics.prom, journal.txt: what the daemon reports\n"
        "Secrets in command lines are masked as tidbnumactl(8) describes.\n";

typedef struct Gather {
        char dir[64]; /* "": none */
        int fd;
} Gather;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

static void gather_done(Gather *g) {
        closep(&g->fd);
        if (*g->dir)
                (void)nftw(g->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- what is gathered --- */

static int add_processes(const Gather *g, const Sysroot *sysroot, const ObservedList *list) {
        int r = 0;

        for (size_t i = 0; i < list->n_instances; i++)
                for (size_t k = 0; k < list->instances[i].n_members && r >= 0; k++)
                        r = dump_process(sysroot, list->instances[i].members[k].process.id.pid,
                                         g->fd);
        return r;
}

/* The effective files of all folders, in one: by name they are read in the same order. */
static int add_policies(const Gather *g, const Policies *policies) {
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

static int add_reports(const Gather *g, const char *runtime_dir) {
        static const char *const names[] = { "status.json", "metrics.prom" };
        _cleanup_close_ int fd = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_text_ Text journal = { 0 };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(names) && fd >= 0 && r >= 0; i++) {
                _cleanup_free_ char *data = NULL;
                size_t size;

                if (read_file_alloc_at(fd, names[i], &data, &size) >= 0)
                        r = dump_write(g->fd, names[i], data, size);
        }
        if (r >= 0 &&
            journalctl_read((const char *const[]){ "--unit=tidbnumad", "--unit=tidbnumad-exporter",
                                                   "--output=short-iso", "--lines=5000", NULL },
                            &journal) >= 0)
                r = dump_write(g->fd, "journal.txt", journal.data ? journal.data : "",
                               journal.length);
        return r < 0 ? r : dump_write(g->fd, "README", readme, strlen(readme));
}

static int gather(const Gather *g, const Situation *s, const Case *c) {
        int r = dump_machine(&s->machine.sysroot, g->fd);

        if (r >= 0)
                r = add_processes(g, &s->machine.sysroot, &c->running);
        if (r >= 0)
                r = add_processes(g, &s->machine.sysroot, &c->ignored);
        if (r >= 0)
                r = add_policies(g, &c->policies);
        return r < 0 ? r : add_reports(g, s->args->runtime_dir);
}

/* --- the archive --- */

static int spawn_tar(const char *dir, int out, pid_t *ret) {
        char *const argv[] = { (char *)"tar",         (char *)"--create",
                               (char *)"--gzip",      (char *)"--file=-",
                               (char *)"--owner=0",   (char *)"--group=0",
                               (char *)"--directory", (char *)dir,
                               (char *)".",           NULL };
        posix_spawn_file_actions_t actions;
        int r = posix_spawn_file_actions_init(&actions);

        if (r != 0)
                return -r;
        r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static int pack(const Gather *g, int out) {
        int status, r;
        pid_t pid;

        r = spawn_tar(g->dir, out, &pid);
        if (r < 0)
                return r;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 && fsync(out) == 0 ? 0 : -EIO;
}

static int cannot(const char *what, const char *path, int error) {
        output_line(stderr, "tidbnumactl: cannot %s %s: %s", what, path, strerror(-error));
        return error;
}

static int open_folder(Gather *g) {
        const char *tmp = getenv("TMPDIR");

        if ((size_t)snprintf(g->dir, sizeof(g->dir), "%s/tidbnumad-gather.XXXXXX",
                             tmp && strlen(tmp) < 32 ? tmp : "/tmp") >= sizeof(g->dir) ||
            !mkdtemp(g->dir)) {
                *g->dir = '\0';
                return cannot("make a folder in", tmp ? tmp : "/tmp", errno ? -errno : -EIO);
        }
        g->fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return g->fd < 0 ? cannot("open", g->dir, -errno) : 0;
}

static int fill(const Args *args, const Situation *s, const Case *c, int out) {
        _cleanup_(gather_done) Gather g = { .fd = -EBADF };
        int r = open_folder(&g);

        if (r < 0)
                return r;
        r = gather(&g, s, c);
        if (r < 0)
                return cannot("write to", g.dir, r);
        r = pack(&g, out);
        return r < 0 ? cannot("run tar for", args->output, r) : 0;
}

int command_gather(const Args *args) {
        _cleanup_situation_ Situation situation = { .machine = MACHINE_NONE };
        _cleanup_case_ Case c = { 0 };
        _cleanup_close_ int out = -EBADF;
        int r;

        out = open(args->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (out < 0)
                return cannot("create", args->output, -errno);
        r = situation_open(args, &situation);
        if (r >= 0 && case_open(&situation, NULL, NULL, &c) == -ENOMEM)
                r = -ENOMEM; /* with policies in error there are no processes, but all the rest */
        if (r >= 0)
                r = fill(args, &situation, &c, out);
        if (r < 0) {
                (void)unlink(args->output);
                return r;
        }
        output_line(stdout,
                    "Wrote %s; it holds no secrets of command lines, but names of hosts, "
                    "users, paths and devices",
                    args->output);
        if (geteuid() != 0)
                (void)fputs("note: run it as root to include the processes of other users\n",
                            stderr);
        return EXIT_SUCCESS;
}
