/* What messages of refusals show beside their words: excerpts and marks, of all files. */
#include "refuse-support.h"

/* What a terminal shows below the message. */
TEST(excerpts) {
        _cleanup_load_ Load load = load_text(P "  memroy: bind\n"
                                               "  place: {nodes: [0, 12]}  # far\n"
                                               "\tx: y\n");
        _cleanup_load_ Load more = load_text(P "  memroy: bind\n"
                                               "  place: {nodes: [0, 12]}  # far\n"
                                               "  instances: [{nodes: 1}]\n"
                                               "  memory: [bind,\n    none]\n"
                                               "  cpus:\n    all: 1\n");
        _cleanup_text_ Text text = { 0 };

        for (size_t i = 0; i < load.errors.n_messages; i++)
                diagnostics_render(&load.errors, i, &text);
        for (size_t i = 0; i < more.errors.n_messages; i++)
                diagnostics_render(&more.errors, i, &text);
        assert_string_equal(
                text.data,
                "a.yaml:7:1: not valid YAML: a tab; indent with spaces, not with tabs\n"
                "    \tx: y\n"
                "    ^\n"
                "a.yaml:5:3: unknown key `memroy` in `policies[]`, did you mean `memory`?\n"
                "      memroy: bind\n"
                "      ^~~~~~\n"
                "a.yaml:6:22: `policies[].place.nodes` names node 12, which this machine does not "
                "have, expected some of 0-7\n"
                "      place: {nodes: [0, 12]}  # far\n"
                "                         ^~\n"
                "a.yaml:7:15: `policies[].instances[].match` is missing, expected a mapping such "
                "as {unit: tidb-4000.service}\n"
                "      instances: [{nodes: 1}]\n"
                "                  ^~~~~~~~~~\n"
                "a.yaml:8:11: `policies[].memory` is a list, expected bind, preferred or none\n"
                "      memory: [bind,\n"
                "              ^\n"
                "a.yaml:11:5: `policies[].cpus` is a mapping, " CPUS_EXPECTED "\n"
                "        all: 1\n"
                "        ^\n");
}

/* How far a mark goes where something ends on another line, or with the file. */
TEST(marks) {
        _cleanup_load_ Load text = load_text(P "  memory: \"bi\n                      nd\"\n");
        _cleanup_load_ Load end = load_text("policies: []");

        assert_string_equal(text.errors.details[0].excerpt, "  memory: \"bi\n          ^~~");
        assert_string_equal(end.errors.details[0].excerpt, "policies: []\n^");
}

/* One broken file does not hide what is wrong with the next. */
TEST(all_errors_of_all_files) {
        _cleanup_load_ Load load = load_two("version: 1\npolicies: [\n", "version: 3\nzzzzzz: 1\n");

        assert_messages(&load.errors,
                        (const char *const[]){
                                "etc/a.yaml:3:1: not valid YAML: the file ends inside [ ] or { }, "
                                "expected the closing bracket",
                                "etc/b.yaml:1:10: `version` is `3`, expected 1",
                                "etc/b.yaml:2:1: unknown key `zzzzzz` at the top, expected one of "
                                "`version`, `host`, `policies`, `irq`, `sampling`, `enforcement`",
                                NULL });
}
