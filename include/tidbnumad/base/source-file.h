/* Text files as read, for those that parse them without touching the disk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"

/* The largest file that is read: 1 MiB holds some thousand policies. */
#define SOURCE_FILE_MAX_BYTES ((size_t)1 << 20)

typedef struct SourceFile {
        char *path; /* for messages; owned */
        char *name; /* base name; owned */
        char *text; /* may hold NUL bytes; one more NUL follows it; owned */
        size_t size;
} SourceFile;

/* A piece of a file: lines and columns count from 1, columns and length in characters. */
typedef struct SourceSpan {
        uint32_t line, column;
        uint32_t length; /* within the line; 0: not known */
} SourceSpan;

typedef struct SourceFileList {
        SourceFile *files; /* owned */
        size_t n_files;
        size_t allocated;
} SourceFileList;

void source_file_list_done(SourceFileList *list);
#define _cleanup_source_file_list_ _cleanup_(source_file_list_done)

/* Appends a copy, without the UTF-8 byte-order mark that some editors put first. Returns 0, or
 * -ENOMEM with the list as it was. */
int source_file_list_add(SourceFileList *list, const char *path, const char *text, size_t size);

/* A line of a file: its text without the line break. Lines end as YAML defines it. */
typedef struct SourceLine {
        const char *start, *end;
        const char *next; /* the line after it; NULL: there is none */
} SourceLine;

/* The first line where `line` is zeroed, else the one after it; false: there is none. The end of
 * the file after a line break counts as an empty line. */
bool source_line_next(const SourceFile *file, SourceLine *line);

/* The character after the one at `p`, at most `end`. */
const char *source_next_character(const char *p, const char *end);

/* The file of that path, or NULL. */
const SourceFile *source_file_find(const SourceFileList *list, const char *path);
