/* Small changes of a text file at places that a parser has reported, with everything else, comments
 * too, left as it is. */
#pragma once

#include "tidbnumad/base/source-file.h"
#include "tidbnumad/base/text.h"

#define SOURCE_EDIT_LINE_END UINT32_MAX

typedef struct SourceEdit {
        SourceSpan at; /* `length` characters are replaced; column SOURCE_EDIT_LINE_END: what is
                        * inserted follows the last character of the line */
        char *text;    /* owned */
} SourceEdit;

typedef struct SourceEditList {
        SourceEdit *edits; /* owned */
        size_t n_edits, allocated;
} SourceEditList;

void source_edit_list_done(SourceEditList *list);
#define _cleanup_source_edit_list_ _cleanup_(source_edit_list_done)

/* A copy of `text`. 0 or -ENOMEM. */
int source_edit_add(SourceEditList *list, SourceSpan at, const Text *text);

/* Appends the file with the edits in it; sorts them by place, those of one place in the order in
 * which they were added. 0; -EINVAL: the file has no such place, or two overlap; -ENOMEM. */
int source_edit_apply(const SourceFile *file, SourceEditList *list, Text *ret);
