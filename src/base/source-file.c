/* Text files as read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/source-file.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

void source_file_done(SourceFile *file) {
        free(file->path);
        free(file->name);
        free(file->text);
        *file = (SourceFile){ 0 };
}

void source_file_list_done(SourceFileList *list) {
        for (size_t i = 0; i < list->n_files; i++)
                source_file_done(&list->files[i]);
        free(list->files);
        *list = (SourceFileList){ 0 };
}

int source_file_list_add(SourceFileList *list, const char *path, const char *text, size_t size) {
        const char *slash = strrchr(path, '/');
        size_t mark = size >= strlen(BYTE_ORDER_MARK) &&
                                      memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0
                              ? strlen(BYTE_ORDER_MARK)
                              : 0;
        SourceFile file = {
                .path = strdup(path),
                .name = strdup(slash ? slash + 1 : path),
                .text = malloc(size - mark + 1),
                .size = size - mark,
        };

        if (!file.path || !file.name || !file.text ||
            ARRAY_RESERVE(list->files, list->allocated, list->n_files + 1) < 0) {
                source_file_done(&file);
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
