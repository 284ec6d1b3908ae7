/* User names. */
#include <errno.h>
#include <pwd.h>
#include <stdint.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/users.h"

int user_to_uid(const char *user, uid_t *ret) {
        const struct passwd *pw;
        uint64_t number;

        if (parse_u64(user, &number) == 0 && number < UINT32_MAX) {
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
