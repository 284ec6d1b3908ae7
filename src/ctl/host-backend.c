#include <string.h>

#include "tidbnumad/change/backend.h"
#include "tidbnumad/ctl/host-backend.h"

/* The daemon chooses affinity for a reason only where it is free to choose. */
static bool knows(const Snapshot *status, BackendKind wanted, BackendKind found) {
        if (!status || !status->backend || wanted != BACKEND_AUTO || found == BACKEND_SYSTEMD)
                return false;
        return strcmp(status->backend, "cgroup1") == 0 ||
               (strcmp(status->backend, "affinity") == 0 && status->backend_reason);
}

BackendKind host_backend(const Machine *machine, BackendKind wanted, const Snapshot *status,
                         const char **ret_weaker) {
        BackendKind found;

        *ret_weaker = NULL;
        found = backend_choose_for(&machine->sysroot, wanted, ret_weaker);
        if (!knows(machine->live ? status : NULL, wanted, found))
                return found;
        *ret_weaker = status->backend_reason;
        return strcmp(status->backend, "cgroup1") == 0 ? BACKEND_CGROUP1 : BACKEND_AFFINITY;
}
