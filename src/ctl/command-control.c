/* tidbnumactl pause, resume, release: a drop-in of policies, and a reload. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/config/suggest.h"
#include "tidbnumad/ctl/await.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/daemon-process.h"
#include "tidbnumad/ctl/drop-in.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/policies.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/policy-dir.h"

typedef struct Control {
        const Args *args;
        Await await;
        const char *dir;
        char *path; /* path of the drop-in; owned */
        int dir_fd; /* locked against other operators */
        DropIn drop_in;
        StatusFile status;
        bool daemon_lives;
} Control;

static void control_done(Control *c) {
        closep(&c->dir_fd);
        drop_in_done(&c->drop_in);
        status_file_done(&c->status);
        free(c->path);
}
#define _cleanup_control_ _cleanup_(control_done)

static int cannot(const char *what, const char *path, int error) {
        output_line(stderr, "tidbnumactl: cannot %s %s: %s%s", what, path, strerror(-error),
                    geteuid() != 0 && (error == -EACCES || error == -EPERM || error == -EROFS)
                            ? "; run it as root"
                            : "");
        return error;
}

static int open_folder(Control *c) {
        c->dir = c->args->policy_dirs[c->args->n_policy_dirs - 1];
        if (asprintf(&c->path, "%s/" BRAKES_FILE, c->dir) < 0) {
                c->path = NULL;
                return -ENOMEM;
        }
        if (c->args->dry_run)
                return 0;
        if (mkdir(c->dir, 0755) < 0 && errno != EEXIST)
                return cannot("make", c->dir, -errno);
        c->dir_fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (c->dir_fd < 0 || flock(c->dir_fd, LOCK_EX) < 0)
                return cannot("open", c->dir, -errno);
        return 0;
}

/* If a folder or a file cannot be read, reads the drop-in alone. */
static int load_alone(Control *c, Diagnostics *errors) {
        _cleanup_source_file_list_ SourceFileList own = { 0 };
        _cleanup_diagnostics_ Diagnostics again = { 0 };
        int r = policy_dir_read_one(c->dir, BRAKES_FILE, &own, &again);

        if (r >= 0)
                r = drop_in_load(&own, c->path, &c->drop_in);
        c->drop_in.refused = true;
        if (c->drop_in.errors.n_messages == 0) {
                c->drop_in.errors = *errors;
                *errors = (Diagnostics){ 0 };
        }
        return r;
}

static void report_refused(const DropIn *d) {
        if (d->errors.n_messages > 0)
                output_line(stderr,
                            "note: the policy files have errors, so the daemon keeps the policies "
                            "in force. 'tidbnumactl validate' shows them; the first: %s",
                            d->errors.messages[0]);
}

static int load(Control *c) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        int r = policy_dir_read(c->args->policy_dirs, c->args->n_policy_dirs, &files, &errors,
                                &warnings);

        if (r >= 0)
                r = drop_in_load(&files, c->path, &c->drop_in);
        else if (r == -EINVAL)
                r = load_alone(c, &errors);
        if (r == -EINVAL) {
                (void)policies_print(&c->drop_in.errors, "");
                output_line(stderr,
                            "tidbnumactl: %s itself has errors, so nothing was written. Correct "
                            "it, or remove it, which ends a pause and all releases",
                            c->path);
        } else if (r >= 0 && c->drop_in.refused) {
                report_refused(&c->drop_in);
        }
        return r;
}

static int open_control(const Args *args, Control *c) {
        int r;

        *c = (Control){ .args = args, .dir_fd = -EBADF };
        c->await = (Await){ .args = args,
                            .globs = { .words = (char **)args->names, .n_words = args->n_names } };
        r = open_folder(c);
        if (r >= 0)
                r = load(c);
        if (r < 0)
                return r;
        r = status_file_read(args->runtime_dir, &c->status);
        if (r == -ENOMEM)
                return r;
        c->daemon_lives = daemon_process_find(args->runtime_dir, &c->status) > 0;
        c->await.loaded_before = c->status.load_seconds;
        return 0;
}

static int preview(const Control *c, const Text *text) {
        if (text->length == 0) {
                output_line(stdout, "Would remove %s.", c->path);
                return EXIT_SUCCESS;
        }
        output_line(stdout, "Would write %s:", c->path);
        return output_text(text);
}

static int write_drop_in(const Control *c, const Text *text) {
        int r;

        if (text->length > 0) {
                r = atomic_file_write(c->dir_fd, BRAKES_FILE, text->data, text->length, 0644);
                return r < 0 ? cannot("write", c->path, r) : 0;
        }
        if (unlinkat(c->dir_fd, BRAKES_FILE, 0) < 0 && errno != ENOENT)
                return cannot("remove", c->path, -errno);
        return 0;
}

static int reload(const Control *c) {
        int r = daemon_process_reload(c->args->runtime_dir, &c->status);

        return r < 0 ? cannot("reload", "the daemon", r) : 0;
}

