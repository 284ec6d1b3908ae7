#include "tidbnumad/daemon/host/load.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/observe/policy-users.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/policy-dir.h"
#include "tidbnumad/worker/ask.h"

static int look_up(const char *user, uid_t *ret, void *userdata) {
        Host *h = userdata;

        return worker_look_up_user(&h->workers, &h->sysroot, user, ret);
}

static int read_policies(Host *h, PolicySet *ret, Brakes *ret_brakes) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        /* While the host boots, network cards may still appear and be renamed: a policy that names
         * one must not be rejected for that. */
        const bool cards_known = h->policies_known || h->args->once;
        int r;

        diagnostics_done(&h->policy_errors);
        diagnostics_done(&h->policy_warnings);
        r = policy_dir_read(h->args->policy_dirs, h->args->n_policy_dirs, &files, &h->policy_errors,
                            &h->policy_warnings);
        if (r < 0)
                return r;
        r = policy_set_parse(&files, &h->topology, cards_known ? &h->devices : NULL, ret,
                             &h->policy_errors, &h->policy_warnings);
        if (r < 0)
                return r;
        policy_users_look_up(ret, &files, &h->sysroot, look_up, h, &h->policy_warnings);
        r = brakes_read(&files, ret, ret_brakes);
        return r == -ENOMEM ? r : 0;
}

/* The policy files are rejected, but pause, resume and release still apply to the policies in
 * force. */
static int apply_brakes(Host *h) {
        _cleanup_source_file_list_ SourceFileList drop_in = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 };
        const char *dir = h->args->policy_dirs[h->args->n_policy_dirs - 1];
        int r = policy_dir_read_one(dir, BRAKES_FILE, &drop_in, &errors);

        if (r >= 0)
                r = brakes_apply(&drop_in, &h->brakes, &h->policies);
        if (r == -EINVAL)
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "%s/%s is refused as well: pause and releases stay as they are", dir,
                            BRAKES_FILE);
        else if (r >= 0 && drop_in.n_files > 0)
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "%s/%s is in force despite that: %s; %zu released", dir, BRAKES_FILE,
                            h->policies.mode == ENFORCEMENT_OBSERVE ? "paused" : "not paused",
                            h->policies.release.n_words);
        return r == -EINVAL ? 0 : r;
}

static void log_refused(Host *h) {
        static const JournalFields fields = { .message_id = JOURNAL_POLICY_REFUSED };

        /* Warnings about rejected files would only repeat the error. */
        diagnostics_done(&h->policy_warnings);

        for (size_t i = 0; i < h->policy_errors.n_messages; i++)
                journal_log(&h->journal, LOG_ERR, &fields, "%s", h->policy_errors.messages[i]);
        journal_log(&h->journal, LOG_NOTICE, NULL,
                    "All policy files were refused; the previous policies stay in force (%zu "
                    "policies). Correct the files and reload: systemctl reload tidbnumad",
                    policy_set_count_written(&h->policies));
}

static void log_loaded(const Host *h) {
        static const JournalFields fields = { .message_id = JOURNAL_POLICY_LOADED };

        for (size_t i = 0; i < h->policy_warnings.n_messages; i++)
                journal_log(&h->journal, LOG_WARNING, NULL, "%s", h->policy_warnings.messages[i]);
        if (policy_set_count_written(&h->policies) == 0)
                journal_log(&h->journal, LOG_INFO, &fields,
                            "No policies: tidb-server, tikv-server, pd-server and haproxy are "
                            "watched, and nothing is changed. Write a policy in %s",
                            h->args->policy_dirs[h->args->n_policy_dirs > 1 ? 1 : 0]);
        else
                journal_log(&h->journal, LOG_INFO, &fields, "Policies in force: %zu%s",
                            policy_set_count_written(&h->policies),
                            h->policies.mode == ENFORCEMENT_OBSERVE
                                    ? " (enforcement.mode: observe: nothing will be changed)"
                                    : "");
}

int load_policies(Host *h, PolicySet *ret) {
        _cleanup_policy_set_ PolicySet fresh = { 0 };
        Brakes brakes = BRAKES_NONE;
        int r;

        policy_set_init(&fresh);
        h->policy_load_seconds = clock_realtime_seconds();
        r = read_policies(h, &fresh, &brakes);
        h->policy_load_success = r >= 0;
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                log_refused(h);
                return apply_brakes(h);
        }
        brakes_done(&h->brakes);
        h->brakes = brakes;
        *ret = TAKE_STRUCT(fresh);
        return 1;
}

void load_take_over(Host *h, PolicySet *fresh) {
        const PolicySet former = h->policies;

        h->policies = *fresh;
        *fresh = former;
        h->policies_known = true;
        log_loaded(h);
}
