/* Files that are not valid YAML: each mistake that people make is told with its place and the
 * remedy, and none in the words of the parser. */
#include "refuse-support.h"

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
