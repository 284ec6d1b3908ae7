#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/source-edit.h"

void source_edit_list_done(SourceEditList *list) {
        for (size_t i = 0; i < list->n_edits; i++)
                free(list->edits[i].text);
        free(list->edits);
        *list = (SourceEditList){ 0 };
}

int source_edit_add(SourceEditList *list, SourceSpan at, const Text *text) {
        if (text->error < 0 || ARRAY_RESERVE(list->edits, list->allocated, list->n_edits + 1) < 0)
                return -ENOMEM;
        list->edits[list->n_edits] =
                (SourceEdit){ .at = at, .text = strdup(text->data ? text->data : "") };
        return list->edits[list->n_edits++].text ? 0 : -ENOMEM;
}

static bool is_before(const SourceEdit *a, const SourceEdit *b) {
        return a->at.line < b->at.line || (a->at.line == b->at.line && a->at.column < b->at.column);
}

/* By insertion, which keeps the order of equal ones: they come nearly sorted. */
static void sort(SourceEditList *list) {
        for (size_t i = 1; i < list->n_edits; i++) {
                SourceEdit edit = list->edits[i];
                size_t k = i;

                for (; k > 0 && is_before(&edit, &list->edits[k - 1]); k--)
                        list->edits[k] = list->edits[k - 1];
                list->edits[k] = edit;
        }
}

/* NULL: the line has no such column. */
static const char *find_column(const SourceLine *line, uint32_t column) {
        const char *p = line->start;

        if (column == SOURCE_EDIT_LINE_END)
                return line->end;
        for (uint32_t i = 1; i < column; i++) {
                if (p == line->end)
                        return NULL;
                p = source_next_character(p, line->end);
        }
        return column > 0 ? p : NULL;
}

int source_edit_apply(const SourceFile *file, SourceEditList *list, Text *ret) {
        const char *done = file->text;
        SourceLine line = { 0 };
        uint32_t number = 0;

        sort(list);
        for (size_t i = 0; i < list->n_edits; i++) {
                const SourceEdit *edit = &list->edits[i];
                const char *from = NULL, *to;

                while (number < edit->at.line && source_line_next(file, &line))
                        number++;
                if (number == edit->at.line && number > 0)
                        from = find_column(&line, edit->at.column);
                if (!from || from < done)
                        return -EINVAL;
                to = from;
                for (uint32_t k = 0; k < edit->at.length && to < line.end; k++)
                        to = source_next_character(to, line.end);
                text_append_bytes(ret, done, (size_t)(from - done));
                text_append(ret, edit->text);
                done = to;
        }
        text_append_bytes(ret, done, (size_t)(file->text + file->size - done));
        return ret->error;
}
