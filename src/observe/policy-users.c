/* Who the users are that policies name. */
#include "tidbnumad/observe/policy-users.h"
#include "tidbnumad/sys/users.h"

void policy_users_look_up(PolicySet *set, const SourceFileList *files, bool live,
                          Diagnostics *warnings) {
        for (size_t i = 0; i < set->n_policies; i++) {
                Policy *policy = &set->policies[i];
                PolicyMatch *match = &policy->match;
                const SourceSpan at = { policy->line, policy->column, 0 };

                if (!match->user || (!live && !user_is_number(match->user)))
                        continue;
                match->uid_known = user_to_uid(match->user, &match->uid) == 0;
                if (!match->uid_known)
                        diagnostics_add_at(warnings, source_file_find(files, policy->file), at,
                                           "user '%s' of policy '%s' does not exist on this host, "
                                           "so the policy matches nothing",
                                           match->user, policy->name);
        }
}
