/* What is masked in a command line, and what is not. */

#include "../../support/test.h"

#include "tidbnumad/base/id-set.h"

/* Arguments are separated by "|" here. */
static void assert_masked(const char *arguments, const char *expected) {
        _cleanup_text_ Text text = { 0 };
        char bytes[256];
        size_t n = strlen(arguments) + 1;

        memcpy(bytes, arguments, n);
        for (size_t i = 0; i < n; i++)
                bytes[i] = (char)(bytes[i] == '|' ? '\0' : bytes[i]);
        mask_arguments(&text, bytes, n);
        assert_int_equal(text.error, 0);
        for (size_t i = 0; i + 1 < text.length; i++)
                text.data[i] = (char)(text.data[i] == '\0' ? '|' : text.data[i]);
        assert_string_equal(text.data, expected);
}

TEST(what_is_no_secret) {
        assert_masked("tikv-server|--data-dir|/d|--addr=0.0.0.0:20160",
                      "tikv-server|--data-dir|/d|--addr=0.0.0.0:20160");
        assert_masked("a||b", "a||b");
        assert_masked("--pd=http://10.0.0.1:2379,http://h:1/p@x",
                      "--pd=http://10.0.0.1:2379,http://h:1/p@x");
}

TEST(by_name) {
        assert_masked("mysqld|--password=abc|-x", "mysqld|--password=***|-x");
        assert_masked("a|--ROOT-PASSWORD|abc|--next|b", "a|--ROOT-PASSWORD|***|--next|b");
        assert_masked("a|--security.auth-token:abc", "a|--security.auth-token:***");
        assert_masked("a|SECRET_KEY=abc=def|c", "a|SECRET_KEY=***|c");
        assert_masked("a|-Djavax.net.ssl.trustStorePassword=x",
                      "a|-Djavax.net.ssl.trustStorePassword=***");
        assert_masked("a|--s3.access-key|x|--s3.secret-access-key|y",
                      "a|--s3.access-key|***|--s3.secret-access-key|***");
        assert_masked("a|--token", "a|--token");
        assert_masked("password|a", "password|a"); /* a word, and no option */
}

TEST(in_urls) {
        assert_masked("a|--dsn=mysql://root:pw@h:4000/db", "a|--dsn=mysql://***@h:4000/db");
        assert_masked("https://u:p@q@host/x@y", "https://***@host/x@y");
}

TEST(every_word) {
        static const char *const names[] = { "Passwd",     "passphrase",  "SECRET",
                                             "token",      "apikey",      "api-key",
                                             "api_key",    "access-key",  "access_key",
                                             "accesskey",  "private-key", "private_key",
                                             "credentials" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                assert_masked(fmt("--x%sy=1", names[i]), fmt("--x%sy=***", names[i]));
        }
}
