/* The numbers of the users that policies name: config is pure, and only the system knows them. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/sysroot.h"

/* user_to_uid(), or what does the same. */
typedef int (*UserLookup)(const char *user, uid_t *ret, void *userdata);

/* Resolves each `match.user` to a user ID. A user that does not exist is a warning: such a policy
 * matches nothing. `files` are the files that the set was made from. For a dump of another machine,
 * numbers are used, and the names in the dump's own etc/passwd if it has one, but never the names
 * of this host. */
void policy_users_look_up(PolicySet *set, const SourceFileList *files, const Sysroot *sysroot,
                          UserLookup look_up, void *userdata, Diagnostics *warnings);
