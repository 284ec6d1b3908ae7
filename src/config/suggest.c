#include <stdbool.h>
#include <string.h>

#include "tidbnumad/config/suggest.h"

#define SUGGEST_DISTANCE_MAX 2u
#define SUGGEST_LONG_WORD 8u   /* from here on one letter more may differ, */
#define SUGGEST_LONG_PREFIX 4u /* where so many at the start are right: policy, policies */

static size_t min(size_t a, size_t b) {
        return a < b ? a : b;
}

/* Damerau-Levenshtein distance (optimal string alignment); SUGGEST_WORD_MAX + 1 for longer words.
 */
static size_t distance_between(const char *a, const char *b) {
        size_t rows[3][SUGGEST_WORD_MAX + 1];
        size_t *before = rows[0], *above = rows[1], *row = rows[2];
        size_t length_a = strlen(a), length_b = strlen(b);

        if (length_a > SUGGEST_WORD_MAX || length_b > SUGGEST_WORD_MAX)
                return SUGGEST_WORD_MAX + 1;
        for (size_t j = 0; j <= length_b; j++)
                row[j] = j;
        for (size_t i = 1; i <= length_a; i++) {
                size_t *spare = before;

                before = above;
                above = row;
                row = spare;
                row[0] = i;
                for (size_t j = 1; j <= length_b; j++) {
                        size_t replace = above[j - 1] + (a[i - 1] != b[j - 1]);

                        row[j] = min(min(row[j - 1], above[j]) + 1, replace);
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                row[j] = min(row[j], before[j - 2] + 1);
                }
        }
        return row[length_b];
}

static size_t distance_max(const char *word, const char *known) {
        bool is_long = strlen(known) >= SUGGEST_LONG_WORD &&
                       strncmp(word, known, SUGGEST_LONG_PREFIX) == 0;

        return SUGGEST_DISTANCE_MAX + is_long;
}

void suggest(Suggestion *s, const char *known) {
        const size_t distance = distance_between(s->word, known);

        if ((s->nearest && distance >= s->distance) || distance > distance_max(s->word, known) ||
            distance * 2 > strlen(known))
                return;
        s->nearest = known;
        s->distance = distance;
}
