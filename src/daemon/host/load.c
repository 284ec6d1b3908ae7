/* Policies and requests: loads them, puts them in force, and keeps them for the next start. config/
 * checks the files. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/config/policy-check.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/policy-dir.h"
#include "tidbnumad/worker/worker.h"
#include "tidbnumad/world/processes.h"

static int user_look_up(const char *user, uid_t *ret, void *userdata) {
        Host *h = userdata;

        return worker_look_up_user(h->workers, &h->sysroot, user, ret);
}

/* --- those that were last in force --- */

static void cannot_use_kept(const Host *h, const char *why) {
        journal_log(&h->journal, LOG_WARNING, NULL,
                    "The policies that were last in force, in %s/%s, cannot be used: %s",
                    h->args->runtime_dir, POLICY_KEPT_FILE, why);
}

/* At the start only. 1: there are some that can be used. They are checked as strictly as the files
 * of the policy folders: the machine may have changed. */
static int policies_read_kept(Host *h, PolicySet *ret) {
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        int r = h->runtime_fd < 0 || h->policies_known ? 0
                                                       : policy_kept_read(h->runtime_fd, &files);

        if (r < 0 && r != -ENOMEM)
                cannot_use_kept(h, r == -EPERM     ? "it is not root's alone"
                                   : r == -EBADMSG ? "it is not what a daemon has written"
                                                   : strerror(-r));
        if (r <= 0)
                return r == -ENOMEM ? r : 0;
        r = policy_set_parse(&files, &h->topology, NULL, ret, &errors, &warnings);
        if (r == -EINVAL)
                cannot_use_kept(h, errors.n_messages > 0 ? errors.messages[0] : strerror(-r));
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        policy_users_look_up(ret, &files, &h->sysroot, user_look_up, h, &warnings);
        return 1;
}

/* --- the files --- */

int load_policies(Host *h, PolicySet *ret) {
        static const JournalFields fields = { .message_id = JOURNAL_POLICY_REFUSED };
        _cleanup_policy_set_ PolicySet fresh = { 0 }, kept = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        /* While the host boots, network cards may still appear and be renamed: a policy that names
         * one must not be rejected for that. */
        const bool cards_known = h->policies_known || h->args->once;
        const PolicySet *former; /* those in force, or last in force; NULL: none */
        int r, has_kept;

        policy_set_init(&fresh);
        policy_set_init(&kept);
        h->policy_load_seconds = clock_realtime_seconds();
        r = has_kept = policies_read_kept(h, &kept);
        former = h->policies_known ? &h->policies : has_kept > 0 ? &kept : NULL;
        if (r >= 0) {
                diagnostics_done(&h->policy_errors);
                diagnostics_done(&h->policy_warnings);
                r = policy_dir_read(h->args->policy_dirs, h->args->n_policy_dirs,
                                    h->args->policy_dirs_named, &files, &h->policy_errors,
                                    &h->policy_warnings);
        }
        if (r >= 0)
                r = policy_set_parse(&files, &h->topology, cards_known ? &h->devices : NULL, &fresh,
                                     &h->policy_errors, &h->policy_warnings);
        if (r >= 0) {
                if (former)
                        policy_check_lost(former, &fresh, &files, policy_dir_find_beside,
                                          &h->policy_errors);
                r = h->policy_errors.error < 0        ? -ENOMEM
                    : h->policy_errors.n_messages > 0 ? -EINVAL
                                                      : 0;
        }
        h->policy_load_success = r >= 0;
        if (r >= 0) {
                policy_users_look_up(&fresh, &files, &h->sysroot, user_look_up, h,
                                     &h->policy_warnings);
                source_file_list_done(&h->policy_files);
                h->policy_files = TAKE_STRUCT(files);
                *ret = TAKE_STRUCT(fresh);
                return 1;
        }
        if (r == -ENOMEM)
                return r;
        /* Warnings about rejected files would only repeat the error. */
        diagnostics_done(&h->policy_warnings);
        for (size_t i = 0; i < h->policy_errors.n_messages; i++)
                journal_log(&h->journal, LOG_ERR, &fields, "%s", h->policy_errors.messages[i]);
        if (h->policies_known)
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "All policy files were refused; the previous policies stay in force "
                            "(%zu policies). Correct the files and reload: systemctl reload "
                            "tidbnumad",
                            policy_set_count_written(&h->policies));
        else
                journal_log(
                        &h->journal, LOG_NOTICE, NULL,
                        "All policy files were refused. Correct the files and reload: systemctl "
                        "reload tidbnumad");
        /* Who runs it once, by hand, reads what is wrong. */
        if (has_kept <= 0 || h->args->once)
                return 0;
        *ret = TAKE_STRUCT(kept);
        return 1;
}

static int policies_swap(Host *h, PolicySet *fresh) {
        const PolicySet former = h->policies;
        PolicyInfo *counters = calloc(fresh->n_policies + 1, sizeof(*counters));

        if (!counters)
                return -ENOMEM;
        for (size_t i = 0; i < fresh->n_policies; i++) {
                const Policy *p = policy_set_find(&former, fresh->policies[i].name);

                if (p)
                        counters[i] = h->policy_counters[p - former.policies];
        }
        free(h->policy_counters);
        h->policy_counters = counters;
        h->policies = *fresh;
        *fresh = former;
        return 0;
}

