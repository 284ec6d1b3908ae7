#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/roster/ignored.h"

typedef struct Counted {
        pid_t pid;
        MatchVerdict verdict;
        uint64_t round; /* the last round that has seen it */
} Counted;

static void ignored_process_done(IgnoredProcess *process) {
        process_done(&process->process);
        proc_close(&process->handle);
        free(process->policy);
        free(process->reason);
        *process = (IgnoredProcess){ .handle = PROC_HANDLE_NONE };
}

void ignored_done(IgnoredList *ignored) {
        for (size_t i = 0; i < ignored->n_processes; i++)
                ignored_process_done(&ignored->processes[i]);
        free(ignored->processes);
        free(ignored->counted);
        *ignored = (IgnoredList){ 0 };
}

static int render_reason(const Process *process, const Policy *policy, MatchVerdict verdict,
                         char **ret) {
        int r = verdict == MATCH_OTHER_USER
                        ? asprintf(ret, "it runs as user %u, and policy '%s' is for user %s",
                                   process->uid, policy->name, policy->match.user)
                        : asprintf(ret,
                                   "it lives in another %s namespace, as a container does; `match: "
                                   "{containers: true}` in policy '%s' would include it",
                                   foreign_to_string(process->foreign), policy->name);

        return r < 0 ? -ENOMEM : 0;
}

int ignored_add(IgnoredList *ignored, Process *process, ProcHandle *handle, const Policy *policy,
                MatchVerdict verdict) {
        IgnoredProcess s = { .handle = PROC_HANDLE_NONE };
        int r;

        if (ignored->n_processes == IGNORED_MAX)
                ignored_prune(ignored);
        if (ignored->n_processes == IGNORED_MAX)
                return -ENOSPC;
        if (ARRAY_RESERVE(ignored->processes, ignored->allocated, ignored->n_processes + 1) < 0)
                return -ENOMEM;
        r = render_reason(process, policy, verdict, &s.reason);
        if (r < 0)
                return r;
        s.policy = strdup(policy->name);
        if (!s.policy) {
                ignored_process_done(&s);
                return -ENOMEM;
        }
        s.verdict = verdict;
        s.process = *process;
        s.handle = *handle;
        *process = (Process){ 0 };
        *handle = PROC_HANDLE_NONE;
        ignored->processes[ignored->n_processes++] = s;
        return 0;
}

bool ignored_has(const IgnoredList *ignored, const Process *process) {
        for (size_t i = 0; i < ignored->n_processes; i++) {
                const Process *known = &ignored->processes[i].process;

                if (process_is_same(known, process))
                        return true;
        }
        return false;
}

static void remove_at(IgnoredList *ignored, size_t index) {
        ignored_process_done(&ignored->processes[index]);
        ARRAY_REMOVE(ignored->processes, ignored->n_processes, index);
}

/* The index of the entry, or where it would be. */
static size_t find_counted(const IgnoredList *s, pid_t pid, bool *ret_found) {
        const size_t low = ARRAY_LOWER_BOUND(s->n_counted, k, s->counted[k].pid < pid);

        *ret_found = low < s->n_counted && s->counted[low].pid == pid;
        return low;
}

int ignored_add_counted(IgnoredList *s, pid_t pid, MatchVerdict verdict) {
        const Counted counted = { .pid = pid, .verdict = verdict, .round = s->round };
        bool found;
        const size_t i = find_counted(s, pid, &found);

        if (!found)
                return ARRAY_INSERT(s->counted, s->n_counted, s->counted_allocated, i, &counted);
        s->counted[i] = counted;
        return 0;
}

void ignored_begin_round(IgnoredList *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_counted; i++)
                if (s->counted[i].round == s->round)
                        s->counted[n++] = s->counted[i];
        s->n_counted = n;
        s->round++;
}

size_t ignored_count(const IgnoredList *s, MatchVerdict verdict) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_processes; i++)
                n += s->processes[i].verdict == verdict;
        for (size_t i = 0; i < s->n_counted; i++)
                n += s->counted[i].verdict == verdict;
        return n;
}

bool ignored_forget(IgnoredList *ignored, pid_t pid) {
        const size_t n_listed = ignored->n_processes;
        bool found;
        const size_t counted = find_counted(ignored, pid, &found);

        if (found)
                ARRAY_REMOVE(ignored->counted, ignored->n_counted, counted);
        for (size_t i = ignored->n_processes; i > 0; i--)
                if (ignored->processes[i - 1].process.id.pid == pid)
                        remove_at(ignored, i - 1);
        return found || ignored->n_processes < n_listed;
}

void ignored_prune(IgnoredList *ignored) {
        for (size_t i = ignored->n_processes; i > 0; i--)
                if (!proc_is_alive(&ignored->processes[i - 1].handle))
                        remove_at(ignored, i - 1);
}
