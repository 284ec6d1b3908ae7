/* The drop-in of pause, release and replan. The command reads and writes the files. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/ctl/drop-in.h"

void drop_in_done(DropIn *d) {
        word_list_done(&d->release);
        word_list_done(&d->replan);
        source_file_list_done(&d->others);
        policy_set_done(&d->base);
        diagnostics_done(&d->errors);
        *d = (DropIn){ 0 };
}

/* Nodes are not checked: the daemon does that, and the drop-in contains none. */
static int parse(const SourceFileList *files, PolicySet *ret, Diagnostics *errors) {
        _cleanup_diagnostics_ Diagnostics warnings = { 0 };

        policy_set_init(ret);
        return policy_set_parse(files, NULL, NULL, ret, errors, &warnings);
}

static int split(const SourceFileList *files, const char *path, SourceFileList *others,
                 SourceFileList *own) {
        for (size_t i = 0; i < files->n_files; i++) {
                const SourceFile *f = &files->files[i];
                int r = source_file_list_add(strcmp(f->path, path) == 0 ? own : others, f->path,
                                             f->text, f->size);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_own(const SourceFileList *own, DropIn *d) {
        _cleanup_policy_set_ PolicySet set = { 0 };
        int r = parse(own, &set, &d->errors);

        if (r < 0)
                return r;
        d->observe = set.mode == ENFORCEMENT_OBSERVE;
        d->had_replan = set.replan.n_words > 0;
        r = word_list_add_missing(&d->release, &set.release);
        return r < 0 ? r : word_list_add_missing(&d->release, &d->base.release);
}

int drop_in_load(const SourceFileList *files, const char *path, DropIn *ret) {
        _cleanup_source_file_list_ SourceFileList own = { 0 };
        int r;

        *ret = (DropIn){ 0 };
        policy_set_init(&ret->base);
        r = split(files, path, &ret->others, &own);
        if (r >= 0)
                r = parse(&ret->others, &ret->base, &ret->errors);
        ret->refused = r == -EINVAL;
        return r < 0 && r != -EINVAL ? r : take_own(&own, ret);
}

static bool has_all(const WordList *list, const WordList *words) {
        for (size_t i = 0; i < words->n_words; i++)
                if (!word_list_has(list, words->words[i]))
                        return false;
        return true;
}

static void append_quoted(Text *text, const char *word) {
        text_append(text, "\"");
        for (; *word; word++)
                text_appendf(text, *word == '"' || *word == '\\' ? "\\%c" : "%c", *word);
        text_append(text, "\"");
}

static void append_words(Text *text, const char *key, const WordList *list) {
        if (list->n_words > 0)
                text_appendf(text, "  %s:\n", key);
        for (size_t i = 0; i < list->n_words; i++) {
                text_append(text, "    - ");
                append_quoted(text, list->words[i]);
                text_append(text, "\n");
        }
}

void drop_in_render(const DropIn *d, Text *text) {
        const bool release = !has_all(&d->base.release, &d->release);

        text_append(text, "");
        if (!d->observe && !release && d->replan.n_words == 0)
                return;
        text_append(
                text,
                "# Written by tidbnumactl(8); removed by 'resume', 'release --undo' or a reboot.\n"
                "version: 1\n"
                "enforcement:\n");
        if (d->observe)
                text_append(text, "  mode: observe\n");
        if (release)
                append_words(text, "release", &d->release);
        append_words(text, "replan", &d->replan);
}

/* In the order of their names, as the daemon reads them; only the drop-in if the others are
 * invalid. */
static int join(const DropIn *d, const char *path, const Text *text, SourceFileList *ret) {
        bool added = text->length == 0;
        int r = 0;

        for (size_t i = 0; i < d->others.n_files && r >= 0 && !d->refused; i++) {
                const SourceFile *f = &d->others.files[i];

                if (!added && strcmp(f->name, BRAKES_FILE) > 0) {
                        r = source_file_list_add(ret, path, text->data, text->length);
                        added = true;
                }
                if (r >= 0)
                        r = source_file_list_add(ret, f->path, f->text, f->size);
        }
        return r < 0 || added ? r : source_file_list_add(ret, path, text->data, text->length);
}

int drop_in_check(DropIn *d, const char *path, const Text *text) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_policy_set_ PolicySet set = { 0 };
        int r;

        if (text->error < 0)
                return text->error;
        r = join(d, path, text, &files);
        if (r >= 0)
                r = parse(&files, &set, &d->errors);
        if (r < 0 || ((!d->observe || set.mode == ENFORCEMENT_OBSERVE) &&
                      has_all(&set.release, &d->release) && has_all(&set.replan, &d->replan)))
                return r;
        diagnostics_addf(&d->errors,
                         "%s: a policy file with a later name sets the same keys of enforcement; "
                         "rename that file",
                         path);
        return -EINVAL;
}
