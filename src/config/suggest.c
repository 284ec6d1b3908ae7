/* "did you mean …?" */
#include <string.h>

#include "tidbnumad/config/suggest.h"

#define SUGGEST_DISTANCE_MAX 2u

static size_t min(size_t a, size_t b) {
        return a < b ? a : b;
}

size_t suggest_distance(const char *a, const char *b) {
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

int suggest_nearest(const char *word, const char *const *words, size_t n_words) {
        size_t best = SUGGEST_DISTANCE_MAX + 1;
        int nearest = -1;

        for (size_t i = 0; i < n_words; i++) {
                size_t distance = suggest_distance(word, words[i]);

                if (distance < best && distance * 2 <= strlen(words[i])) {
                        best = distance;
                        nearest = (int)i;
                }
        }
        return nearest;
}
