/* User names. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The uid of a user given by number, or by a name that /etc/passwd has. -ENOENT: neither. */
int user_is_local(const char *user, uid_t *ret);

/* The same for every user of the host: queries name servers, so it may take as long as they do.
 * -ENOENT: no such user. */
int user_to_uid(const char *user, uid_t *ret);

/* The same by the etc/passwd of the dump below `root`. -ENOENT also if there is no such file. */
int user_to_uid_below(const char *root, const char *user, uid_t *ret);

/* Is the user given as a number, which needs no query? */
bool user_is_number(const char *user);
