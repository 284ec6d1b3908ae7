/* Words as the argv of a program, for tests of its args_parse(). To be included after cmocka.h. */
#pragma once

#include <string.h>

enum { WORDS_MAX = 72, WORD_MAX_BYTES = 64 };

typedef struct CommandLine {
        int argc;
        char storage[WORDS_MAX][WORD_MAX_BYTES];
        char *argv[WORDS_MAX + 1];
} CommandLine;

/* `words` end with NULL. getopt() changes the order of argv and keeps pointers into it. */
static inline void command_line_init(CommandLine *line, const char *program,
                                     const char *const *words) {
        line->argv[0] = (char *)program;
        for (line->argc = 1; words[line->argc - 1]; line->argc++) {
                const char *word = words[line->argc - 1];

                assert_true(line->argc < WORDS_MAX && strlen(word) < WORD_MAX_BYTES);
                line->argv[line->argc] = strcpy(line->storage[line->argc], word);
        }
        line->argv[line->argc] = NULL;
}
