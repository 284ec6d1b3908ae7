/* A whole cluster: the plan of each host. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/ctl/archive.h"
#include "tidbnumad/ctl/fleet.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/plan/advice.h"
#include "tidbnumad/publish/advice.h"

/* --- the machine of a class --- */

/* The first line that is no comment. */
static char *find_description(const SourceFile *file, unsigned *ret_line) {
        SourceLine line = { 0 };

        for (*ret_line = 1; source_line_next(file, &line); ++*ret_line) {
                const char *p = line.start;

                while (p < line.end && isspace((unsigned char)*p))
                        p++;
                if (p < line.end && *p != '#')
                        return strndup(p, (size_t)(line.end - p));
        }
        *ret_line = 1;
        return strdup("");
}

static int open_description(const char *path, Machine *machine) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 };
        _cleanup_free_ char *description = NULL, *where = NULL;
        int r = policies_read_file(path, &files, &errors);
        unsigned line;

        if (r < 0)
                return policies_print(&errors, "") < 0 ? -ENOMEM : r;
        description = find_description(&files.files[0], &line);
        if (!description || asprintf(&where, "%s:%u:", path, line) < 0) {
                where = NULL;
                return -ENOMEM;
        }
        r = machine_open_description(description, where, machine);
        machine->source = (TopologySource){ 0 }; /* the description ends here */
        return r;
}

static int open_archive(const char *path, TemporaryFolder *folder, Machine *machine) {
        Args args = { 0 };
        int r = temporary_folder_make(folder);

        if (r >= 0)
                r = archive_unpack(path, folder);
        if (r < 0)
                return r;
        args.sysroot = folder->path;
        return machine_open(&args, machine);
}

static int open_machine(const Fleet *fleet, FleetClass *class, TemporaryFolder *folder) {
        Args args = { 0 };
        int r;

        if (class->kind == FLEET_GIVEN)
                r = machine_open(fleet->args, &class->machine);
        else if (class->kind == FLEET_DESCRIPTION)
                r = open_description(class->path, &class->machine);
        else if (class->kind == FLEET_ARCHIVE)
                r = open_archive(class->path, folder, &class->machine);
        else {
                *(class->kind == FLEET_XML ? &args.topology : &args.sysroot) = class->path;
                r = machine_open(&args, &class->machine);
        }
        if (r < 0 && r != -ENOMEM && class->kind != FLEET_GIVEN)
                output_line(stderr, "tidbnumactl: %s cannot be used as a machine", class->path);
        return r;
}

/* The default policies are of the products in the topology: on their way to the hosts they must not
 * name anybody else's processes. */
static int load_policies(const Fleet *fleet, FleetClass *class) {
        bool wanted[N_PRODUCTS] = { 0 };
        int r;

        for (size_t i = 0; i < fleet->topology.n_servers; i++)
                wanted[fleet->topology.servers[i].product] = true;
        wanted[PRODUCT_HAPROXY] = true; /* in front of TiDB, and nothing that TiUP deploys */
        r = fleet->args->policy_is_set
                    ? policies_load(fleet->args, &class->machine, &class->policies)
                    : policies_load_defaults(&class->machine, wanted, &class->policies);
        if (r != -EINVAL)
                return r;
        if (policies_print(&class->policies.errors, "") < 0)
                return -ENOMEM;
        output_line(stderr, "tidbnumactl: the policies are refused for the machine %s",
                    class->path);
        return r;
}

/* --- the servers of a host --- */

/* By program and unit: which user will run it is not known here. */
static bool policy_takes(const Policy *policy, const TiupServer *server) {
        const PolicyMatch *match = &policy->match;

        if (match->exe &&
            product_of_pattern(match->exe, match->args, server->unit) != server->product)
                return false;
        return !match->unit || fnmatch(match->unit, server->unit, FNM_NOESCAPE) == 0;
}

static const Policy *find_policy(const PolicySet *policies, const TiupServer *server) {
        for (size_t i = 0; i < policies->n_policies; i++)
                if (!policies->policies[i].built_in && policy_takes(&policies->policies[i], server))
                        return &policies->policies[i];
        return NULL;
}

/* The disks under its data directories, where the machine is one that shows them. */
static int find_disks(const Machine *machine, const TiupServer *server, HostInstance *ret) {
        _cleanup_free_ char *mountinfo = NULL, *dirs = NULL;
        char *rest, *dir;

        if (!machine->runs || !server->data_dirs ||
            path_read_alloc(machine->sysroot.proc_fd, &mountinfo, NULL, "1/mountinfo") < 0)
                return 0;
        rest = dirs = strdup(server->data_dirs);
        if (!dirs)
                return -ENOMEM;
        while ((dir = strsep(&rest, ","))) {
                _cleanup_storage_devices_ StorageDevices storage = { 0 };
                int r = storage_find(&machine->sysroot, mountinfo, dir, &storage);

                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        continue;
                id_set_union(&ret->storage_nodes, &storage.nodes);
                if (!ret->storage && storage.disks.n_devices > 0 &&
                    host_instance_set_disk(ret, device_list_find(&machine->devices, DEVICE_DISK,
                                                                 storage.disks.devices[0].name)) <
                            0)
                        return -ENOMEM;
        }
        return 0;
}

