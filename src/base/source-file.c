#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/source-file.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static void file_done(SourceFile *file) {
        free(file->path);
        free(file->name);
        free(file->text);
        *file = (SourceFile){ 0 };
}

void source_file_list_done(SourceFileList *list) {
        for (size_t i = 0; i < list->n_files; i++)
                file_done(&list->files[i]);
        free(list->files);
        *list = (SourceFileList){ 0 };
}

int source_file_list_add(SourceFileList *list, const char *path, const char *text, size_t size) {
        size_t mark = size >= strlen(BYTE_ORDER_MARK) &&
                                      memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0
                              ? strlen(BYTE_ORDER_MARK)
                              : 0;
        SourceFile file = {
                .path = strdup(path),
                .name = strdup(basename(path)),
                .text = malloc(size - mark + 1),
                .size = size - mark,
        };

        if (!file.path || !file.name || !file.text ||
            ARRAY_RESERVE(list->files, list->allocated, list->n_files + 1) < 0) {
                file_done(&file);
                return -ENOMEM;
        }
        if (file.size > 0)
                memcpy(file.text, text + mark, file.size);
        file.text[file.size] = '\0';
        list->files[list->n_files++] = file;
        return 0;
}

const SourceFile *source_file_find(const SourceFileList *list, const char *path) {
        for (size_t i = 0; i < list->n_files; i++)
                if (strcmp(list->files[i].path, path) == 0)
                        return &list->files[i];
        return NULL;
}

/* The length of the line break at `p`, or 0. YAML 1.1 knows five of them. */
static size_t break_length(const char *p, const char *end) {
        size_t left = (size_t)(end - p);

        if (*p == '\n')
                return 1;
        if (*p == '\r')
                return left > 1 && p[1] == '\n' ? 2 : 1;
        if (left > 1 && memcmp(p, "\xc2\x85", 2) == 0)
                return 2;
        if (left > 2 && (memcmp(p, "\xe2\x80\xa8", 3) == 0 || memcmp(p, "\xe2\x80\xa9", 3) == 0))
                return 3;
        return 0;
}

bool source_line_next(const SourceFile *file, SourceLine *line) {
        const char *end = file->text + file->size, *p;
        size_t n = 0;

        if (line->start && !line->next)
                return false;
        line->start = line->start ? line->next : file->text;
        for (p = line->start; p < end; p++) {
                n = break_length(p, end);
                if (n > 0)
                        break;
        }
        line->end = p;
        line->next = n > 0 ? p + n : NULL;
        return true;
}

const char *source_next_character(const char *p, const char *end) {
        for (p++; p < end && ((unsigned char)*p & 0xc0) == 0x80; p++)
                ;
        return p;
}
