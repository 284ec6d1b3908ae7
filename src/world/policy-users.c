#include <errno.h>

#include "tidbnumad/sys/unit-file.h"
#include "tidbnumad/world/policy-users.h"

void policy_users_look_up(PolicySet *set, const SourceFileList *files, const Sysroot *sysroot,
                          UserLookup look_up, void *userdata, Diagnostics *warnings) {
        for (size_t i = 0; i < set->n_policies; i++) {
                Policy *policy = &set->policies[i];
                PolicyMatch *match = &policy->match;
                const SourceSpan at = { policy->line, policy->column, 0 };
                int r;

                if (!match->user)
                        continue;
                if (!sysroot->live && !user_is_number(match->user)) {
                        match->uid_known =
                                sysroot->path &&
                                user_to_uid_below(sysroot->path, match->user, &match->uid) == 0;
                        continue;
                }
                r = look_up(match->user, &match->uid, userdata);
                match->uid_known = r == 0;
                if (r < 0)
                        diagnostics_add_at(warnings, source_file_find(files, policy->file), at,
                                           "user '%s' of policy '%s' %s, so the policy matches "
                                           "nothing",
                                           match->user, policy->name,
                                           r == -ETIME ? "is not known: the name service does not "
                                                         "answer (write the number of the user, or "
                                                         "reload later)"
                                                       : "does not exist on this host");
        }
}
