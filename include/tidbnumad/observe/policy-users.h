/* The numbers of the users that policies name: config is pure, and only the system knows them. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/source-file.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/sysroot.h"

/* user_to_uid(), or what does the same. */
typedef int (*UserLookup)(const char *user, uid_t *ret, void *userdata);

/* Looks up each `match.user`. One that does not exist is a warning: such a policy matches nothing.
 * `files` are those that the set was made from. For a dump of another machine, numbers count, and
 * the names in its own etc/passwd if it has one: names of this host do not. */
void policy_users_look_up(PolicySet *set, const SourceFileList *files, const Sysroot *sysroot,
                          UserLookup look_up, void *userdata, Diagnostics *warnings);
