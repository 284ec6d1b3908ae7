/* Anchors and aliases: what they stand for, where a fault in it is told, and how far they go. */

#include "load-support.h"
#include "refuse-support.h"

#include "tidbnumad/config/policy-yaml.h"

TEST(copies) {
        _cleanup_load_ Load load = load_text(V "policies:\n"
                                               "- name: a\n"
                                               "  match: &m {unit: a.scope, user: &u root}\n"
                                               "  place: &p {nodes: &n [0, 2-3]}\n"
                                               "- name: b\n"
                                               "  match: {exe: b, user: *u}\n"
                                               "  place: {share: shared, avoid: *n}\n"
                                               "- {name: c, match: *m, place: *p}\n");
        const Policy *c = &load.set.policies[2];

        assert_messages(&load.errors, (const char *const[]){ NULL });
        assert_int_equal(load.set.n_policies, 3);
        assert_string_equal(load.set.policies[1].match.user, "root");
        assert_int_equal(id_set_count(&load.set.policies[1].place.avoid), 3);
        assert_string_equal(c->match.unit, "a.scope");
        assert_string_equal(c->match.user, "root");
        assert_int_equal(id_set_count(&c->place.nodes), 3);
        assert_int_equal(c->at.line, 9);
}

/* The last anchor of a name before the alias counts. A key may be an alias too. */
TEST(order) {
        _cleanup_load_ Load load = load_text(V "policies:\n"
                                               "- name: a\n"
                                               "  match: {unit: &x a.scope, &k user: *x}\n"
                                               "- name: b\n"
                                               "  match: {unit: &x b.scope, *k : *x}\n");

        assert_messages(&load.errors, (const char *const[]){ NULL });
        assert_string_equal(load.set.policies[0].match.user, "a.scope");
        assert_string_equal(load.set.policies[1].match.user, "b.scope");
}

/* At the alias where it is the whole value, and where it was written, once, inside of it. */
TEST(faults) {
        assert_errors(V "policies:\n"
                        "- {name: a, match: &m {unit: a.scope, usr: b}}\n"
                        "- {name: b, match: *m}\n"
                        "- {name: c, match: *m}\n",
                      "a.yaml:3:39: unknown key `usr` in `policies[].match`, did you mean `user`?");
        assert_errors(V "policies:\n"
                        "- {name: &x a, match: {unit: a.scope}, memory: *x}\n",
                      "a.yaml:3:48: `policies[].memory` is `a`, expected bind, preferred or none");
        assert_errors(V "sampling: &s {interval: 1s, interval: 2s}\nenforcement: *s\n",
                      "a.yaml:2:29: `sampling.interval` is given twice, expected it once; the "
                      "first is in line 2",
                      "a.yaml:2:15: unknown key `interval` in `enforcement`, expected it as "
                      "`sampling.interval`",
                      "a.yaml:2:29: unknown key `interval` in `enforcement`, expected it as "
                      "`sampling.interval`");
}

TEST(refused) {
        assert_errors(V "policies: [{name: a, match: {unit: *tidb}}]\n",
                      "a.yaml:2:36: there is no anchor `&tidb` before this alias, expected one; "
                      "put a glob that begins with * in quotes");
        assert_errors(V "irq: *p\npolicies: &p []\n",
                      "a.yaml:2:6: there is no anchor `&p` before this alias, expected one; put a "
                      "glob that begins with * in quotes");
        assert_errors(V "irq: &p [*p, [*p]]\n",
                      "a.yaml:2:10: the alias `*p` is inside the value of its anchor, expected it "
                      "after that value",
                      "a.yaml:2:15: the alias `*p` is inside the value of its anchor, expected it "
                      "after that value");
}

/* `n` values (of which one is the list that holds the others), and all that `times` more: does the
 * load go through? */
static bool expands(unsigned n, unsigned times, Load *ret) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, n == 1 ? V "irq: [&l a" : V "irq: [&l [a");
        for (unsigned i = 2; i < n; i++)
                text_append(&text, ",a");
        text_append(&text, n == 1 ? "" : "]");
        for (unsigned i = 0; i < times; i++)
                text_append(&text, ",*l");
        text_append(&text, "]\n");
        *ret = load_text(text.data);
        return !strstr(ret->errors.messages[0], "expand");
}

TEST(bounds) {
        Load load;

        assert_true(expands(1000, 10, &load));
        load_done(&load);
        assert_false(expands(1000, 11, &load));
        assert_messages(&load.errors,
                        (const char *const[]){ "a.yaml:2:2040: the aliases expand to too much, "
                                               "expected at most 10000 values",
                                               NULL });
        load_done(&load);
        /* The bound is one for all of a file. */
        assert_false(expands(1, 10001, &load));
        load_done(&load);
        assert_true(expands(1, 10000, &load));
        load_done(&load);
}