static int render(Control *c, Text *text) {
        int r;

        drop_in_render(&c->drop_in, text);
        r = drop_in_check(&c->drop_in, c->path, text);
        if (r == -EINVAL)
                (void)policies_print(&c->drop_in.errors, "");
        return r;
}

/* Writes the drop-in, and makes the daemon read it. */
static int carry_out(Control *c) {
        _cleanup_text_ Text text = { 0 };
        int r = render(c, &text);

        if (r < 0 || c->args->dry_run)
                return r < 0 ? r : preview(c, &text);
        r = write_drop_in(c, &text);
        if (r < 0)
                return r;
        (void)flock(c->dir_fd, LOCK_UN);
        c->await.stays = &c->drop_in.release;
        if (!c->daemon_lives) {
                output_line(stdout, "No daemon runs; this takes effect at its next start, until "
                                    "the next boot.");
                return EXIT_SUCCESS;
        }
        r = reload(c);
        return r < 0 || c->args->no_wait ? r : await_daemon(&c->await);
}

int command_pause(const Args *args) {
        _cleanup_control_ Control c;
        int r = open_control(args, &c);

        if (r < 0)
                return r;
        c.drop_in.observe = true;
        return carry_out(&c);
}

int command_resume(const Args *args) {
        _cleanup_control_ Control c;
        int r = open_control(args, &c);

        if (r < 0)
                return r;
        if (!c.drop_in.observe && c.drop_in.base.mode == ENFORCEMENT_OBSERVE) {
                output_line(stderr,
                            "tidbnumactl: not paused by 'tidbnumactl pause': a policy file sets "
                            "enforcement.mode: observe; change that file");
                return EXIT_FAILURE;
        }
        c.drop_in.observe = false;
        return carry_out(&c);
}

/* --- release --- */

static bool is_known(const StatusFile *s, const char *glob) {
        const WordList one = { .words = (char **)&glob, .n_words = 1 };

        for (size_t i = 0; i < s->n_instances; i++)
                if (word_list_names(&one, s->instances[i].name, s->instances[i].unit))
                        return true;
        for (size_t i = 0; i < s->n_units; i++)
                if (word_list_names(&one, s->units[i].name, NULL))
                        return true;
        for (size_t i = 0; i < s->n_devices; i++)
                if (word_list_names(&one, s->devices[i].name, NULL))
                        return true;
        return word_list_names(&one, RELEASE_HOST, NULL);
}

static int refuse_unknown(const StatusFile *s, const char *glob) {
        Suggestion similar = { .word = glob };

        for (size_t i = 0; i < s->n_instances; i++)
                suggest(&similar, s->instances[i].name);
        for (size_t i = 0; i < s->n_devices; i++)
                suggest(&similar, s->devices[i].name);
        if (similar.nearest)
                output_line(stderr,
                            "tidbnumactl: no instance, unit or device is named '%s', did you mean "
                            "'%s'?",
                            glob, similar.nearest);
        else
                output_line(stderr,
                            "tidbnumactl: no instance, unit or device is named '%s'; tidbnumactl "
                            "status lists all",
                            glob);
        return -ENOENT;
}

/* A daemon whose policies were rejected since its start has no instances, but may have undo
 * records. */
static bool can_name(const Control *c) {
        return c->daemon_lives && (!c->status.load_failed || c->status.n_policies > 0);
}

static int add_all(Control *c) {
        for (size_t i = 0; i < c->await.globs.n_words && can_name(c) && !c->args->all; i++)
                if (!is_known(&c->status, c->await.globs.words[i]))
                        return refuse_unknown(&c->status, c->await.globs.words[i]);
        return word_list_add_missing(&c->drop_in.release, &c->await.globs);
}

static int refuse_released(const char *glob) {
        output_line(stderr,
                    "tidbnumactl: a policy file releases '%s' (enforcement.release); change that "
                    "file",
                    glob);
        return -ENOENT;
}

static int refuse_not_released(const WordList *released, const char *glob) {
        _cleanup_text_ Text list = { 0 };

        for (size_t i = 0; i < released->n_words; i++)
                text_appendf(&list, " '%s'", released->words[i]);
        output_line(stderr, "tidbnumactl: '%s' is not released; %s%s", glob,
                    list.data ? "released are" : "nothing is released", list.data ? list.data : "");
        return -ENOENT;
}

/* What may be released. `unit` is NULL for a device and for the host. */
typedef struct Subject {
        const char *name, *unit;
} Subject;

/* The i-th of all instances, units and devices, and at last the host. False: there are no more. */
static bool subject_at(const StatusFile *s, size_t i, Subject *ret) {
        if (i < s->n_instances) {
                *ret = (Subject){ s->instances[i].name, s->instances[i].unit };
                return true;
        }
        i -= s->n_instances;
        if (i < s->n_units) {
                *ret = (Subject){ s->units[i].name, s->units[i].name };
                return true;
        }
        i -= s->n_units;
        if (i > s->n_devices)
                return false;
        *ret = (Subject){ i < s->n_devices ? s->devices[i].name : RELEASE_HOST, NULL };
        return true;
}

