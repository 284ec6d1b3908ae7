#include <stdbool.h>
#include <string.h>

#include "tidbnumad/base/mask.h"

static const char *const words[] = { "passw",      "passphrase", "secret",      "token",
                                     "apikey",     "api-key",    "api_key",     "access-key",
                                     "access_key", "accesskey",  "private-key", "private_key",
                                     "privatekey", "credential", NULL };

#define MASK "***"

static bool has_word(const char *name, size_t length) {
        for (size_t w = 0; words[w]; w++)
                for (size_t i = 0; i + strlen(words[w]) <= length; i++)
                        if (strncasecmp(name + i, words[w], strlen(words[w])) == 0)
                                return true;
        return false;
}

/* "scheme://user:password@host": the part behind "//", and its length up to "@"; 0: none. */
static size_t find_user(const char *argument, const char **ret) {
        const char *start = strstr(argument, "://"), *at;
        size_t length;

        if (!start)
                return 0;
        start += 3;
        length = strcspn(start, "/?#");
        at = memrchr(start, '@', length);
        *ret = start;
        return at ? (size_t)(at - start) : 0;
}

/* True: the next argument is the secret. */
static bool append(Text *text, const char *argument) {
        const size_t length = strcspn(argument, "=:"); /* of the name */
        const char *user;
        size_t n;

        if (has_word(argument, length)) {
                text_append_bytes(text, argument, length);
                if (argument[length]) {
                        text_append_bytes(text, argument + length, 1);
                        text_append(text, MASK);
                }
                return argument[length] == '\0' && argument[0] == '-';
        }
        n = find_user(argument, &user);
        if (n == 0) {
                text_append(text, argument);
                return false;
        }
        text_append_bytes(text, argument, (size_t)(user - argument));
        text_append(text, MASK);
        text_append(text, user + n);
        return false;
}

void mask_arguments(Text *text, const char *bytes, size_t size) {
        bool secret = false;

        for (size_t i = 0; i < size; i += strlen(bytes + i) + 1) {
                if (secret) {
                        text_append(text, MASK);
                        secret = false;
                } else
                        secret = append(text, bytes + i);
                text_append_bytes(text, "", 1);
        }
}
