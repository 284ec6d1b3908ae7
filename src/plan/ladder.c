#include "tidbnumad/plan/ladder.h"
#include "tidbnumad/base/cleanup.h"

const char *rung_to_string(Rung rung) {
        static const char *const words[] = {
                [RUNG_NONE] = "",
                [RUNG_UNIT] = "unit",
                [RUNG_SCOPE] = "scope",
                [RUNG_DIRECTORY] = "cgroup1",
                [RUNG_AFFINITY] = "affinity",
        };

        return (size_t)rung < ELEMENTSOF(words) ? words[rung] : "";
}

static bool is_by_unit(const LadderInput *in) {
        return in->policy != POLICY_BACKEND_AFFINITY &&
               (in->host == BACKEND_AUTO || in->host == BACKEND_SYSTEMD);
}

bool ladder_needs_scope(const LadderInput *in) {
        return is_by_unit(in) && !in->in_scope && !(in->is_service && in->alone);
}

static Ladder affinity(const char *why, Reason code) {
        return (Ladder){ .rung = RUNG_AFFINITY, .why = why, .code = code };
}

Ladder ladder_choose(const LadderInput *in) {
        if (in->host == BACKEND_AFFINITY)
                return affinity(in->weaker, REASON_NONE);
        if (in->policy == POLICY_BACKEND_AFFINITY)
                return affinity("its policy sets `backend: affinity`", REASON_NONE);
        if (in->host == BACKEND_CGROUP1 && in->in_container)
                return affinity("it runs in a container, whose manager created its cgroup",
                                REASON_SHARED_UNIT);
        if (in->host == BACKEND_CGROUP1)
                return (Ladder){ .rung = RUNG_DIRECTORY };
        if (in->start && !ladder_needs_scope(in) && !in->in_scope)
                return affinity(in->start, REASON_START_LIMITS);
        if (!ladder_needs_scope(in))
                return (Ladder){ .rung = in->in_scope ? RUNG_SCOPE : RUNG_UNIT };
        if (in->no_scope && in->no_scope_code != REASON_CONTESTED)
                return affinity(in->no_scope, in->no_scope_code);
        return (Ladder){ .rung = RUNG_SCOPE };
}
