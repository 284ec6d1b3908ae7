/* What all backends share: the ways to systemd and to the kernel's files. */
#include <errno.h>

#include "tidbnumad/change/backend.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

bool backend_is_refusal(int error) {
        return error == -EROFS || error == -EACCES || error == -EPERM;
}

void backend_note_refusal(Backend *backend, int error) {
        if (backend_is_refusal(error))
                backend->cgroup1_error = error;
}

BackendKind backend_kind(const Backend *backend) {
        return backend->ops ? backend->ops->kind : BACKEND_AUTO;
}

bool backend_sets_threads(BackendKind kind) {
        return kind == BACKEND_AFFINITY || kind == BACKEND_CGROUP1;
}

const char *backend_name(const Backend *backend) {
        return backend->ops ? backend->ops->name : "none";
}

int backend_write_mems(const Backend *backend, const BackendTarget *target, int group_fd,
                       const NodeSet *mems, bool widen) {
        if (backend->write_mems)
                return backend->write_mems(target, group_fd, mems, widen, backend->write_userdata);
        return widen ? cgroup_mems_widen(group_fd, mems) : cgroup_mems_write(group_fd, mems);
}

int backend_write_group(const Backend *backend, const ProcHandle *process, int group_fd,
                        const char *file, const char *text) {
        return backend->write_group ? backend->write_group(process, group_fd, file, text,
                                                           backend->write_userdata)
                                    : cgroup_write(group_fd, file, text);
}

/* --- systemd --- */

int backend_systemd_ensure_bus(Backend *backend) {
        if (backend->bus && sd_bus_is_open(backend->bus) > 0)
                return 0;
        /* The bus was lost, and still answers the pending calls, one in each round of the loop.
         * If it were closed now, the others would wait for ever. */
        if (backend->bus && sd_bus_get_event(backend->bus))
                return -ENOTCONN;
        backend->bus = bus_units_close(backend->bus);
        return bus_units_open(backend->event, &backend->bus);
}
