/* The backend systemd: runtime properties of units, over D-Bus, on cgroup v2. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/enforce/scope.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/enforce/undo-restore.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

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

static int set_property(Backend *backend, const BackendTarget *target, const char *property,
                        IdView value, BackendCall *call) {
        int r = backend_systemd_ensure_bus(backend);

        if (r < 0)
                return r;
        r = bus_units_set(backend->bus, target->unit, property, value, call->reply, call->userdata,
                          &call->slot);
        return r < 0 ? r : 0;
}

static int set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                    BackendCall *call) {
        return set_property(backend, target, "AllowedCPUs", ID_VIEW(cpus), call);
}

static int set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                    BackendCall *call) {
        return set_property(backend, target, "AllowedMemoryNodes", ID_VIEW(mems), call);
}

static void on_unit(int error, const BusUnit *unit, void *userdata) {
        BackendNote *note = userdata;

        if (error == 0)
                undo_note_unit(note->backend->sysroot, note->record, unit);
        note->call->reply(error, "", note->call->userdata);
}

/* The unit once. Of its processes, the threads that have chosen CPUs themselves: kernels before 6.2
 * forget that choice when the cpuset changes. */
static int note(Backend *backend, const BackendTarget *target, BackendNote *note,
                BackendCall *call) {
        int r = undo_note_processes(backend, target, note->record, 0);

        if (r < 0 || note->record->unit_noted)
                return r < 0 ? r : 1;
        r = backend_systemd_ensure_bus(backend);
        if (r < 0)
                return r;
        note->backend = backend;
        note->call = call;
        r = bus_manager_read_unit(backend->bus, target->unit, on_unit, note, &call->slot);
        return r < 0 ? r : 0;
}

/* The group of the unit itself: its processes may be in groups below it. */
static int open_unit(const Backend *backend, const BackendTarget *target, int *ret_fd) {
        const char *path = target->n_members > 0 ? target->members[0].process.cgroup : NULL;
        const size_t length = path ? unit_cgroup_length(path, target->unit) : 0;
        _cleanup_free_ char *own = NULL;

        if (length == 0)
                return -ENXIO;
        own = strndup(path, length);
        return own ? cgroup_open(backend->sysroot, own, ret_fd) : -ENOMEM;
}

/* systemd takes up to two seconds to write a property, and longer on a host without memory: the
 * process would be stopped for so long. A second writer does not disturb systemd as long as the
 * property follows. */
static int widen_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        _cleanup_close_ int fd = -EBADF;
        int r = open_unit(backend, target, &fd);

        return r < 0 ? r : backend_write_mems(backend, target, fd, mems, true);
}

static int restore(Backend *backend, UndoRestore *restore, BackendCall *call) {
        int r;

        if (restore->record->scope && restore->stage == RESTORE_READ) {
                r = scope_send_home(backend, restore);
                if (r != 0)
                        return r;
        }
        return undo_restore_unit(backend, restore, call);
}

static bool has_cpuset_controller(const Sysroot *sysroot) {
        char text[1024];

        if (path_read(sysroot->cgroup_fd, text, sizeof(text), "cgroup.controllers") < 0)
                return false;
        for (char *save = NULL, *word = strtok_r(text, " ", &save); word;
             word = strtok_r(NULL, " ", &save))
                if (strcmp(word, "cpuset") == 0)
                        return true;
        return false;
}

/* As sd_booted(3) does. A dump has no /run, but may have the name of process 1. */
bool backend_systemd_runs(const Sysroot *sysroot) {
        char comm[32];

        if (sysroot->live)
                return access("/run/systemd/system/", F_OK) >= 0;
        return path_read(sysroot->proc_fd, comm, sizeof(comm), "1/comm") <= 0 ||
               strcmp(comm, "systemd") == 0;
}

const char *backend_systemd_why_not(const Sysroot *sysroot) {
        if (!backend_systemd_runs(sysroot))
                return "enforcement.backend is systemd, but systemd does not run on this host";
        if (cgroup_version(sysroot) != CGROUP_V2)
                return "enforcement.backend is systemd, which needs cgroup v2, but this host has "
                       "v1; use cgroup1 or auto";
        if (!has_cpuset_controller(sysroot))
                return "enforcement.backend is systemd, but the kernel's cpuset controller is "
                       "missing or used by cgroup v1; see /sys/fs/cgroup/cgroup.controllers";
        return NULL;
}

const BackendOps backend_systemd_ops = {
        .name = "systemd",
        .kind = BACKEND_SYSTEMD,
        .set_cpus = set_cpus,
        .set_mems = set_mems,
        .note = note,
        .note_scope = scope_note,
        .start_scope = scope_start,
        .restore = restore,
        .widen_mems = widen_mems,
};
