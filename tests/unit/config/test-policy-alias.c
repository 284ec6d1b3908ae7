/* Anchors and aliases: what they stand for, where a fault in it is told, and how far they go. */
#include "load-support.h"

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
        assert_int_equal(c->line, 9);
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
