/* Which backend binds on this host. What each of them does is in its own file. */
#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

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
                              .own_fd = -EBADF,
                              .why_not = "the policies are not loaded yet" };
}

void backend_done(Backend *backend) {
        /* Not flushed: a bus that does not answer would be waited for. */
        bus_units_close(backend->bus);
        closep(&backend->own_fd);
        closep(&backend->root_fd);
        *backend = (Backend){ .root_fd = -EBADF, .own_fd = -EBADF };
}

/* What cannot be read is not taken for missing: with BACKEND_AUTO, a moment without descriptors
 * would otherwise bind everything by affinity until the next reload. */
static const char *cgroup1_why_not(const Sysroot *sysroot, BackendKind kind) {
        const int r = backend_cgroup1_probe(sysroot);

        if (r >= 0 || (r == -ENOENT && kind == BACKEND_AUTO))
                return NULL;
        return r == -ENOENT
                       ? "enforcement.backend is cgroup1, but no cpuset hierarchy of cgroup v1 is "
                         "mounted; use auto"
                       : "the hierarchies of cgroup v1 cannot be read; the daemon tries again";
}

static const char *why_not(const Sysroot *sysroot, BackendKind kind) {
        if (!sysroot->live)
                return "this is a dump of another machine";
        switch (kind) {
        case BACKEND_SYSTEMD:
                return backend_systemd_why_not(sysroot);
        case BACKEND_AUTO:
                if (!backend_systemd_why_not(sysroot))
                        return NULL;
                return cgroup1_why_not(sysroot, kind);
        case BACKEND_CGROUP1:
                return cgroup1_why_not(sysroot, kind);
        case BACKEND_AFFINITY: /* as old as Linux 2.6 */
                break;
        }
        return NULL;
}

static BackendKind best_kind(const Sysroot *sysroot) {
        if (!backend_systemd_why_not(sysroot))
                return BACKEND_SYSTEMD;
        return backend_cgroup1_probe(sysroot) < 0 ? BACKEND_AFFINITY : BACKEND_CGROUP1;
}

BackendKind backend_kind_there(const Sysroot *sysroot, BackendKind kind) {
        if (kind != BACKEND_AUTO || cgroup_version(sysroot) == CGROUP_NONE)
                return kind;
        return best_kind(sysroot);
}

bool backend_choose(Backend *backend, BackendKind kind) {
        const BackendOps *before = backend->ops;

        backend->why_not = why_not(backend->sysroot, kind);
        if (!backend->why_not && kind == BACKEND_AUTO)
                kind = best_kind(backend->sysroot);
        backend->ops = backend->why_not ? NULL : backend->all[kind];
        return backend->ops != before;
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