int load_take_over(Host *h, PolicySet *fresh) {
        static const JournalFields fields = { .message_id = JOURNAL_POLICY_LOADED };
        const size_t n_before = policy_set_count_written(&h->policies);
        const size_t n_now = policy_set_count_written(fresh);
        int r = policies_swap(h, fresh);

        if (r < 0)
                return r;
        h->policies_known = true;
        h->policies_kept = !h->policy_load_success;
        h->n_adopted = 0;
        if (h->policies_kept) {
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "The policies that were in force before this start are in force again "
                            "(%zu policies, kept in %s/%s)",
                            n_now, h->args->runtime_dir, POLICY_KEPT_FILE);
                return 0;
        }
        if (h->runtime_fd >= 0 && !h->args->dry_run)
                r = policy_kept_write(h->runtime_fd, &h->policy_files);
        if (r < 0)
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "The policies cannot be kept in %s/%s: %s. If the policy files are "
                            "refused at the next start, no policy will be in force",
                            h->args->runtime_dir, POLICY_KEPT_FILE, strerror(-r));
        source_file_list_done(&h->policy_files);
        if (n_before > 0 && n_now == 0)
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "The last policy is gone: what was bound is released");
        for (size_t i = 0; i < h->policy_warnings.n_messages; i++)
                journal_log(&h->journal, LOG_WARNING, NULL, "%s", h->policy_warnings.messages[i]);
        if (n_now == 0)
                journal_log(&h->journal, LOG_INFO, &fields,
                            "No policies: the services of TiDB and its tools are watched, and "
                            "no process is changed. Write a policy in %s",
                            h->args->policy_dirs[h->args->n_policy_dirs > 1 ? 1 : 0]);
        else
                journal_log(&h->journal, LOG_INFO, &fields, "Policies in force: %zu%s", n_now,
                            h->policies.mode == ENFORCEMENT_OBSERVE
                                    ? " (enforcement.mode: observe: nothing will be changed)"
                                    : "");
        return 0;
}

/* Nothing new is bound by the built-in ones. */
int load_add_watched(PolicySet *set) {
        const SourceFileList no_files = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_policy_set_ PolicySet watched = { 0 };
        Policy *all;
        int r;

        policy_set_init(&watched);
        r = policy_set_parse(&no_files, NULL, NULL, &watched, &errors, &warnings);
        if (r < 0)
                return r;
        all = reallocarray(set->policies, set->n_policies + watched.n_policies, sizeof(*all));
        if (!all)
                return -ENOMEM;
        memcpy(all + set->n_policies, watched.policies, watched.n_policies * sizeof(*all));
        set->policies = all;
        set->n_policies += watched.n_policies;
        watched.n_policies = 0; /* they belong to `set` now */
        return 0;
}

int load_adopt(Host *h, PolicySet *fresh) {
        size_t n = 0;
        int r = policies_swap(h, fresh);

        if (r < 0)
                return r;
        for (size_t i = 0; i < h->policies.n_policies; i++)
                n += h->policies.policies[i].adopted;
        h->n_adopted = n;
        journal_log(&h->journal, LOG_WARNING, NULL,
                    "No policy is in force: the files are refused, and no earlier policies are "
                    "kept. %zu binding%s of an earlier run %s held and watched, and nothing new is "
                    "bound",
                    n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
        return 0;
}

#define REQUESTS_FILE "requests"
#define REQUESTS_MAX_BYTES ((size_t)REQUESTS_MAX * (REQUEST_NAME_MAX + 16))

void requested_read(Host *h) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (h->runtime_fd < 0)
                return;
        r = private_file_read(h->runtime_fd, REQUESTS_FILE, REQUESTS_MAX_BYTES, &text, &size);
        if (r == -ENOENT)
                return;
        if (r >= 0)
                r = requests_parse(text, size, &h->requests);
        if (r < 0) {
                /* To pause is the careful answer: nothing that was released is bound again. */
                h->requests.paused = true;
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "What was requested before this start, in %s/%s, cannot be used: %s. "
                            "The daemon is paused, because it may have been; run tidbnumactl "
                            "resume",
                            h->args->runtime_dir, REQUESTS_FILE,
                            r == -EBADMSG ? "it is not what a daemon has written"
                            : r == -EPERM ? "it is not root's alone"
                                          : strerror(-r));
        } else if (h->requests.trial == TRIAL_REQUEST_BINDS) {
                h->requests.trial = TRIAL_REQUEST_ENDS;
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "A trial was under way when the daemon ended: what it has bound is "
                            "released");
        } else if (h->requests.paused || h->requests.n > 0)
                journal_log(&h->journal, LOG_NOTICE, NULL, "As requested before this start: %s, %s",
                            h->requests.paused ? "paused" : "not paused",
                            requests_release_any(&h->requests) ? "some instances are released"
                                                               : "nothing is released");
}

int requested_write(const Host *h) {
        _cleanup_text_ Text text = { 0 };

        if (h->runtime_fd < 0)
                return 0;
        if (requests_is_empty(&h->requests))
                return unlinkat(h->runtime_fd, REQUESTS_FILE, 0) < 0 && errno != ENOENT ? -errno
                                                                                        : 0;
        requests_render(&h->requests, &text);
        return text.error < 0 ? text.error
                              : atomic_file_write(h->runtime_fd, REQUESTS_FILE, text.data,
                                                  text.length, 0600);
}