static int imagine_server(const Fleet *fleet, FleetHost *host, size_t index) {
        const TiupServer *server = &fleet->topology.servers[index];
        const Policy *policy = find_policy(&host->situation.policies->set, server);
        HostInstance *imagined =
                &host->situation.instances.instances[host->situation.instances.n_instances];

        if (!policy)
                return 0;
        host->imagined_from[host->situation.instances.n_instances++] = index;
        *imagined = (HostInstance){ .name = strdup(server->name),
                                    .policy = policy,
                                    .limit_bytes = server->memory_limit,
                                    .unit = strdup(server->unit),
                                    .exe = strdup(product_info(server->product)->exe),
                                    .ports = calloc(2, sizeof(*imagined->ports)),
                                    .n_ports = server->ports[1] ? 2 : 1 };
        if (!imagined->name || !imagined->unit || !imagined->exe || !imagined->ports)
                return -ENOMEM;
        memcpy(imagined->ports, server->ports, imagined->n_ports * sizeof(*imagined->ports));
        if (!fleet->args->afresh)
                imagined->in_force = server->nodes;
        return find_disks(&host->class->machine, server, imagined);
}

static int plan_host(const Fleet *fleet, FleetHost *host) {
        HostInstances *imagined = &host->situation.instances;
        int r = 0;

        imagined->instances = calloc(host->n_servers, sizeof(*imagined->instances));
        host->imagined_from = calloc(host->n_servers, sizeof(*host->imagined_from));
        if (!imagined->instances || !host->imagined_from)
                return -ENOMEM;
        host->situation.machine = &host->class->machine;
        host->situation.policies = &host->class->policies;
        host->situation.whole_memory = true;
        for (size_t i = 0; i < host->n_servers && r >= 0; i++)
                r = imagine_server(fleet, host, host->servers[i]);
        return r < 0 ? r : situation_plan(&host->situation);
}

/* --- sizes --- */

static int advise_host(const Fleet *fleet, const FleetHost *host, AdviceReport *ret) {
        const size_t n = host->situation.instances.n_instances;
        _cleanup_free_ ServerInstance *subjects = calloc(n + 1, sizeof(*subjects));
        const AdviceInput input = { .topology = &host->class->machine.topology,
                                    .instances = subjects,
                                    .n_instances = n,
                                    .plan = &host->situation.plan,
                                    .daemon_binds = fleet->daemon_binds };

        if (!subjects)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const HostInstance *imagined = &host->situation.instances.instances[i];
                const TiupServer *server = &fleet->topology.servers[host->imagined_from[i]];

                subjects[i] = (ServerInstance){ .name = imagined->name,
                                                .policy = imagined->policy,
                                                .exe = imagined->exe,
                                                .unit = imagined->unit,
                                                .ports = imagined->ports,
                                                .n_ports = imagined->n_ports,
                                                .limit_bytes = server->memory_limit,
                                                .cpu_quota = server->cpu_quota,
                                                .device = imagined->storage };
        }
        return advice_build(&input, ret);
}

static int fill_host(Fleet *fleet, const FleetHost *host) {
        _cleanup_advice_report_ AdviceReport report = { 0 };
        int r = advise_host(fleet, host, &report);

        for (size_t i = 0; i < host->situation.instances.n_instances && r >= 0; i++) {
                const TiupServer *server = &fleet->topology.servers[host->imagined_from[i]];
                TiupFilled filled;

                r = tiup_fill(server, &report, i, fleet->args->afresh, &fleet->edits, &filled);
                if (r < 0)
                        return r;
                fleet->n_kept += filled.n_kept;
                fleet->n_unfilled += filled.skipped;
        }
        return r;
}

/* --- all --- */

/* The same rule as advise has: policies that the operator gives and that are enforced. */
static bool daemon_binds(const Fleet *fleet, const FleetClass *class) {
        return fleet->args->policy_is_set && class->policies.set.mode == ENFORCEMENT_ENFORCE;
}

static int plan_hosts(Fleet *fleet, FleetClass *class) {
        int r = 0;

        fleet->daemon_binds = daemon_binds(fleet, class);
        for (size_t i = 0; i < fleet->n_hosts && r >= 0; i++) {
                FleetHost *host = &fleet->hosts[i];

                if (host->class != class)
                        continue;
                r = plan_host(fleet, host);
                if (r >= 0)
                        r = fill_host(fleet, host);
        }
        return r;
}

static bool is_used(const Fleet *fleet, const FleetClass *class) {
        for (size_t i = 0; i < fleet->n_hosts; i++)
                if (fleet->hosts[i].class == class)
                        return true;
        return false;
}

/* One after the other: an archive is unpacked, and its descriptors are open, only meanwhile. */
static int plan_class(Fleet *fleet, FleetClass *class) {
        _cleanup_temporary_folder_ TemporaryFolder folder = TEMPORARY_FOLDER_NONE;
        int r = open_machine(fleet, class, &folder);

        if (r >= 0)
                r = load_policies(fleet, class);
        if (r >= 0)
                r = plan_hosts(fleet, class);
        sysroot_close(&class->machine.sysroot);
        return r;
}

int fleet_plan(Fleet *fleet) {
        int r = 0;

        for (size_t i = 0; i < fleet->n_classes && r >= 0; i++)
                if (is_used(fleet, &fleet->classes[i]))
                        r = plan_class(fleet, &fleet->classes[i]);
        return r;
}
