/* Pause and release while the set of policies is refused: what was in force, and what the drop-in
 * says now. */

#include "../../support/test.h"

#include "tidbnumad/config/brakes.h"
#include "tidbnumad/config/policy-load.h"

#define OWN "/run/x/" BRAKES_FILE
#define OBSERVE "version: 1\nenforcement: {mode: observe}\n"

static void add_file(SourceFileList *files, const char *path, const char *text) {
        assert_int_equal(source_file_list_add(files, path, text, strlen(text)), 0);
}

/* The policies in force, and what they say without the drop-in; `own` may be NULL. */
static void load(const char *base, const char *own, PolicySet *ret, Brakes *ret_brakes) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };

        add_file(&files, "/etc/x/a.yaml", base);
        if (own)
                add_file(&files, OWN, own);
        policy_set_init(ret);
        assert_int_equal(policy_set_parse(&files, NULL, NULL, ret, &errors, &warnings), 0);
        assert_int_equal(brakes_read(&files, ret, ret_brakes), 0);
}

/* A reload of which the set was refused; `own` is the drop-in then. */
static int apply(const char *own, const Brakes *brakes, PolicySet *set) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };

        if (own)
                add_file(&files, OWN, own);
        return brakes_apply(&files, brakes, set);
}

static void assert_released(const PolicySet *set, const char *words) {
        char text[64] = "";

        for (size_t i = 0; i < set->release.n_words; i++) {
                (void)strcat(text, i > 0 ? " " : "");
                (void)strcat(text, set->release.words[i]);
        }
        assert_string_equal(text, words);
}

TEST(pause_and_resume) {
        _cleanup_policy_set_ PolicySet set;
        _cleanup_brakes_ Brakes brakes;

        load("version: 1\npolicies: [{name: a, match: {exe: a}}]\n", NULL, &set, &brakes);
        assert_int_equal(apply(OBSERVE, &brakes, &set), 0);
        assert_int_equal(set.mode, ENFORCEMENT_OBSERVE);
        assert_int_equal(set.n_policies, 1);
        assert_int_equal(apply(NULL, &brakes, &set), 0);
        assert_int_equal(set.mode, ENFORCEMENT_ENFORCE);
}

/* It was paused when the policies were loaded: resume has to end that. */
TEST(resume_what_was_paused_before) {
        _cleanup_policy_set_ PolicySet set;
        _cleanup_brakes_ Brakes brakes;

        load("version: 1\n", OBSERVE, &set, &brakes);
        assert_int_equal(set.mode, ENFORCEMENT_OBSERVE);
        assert_int_equal(apply(OBSERVE, &brakes, &set), 0);
        assert_int_equal(set.mode, ENFORCEMENT_OBSERVE);
        assert_int_equal(apply(NULL, &brakes, &set), 0);
        assert_int_equal(set.mode, ENFORCEMENT_ENFORCE);
}

/* What the policies in force say themselves is not the drop-in's to take back. */
TEST(what_the_policies_say_stays) {
        _cleanup_policy_set_ PolicySet set;
        _cleanup_brakes_ Brakes brakes;

        load("version: 1\nenforcement: {mode: observe, release: [a]}\n",
             "version: 1\nenforcement: {release: [a, b]}\n", &set, &brakes);
        assert_released(&set, "a b");
        assert_int_equal(apply("version: 1\nenforcement: {release: [c]}\n", &brakes, &set), 0);
        assert_released(&set, "a c");
        assert_int_equal(apply(NULL, &brakes, &set), 0);
        assert_released(&set, "a");
        assert_int_equal(set.mode, ENFORCEMENT_OBSERVE);
}

/* The drop-in was written while the files were refused, and could not repeat what they release. */
TEST(mended_files_release_as_before) {
        _cleanup_policy_set_ PolicySet set;
        _cleanup_brakes_ Brakes brakes;

        load("version: 1\nenforcement: {release: [a]}\n",
             "version: 1\nenforcement: {release: [b]}\n", &set, &brakes);
        assert_released(&set, "b a");
}

TEST(nothing_was_loaded) {
        _cleanup_policy_set_ PolicySet set;
        const Brakes none = BRAKES_NONE;

        policy_set_init(&set);
        assert_int_equal(apply(OBSERVE, &none, &set), 0);
        assert_int_equal(set.mode, ENFORCEMENT_OBSERVE);
}

TEST(a_broken_drop_in_changes_nothing) {
        _cleanup_policy_set_ PolicySet set;
        _cleanup_brakes_ Brakes brakes;

        load("version: 1\n", "version: 1\nenforcement: {mode: observe, release: [b]}\n", &set,
             &brakes);
        assert_int_equal(apply("version: 1\nenforcement: {mode: obsrve}\n", &brakes, &set),
                         -EINVAL);
        assert_int_equal(set.mode, ENFORCEMENT_OBSERVE);
        assert_released(&set, "b");
}
