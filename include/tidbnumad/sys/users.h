/* User names. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The uid of a user given by name or number. -ENOENT: no such user. */
int user_to_uid(const char *user, uid_t *ret);

/* Is it a number, so that nobody has to be asked for it? */
bool user_is_number(const char *user);
