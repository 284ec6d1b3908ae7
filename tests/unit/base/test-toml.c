/* One string out of TOML as people write it, and out of what is none. */
#include <errno.h>
#include <string.h>

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/toml.h"

static void assert_found(const char *text, const char *table, const char *expected) {
        _cleanup_free_ char *value = NULL;

        assert_int_equal(toml_find_string(text, strlen(text), table, "data-dir", &value), 0);
        assert_string_equal(value, expected);
}

static void assert_fails(const char *text, const char *table, int error) {
        char *value = (char *)7;

        assert_int_equal(toml_find_string(text, strlen(text), table, "data-dir", &value), error);
        assert_ptr_equal(value, (char *)7);
}

TEST(top) {
        assert_found("data-dir = \"/pd\"\n", NULL, "/pd");
        assert_found("data-dir='/pd'", NULL, "/pd");
        assert_found("# data-dir = \"/no\"\n\r\n\tdata-dir\t=\t\"/pd\"\t# why\r\n", NULL, "/pd");
        assert_found("\xef\xbb\xbf"
                     "data-dir = \"/pd\"",
                     NULL, "/pd");
        assert_found("\"data-dir\" = \"/pd\"", NULL, "/pd");
        assert_found("'data-dir' = \"/pd\"", NULL, "/pd");
        assert_found("data-dir = \"\"", NULL, "");
        assert_found("data-dir = \"/first\"\ndata-dir = \"/second\"", NULL, "/first");
        assert_found("nonsense\n= 4\n!\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_fails("", NULL, -ENOENT);
        assert_fails("[storage]\ndata-dir = \"/tikv\"", NULL, -ENOENT);
        assert_fails("data-dirs = \"/pd\"\ndata = \"/pd\"\ndata-dir.x = \"/pd\"\n", NULL, -ENOENT);
        assert_fails("Data-Dir = \"/pd\"", NULL, -ENOENT);
}

TEST(table) {
        assert_found("[storage]\ndata-dir = \"/tikv\"", "storage", "/tikv");
        assert_found("data-dir = \"/no\"\n[ storage ] # here\nengine = \"raft-kv\"\n"
                     "data-dir = \"/tikv\"\n",
                     "storage", "/tikv");
        assert_found("['storage']\ndata-dir = \"/tikv\"", "storage", "/tikv");
        assert_found("storage.data-dir = \"/tikv\"", "storage", "/tikv");
        assert_found("storage . \"data-dir\" = \"/tikv\"", "storage", "/tikv");
        assert_found("[storage.block-cache]\ndata-dir = \"/no\"\n[storage]\ndata-dir = '/tikv'",
                     "storage", "/tikv");
        assert_found("[[storage]]\ndata-dir = \"/no\"\n[storage]\ndata-dir = '/tikv'", "storage",
                     "/tikv");
        assert_fails("data-dir = \"/pd\"", "storage", -ENOENT);
        assert_fails("[storages]\ndata-dir = \"/no\"", "storage", -ENOENT);
        assert_fails("[storage]\n[server]\ndata-dir = \"/no\"", "storage", -ENOENT);
        assert_fails("[\"storage.data-dir\"]\ndata-dir = \"/no\"", "storage", -ENOENT);
        assert_fails("\"storage.data-dir\" = \"/no\"", "storage", -ENOENT);
        assert_fails("[server]\nstorage.data-dir = \"/no\"", "storage", -ENOENT);
        assert_fails("[storage\ndata-dir = \"/no\"", "storage", -ENOENT);
}

/* What looks like the key but stands inside of another value. */
TEST(values_of_others) {
        assert_found("a = \"\"\"\ndata-dir = \"/no\"\n\"\"\"\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_found("a = '''\ndata-dir = \"/no\"\n'''\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_found("a = \"\"\"x\"\"\"\"\"\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_found("a = \"\"\" \\\"\"\"\ndata-dir = \"/no\"\n\"\"\"\ndata-dir = \"/pd\"", NULL,
                     "/pd");
        assert_found("a = [\ndata-dir = \"/no\", # ]\n\"]\",\n[1]\n]\ndata-dir = \"/pd\"", NULL,
                     "/pd");
        assert_found("a = {x = [\n]\n,data-dir = \"/no\"}\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_found("a = \"\\\"\\\\\"\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_found("a = '\\'\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_found("a = \"never closed\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_found("a = 1 ] }\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_found("a = # data-dir\ndata-dir = \"/pd\"", NULL, "/pd");
        assert_fails("a = \"\"\"\ndata-dir = \"/no\"", NULL, -ENOENT);
        assert_fails("a = {data-dir = \"/no\"}", NULL, -ENOENT);
        assert_fails("storage = {data-dir = \"/no\"}", "storage", -ENOENT);
}

TEST(escapes) {
        assert_found("data-dir = \"/a\\\"b\\\\c\\td\"", NULL, "/a\"b\\c\td");
        assert_found("data-dir = '/a\\tb\"'", NULL, "/a\\tb\"");
        assert_found("data-dir = \"\\u00e4\\u20AC\\U0001F600\\u007f\"", NULL,
                     "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\x7f");
        assert_fails("data-dir = \"\\u0000\"", NULL, -EBADMSG);
        assert_fails("data-dir = \"\\ud800\"", NULL, -EBADMSG);
        assert_fails("data-dir = \"\\U00110000\"", NULL, -EBADMSG);
        assert_fails("data-dir = \"\\u12\"", NULL, -EBADMSG);
        assert_fails("data-dir = \"\\q\"", NULL, -EBADMSG);
        assert_fails("data-dir = \"\\", NULL, -EBADMSG);
}

TEST(no_string) {
        static const char nul[] = "data-dir = \"/a\0b\"";
        char *value = (char *)7;

        assert_fails("data-dir = 4", NULL, -EBADMSG);
        assert_fails("data-dir = [\"/a\"]", NULL, -EBADMSG);
        assert_fails("data-dir =", NULL, -EBADMSG);
        assert_fails("data-dir = \"/a\n\"", NULL, -EBADMSG);
        assert_fails("data-dir = '/a", NULL, -EBADMSG);
        assert_fails("data-dir = \"\"\"/a\"\"\"", NULL, -EBADMSG);
        assert_int_equal(toml_find_string(nul, sizeof(nul), NULL, "data-dir", &value), -EBADMSG);
        assert_ptr_equal(value, (char *)7);
}

TEST(bytes_that_end_anywhere) {
        static const char text[] = "a.b = \"\"\"x\"\"\" # y\n[storage]\n'data-dir' = \"/\\u00e4\"";

        for (size_t size = 0; size < sizeof(text) - 1; size++) {
                char *exact = malloc(size + 1), *value = NULL;
                int r;

                assert_non_null(exact);
                memcpy(exact, text, size);
                r = toml_find_string(exact, size, "storage", "data-dir", &value);
                assert_true(r == -ENOENT || r == -EBADMSG);
                free(exact);
        }
}

TEST(long_names) {
        char text[256];

        (void)snprintf(text, sizeof(text), "%0100d = \"/no\"\n\"%0100d\" = \"/no\"\n%s", 1, 1,
                       "a.b.c.d.e = 4\ndata-dir = \"/pd\"");
        assert_found(text, NULL, "/pd");
}
