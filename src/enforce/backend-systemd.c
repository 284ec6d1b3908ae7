/* The backend systemd: runtime properties of units, over D-Bus, on cgroup v2. */
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

static int set_property(Backend *backend, const BackendTarget *target, const char *property,
                        const IdSet *value, BackendReply reply, void *userdata,
                        sd_bus_slot **ret_slot) {
        int r = ensure_bus(backend);

        if (r < 0)
                return r;
        r = bus_units_set(backend->bus, target->unit, property, value, reply, userdata, ret_slot);
        return r < 0 ? r : 0;
}

static int set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                    BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        return set_property(backend, target, "AllowedCPUs", cpus, reply, userdata, ret_slot);
}

static int set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                    BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        return set_property(backend, target, "AllowedMemoryNodes", mems, reply, userdata, ret_slot);
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

static const char *refuses(Backend *backend, const BackendTarget *target,
                           const Placement *placement) {
        (void)backend;
        (void)placement;
        return backend_refuses_unit(target->unit);
}

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

const char *backend_systemd_why_not(const Sysroot *sysroot) {
        if (access("/run/systemd/system/", F_OK) < 0) /* as sd_booted(3) does */
                return "enforcement.backend is systemd, and systemd is not running this host";
        if (cgroup_version(sysroot) != CGROUP_V2)
                return "enforcement.backend is systemd, which needs cgroup v2, and this host has "
                       "v1; use cgroup1 or auto";
        if (!has_cpuset_controller(sysroot))
                return "enforcement.backend is systemd, and the kernel's cpuset controller is "
                       "missing or taken by cgroup v1; see /sys/fs/cgroup/cgroup.controllers";
        return NULL;
}

const BackendOps backend_systemd_ops = {
        .name = "systemd",
        .kind = BACKEND_SYSTEMD,
        .set_cpus = set_cpus,
        .set_mems = set_mems,
        .refuses = refuses,
};
