/* The operator's drop-in: what it says beside the other files, how it adds up, and that it says
 * nothing that these say already. */

#include "../../support/test.h"

#include "tidbnumad/ctl/drop-in.h"

#define OWN "/run/x/" BRAKES_FILE

static void add_file(SourceFileList *files, const char *path, const char *text) {
        assert_int_equal(source_file_list_add(files, path, text, strlen(text)), 0);
}

/* `base` and `own` may be NULL. */
static int load(const char *base, const char *own, const char *later, DropIn *ret) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };

        if (base)
                add_file(&files, "/etc/x/a.yaml", base);
        if (own)
                add_file(&files, OWN, own);
        if (later)
                add_file(&files, "/etc/x/zzz.yaml", later);
        return drop_in_load(&files, OWN, ret);
}

/* Rendered, checked, and read again; the text is returned. */
static char *round_trip(DropIn *d, DropIn *ret) {
        Text text = { 0 };

        drop_in_render(d, &text);
        assert_int_equal(text.error, 0);
        assert_int_equal(drop_in_check(d, OWN, &text), 0);
        assert_int_equal(load(NULL, text.data, NULL, ret), 0);
        return text.data;
}

TEST(nothing) {
        _cleanup_drop_in_ DropIn d, again;
        char *text;

        assert_int_equal(load(NULL, NULL, NULL, &d), 0);
        assert_false(d.observe);
        assert_int_equal(d.release.n_words, 0);
        text = round_trip(&d, &again);
        assert_string_equal(text, "");
        free(text);
}

TEST(pause) {
        _cleanup_drop_in_ DropIn d, again;
        char *text;

        assert_int_equal(load("version: 1\n", NULL, NULL, &d), 0);
        d.observe = true;
        text = round_trip(&d, &again);
        assert_non_null(strstr(text, "version: 1\nenforcement:\n  mode: observe\n"));
        assert_null(strstr(text, "release:"));
        assert_true(again.observe);
        assert_int_equal(again.release.n_words, 0);
        free(text);
}

TEST(release_adds_up) {
        _cleanup_drop_in_ DropIn d, again;
        char *text;

        assert_int_equal(
                load(NULL, "version: 1\nenforcement: {mode: observe, release: [a, b]}\n", NULL, &d),
                0);
        assert_int_equal(word_list_add(&d.release, "tikv-*"), 0);
        word_list_remove(&d.release, 0);
        text = round_trip(&d, &again);
        assert_true(again.observe);
        assert_int_equal(again.release.n_words, 2);
        assert_string_equal(again.release.words[0], "b");
        assert_string_equal(again.release.words[1], "tikv-*");
        free(text);
}

/* An order to place again is given once: the next command does not repeat it. */
TEST(replan) {
        _cleanup_drop_in_ DropIn d, again;
        char *text;

        assert_int_equal(load(NULL, "version: 1\nenforcement: {release: [a]}\n", NULL, &d), 0);
        assert_false(d.had_replan);
        assert_int_equal(word_list_add(&d.replan, "tikv-*"), 0);
        text = round_trip(&d, &again);
        assert_non_null(strstr(text, "  release:\n    - \"a\"\n  replan:\n    - \"tikv-*\"\n"));
        assert_true(again.had_replan);
        assert_int_equal(again.replan.n_words, 0);
        free(text);
}

TEST(replan_overruled) {
        _cleanup_drop_in_ DropIn d;
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(load(NULL, NULL, "version: 1\nenforcement: {replan: [x]}\n", &d), 0);
        assert_int_equal(word_list_add(&d.replan, "y"), 0);
        drop_in_render(&d, &text);
        assert_int_equal(drop_in_check(&d, OWN, &text), -EINVAL);
}

/* The list of a later file replaces an earlier one: it is repeated. */
TEST(beside_a_policy) {
        _cleanup_drop_in_ DropIn d;
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(load("version: 1\nenforcement: {release: [mine]}\n", NULL, NULL, &d), 0);
        assert_true(word_list_has(&d.base.release, "mine"));
        assert_false(word_list_has(&d.base.release, "a"));
        drop_in_render(&d, &text);
        assert_string_equal(text.data, ""); /* nothing is said that is said already */
        assert_int_equal(word_list_add(&d.release, "a"), 0);
        text_reset(&text);
        drop_in_render(&d, &text);
        assert_non_null(strstr(text.data, "release:\n    - \"mine\"\n    - \"a\"\n"));
        assert_int_equal(drop_in_check(&d, OWN, &text), 0);
}

/* A name is a word of YAML whatever is in it; what is no glob of instances is refused. */
TEST(names) {
        static const char *const names[] = { "*", "a:4000", "tikv@1.service", "[ab]-1", "a#b" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_drop_in_ DropIn d, again;

                assert_int_equal(load(NULL, NULL, NULL, &d), 0);
                assert_int_equal(word_list_add(&d.release, names[i]), 0);
                free(round_trip(&d, &again));
                assert_int_equal(again.release.n_words, 1);
                assert_string_equal(again.release.words[0], names[i]);
        }
}

static void assert_refused(const char *name) {
        _cleanup_drop_in_ DropIn d;
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(load(NULL, NULL, NULL, &d), 0);
        assert_int_equal(word_list_add(&d.release, name), 0);
        drop_in_render(&d, &text);
        assert_int_equal(drop_in_check(&d, OWN, &text), -EINVAL);
        assert_true(d.errors.n_messages > 0);
}

TEST(wrong_names) {
        assert_refused("");
        assert_refused("a\nmode: enforce");
        assert_refused("a\x01");
}

/* By name another file comes behind it and says otherwise. */
TEST(overruled) {
        _cleanup_drop_in_ DropIn d, e;
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(load(NULL, NULL, "version: 1\nenforcement: {mode: enforce}\n", &d), 0);
        d.observe = true;
        drop_in_render(&d, &text);
        assert_int_equal(drop_in_check(&d, OWN, &text), -EINVAL);
        assert_non_null(strstr(d.errors.messages[0], "later name"));
        assert_int_equal(load(NULL, NULL, "version: 1\nenforcement: {release: x}\n", &e), 0);
        assert_int_equal(word_list_add(&e.release, "y"), 0);
        text_reset(&text);
        drop_in_render(&e, &text);
        assert_int_equal(drop_in_check(&e, OWN, &text), -EINVAL);
}

/* Broken policies never keep an operator from a pause. */
TEST(beside_broken_policies) {
        _cleanup_drop_in_ DropIn d, again;
        char *text;

        assert_int_equal(load("nonsense: 1\n",
                              "version: 1\nenforcement: {mode: observe, release: [a]}\n", NULL, &d),
                         0);
        assert_true(d.refused);
        assert_int_equal(d.errors.n_messages, 2);
        assert_true(d.observe);
        assert_int_equal(d.release.n_words, 1);
        assert_int_equal(word_list_add(&d.release, "b"), 0);
        d.observe = false;
        text = round_trip(&d, &again);
        assert_false(again.observe);
        assert_int_equal(again.release.n_words, 2);
        free(text);
}

TEST(broken) {
        _cleanup_drop_in_ DropIn d;

        assert_int_equal(load(NULL, "nonsense: 1\n", NULL, &d), -EINVAL);
        assert_true(d.errors.n_messages > 0);
}
