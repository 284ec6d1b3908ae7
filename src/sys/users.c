#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/users.h"

static bool parse_number(const char *user, uint64_t *ret) {
        return parse_u64(user, ret) == 0 && *ret < UINT32_MAX;
}

bool user_is_number(const char *user) {
        uint64_t number;

        return parse_number(user, &number);
}

int user_to_uid_below(const char *root, const char *user, uid_t *ret) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *path = text_new("%s/etc/passwd", root);
        const struct passwd *pw;

        if (!path)
                return -ENOMEM;
        file = fopen(path, "re");
        while (file && (pw = fgetpwent(file)))
                if (strcmp(pw->pw_name, user) == 0) {
                        *ret = pw->pw_uid;
                        return 0;
                }
        return -ENOENT;
}

int user_is_local(const char *user, uid_t *ret) {
        uint64_t number;

        if (!parse_number(user, &number))
                return user_to_uid_below("", user, ret);
        *ret = (uid_t)number;
        return 0;
}

int user_to_uid(const char *user, uid_t *ret) {
        const struct passwd *pw;

        if (user_is_local(user, ret) == 0)
                return 0;
        errno = 0;
        pw = getpwnam(user);
        if (!pw)
                return errno ? -errno : -ENOENT;
        *ret = pw->pw_uid;
        return 0;
}
