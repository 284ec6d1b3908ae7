/* Processes that a policy names by executable and unit, and that are left alone all the same:
 * another user's, or a container's. Kept so that status can say why. */
#pragma once

#include <systemd/sd-event.h>

#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/match.h"
#include "tidbnumad/sys/proc.h"

/* Any user can start processes of such a name: so many are held, the rest is counted. */
enum { STRANGERS_MAX = 64 };

typedef struct Stranger {
        Process process;
        ProcHandle handle;
        sd_event_source *exit; /* its end, from its pidfd; owned */
        char *policy;
        char *reason;
} Stranger;

typedef struct Strangers {
        Stranger *strangers; /* owned */
        size_t n_strangers, allocated;
        uint64_t untold; /* that found no place, so far */
} Strangers;

void strangers_done(Strangers *strangers);

/* Takes over both (they are empty afterwards). `verdict` is why it does not belong to `policy`.
 * -ENOMEM, -ENOSPC: no room; both stay with the caller. */
int strangers_add(Strangers *strangers, Process *process, ProcHandle *handle, const Policy *policy,
                  MatchVerdict verdict);

/* Is this very process, as who it was then, among them? */
bool strangers_has(const Strangers *strangers, const Process *process);

void strangers_forget(Strangers *strangers, pid_t pid);

/* Forgets those that have ended. */
void strangers_prune(Strangers *strangers);
