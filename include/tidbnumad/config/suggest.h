/* The known word that a misspelled one was probably meant to be. */
#pragma once

#include <stddef.h>

/* Longer words are not compared. */
#define SUGGEST_WORD_MAX 64u

typedef struct Suggestion {
        const char *word; /* what was written */
        const char *
                nearest; /* of the known words so far, the first among equals; NULL: none is near */
        size_t distance; /* of that */
} Suggestion;

/* Considers a known word, which is borrowed. It is near when it is within two edits (insert,
 * delete, replace, swap of two neighbours) and within half of its own length: "exe" is not a
 * misspelled "net". A long word whose beginning is right may have a third edit. */
void suggest(Suggestion *suggestion, const char *known);
