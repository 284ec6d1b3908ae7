/* A file that loses its policies without a word releases nothing. */
#include "load-support.h"

#include "tidbnumad/config/policy-check.h"

#define ONE(name) "  - {name: " name ", match: {exe: " name "-server, user: root}}\n"
#define POLICIES V "policies:\n"

static char *beside(const char *path) {
        return strcmp(path, "renamed.yaml") == 0 ? strdup("renamed.yaml~") : NULL;
}

/* Pairs of a path and a text. */
static Load load_pairs(const char *const *pairs) {
        Load load = { 0 };

        for (size_t i = 0; pairs[i]; i += 2)
                assert_int_equal(source_file_list_add(&load.files, pairs[i], pairs[i + 1],
                                                      strlen(pairs[i + 1])),
                                 0);
        load_run(&load);
        assert_int_equal(load.result, 0);
        return load;
}

TEST(what_a_file_has_lost) {
        static const struct {
                const char *before[5], *after[5], *error; /* of `error` the beginning; NULL: none */
        } cases[] = {
                { { "a.yaml", POLICIES ONE("tidb") }, { "a.yaml", V }, "a.yaml: has no policies" },
                { { "a.yaml", POLICIES ONE("tikv") ONE("pd") },
                  { "a.yaml", V "host: {numa_balancing: off}\n" },
                  "a.yaml: has no policies" },
                /* of several files, one */
                { { "a.yaml", POLICIES ONE("tidb"), "b.yaml", POLICIES ONE("tikv") },
                  { "a.yaml", POLICIES ONE("tidb"), "b.yaml", V },
                  "b.yaml: has no policies" },
                { { "a.yaml", POLICIES ONE("tidb"), "renamed.yaml", POLICIES ONE("tikv") },
                  { "a.yaml", POLICIES ONE("tidb") },
                  "renamed.yaml: is gone" },
                { { "renamed.yaml", POLICIES ONE("tikv") }, { NULL }, "renamed.yaml: is gone" },
                /* a part has moved, the rest is lost */
                { { "a.yaml", POLICIES ONE("tidb") ONE("tikv") },
                  { "a.yaml", V, "b.yaml", POLICIES ONE("tidb") },
                  "a.yaml: has no policies" },
                /* meant */
                { { "a.yaml", POLICIES ONE("tidb") }, { "a.yaml", V "policies: []\n" }, NULL },
                { { "a.yaml", POLICIES ONE("tidb") }, { NULL }, NULL },
                { { "a.yaml", POLICIES ONE("tidb") }, { "a.yaml", POLICIES ONE("pd") }, NULL },
                { { "a.yaml", POLICIES ONE("tidb"), "b.yaml", POLICIES ONE("tikv") },
                  { "a.yaml", POLICIES ONE("tidb") },
                  NULL },
                /* all of it has moved */
                { { "a.yaml", POLICIES ONE("tidb") },
                  { "a.yaml", V, "b.yaml", POLICIES ONE("tidb") },
                  NULL },
                { { "renamed.yaml", POLICIES ONE("tidb") },
                  { "b.yaml", POLICIES ONE("tidb") },
                  NULL },
                /* it had none before */
                { { "a.yaml", V }, { "a.yaml", V }, NULL },
                { { NULL }, { "a.yaml", V }, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_load_ Load before = load_pairs(cases[i].before),
                                    after = load_pairs(cases[i].after);
                _cleanup_diagnostics_ Diagnostics errors = { 0 };

                policy_check_lost(&before.set, &after.set, &after.files, beside, &errors);
                if (errors.n_messages != (cases[i].error ? 1 : 0) ||
                    (cases[i].error &&
                     strncmp(errors.messages[0], cases[i].error, strlen(cases[i].error)) != 0))
                        fail_msg("case %zu: %s", i,
                                 errors.n_messages > 0 ? errors.messages[0] : "nothing");
        }
}
