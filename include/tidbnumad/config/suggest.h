/* The known word that a misspelled one was probably meant to be. */
#pragma once

#include <stddef.h>

/* Longer words are not compared. */
#define SUGGEST_WORD_MAX 64u

/* Damerau-Levenshtein distance (optimal string alignment: insert, delete, replace, swap of two
 * neighbours cost 1 each). Words above SUGGEST_WORD_MAX: SUGGEST_WORD_MAX + 1. */
size_t suggest_distance(const char *a, const char *b);

/* The nearest of `words`, the first among equals, as an index into it; or -1 when none is within
 * two edits and half of its own length ("exe" is not a misspelled "net"). */
int suggest_nearest(const char *word, const char *const *words, size_t n_words);
