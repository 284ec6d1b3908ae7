/* Policies for a command: from files by hand, from folders, and the defaults. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "../daemon/capture.h"
#include "tidbnumad/ctl/policies.h"

#define POLICY(name)                                                                               \
        "version: 1\npolicies:\n  - {name: " name ", match: {exe: x, user: nobody-at-all}}\n"

typedef struct World {
        FakeTree tree;
        Node node;
        Machine machine;
} World;

static void world_init(World *w) {
        *w = (World){ 0 };
        fake_init(&w->tree);
        w->node = (Node){ .id = 0, .cpus = cpu_set("0-3"), .memory_bytes = 1 };
        w->machine = (Machine){ .sysroot = SYSROOT_NONE,
                                .topology = { .nodes = &w->node, .n_nodes = 1 } };
}

static void world_done(World *w) {
        fake_done(&w->tree);
}

static const char *path_of(const World *w, const char *name, char buffer[static 64]) {
        (void)snprintf(buffer, 64, "%s/%s", w->tree.path, name);
        return buffer;
}

#define WORLD_TEST(test) TEST_WITH(test, World, w, world_init, world_done)

WORLD_TEST(defaults) {
        _cleanup_policies_ Policies p = { 0 };
        const Policy *tikv;

        assert_int_equal(policies_load_defaults(&w->machine, NULL, &p), 0);
        assert_true(p.defaults);
        assert_false(policies_are_built_in(&p));
        assert_int_equal(p.errors.n_messages, 0);
        assert_int_equal(p.warnings.n_messages, 0);
        assert_int_equal(p.set.n_policies, N_PRODUCTS - 1);
        assert_int_equal(p.set.host.reserve.kind, RESERVE_NIC);
        assert_false(p.set.host.reserve.strict);
        assert_string_equal(p.set.policies[0].name, "tidb");
        assert_int_equal(p.set.policies[0].place.count, 1);
        assert_int_equal(p.set.policies[0].place.share, SHARE_EXCLUSIVE);
        tikv = &p.set.policies[1];
        assert_string_equal(tikv->name, "tikv");
        assert_string_equal(tikv->match.exe, "tikv-server");
        assert_int_equal(tikv->place.count, PLACE_COUNT_AUTO);
        assert_int_equal(tikv->place.near, NEAR_STORAGE);
        assert_int_equal(tikv->place.share, SHARE_EXCLUSIVE);
        for (size_t i = 0; i < p.set.n_policies; i++)
                assert_int_equal(p.set.policies[i].place.share, product_info((Product)i + 1)->heavy
                                                                        ? SHARE_EXCLUSIVE
                                                                        : SHARE_SHARED);
}

/* For the hosts of a topology: nothing that is not in it is named. */
WORLD_TEST(defaults_of_some_products) {
        const bool wanted[N_PRODUCTS] = { [PRODUCT_TSO] = true, [PRODUCT_PD] = true };
        _cleanup_policies_ Policies p = { 0 };

        assert_int_equal(policies_load_defaults(&w->machine, wanted, &p), 0);
        assert_int_equal(p.set.n_policies, 2);
        assert_string_equal(p.set.policies[0].name, "tso");
        assert_string_equal(p.set.policies[0].match.args, "* services tso*");
        assert_string_equal(p.set.policies[1].name, "pd");
}

static void check_loaded(const Policies *p, int r, const char *names) {
        char told[128] = "";

        for (size_t i = 0; i < p->errors.n_messages; i++)
                print_error("%s\n", p->errors.messages[i]);
        assert_int_equal(r, 0);
        for (size_t i = 0; i < p->set.n_policies; i++)
                (void)snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s ",
                               p->set.policies[i].name);
        assert_string_equal(told, names);
}

/* A file by hand may be anybody's, and written by anybody; a folder's may not. */
WORLD_TEST(path) {
        _cleanup_policies_ Policies p = { 0 };
        char path[64];

        fake_write(&w->tree, "d/a.yaml", POLICY("one"));
        assert_int_equal(chmod(path_of(w, "d/a.yaml", path), 0666), 0);
        check_loaded(&p, policies_load_path(path, &w->machine, &p), "one ");
        assert_int_equal(p.files.n_files, 1);
        policies_done(&p);
        assert_int_equal(policies_load_path(path_of(w, "d", path), &w->machine, &p), -EINVAL);
        assert_int_equal(p.errors.n_messages, 1);
        assert_contains(p.errors.messages[0], "group or others can write it");
        policies_done(&p);
        assert_int_equal(chmod(path_of(w, "d/a.yaml", path), 0644), 0);
        check_loaded(&p, policies_load_path(path_of(w, "d", path), &w->machine, &p), "one ");
}

WORLD_TEST(files_in_their_order) {
        _cleanup_policies_ Policies p = { 0 };
        char a[64], b[64];
        Args args = { .policy_is_set = true, .n_policy_files = 2 };

        fake_write(&w->tree, "a", POLICY("one"));
        fake_write(&w->tree, "b", POLICY("two"));
        args.policy_files[0] = path_of(w, "b", b);
        args.policy_files[1] = path_of(w, "a", a);
        check_loaded(&p, policies_load(&args, &w->machine, &p), "two one ");
        assert_false(policies_are_built_in(&p));
}

