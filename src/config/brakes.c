#include <string.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/config/brakes.h"
#include "tidbnumad/config/policy-load.h"

void brakes_done(Brakes *brakes) {
        word_list_done(&brakes->release);
        *brakes = BRAKES_NONE;
}

/* Nodes are not checked: nothing here is about them. */
static int parse(const SourceFileList *files, PolicySet *ret) {
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };

        return policy_set_parse(files, NULL, NULL, ret, &errors, &warnings);
}

/* 1: the drop-in is among the files. */
static int list_others(const SourceFileList *files, SourceFileList *ret) {
        int found = 0, r;

        for (size_t i = 0; i < files->n_files; i++) {
                const SourceFile *f = &files->files[i];

                if (strcmp(f->name, BRAKES_FILE) == 0) {
                        found = 1;
                        continue;
                }
                r = source_file_list_add(ret, f->path, f->text, f->size);
                if (r < 0)
                        return r;
        }
        return found;
}

int brakes_read(const SourceFileList *files, PolicySet *set, Brakes *ret) {
        _cleanup_source_file_list_ SourceFileList others = { 0 };
        _cleanup_policy_set_ PolicySet without = { 0 };
        _cleanup_brakes_ Brakes brakes = BRAKES_NONE;
        int found = list_others(files, &others);
        int r = found > 0 ? parse(&others, &without) : found;
        const PolicySet *in_force = found > 0 ? &without : set;

        if (r >= 0)
                r = word_list_add_missing(&brakes.release, &in_force->release);
        if (r >= 0)
                r = word_list_add_missing(&set->release, &brakes.release);
        if (r < 0)
                return r;
        brakes.mode = in_force->mode;
        *ret = brakes;
        brakes = BRAKES_NONE;
        return 0;
}

int brakes_apply(const SourceFileList *drop_in, const Brakes *others, PolicySet *set) {
        _cleanup_policy_set_ PolicySet own = { 0 };
        WordList release = { 0 };
        int r = parse(drop_in, &own);

        if (r >= 0)
                r = word_list_add_missing(&release, &others->release);
        if (r >= 0)
                r = word_list_add_missing(&release, &own.release);
        if (r < 0) {
                word_list_done(&release);
                return r;
        }
        word_list_done(&set->release);
        set->release = release;
        set->mode = own.mode == ENFORCEMENT_OBSERVE ? ENFORCEMENT_OBSERVE : others->mode;
        return 0;
}
