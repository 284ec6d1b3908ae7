/* The command line. */

#include "../../support/test.h"

#include "tidbnumad/exporter/listen.h"

#define PARSE(ret, ...)                                                                            \
        args_parse((int)ELEMENTSOF(((const char *[]){ "e", __VA_ARGS__ })),                        \
                   (char *[]){ (char *)"e", __VA_ARGS__, NULL }, ret)

TEST(defaults) {
        char *argv[] = { (char *)"e", NULL };
        Args args;

        assert_int_equal(args_parse(1, argv, &args), 1);
        assert_string_equal(args.runtime_dir, "/run/tidbnumad");
        assert_int_equal(args.n_listen, 0);
}

TEST(options) {
        Args args;

        assert_int_equal(PARSE(&args, (char *)"--listen", (char *)"unix:/a", (char *)"-l",
                               (char *)"[::1]:1", (char *)"--runtime-dir=/d"),
                         1);
        assert_int_equal(args.n_listen, 2);
        assert_string_equal(args.listen[0], "unix:/a");
        assert_string_equal(args.listen[1], "[::1]:1");
        assert_string_equal(args.runtime_dir, "/d");
        assert_int_equal(PARSE(&args, (char *)"--help"), 0);
        assert_int_equal(PARSE(&args, (char *)"--version"), 0);
        assert_int_equal(PARSE(&args, (char *)"--help", (char *)"--port=1"), -EINVAL);
}

TEST(refused) {
        char *many[2 * EXPORTER_SOCKETS_MAX + 4] = { (char *)"e" };
        Args args = { .n_listen = 7 };

        assert_int_equal(PARSE(&args, (char *)"--port=1"), -EINVAL);
        assert_int_equal(PARSE(&args, (char *)"127.0.0.1:9797"), -EINVAL);
        assert_int_equal(PARSE(&args, (char *)"--listen"), -EINVAL);
        for (size_t i = 0; i < EXPORTER_SOCKETS_MAX + 1; i++) {
                many[1 + 2 * i] = (char *)"-l";
                many[2 + 2 * i] = (char *)"unix:/a";
        }
        assert_int_equal(args_parse(2 * EXPORTER_SOCKETS_MAX + 3, many, &args), -EINVAL);
        assert_int_equal(args.n_listen, 7); /* untouched */
        assert_int_equal(args_parse(2 * EXPORTER_SOCKETS_MAX + 1, many, &args), 1);
        assert_int_equal(args.n_listen, EXPORTER_SOCKETS_MAX);
}