/* All that is wrong, in one go. */
WORLD_TEST(unreadable) {
        _cleanup_policies_ Policies p = { 0 };
        _cleanup_free_ char *large = malloc(SOURCE_FILE_MAX_BYTES + 2);
        char a[64], b[64], c[64];
        Args args = { .policy_is_set = true, .n_policy_files = 3 };

        memset(large, '#', SOURCE_FILE_MAX_BYTES + 1);
        large[SOURCE_FILE_MAX_BYTES + 1] = '\0';
        fake_write(&w->tree, "large", large);
        fake_write(&w->tree, "wrong", "version: 2\n");
        args.policy_files[0] = path_of(w, "none", a);
        args.policy_files[1] = path_of(w, "large", b);
        args.policy_files[2] = path_of(w, "wrong", c);
        assert_int_equal(policies_load(&args, &w->machine, &p), -EINVAL);
        assert_int_equal(p.errors.n_messages, 3);
        assert_contains(p.errors.messages[0], "/none: cannot be read: No such file");
        assert_contains(p.errors.messages[1], "/large: larger than 1048576 bytes");
        assert_contains(p.errors.messages[2], "/wrong:1:10: ");
        policies_done(&p);
        fake_write(&w->tree, "wrong", "version: 1\n"); /* what is right does not mend the others */
        assert_int_equal(policies_load(&args, &w->machine, &p), -EINVAL);
        assert_int_equal(p.errors.n_messages, 2);
        policies_done(&p);
        large[SOURCE_FILE_MAX_BYTES] = '\0'; /* as large as is allowed */
        memcpy(large, "version: 1\n", strlen("version: 1\n"));
        fake_write(&w->tree, "large", large);
        args.n_policy_files = 1;
        args.policy_files[0] = b;
        assert_int_equal(policies_load(&args, &w->machine, &p), 0);
        assert_true(policies_are_built_in(&p));
}

/* Nobody writes to it: the command would wait for ever. */
WORLD_TEST(fifo) {
        _cleanup_policies_ Policies p = { 0 };
        Args args = { .policy_is_set = true, .n_policy_files = 1 };
        char a[64];

        args.policy_files[0] = path_of(w, "fifo", a);
        assert_int_equal(mkfifo(a, 0600), 0);
        assert_int_equal(policies_load(&args, &w->machine, &p), -EINVAL);
        assert_int_equal(p.errors.n_messages, 1);
        assert_contains(p.errors.messages[0],
                        "/fifo: not a regular file, expected one; to read from a pipe, give - and "
                        "connect the pipe to standard input");
}

WORLD_TEST(dirs) {
        _cleanup_policies_ Policies p = { 0 };
        Args args = { .n_policy_dirs = 2 };
        char a[64], b[64];

        fake_write(&w->tree, "d/a.yaml", POLICY("one"));
        args.policy_dirs[0] = path_of(w, "d", a);
        args.policy_dirs[1] = path_of(w, "none", b);
        check_loaded(&p, policies_load(&args, &w->machine, &p), "one ");
        policies_done(&p);
        args.policy_is_set = true; /* by hand, so it is a mistake */
        assert_int_equal(policies_load(&args, &w->machine, &p), -EINVAL);
        assert_int_equal(p.errors.n_messages, 1);
        assert_contains(p.errors.messages[0],
                        "/none: No such file or directory, expected a folder");
}

/* The names of a dump's users are those of its own etc/passwd. */
WORLD_TEST(users_of_a_dump) {
        _cleanup_policies_ Policies p = { 0 };
        char path[64];

        fake_write(&w->tree, "a", POLICY("one"));
        w->machine.runs = true;
        w->machine.sysroot.path = w->tree.path;
        assert_int_equal(policies_load_path(path_of(w, "a", path), &w->machine, &p), 0);
        assert_false(p.set.policies[0].match.uid_known);
        policies_done(&p);
        fake_write(&w->tree, "etc/passwd", "root:x:0:0::/:\nnobody-at-all:x:77:7::/:\n");
        assert_int_equal(policies_load_path(path, &w->machine, &p), 0);
        assert_true(p.set.policies[0].match.uid_known);
        assert_int_equal(p.set.policies[0].match.uid, 77);
}

/* Whose names the users' are, neither a described machine nor a dump without users says. */
WORLD_TEST(users) {
        _cleanup_policies_ Policies p = { 0 };
        char path[64];
        size_t before;

        fake_write(&w->tree, "a", POLICY("one"));
        assert_int_equal(policies_load_path(path_of(w, "a", path), &w->machine, &p), 0);
        before = p.warnings.n_messages;
        policies_done(&p);
        w->machine.runs = true;
        assert_int_equal(policies_load_path(path, &w->machine, &p), 0);
        assert_int_equal(p.warnings.n_messages, before);
        policies_done(&p);
        w->machine.live = w->machine.sysroot.live = true;
        assert_int_equal(policies_load_path(path, &w->machine, &p), 0);
        assert_int_equal(p.warnings.n_messages, before + 1);
        assert_contains(p.warnings.messages[before], "user 'nobody-at-all'");
}

WORLD_TEST(print) {
        _cleanup_policies_ Policies p = { 0 };
        Capture capture;
        char path[64];

        fake_write(&w->tree, "a", "version: 1\nhots: {}\n");
        assert_int_equal(policies_load_path(path_of(w, "a", path), &w->machine, &p), -EINVAL);
        CAPTURE_STDERR(&capture, policies_print(&p.errors));
        assert_int_equal(strncmp(capture.text, "/", 1), 0);
        assert_contains(capture.text, "/a:2:1: unknown key `hots`");
        assert_contains(capture.text, "did you mean `host`?\n    hots: {}\n    ^~~~\n");
}
