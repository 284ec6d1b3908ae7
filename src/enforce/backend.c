/* How a placement is put on a unit: systemd's properties on cgroup v2. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

static int ensure_bus(Backend *backend) {
        if (backend->bus && sd_bus_is_open(backend->bus) > 0)
                return 0;
        backend->bus = sd_bus_flush_close_unref(backend->bus);
        return bus_units_open(backend->event, &backend->bus);
}

static int set_property(Backend *backend, const char *unit, const char *property,
                        const IdSet *value, BackendReply reply, void *userdata,
                        sd_bus_slot **ret_slot) {
        int r = ensure_bus(backend);

        if (r < 0)
                return r;
        return bus_units_set(backend->bus, unit, property, value, reply, userdata, ret_slot);
}

static int systemd_set_cpus(Backend *backend, const char *unit, const CpuSet *cpus,
                            BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        return set_property(backend, unit, "AllowedCPUs", cpus, reply, userdata, ret_slot);
}

static int systemd_set_mems(Backend *backend, const char *unit, const NodeSet *mems,
                            BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        return set_property(backend, unit, "AllowedMemoryNodes", mems, reply, userdata, ret_slot);
}

static const BackendOps systemd_ops = {
        .name = "systemd",
        .set_cpus = systemd_set_cpus,
        .set_mems = systemd_set_mems,
};

static bool has_cpuset_controller(const Sysroot *sysroot) {
        char text[1024];

        if (read_file_at(sysroot->cgroup_fd, "cgroup.controllers", text, sizeof(text)) < 0)
                return false;
        for (char *save = NULL, *word = strtok_r(text, " ", &save); word;
             word = strtok_r(NULL, " ", &save))
                if (strcmp(word, "cpuset") == 0)
                        return true;
        return false;
}

void backend_init(Backend *backend, const Sysroot *sysroot, sd_event *event) {
        *backend = (Backend){ .event = event };
        if (!sysroot->live)
                backend->why_not = "this is the dump of another machine";
        else if (access("/run/systemd/system/", F_OK) < 0) /* as sd_booted(3) does */
                backend->why_not = "systemd is not running this host";
        else if (cgroup_version(sysroot) != CGROUP_V2)
                backend->why_not = "this host has cgroup v1, which this version does not bind on; "
                                   "boot it with systemd.unified_cgroup_hierarchy=1";
        else if (!has_cpuset_controller(sysroot))
                backend->why_not =
                        "the kernel's cpuset controller is missing or taken by cgroup v1; see "
                        "/sys/fs/cgroup/cgroup.controllers";
        else
                backend->ops = &systemd_ops;
}

void backend_done(Backend *backend) {
        sd_bus_flush_close_unref(backend->bus);
        *backend = (Backend){ 0 };
}

const char *backend_refuses(const Backend *backend, const char *unit) {
        return backend->ops ? backend_refuses_unit(unit) : backend->why_not;
}

const char *backend_refuses_unit(const char *unit) {
        size_t length = unit ? strlen(unit) : 0;
        static const char service[] = ".service";

        if (length <= strlen(service) || strcmp(unit + length - strlen(service), service) != 0)
                return "it does not run as a systemd service of its own; run it in one";
        if (strncmp(unit, "user@", 5) == 0)
                return "it runs under a user's own manager; run it as a system service";
        return NULL;
}
