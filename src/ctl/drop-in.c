/* The drop-in of pause, release and replan. The command reads and writes the files. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/ctl/drop-in.h"

void drop_in_done(DropIn *d) {
        for (size_t i = 0; i < d->n_release; i++)
                free(d->release[i]);
        free(d->release);
        word_list_done(&d->replan);
        source_file_list_done(&d->others);
        policy_set_done(&d->base);
        diagnostics_done(&d->errors);
        *d = (DropIn){ 0 };
}

static bool has(char *const *words, size_t n, const char *word) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(words[i], word) == 0)
                        return true;
        return false;
}

bool drop_in_base_releases(const DropIn *d, const char *glob) {
        return has(d->base.release.words, d->base.release.n_words, glob);
}

int drop_in_add(DropIn *d, const char *glob) {
        char *copy;

        if (has(d->release, d->n_release, glob))
                return 0;
        copy = strdup(glob);
        if (!copy || ARRAY_RESERVE(d->release, d->release_allocated, d->n_release + 1) < 0) {
                free(copy);
                return -ENOMEM;
        }
        d->release[d->n_release++] = copy;
        return 1;
}

int drop_in_remove(DropIn *d, const char *glob) {
        for (size_t i = 0; i < d->n_release; i++) {
                if (strcmp(d->release[i], glob) != 0)
                        continue;
                free(d->release[i]);
                ARRAY_REMOVE(d->release, d->n_release, i);
                return 1;
        }
        return 0;
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

static int take_words(DropIn *d, const WordList *list) {
        for (size_t i = 0; i < list->n_words; i++) {
                int r = drop_in_add(d, list->words[i]);

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
        d->is_there = own->n_files > 0;
        d->observe = set.mode == ENFORCEMENT_OBSERVE;
        d->had_replan = set.replan.n_words > 0;
        r = take_words(d, &set.release);
        return r < 0 ? r : take_words(d, &d->base.release);
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

/* Does it release more than the other files? */
static bool says_release(const DropIn *d) {
        for (size_t i = 0; i < d->n_release; i++)
                if (!drop_in_base_releases(d, d->release[i]))
                        return true;
        return false;
}

static void append_quoted(Text *text, const char *word) {
        text_append(text, "\"");
        for (; *word; word++)
                text_appendf(text, *word == '"' || *word == '\\' ? "\\%c" : "%c", *word);
        text_append(text, "\"");
}

static void append_words(Text *text, const char *key, char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (i == 0)
                        text_appendf(text, "  %s:\n", key);
                text_append(text, "    - ");
                append_quoted(text, words[i]);
                text_append(text, "\n");
        }
}

void drop_in_render(const DropIn *d, Text *text) {
        const bool release = says_release(d);

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
                append_words(text, "release", d->release, d->n_release);
        append_words(text, "replan", d->replan.words, d->replan.n_words);
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

static bool says_so(const DropIn *d, const PolicySet *set) {
        if (d->observe && set->mode != ENFORCEMENT_OBSERVE)
                return false;
        for (size_t i = 0; i < d->n_release; i++)
                if (!has(set->release.words, set->release.n_words, d->release[i]))
                        return false;
        for (size_t i = 0; i < d->replan.n_words; i++)
                if (!has(set->replan.words, set->replan.n_words, d->replan.words[i]))
                        return false;
        return true;
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
        if (r < 0 || says_so(d, &set))
                return r;
        diagnostics_addf(&d->errors,
                         "%s: a policy file with a later name sets the same keys of enforcement; "
                         "rename that file",
                         path);
        return -EINVAL;
}
