/* User names. */
#include <errno.h>
#include <pwd.h>
#include <stdint.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/users.h"

static bool parse_number(const char *user, uint64_t *ret) {
        return parse_u64(user, ret) == 0 && *ret < UINT32_MAX;
}

bool user_is_number(const char *user) {
        uint64_t number;

        return parse_number(user, &number);
}

int user_to_uid(const char *user, uid_t *ret) {
        const struct passwd *pw;
        uint64_t number;

        if (parse_number(user, &number)) {
                *ret = (uid_t)number;
                return 0;
        }
        errno = 0;
        pw = getpwnam(user);
        if (!pw)
                return errno ? -errno : -ENOENT;
        *ret = pw->pw_uid;
        return 0;
}