/* A unit may be written without its suffix, as its instance is named. */
static bool subject_is_named(const Subject *subject, const char *glob) {
        const WordList one = { .words = (char **)&glob, .n_words = 1 };
        const StatusUnit unit = { .name = subject->unit };

        return word_list_names(&one, subject->name, subject->unit) ||
               (subject->unit && status_unit_is_named(&unit, glob));
}

typedef enum Overlap {
        OVERLAP_NONE,
        OVERLAP_SOME, /* the word names others too */
        OVERLAP_ALL,  /* each that the word names is named by the glob */
} Overlap;

/* The instance counts, and not how it was written: as its name, its unit or a glob. */
static Overlap overlap_of(const StatusFile *s, const char *word, const char *glob) {
        bool shared = false, others = false;
        Subject subject;

        if (strcmp(word, glob) == 0)
                return OVERLAP_ALL;
        for (size_t i = 0; subject_at(s, i, &subject); i++)
                if (subject_is_named(&subject, word))
                        *(subject_is_named(&subject, glob) ? &shared : &others) = true;
        return !shared ? OVERLAP_NONE : others ? OVERLAP_SOME : OVERLAP_ALL;
}

static int refuse_wider(const char *word, const char *glob) {
        output_line(stderr,
                    "tidbnumactl: '%s' is released by '%s', which names others too; run "
                    "tidbnumactl release --undo '%s', and release those again",
                    glob, word, word);
        return -ENOENT;
}

static int remove_one(Control *c, const char *glob) {
        WordList *released = &c->drop_in.release;
        bool removed = false;

        for (size_t k = 0; k < c->drop_in.base.release.n_words; k++)
                if (overlap_of(&c->status, c->drop_in.base.release.words[k], glob) != OVERLAP_NONE)
                        return refuse_released(c->drop_in.base.release.words[k]);
        for (size_t k = released->n_words; k > 0; k--) {
                const Overlap overlap = overlap_of(&c->status, released->words[k - 1], glob);

                if (overlap == OVERLAP_SOME)
                        return refuse_wider(released->words[k - 1], glob);
                if (overlap == OVERLAP_NONE)
                        continue;
                word_list_remove(released, k - 1);
                removed = true;
        }
        return removed ? 0 : refuse_not_released(released, glob);
}

static int remove_named(Control *c) {
        int r = 0;

        for (size_t i = 0; i < c->await.globs.n_words && r >= 0; i++)
                r = remove_one(c, c->await.globs.words[i]);
        return r;
}

/* Globs of the other files stay. */
static int remove_all(Control *c) {
        WordList *released = &c->drop_in.release;

        word_list_done(released);
        if (c->drop_in.base.release.n_words > 0)
                output_line(stderr,
                            "note: %zu in enforcement.release of a policy file stay released",
                            c->drop_in.base.release.n_words);
        return word_list_add_missing(released, &c->drop_in.base.release);
}

int command_release(const Args *args) {
        _cleanup_control_ Control c;
        int r = open_control(args, &c);

        if (r >= 0)
                r = !args->undo ? add_all(&c) : args->all ? remove_all(&c) : remove_named(&c);
        return r < 0 ? r : carry_out(&c);
}

/* --- replan --- */

/* Writes the drop-in, and waits until the daemon has read it. */
static int put_and_wait(Control *c, bool quiet) {
        _cleanup_text_ Text text = { 0 };
        int r = render(c, &text);

        if (r >= 0)
                r = write_drop_in(c, &text);
        if (r >= 0)
                r = reload(c);
        if (r < 0)
                return r;
        c->await.quiet = quiet;
        r = await_daemon(&c->await);
        status_file_done(&c->status);
        if (r >= 0 && status_file_read(c->args->runtime_dir, &c->status) >= 0)
                c->await.loaded_before = c->status.load_seconds;
        return r;
}

/* The daemon acts on names that it did not have before: they are removed afterwards, and before if
 * an interrupted replan left them. */
int control_replan(const Args *args) {
        _cleanup_control_ Control c;
        int r = open_control(args, &c), cleared;

        if (r < 0)
                return r;
        if (c.drop_in.refused)
                return COMMAND_EXIT_REFUSED;
        if (c.drop_in.had_replan)
                r = put_and_wait(&c, true);
        for (size_t i = 0; i < args->n_names && r == EXIT_SUCCESS; i++)
                r = word_list_add(&c.drop_in.replan, args->names[i]);
        if (r == EXIT_SUCCESS)
                r = put_and_wait(&c, false);
        word_list_done(&c.drop_in.replan);
        cleared = put_and_wait(&c, true);
        return r != EXIT_SUCCESS ? r : cleared;
}
