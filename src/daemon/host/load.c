/* Loading of policies at the start and on SIGHUP. */
#include <string.h>

#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/daemon/binding/bind.h"
#include "tidbnumad/daemon/host/load.h"
#include "tidbnumad/observe/policy-users.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/policy-dir.h"

/* While the host boots, network cards may still come, and be renamed: a policy that names one must
 * not be refused for that. */
static bool cards_known(const Manager *m) {
        return m->binding.policy_counters || m->host.args->once;
}

static int read_policies(Manager *m, PolicySet *ret, Brakes *ret_brakes) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        int r;

        diagnostics_done(&m->host.policy_errors);
        diagnostics_done(&m->host.policy_warnings);
        r = policy_dir_read(m->host.args->policy_dirs, m->host.args->n_policy_dirs, &files,
                            &m->host.policy_errors, &m->host.policy_warnings);
        if (r < 0)
                return r;
        r = policy_set_parse(&files, &m->host.topology, cards_known(m) ? &m->host.devices : NULL,
                             ret, &m->host.policy_errors, &m->host.policy_warnings);
        if (r < 0)
                return r;
        policy_users_look_up(ret, &files, m->host.sysroot.live, &m->host.policy_warnings);
        r = brakes_read(&files, ret, ret_brakes);
        return r == -ENOMEM ? r : 0;
}

/* The set is refused, but pause, resume and release work on the policies in force. */
static int apply_brakes(Host *h) {
        _cleanup_source_file_list_ SourceFileList drop_in = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 };
        const char *dir = h->args->policy_dirs[h->args->n_policy_dirs - 1];
        int r = policy_dir_read_one(dir, BRAKES_FILE, &drop_in, &errors);

        if (r >= 0)
                r = brakes_apply(&drop_in, &h->brakes, &h->policies);
        if (r == -EINVAL)
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "%s/%s is refused as well: what is paused and released stays as it is",
                            dir, BRAKES_FILE);
        else if (r >= 0 && drop_in.n_files > 0)
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "%s/%s is in force all the same: %s; %zu released", dir, BRAKES_FILE,
                            h->policies.mode == ENFORCEMENT_OBSERVE ? "paused" : "not paused",
                            h->policies.release.n_words);
        return r == -EINVAL ? 0 : r;
}

/* Counters go with a policy's name, so that a reload does not set them back. Behind the last are
 * those of instances that no policy names any more. */
static int carry_counters(const Manager *m, const PolicySet *fresh, PolicyCounters **ret) {
        PolicyCounters *counters = calloc(fresh->n_policies + 1, sizeof(*counters));

        if (!counters)
                return -ENOMEM;
        for (size_t i = 0; i < fresh->n_policies; i++)
                for (size_t j = 0; j < m->host.policies.n_policies; j++)
                        if (strcmp(fresh->policies[i].name, m->host.policies.policies[j].name) == 0)
                                counters[i] = m->binding.policy_counters[j];
        *ret = counters;
        return 0;
}

static void say_refused(Manager *m) {
        static const JournalFields fields = { .message_id = JOURNAL_POLICY_REFUSED };

        /* Of files that are not in force, and often of nothing but the error itself. */
        diagnostics_done(&m->host.policy_warnings);

        for (size_t i = 0; i < m->host.policy_errors.n_messages; i++)
                journal_log(&m->host.journal, LOG_ERR, &fields, "%s",
                            m->host.policy_errors.messages[i]);
        journal_log(
                &m->host.journal, LOG_NOTICE, NULL,
                "The policy files were refused as a whole; those loaded before stay in force (%zu "
                "policies). Correct the files and reload: systemctl reload tidbnumad",
                policy_set_count_written(&m->host.policies));
}

static void say_loaded(const Manager *m) {
        static const JournalFields fields = { .message_id = JOURNAL_POLICY_LOADED };

        for (size_t i = 0; i < m->host.policy_warnings.n_messages; i++)
                journal_log(&m->host.journal, LOG_WARNING, NULL, "%s",
                            m->host.policy_warnings.messages[i]);
        if (policy_set_count_written(&m->host.policies) == 0)
                journal_log(&m->host.journal, LOG_INFO, &fields,
                            "No policy is there; tidb-server, tikv-server, pd-server and haproxy "
                            "are watched, and nothing will be changed. Write one to %s",
                            m->host.args->policy_dirs[m->host.args->n_policy_dirs > 1 ? 1 : 0]);
        else
                journal_log(&m->host.journal, LOG_INFO, &fields, "Policies in force: %zu%s",
                            policy_set_count_written(&m->host.policies),
                            m->host.policies.mode == ENFORCEMENT_OBSERVE
                                    ? " (enforcement.mode: observe: nothing will be changed)"
                                    : "");
}

int load_policies(Manager *m) {
        _cleanup_policy_set_ PolicySet fresh = { 0 };
        _cleanup_brakes_ Brakes brakes = BRAKES_NONE;
        PolicyCounters *counters = NULL;
        int r;

        policy_set_init(&fresh);
        m->host.policy_load_seconds = clock_realtime_seconds();
        r = read_policies(m, &fresh, &brakes);
        m->host.policy_load_success = r >= 0;
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                say_refused(m);
                return apply_brakes(&m->host);
        }
        r = carry_counters(m, &fresh, &counters);
        if (r < 0)
                return r;
        place_note_policies(m, &fresh);
        free(m->binding.policy_counters);
        m->binding.policy_counters = counters;
        policy_set_done(&m->host.policies);
        m->host.policies = fresh;
        fresh = (PolicySet){ 0 };
        brakes_done(&m->host.brakes);
        m->host.brakes = brakes;
        brakes = BRAKES_NONE;
        m->host.policies_known = true;
        say_loaded(m);
        bind_choose_backend(m);
        return 0;
}
