#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/world/devices.h"

#define EXAMPLE "\"package:2 numa:4(memory=128GiB) core:8 pu:2\""

void machine_close(Machine *machine) {
        sysroot_close(&machine->sysroot);
        topology_done(&machine->topology);
        device_list_done(&machine->devices);
        free(machine->title);
        status_done(&machine->status);
        *machine = MACHINE_NONE;
}

static int set_title(Machine *machine, const char *kind, const char *name) {
        machine->title = must_have(text_new("%s%s", kind, name));
        return 0;
}

int machine_open_description(const char *description, const char *where, Machine *machine,
                             Error *error) {
        int r = topology_load_synthetic(description, &machine->topology, error);

        if (r == -EINVAL)
                return error_set(error, r,
                                 "%s \"%s\" is not a machine: %s; expected a description such "
                                 "as " EXAMPLE " or a file with hwloc's XML",
                                 where, description, error_sentence(error));
        if (r < 0)
                return r;
        machine->source.synthetic = description;
        return set_title(machine, "the machine ", description);
}

int machine_open(const Args *args, Machine *ret, Error *error) {
        const char *topology = args->topology, *path = args->sysroot, *shown = path ? path : "/";
        int r;

        *ret = MACHINE_NONE;
        r = args->instances ? imagine_check(args->instances, error) : 0;
        if (r < 0)
                return error_prefix(error, r, "--instances: ");
        /* A file with XML, and not a description, has a slash, ends with ".xml", or exists. */
        if (topology && (strchr(topology, '/') || text_ends_with(topology, ".xml") ||
                         access(topology, F_OK) == 0)) {
                if (access(topology, R_OK) < 0)
                        return error_set(error, -errno,
                                         "--topology %s: %s. Create the file on the host with "
                                         "'lstopo host.xml', or give a description such as " EXAMPLE
                                         "",
                                         topology, strerror(errno));
                r = topology_load_xml(topology, &ret->topology, &ret->devices, error);
                if (r < 0)
                        return error_prefix(error, r, "--topology %s: ", topology);
                ret->source.xml = topology;
                return set_title(ret, "the machine of ", topology);
        }
        if (topology)
                return machine_open_description(topology, "--topology", ret, error);

        r = sysroot_open(path, &ret->sysroot);
        if (r < 0)
                return error_set(error, r,
                                 "no proc and sys below %s: %s. --sysroot needs the folder that "
                                 "contains both",
                                 shown, strerror(-r));
        r = topology_load(&ret->sysroot, &ret->topology);
        if (r < 0)
                return error_set(error, r,
                                 "the topology below %s cannot be read: %s. Is "
                                 "sys/devices/system/node there?",
                                 shown, strerror(-r));
        r = devices_load(&ret->sysroot, &ret->devices);
        if (r < 0)
                return error_prefix(error, r, "the devices below %s cannot be read: ", shown);
        ret->live = !path;
        ret->runs = true;
        ret->source.sysroot = &ret->sysroot;
        if (path)
                return set_title(ret, "the dump ", path);
        r = must(status_file_read(args->runtime_dir, &ret->status));
        ret->daemon_runs = r >= 0 && daemon_process_find(args->runtime_dir, &ret->status) > 0;
        return set_title(ret, "this host", "");
}

BackendKind machine_backend(const Machine *machine, BackendKind wanted, const char **ret_weaker) {
        const Snapshot *status = machine_daemon(machine);
        BackendKind found;

        *ret_weaker = NULL;
        found = backend_choose_for(&machine->sysroot, wanted, ret_weaker);
        if (!status || !status->backend || wanted != BACKEND_AUTO || found == BACKEND_SYSTEMD)
                return found;
        /* The daemon chooses affinity for a reason only where it is free to choose. */
        if (strcmp(status->backend, "cgroup1") != 0 &&
            (strcmp(status->backend, "affinity") != 0 || !status->backend_reason))
                return found;
        *ret_weaker = status->backend_reason;
        return strcmp(status->backend, "cgroup1") == 0 ? BACKEND_CGROUP1 : BACKEND_AFFINITY;
}
