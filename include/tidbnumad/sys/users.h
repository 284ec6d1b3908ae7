/* User names. */
#pragma once

#include <sys/types.h>

/* The uid of a user given by name or number. -ENOENT: no such user. */
int user_to_uid(const char *user, uid_t *ret);
