/* Which word a misspelled one is taken for. */

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"

TEST(nearest) {
        static const struct {
                const char *word, *known[4]; /* words that are known, */
                int nearest;                 /* and which of them is suggested; -1: none */
        } cases[] = {
                { "memry", { "exe", "unit", "memory" }, 2 },   /* insert */
                { "memoryy", { "exe", "unit", "memory" }, 2 }, /* delete */
                { "memary", { "exe", "unit", "memory" }, 2 },  /* replace */
                { "memroy", { "exe", "unit", "memory" }, 2 },  /* swap */
                { "memory", { "memery", "memory" }, 1 },
                { "usr", { "exe", "unit", "user" }, 2 },
                { "exec", { "exe", "exef" }, 0 }, /* the first among equals */
                { "ext", { "exe" }, 0 },
                { "mmr", { "exe", "unit", "user", "memory" }, -1 },
                { "kitten", { "sitting" }, -1 },
                { "xer", { "exe" }, -1 }, /* two edits of three letters */
                { "x", { NULL }, -1 },
                { "", { "abc" }, -1 },
                /* A long word that begins right may have one letter more that is wrong. */
                { "policy", { "policies" }, 0 },
                { "colicy", { "policies" }, -1 },
                { "memo", { "memories" }, -1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Suggestion s = { .word = cases[i].word };

                for (size_t k = 0; k < ELEMENTSOF(cases[i].known) && cases[i].known[k]; k++)
                        suggest(&s, cases[i].known[k]);
                assert_ptr_equal(s.nearest,
                                 cases[i].nearest < 0 ? NULL : cases[i].known[cases[i].nearest]);
        }
}

TEST(long_words) {
        char word[SUGGEST_WORD_MAX + 2];
        Suggestion s = { .word = word };

        memset(word, 'a', sizeof(word));
        word[SUGGEST_WORD_MAX + 1] = '\0';
        suggest(&s, word);
        assert_null(s.nearest);
        word[SUGGEST_WORD_MAX] = '\0';
        suggest(&s, word);
        assert_ptr_equal(s.nearest, word);
}
