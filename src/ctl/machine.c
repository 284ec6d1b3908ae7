#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/world/devices.h"

#define EXAMPLE "\"package:2 numa:4(memory=128GiB) core:8 pu:2\""

void machine_close(Machine *machine) {
        sysroot_close(&machine->sysroot);
        topology_done(&machine->topology);
        device_list_done(&machine->devices);
        free(machine->title);
        imagine_list_done(&machine->imagined);
        status_done(&machine->status);
        *machine = MACHINE_NONE;
}

static int set_title(Machine *machine, const char *kind, const char *name) {
        machine->title = text_new("%s%s", kind, name);
        return machine->title ? 0 : -ENOMEM;
}

int machine_open_description(const char *description, const char *where, Machine *machine) {
        _cleanup_free_ char *message = NULL;
        int r = topology_load_synthetic(description, &machine->topology, &message);

        if (r == -EINVAL)
                output_line(stderr,
                            "tidbnumactl: %s \"%s\" is not a machine%s%s; expected a "
                            "description such as " EXAMPLE " or a file with hwloc's XML",
                            where, description, message ? ": " : "", message ? message : "");
        if (r < 0)
                return r;
        machine->source.synthetic = description;
        return set_title(machine, "the machine ", description);
}

int machine_open(const Args *args, Machine *ret) {
        const char *topology = args->topology, *path = args->sysroot, *shown = path ? path : "/";
        _cleanup_free_ char *message = NULL;
        int r;

        *ret = MACHINE_NONE;
        r = args->instances ? imagine_parse(args->instances, &ret->imagined, &message) : 0;
        if (r == -EINVAL)
                output_line(stderr, "tidbnumactl: --instances: %s", message);
        if (r < 0)
                return r;
        /* A file with XML, and not a description, has a slash, ends with ".xml", or exists. */
        if (topology && (strchr(topology, '/') || text_ends_with(topology, ".xml") ||
                         access(topology, F_OK) == 0)) {
                if (access(topology, R_OK) < 0) {
                        r = -errno;
                        output_line(stderr,
                                    "tidbnumactl: --topology %s: %s. Create the file on the host "
                                    "with 'lstopo host.xml', or give a description such as " EXAMPLE
                                    "",
                                    topology, strerror(-r));
                        return r;
                }
                r = topology_load_xml(topology, &ret->topology, &ret->devices, &message);
                if (r < 0 && r != -ENOMEM)
                        output_line(stderr, "tidbnumactl: --topology %s: %s", topology,
                                    message ? message : strerror(-r));
                if (r < 0)
                        return r;
                ret->source.xml = topology;
                return set_title(ret, "the machine of ", topology);
        }
        if (topology)
                return machine_open_description(topology, "--topology", ret);

        r = sysroot_open(path, &ret->sysroot);
        if (r < 0) {
                output_line(stderr,
                            "tidbnumactl: no proc and sys below %s: %s. --sysroot needs the "
                            "folder that contains both",
                            shown, strerror(-r));
                return r;
        }
        r = topology_load(&ret->sysroot, &ret->topology);
        if (r < 0) {
                output_line(stderr,
                            "tidbnumactl: the topology below %s cannot be read: %s. Is "
                            "sys/devices/system/node there?",
                            shown, strerror(-r));
                return r;
        }
        r = devices_load(&ret->sysroot, &ret->devices);
        if (r < 0) {
                output_line(stderr, "tidbnumactl: the devices below %s cannot be read: %s", shown,
                            strerror(-r));
                return r;
        }
        ret->live = !path;
        ret->runs = true;
        ret->source.sysroot = &ret->sysroot;
        if (path)
                return set_title(ret, "the dump ", path);
        r = status_file_read(args->runtime_dir, &ret->status);
        if (r == -ENOMEM)
                return r;
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
