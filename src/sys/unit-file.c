#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/unit-file.h"

/* Ranges, separated by commas or blanks, perhaps in quotes. */
static bool parse_ranges(char *value, IdSet *ret) {
        char *rest = NULL;
        IdSet set = { 0 };

        for (char *word = strtok_r(value, " \t,\"'", &rest); word;
             word = strtok_r(NULL, " \t,\"'", &rest)) {
                IdSet one;

                if (id_set_parse_list(word, &one) < 0)
                        return false;
                id_set_union(&set, &one);
        }
        *ret = set;
        return true;
}

static bool assign(char *value, IdSet *set) {
        IdSet added;

        if (!parse_ranges(value, &added))
                return false;
        if (id_set_is_empty(&added))
                *set = added;
        else
                id_set_union(set, &added);
        return true;
}

/* The next line in `buffer`, which has room for the rest of the text: joined with those that
 * continue it, without the blanks at its ends. Comments in between do not end it. */
static const char *take_line(const char *text, char *buffer) {
        char *end = buffer;
        bool continues = true;

        while (continues && *text) {
                const size_t n = strcspn(text, "\r\n"), blanks = strspn(text, " \t");
                const bool comment = text[blanks] == '#' || text[blanks] == ';';

                continues = comment ? end > buffer : n > 0 && text[n - 1] == '\\';
                if (!comment) {
                        memcpy(end, text, n);
                        end += n;
                        if (continues)
                                end[-1] = ' ';
                }
                text += n;
                text += strspn(text, "\r");
                text += *text == '\n';
        }
        while (end > buffer && isspace((unsigned char)end[-1]))
                end--;
        *end = '\0';
        return text;
}

bool unit_file_add(const char *text, const char *key, IdSet *set) {
        _cleanup_free_ char *buffer = malloc(strlen(text) + 1);
        bool in_service = false, changed = false;

        while (buffer && *text) {
                char *line = buffer;

                text = take_line(text, buffer);
                line += strspn(line, " \t");
                if (*line == '[')
                        in_service = strcmp(line, "[Service]") == 0;
                if (!in_service || strncmp(line, key, strlen(key)) != 0)
                        continue;
                line += strlen(key);
                line += strspn(line, " \t");
                if (*line == '=')
                        changed |= assign(line + 1, set);
        }
        return changed;
}
