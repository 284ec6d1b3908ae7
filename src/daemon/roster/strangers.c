/* Processes that are left alone although a policy names them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/roster/strangers.h"

typedef struct Counted {
        pid_t pid;
        MatchVerdict verdict;
        uint64_t round; /* that has met it last */
} Counted;

static void stranger_done(Stranger *stranger) {
        process_done(&stranger->process);
        proc_close(&stranger->handle);
        free(stranger->policy);
        free(stranger->reason);
        *stranger = (Stranger){ .handle = PROC_HANDLE_NONE };
}

void strangers_done(Strangers *strangers) {
        for (size_t i = 0; i < strangers->n_strangers; i++)
                stranger_done(&strangers->strangers[i]);
        free(strangers->strangers);
        free(strangers->counted);
        *strangers = (Strangers){ 0 };
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

int strangers_add(Strangers *strangers, Process *process, ProcHandle *handle, const Policy *policy,
                  MatchVerdict verdict) {
        Stranger s = { .handle = PROC_HANDLE_NONE };
        int r;

        if (strangers->n_strangers == STRANGERS_MAX)
                strangers_prune(strangers);
        if (strangers->n_strangers == STRANGERS_MAX)
                return -ENOSPC;
        if (ARRAY_RESERVE(strangers->strangers, strangers->allocated, strangers->n_strangers + 1) <
            0)
                return -ENOMEM;
        r = render_reason(process, policy, verdict, &s.reason);
        if (r < 0)
                return r;
        s.policy = strdup(policy->name);
        if (!s.policy) {
                stranger_done(&s);
                return -ENOMEM;
        }
        s.verdict = verdict;
        s.process = *process;
        s.handle = *handle;
        *process = (Process){ 0 };
        *handle = PROC_HANDLE_NONE;
        strangers->strangers[strangers->n_strangers++] = s;
        return 0;
}

bool strangers_has(const Strangers *strangers, const Process *process) {
        for (size_t i = 0; i < strangers->n_strangers; i++) {
                const Process *known = &strangers->strangers[i].process;

                if (process_is_same(known, process))
                        return true;
        }
        return false;
}

static void remove_at(Strangers *strangers, size_t index) {
        stranger_done(&strangers->strangers[index]);
        ARRAY_REMOVE(strangers->strangers, strangers->n_strangers, index);
}

/* The index of the entry, or where it would be. */
static size_t find_counted(const Strangers *s, pid_t pid, bool *ret_found) {
        size_t low = 0, high = s->n_counted;

        while (low < high) {
                const size_t middle = low + (high - low) / 2;

                if (s->counted[middle].pid < pid)
                        low = middle + 1;
                else
                        high = middle;
        }
        *ret_found = low < s->n_counted && s->counted[low].pid == pid;
        return low;
}

int strangers_count(Strangers *s, pid_t pid, MatchVerdict verdict) {
        const Counted counted = { .pid = pid, .verdict = verdict, .round = s->round };
        bool found;
        const size_t i = find_counted(s, pid, &found);

        if (!found)
                return ARRAY_INSERT(s->counted, s->n_counted, s->counted_allocated, i, &counted);
        s->counted[i] = counted;
        return 0;
}

void strangers_begin_round(Strangers *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_counted; i++)
                if (s->counted[i].round == s->round)
                        s->counted[n++] = s->counted[i];
        s->n_counted = n;
        s->round++;
}

size_t strangers_ignored(const Strangers *s, MatchVerdict verdict) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_strangers; i++)
                n += s->strangers[i].verdict == verdict;
        for (size_t i = 0; i < s->n_counted; i++)
                n += s->counted[i].verdict == verdict;
        return n;
}

void strangers_forget(Strangers *strangers, pid_t pid) {
        bool found;
        const size_t counted = find_counted(strangers, pid, &found);

        if (found)
                ARRAY_REMOVE(strangers->counted, strangers->n_counted, counted);
        for (size_t i = strangers->n_strangers; i > 0; i--)
                if (strangers->strangers[i - 1].process.id.pid == pid)
                        remove_at(strangers, i - 1);
}

void strangers_prune(Strangers *strangers) {
        for (size_t i = strangers->n_strangers; i > 0; i--)
                if (!proc_is_alive(&strangers->strangers[i - 1].handle))
                        remove_at(strangers, i - 1);
}