TEST(billion_laughs) {
        assert_errors(V "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
                        "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                        "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
                      "a.yaml:5:29: the aliases expand to too much, expected at most 10000 values");
}

TEST(depth_and_anchors) {
        _cleanup_text_ Text text = { 0 };

        assert_errors(V "a: &a [[[[[[[[x]]]]]]]]\nirq: [[[[[[[*a]]]]]]]\n",
                      "a.yaml:3:13: the alias nests too deep, expected at most 16 levels");
        text_append(&text, V "irq: [&a a");
        for (unsigned i = 0; i < YAML_ANCHORS_MAX; i++)
                text_append(&text, ",&a a");
        text_append(&text, "]");
        assert_errors(text.data,
                      "a.yaml:2:5007: too many anchors (`&`) in one file, expected at most 1000");
}

/* --- Files that are not valid YAML: each mistake that people make is told with its place and the
 * remedy, and none in the words of the parser --- */

#define P2 "version: 1\npolicies:\n  - name: a\n    match: {exe: x}\n"
#define BAD "not valid YAML: "

TEST(indentation) {
        assert_errors(P2 "   memory: bind\n",
                      "a.yaml:5:4: " BAD "wrong indentation, expected column 5 as in line 3");
        assert_errors(P2 "      memory: bind\n",
                      "a.yaml:5:7: " BAD "wrong indentation, expected column 5 as in line 3");
        assert_errors(V "policies:\n  - name: a\n\n      # why\n      match: {exe: x}\n",
                      "a.yaml:6:7: " BAD "wrong indentation, expected column 5 as in line 3");
        assert_errors(V "host: 1\n  reserve: 2\n",
                      "a.yaml:3:3: " BAD "wrong indentation, expected column 1 as in line 2");
        assert_errors(P2 "- name: b\n",
                      "a.yaml:5:1: " BAD "wrong indentation: an entry of a list (-) among the keys "
                      "that begin in line 1, expected it in the column of the "
                      "other entries");
        assert_errors("  version: 1\npolicies: []\n",
                      "a.yaml:2:1: " BAD
                      "not part of the lines above, expected all top-level keys in one column");
        assert_errors(V "policies:\n\t- name: a\n",
                      "a.yaml:3:1: " BAD "a tab; indent with spaces, not with tabs");
        assert_errors(V "policies:\n  - name: a\n\tmemory: bind\n",
                      "a.yaml:4:1: " BAD "a tab; indent with spaces, not with tabs");
}

TEST(colon) {
        assert_errors(V "policies:\n  - name: a: b\n",
                      "a.yaml:3:12: " BAD "a second colon in the line; put the value in quotes, or "
                      "begin a new line for the next key");
        assert_errors(V "policies:\n  - match: {exe: a unit: b}\n",
                      "a.yaml:3:24: " BAD "a colon inside a value; a comma is missing before "
                      "this key, or put the value in quotes");
        assert_errors(V "policies:\n  - name:a\n    memory: bind\n",
                      "a.yaml:3:9: " BAD "a space is missing after this colon");
        assert_errors(V "policies:\n  - name: a\n    memory:bind\n",
                      "a.yaml:4:11: " BAD "a space is missing after this colon");
        assert_errors(V "policies:\n  -name: a\n   match: b\n",
                      "a.yaml:3:3: " BAD "a space is missing after this dash");
        assert_errors(V "host\npolicies: []\n",
                      "a.yaml:2:1: " BAD "a key without a colon, expected `key: value`");
        assert_errors(V "policies: - name\n",
                      "a.yaml:2:11: " BAD "a list cannot begin on the line of its key; begin it on "
                      "the next line, or write [a, b]");
}

TEST(quotes) {
        assert_errors(V "policies:\n  - name: \"a\n    memory: bind\n",
                      "a.yaml:3:11: " BAD "the quote that begins here is not closed, expected \" "
                      "at the end of the value");
        assert_errors(V "policies:\n  - name: 'a\n    memory: bind\n",
                      "a.yaml:3:11: " BAD "the quote that begins here is not closed, expected ' "
                      "at the end of the value");
        assert_errors(V "policies:\n  - name: \"a\n    args: \"b\"\n",
                      "a.yaml:3:11: " BAD "the quote that begins here is not closed, expected \" "
                      "at the end of the value");
        assert_errors(V "policies:\n  - name: \"a\" b\n",
                      "a.yaml:3:15: " BAD
                      "text after the end of the value; put the whole value in quotes");
        assert_errors(V "policies:\n  - name: \"a\\d\"\n",
                      "a.yaml:3:13: " BAD "not a valid escape in double quotes; write the "
                      "backslash twice, or use single quotes");
}

