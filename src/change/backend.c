/* What all backends share: which of them binds on this host, and the ways to systemd and to the
 * kernel's files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/change/backend.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

/* --- what the host has --- */

/* As sd_booted(3) does. A dump has no /run, but may have the name of process 1. */
bool backend_systemd_runs(const Sysroot *sysroot) {
        char comm[32];

        if (sysroot->live)
                return access("/run/systemd/system/", F_OK) >= 0;
        return path_read(sysroot->proc_fd, comm, sizeof(comm), "1/comm") <= 0 ||
               strcmp(comm, "systemd") == 0;
}

const char *backend_systemd_why_not(const Sysroot *sysroot) {
        char text[1024] = "";

        if (!backend_systemd_runs(sysroot))
                return "enforcement.backend is systemd, but systemd does not run on this host";
        if (cgroup_version(sysroot) != CGROUP_V2)
                return "enforcement.backend is systemd, which needs cgroup v2, but this host has "
                       "v1; use cgroup1 or auto";
        if (path_read(sysroot->cgroup_fd, text, sizeof(text), "cgroup.controllers") < 0)
                text[0] = '\0';
        return text_has_word(text, ' ', '\0', "cpuset")
                       ? NULL
                       : "enforcement.backend is systemd, but the kernel's cpuset controller is "
                         "missing or used by cgroup v1; see /sys/fs/cgroup/cgroup.controllers";
}

int backend_cgroup1_probe(const Sysroot *sysroot, bool in_unit) {
        _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };
        int r = cgroup1_may_write(sysroot, "cpuset");

        if (!in_unit)
                return r;
        if (r == -EACCES && geteuid() != 0)
                r = 0; /* the daemon is root */
        /* ProtectSystem=strict makes what is mounted elsewhere read-only: the hierarchies of TuneD,
         * Slurm and others, which they also have to themselves. */
        if (r == 0 && backend_systemd_runs(sysroot) &&
            cgroup1_mount_read(sysroot, "cpuset", &mount) >= 0 &&
            strncmp(mount.point, "/sys/", strlen("/sys/")) != 0)
                return -EROFS;
        return r;
}

/* --- the choice --- */

static const BackendOps *const ALL[] = {
        [BACKEND_SYSTEMD] = &backend_systemd_ops,
        [BACKEND_CGROUP1] = &backend_cgroup1_ops,
        [BACKEND_AFFINITY] = &backend_affinity_ops,
};

void backend_init(Backend *backend, const Sysroot *sysroot, sd_event *event) {
        *backend = (Backend){ .all = ALL,
                              .sysroot = sysroot,
                              .event = event,
                              .root_fd = -EBADF,
                              .why_not = "the policies are not loaded yet" };
}

void backend_done(Backend *backend) {
        /* Not flushed: a bus that does not answer would be waited for. */
        bus_units_close(backend->bus);
        closep(&backend->root_fd);
        *backend = (Backend){ .root_fd = -EBADF };
}

/* Does the error mean that the hierarchy refuses every write of ours? */
static bool is_refusal(int error) {
        return error == -EROFS || error == -EACCES || error == -EPERM;
}

/* What we know of the hierarchy of cgroup v1: 0, or why it is not used. */
static int cgroup1_error(const Backend *backend, bool in_unit) {
        return backend->cgroup1_error < 0 ? backend->cgroup1_error
                                          : backend_cgroup1_probe(backend->sysroot, in_unit);
}

static const char *kind_why_not(const Backend *backend, BackendKind kind, bool in_unit) {
        const char *no_systemd;
        int error;

        if (kind == BACKEND_AFFINITY) /* as old as Linux 2.6 */
                return NULL;
        no_systemd = backend_systemd_why_not(backend->sysroot);
        if (kind == BACKEND_SYSTEMD || (kind == BACKEND_AUTO && !no_systemd))
                return no_systemd;
        /* What cannot be read is not taken for missing: with BACKEND_AUTO, a moment without
         * descriptors would otherwise bind everything by affinity until the next reload. */
        error = cgroup1_error(backend, in_unit);
        if (error >= 0 || ((error == -ENOENT || is_refusal(error)) && kind == BACKEND_AUTO))
                return NULL;
        if (is_refusal(error))
                return "enforcement.backend is cgroup1, but tidbnumad cannot write to the cpuset "
                       "hierarchy of cgroup v1, see /proc/mounts; use auto";
        return error == -ENOENT
                       ? "enforcement.backend is cgroup1, but no cpuset hierarchy of cgroup v1 is "
                         "mounted; use auto"
                       : "the hierarchies of cgroup v1 cannot be read; the daemon tries again";
}

static BackendKind kind_best(const Backend *backend, bool in_unit, const char **ret_weaker) {
        int r;

        if (!backend_systemd_why_not(backend->sysroot))
                return BACKEND_SYSTEMD;
        r = cgroup1_error(backend, in_unit);
        if (r >= 0)
                return BACKEND_CGROUP1;
        if (is_refusal(r))
                *ret_weaker = "the host has the cpuset controller in a hierarchy of cgroup v1 that "
                              "tidbnumad cannot write to, see /proc/mounts";
        return BACKEND_AFFINITY;
}

BackendKind backend_choose_for(const Sysroot *sysroot, BackendKind kind, const char **ret_weaker) {
        const Backend backend = { .sysroot = sysroot };
        const char *weaker = NULL;

        if (sysroot->live && kind_why_not(&backend, kind, true))
                return BACKEND_AUTO;
        if (kind == BACKEND_AUTO && (sysroot->live || cgroup_version(sysroot) != CGROUP_NONE))
                kind = kind_best(&backend, true, &weaker);
        if (ret_weaker)
                *ret_weaker = weaker;
        return kind;
}

bool backend_choose(Backend *backend, BackendKind kind) {
        const BackendOps *before = backend->ops;

        backend->weaker = NULL;
        backend->why_not = backend->sysroot->live ? kind_why_not(backend, kind, false)
                                                  : "this is a dump of another machine";
        if (!backend->why_not && kind == BACKEND_AUTO)
                kind = kind_best(backend, false, &backend->weaker);
        backend->ops = backend->why_not ? NULL : backend->all[kind];
        return backend->ops != before;
}

/* --- the one in use --- */

void backend_note_refusal(Backend *backend, int error) {
        if (is_refusal(error))
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

/* --- a group is left --- */

enum { PASSES_MAX = 10 };

int backend_empty_group(int group_fd, int (*send)(pid_t pid, void *userdata), void *userdata) {
        _cleanup_pid_list_ PidList pids = { 0 };
        int result = -EAGAIN;

        for (unsigned i = 0; result == -EAGAIN && i < PASSES_MAX; i++) {
                int error = 0, r;

                pids.n_pids = 0;
                r = cgroup_foreach_pid(group_fd, pid_list_add, &pids);
                for (size_t k = 0; r >= 0 && k < pids.n_pids; k++) {
                        const int sent = send(pids.pids[k], userdata);

                        if (sent < 0 && sent != -ESRCH && error == 0)
                                error = sent;
                }
                result = r < 0 ? r : error < 0 ? error : pids.n_pids == 0 ? 1 : -EAGAIN;
        }
        return result;
}

/* --- the bus --- */

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