TEST(brackets) {
        assert_errors(V "policies: [\n",
                      "a.yaml:3:1: " BAD
                      "the file ends inside [ ] or { }, expected the closing bracket");
        assert_errors(V "policies:\n  - match: {exe: a\n    memory: bind\n",
                      "a.yaml:3:12: " BAD "this { is not closed, expected } at the end");
        assert_errors(V "policies:\n  - nodes: [1, 2\n    memory: bind\n",
                      "a.yaml:3:12: " BAD "this [ is not closed, expected ] at the end");
        assert_errors(V "policies:\n  - match: {exe: a}}\n",
                      "a.yaml:3:20: " BAD "this } closes nothing; remove it");
        assert_errors(V "host: ]\n", "a.yaml:2:7: " BAD "a value cannot begin with ]; remove it, "
                                     "or put the value in quotes");
}

TEST(first_characters) {
        static const char *const values[][2] = {
                { "@a", "a value cannot begin with @; put the value in quotes" },
                { "%a", "a value cannot begin with %; put the value in quotes" },
                { "`a`", "a value cannot begin with `; put the value in quotes" },
                { "*.service", "a value that begins with *, such as a glob, must be in quotes" },
                { "& b", "a value that begins with &, such as a glob, must be in quotes" },
                { "|a|b", "a value that begins with |, such as a glob, must be in quotes" },
                { "!<a", "a value that begins with !, such as a glob, must be in quotes" },
                { "? a", "a value that begins with ? must be in quotes" },
        };

        for (size_t i = 0; i < ELEMENTSOF(values); i++) {

                assert_errors(fmt(V "host: %s\n", values[i][0]),
                              fmt("a.yaml:2:7: " BAD "%s", values[i][1]));
        }
        assert_errors("%a\n" V, "a.yaml:1:1: " BAD "a line that begins with %; remove it, or begin "
                                "it with # as a comment");
}

/* What an editor or a copied web page puts in: told also where YAML takes it for text. */
TEST(lookalikes) {
        _cleanup_load_ Load load = load_text(V "policies:\n  - name:\u00a0a\n    memory: bind\n");

        assert_messages(&load.errors, (const char *const[]){
                                              "a.yaml:3:10: a no-break space (U+00A0), expected an "
                                              "ordinary space",
                                              NULL });
        assert_string_equal(load.errors.details[0].excerpt, "  - name:?a\n         ^");
        assert_errors(P "\u00a0 memory: bind\n",
                      "a.yaml:5:1: a no-break space (U+00A0), expected an ordinary space");
        assert_errors(P "  memory:\u3000bind\n",
                      "a.yaml:5:10: an ideographic space (U+3000), expected an ordinary space");
        assert_errors(P "  memory\uff1abind\n  rate: 1MiB/s\n",
                      "a.yaml:5:9: a full-width colon (U+FF1A), expected : and a space");
        assert_errors(P "  memory: \u201cbind\u201d\n",
                      "a.yaml:5:11: a curly quote (U+201C), expected a straight one");
        assert_errors(P "  place: {nodes: 0\u20133}\n",
                      "a.yaml:5:19: a dash (U+2013), expected a hyphen (-)");
        /* In quotes and in comments it is meant. */
        assert_errors(V
                      "policies: [{name: a, match: {unit: a.scope, args: '*\u00a0*'}}] # \u00a0\n",
                      NULL);
}

TEST(bytes) {
        assert_errors(V "\u00e9: \xff\n",
                      "a.yaml:2:4: " BAD "not UTF-8 text; save the file as UTF-8");
        assert_errors(V "a: b\x01\n", "a.yaml:2:5: " BAD "a control character; remove it");
}

/* A byte-order mark in front, as some editors write it, is no part of the file. */
TEST(byte_order_mark) {
        _cleanup_load_ Load load = load_text("\ufeff" P), broken = load_text("\ufeffversoin: 1\n");

        assert_messages(&load.errors, (const char *const[]){ NULL });
        assert_int_equal(load.set.n_policies, 1);
        assert_messages(&broken.errors,
                        (const char *const[]){ "a.yaml:1:1: unknown key `versoin` at the top, did "
                                               "you mean `version`?",
                                               NULL });
        assert_string_equal(broken.errors.details[0].excerpt, "versoin: 1\n^~~~~~~");
}
