/* tidbnumactl plan --tiup, for a whole cluster: the hosts of a TiUP topology, a machine for each of
 * them or for a class of them, where each server belongs, and what is written for TiUP and for each
 * host. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/config/tiup.h"
#include "tidbnumad/ctl/archive.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/advice.h"
#include "tidbnumad/publish/advice.h"
#include "tidbnumad/publish/plan-json.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/publish/table.h"
#include "tidbnumad/sys/dump.h"

typedef enum FleetMachineKind {
        FLEET_ARCHIVE,     /* of tidbnumactl gather */
        FLEET_DUMP,        /* unpacked */
        FLEET_XML,         /* hwloc's */
        FLEET_DESCRIPTION, /* a file with what --topology takes */
        FLEET_GIVEN,       /* what --topology or --sysroot names, for all hosts */
} FleetMachineKind;

/* A file of the folder --hosts, or what is given for all hosts. */
typedef struct FleetClass {
        char *path;    /* owned, as `pattern` */
        char *pattern; /* name or glob of its hosts */
        FleetMachineKind kind;
        bool used; /* by a host of the topology */
        Policies policies;
        Machine machine; /* its processes are no longer readable once its hosts are planned */
} FleetClass;

typedef struct FleetHost {
        const char *name;  /* of the topology */
        FleetClass *class; /* of the fleet; NULL: none, and nothing is planned */
        size_t *servers;   /* indexes in the topology; owned */
        size_t n_servers, servers_allocated;
        Situation situation;   /* its instances: those of `servers` that a policy matches, in that
                                * order */
        size_t *imagined_from; /* the index in the topology of each of these; owned */
} FleetHost;

typedef struct Fleet {
        const Args *args;     /* borrowed */
        SourceFileList files; /* the topology's file alone */
        TiupTopology topology;
        FleetClass *classes; /* owned, as the others */
        size_t n_classes, classes_allocated;
        FleetHost *hosts; /* by name, numbers in names by value */
        size_t n_hosts, hosts_allocated;
        SourceEditList edits; /* what is filled into the topology */
        bool daemon_binds;    /* else TiUP does, by numa_node */
        size_t n_kept,
                n_unfilled; /* settings that the file had; servers that could not be filled */
} Fleet;

static void fleet_close(Fleet *fleet) {
        for (size_t i = 0; i < fleet->n_hosts; i++) {
                situation_done(&fleet->hosts[i].situation);
                free(fleet->hosts[i].imagined_from);
                free(fleet->hosts[i].servers);
        }
        free(fleet->hosts);
        for (size_t i = 0; i < fleet->n_classes; i++) {
                policies_done(&fleet->classes[i].policies);
                machine_close(&fleet->classes[i].machine);
                free(fleet->classes[i].path);
                free(fleet->classes[i].pattern);
        }
        free(fleet->classes);
        source_edit_list_done(&fleet->edits);
        tiup_topology_done(&fleet->topology);
        source_file_list_done(&fleet->files);
}

/* --- the folder of machines --- */

static const struct {
        const char *suffix;
        FleetMachineKind kind;
} kinds[] = {
        { ".tar.gz", FLEET_ARCHIVE },       { ".tgz", FLEET_ARCHIVE }, { ".tar", FLEET_ARCHIVE },
        { ".topology", FLEET_DESCRIPTION }, { ".xml", FLEET_XML },
};

static void add_class(Fleet *fleet, FleetMachineKind kind, char *path, char *pattern) {
        must(ARRAY_RESERVE(fleet->classes, fleet->classes_allocated, fleet->n_classes + 1));
        fleet->classes[fleet->n_classes++] = (FleetClass){ .path = must_have(path),
                                                           .pattern = must_have(pattern),
                                                           .kind = kind,
                                                           .machine = MACHINE_NONE };
}

static int read_folder(Fleet *fleet, Error *error) {
        struct dirent **names;
        int n = scandir(fleet->args->hosts, &names, NULL, alphasort);

        if (n < 0)
                return error_set(error, -errno, "--hosts %s: %s, expected a folder of machines",
                                 fleet->args->hosts, strerror(errno));
        for (int i = 0; i < n; i++) {
                _cleanup_free_ struct dirent *entry = names[i];
                const char *name = entry->d_name;
                _cleanup_free_ char *path = NULL;
                FleetMachineKind kind = FLEET_DUMP;
                size_t length = 0; /* of the pattern of hosts in the name; 0: it is no machine */
                struct stat st;

                if (name[0] == '.')
                        continue;
                path = must_have(text_new("%s/%s", fleet->args->hosts, name));
                for (size_t k = 0; k < ELEMENTSOF(kinds) && length == 0; k++)
                        if (text_ends_with(name, kinds[k].suffix)) {
                                kind = kinds[k].kind;
                                length = strlen(name) - strlen(kinds[k].suffix);
                        }
                if (length == 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
                        length = strlen(name);
                if (length > 0)
                        add_class(fleet, kind, TAKE_PTR(path), strndup(name, length));
        }
        free(names);
        return 0;
}

/* --- hosts --- */

/* A host without a machine cannot be planned: an error where servers that size themselves by it, or
 * PD, would be left out; a host of monitoring alone is only reported. */
static void add_server(Fleet *fleet, size_t index, Diagnostics *errors) {
        const TiupServer *server = &fleet->topology.servers[index];
        FleetClass *class = NULL;
        FleetHost *host = NULL;

        for (size_t i = 0; i < fleet->n_hosts && !host; i++)
                if (strcmp(fleet->hosts[i].name, server->host) == 0)
                        host = &fleet->hosts[i];
        if (!host) {
                must(ARRAY_RESERVE(fleet->hosts, fleet->hosts_allocated, fleet->n_hosts + 1));
                /* Its own file, else the longest glob; of equal ones the first by name. */
                for (size_t i = 0; i < fleet->n_classes; i++) {
                        FleetClass *other = &fleet->classes[i];
                        const bool own = strcmp(other->pattern, server->host) == 0;

                        if (own || (fnmatch(other->pattern, server->host, 0) == 0 &&
                                    (!class || strlen(other->pattern) > strlen(class->pattern))))
                                class = other;
                        if (own)
                                break;
                }
                host = &fleet->hosts[fleet->n_hosts++];
                *host = (FleetHost){ .name = server->host, .class = class };
                if (class)
                        class->used = true;
        }
        must(ARRAY_RESERVE(host->servers, host->servers_allocated, host->n_servers + 1));
        host->servers[host->n_servers++] = index;
        if (!host->class && (product_info(server->product)->heavy || server->product == PRODUCT_PD))
                diagnostics_add_at(errors, &fleet->files.files[0], server->host_at,
                                   "no machine for host `%s` in %s, expected %s.tar.gz of "
                                   "tidbnumactl gather, or %s.topology; a name may be a glob",
                                   server->host, fleet->args->hosts, server->host, server->host);
}

/* --- the machine of a class --- */

static int open_description(const char *path, Machine *machine, Error *error) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 };
        _cleanup_free_ char *where = NULL;
        _cleanup_text_ Text description = { 0 };
        int r = policies_read_file(path, &files, &errors);
        SourceLine at = { 0 };
        unsigned line = 1;

        if (r < 0) {
                policies_print(&errors);
                return r;
        }
        /* All lines but comments; an error names the first of them. */
        for (unsigned n = 1; source_line_next(&files.files[0], &at); n++) {
                const char *p = at.start;

                while (p < at.end && isspace((unsigned char)*p))
                        p++;
                if (p == at.end || *p == '#')
                        continue;
                if (description.length > 0)
                        text_append(&description, " ");
                else
                        line = n;
                text_append_bytes(&description, p, (size_t)(at.end - p));
        }
        where = must_have(text_new("%s:%u:", path, line));
        r = machine_open_description(must_text(&description), where, machine, error);
        machine->source = (TopologySource){ 0 }; /* the description ends here */
        return r;
}

/* --- the servers of a host --- */

static void plan_host(const Fleet *fleet, FleetHost *host) {
        HostInstances *all = &host->situation.instances;
        const PolicySet *policies = &host->class->policies.set;
        const Machine *machine = &host->class->machine;
        _cleanup_free_ char *mountinfo = NULL;

        all->instances = must_have(calloc(host->n_servers, sizeof(*all->instances)));
        host->imagined_from = must_have(calloc(host->n_servers, sizeof(*host->imagined_from)));
        if (machine->runs)
                (void)path_read_alloc(machine->sysroot.proc_fd, &mountinfo, NULL, "1/mountinfo");
        host->situation.machine = machine;
        host->situation.policies = &host->class->policies;
        host->situation.whole_memory = true;
        for (size_t i = 0; i < host->n_servers; i++) {
                const TiupServer *server = &fleet->topology.servers[host->servers[i]];
                const Policy *policy = NULL;
                HostInstance *imagined = &all->instances[all->n_instances];
                _cleanup_free_ char *dirs = NULL;
                char *rest, *dir;

                /* By program and unit: which user will run it is not known here. */
                for (size_t k = 0; k < policies->n_policies && !policy; k++) {
                        const PolicyMatch *match = &policies->policies[k].match;

                        if (!policies->policies[k].built_in &&
                            (!match->exe || product_of_pattern(match->exe, match->args,
                                                               server->unit) == server->product) &&
                            (!match->unit || fnmatch(match->unit, server->unit, FNM_NOESCAPE) == 0))
                                policy = &policies->policies[k];
                }
                if (!policy)
                        continue;
                host->imagined_from[all->n_instances++] = host->servers[i];
                *imagined = (HostInstance){
                        .name = must_have(strdup(server->name)),
                        .policy = policy,
                        .limit_bytes = server->memory_limit,
                        .unit = must_have(strdup(server->unit)),
                        .exe = must_have(strdup(product_info(server->product)->exe)),
                        .ports = must_have(calloc(2, sizeof(*imagined->ports))),
                        .n_ports = server->ports[1] ? 2 : 1,
                        .cpu_quota = server->cpu_quota,
                };
                memcpy(imagined->ports, server->ports,
                       imagined->n_ports * sizeof(*imagined->ports));
                if (!fleet->args->afresh)
                        imagined->in_force = server->nodes;
                /* The disks under its data directories, where the machine is one that shows them.
                 */
                if (!mountinfo || !server->data_dirs)
                        continue;
                rest = dirs = must_have(strdup(server->data_dirs));
                while ((dir = strsep(&rest, ","))) {
                        _cleanup_storage_devices_ StorageDevices storage = { 0 };

                        if (must(storage_find(&machine->sysroot, mountinfo, dir, &storage)) < 0)
                                continue;
                        id_set_union(&imagined->storage_nodes, &storage.nodes);
                        if (imagined->storage || storage.disks.n_devices == 0)
                                continue;
                        host_instance_set_disk(imagined,
                                               device_list_find(&machine->devices, DEVICE_DISK,
                                                                storage.disks.devices[0].name));
                }
        }
        situation_plan(&host->situation);
}

/* Into the topology: the nodes of the host's servers, and their sizes there. */
static void fill_host(Fleet *fleet, FleetHost *host) {
        Situation *s = &host->situation;
        const size_t n = s->instances.n_instances;
        _cleanup_advice_report_ AdviceReport report = { 0 };

        for (size_t i = 0; i < n; i++) {
                const TiupServer *server = &fleet->topology.servers[host->imagined_from[i]];
                Placement *place = &s->plan.choices[i].placement;
                const CpuSet cores = id_set_and(&place->cpus, &server->cores);

                /* `numa_cores` counts with its `numa_node`. */
                if (!fleet->args->afresh && !fleet->daemon_binds && !id_set_is_empty(&cores) &&
                    id_set_equal(&server->nodes, &place->nodes))
                        place->cpus = cores;
        }
        situation_load_servers(s);
        /* Its unit has the limit of the topology. */
        for (size_t i = 0; i < n; i++)
                s->servers[i].limit_bytes = s->instances.instances[i].limit_bytes;
        must(advice_build(&(AdviceInput){ .topology = &host->class->machine.topology,
                                          .instances = s->servers,
                                          .n_instances = n,
                                          .daemon_binds = fleet->daemon_binds },
                          &report));
        for (size_t i = 0; i < n; i++) {
                TiupFilled filled = { 0 };

                must(tiup_fill(&fleet->topology.servers[host->imagined_from[i]], &report, i,
                               fleet->args->afresh, &fleet->edits, &filled));
                fleet->n_kept += filled.n_kept;
                fleet->n_unfilled += filled.skipped;
        }
}

/* One after the other: an archive is unpacked, and its descriptors are open, only meanwhile. */
static int plan_class(Fleet *fleet, FleetClass *class, Error *error) {
        _cleanup_temporary_folder_ TemporaryFolder folder = TEMPORARY_FOLDER_NONE;
        const TiupServer *servers = fleet->topology.servers;
        bool wanted[N_PRODUCTS] = { 0 };
        Args args = { 0 };
        int r = 0;

        *(class->kind == FLEET_XML ? &args.topology : &args.sysroot) = class->path;
        if (class->kind == FLEET_ARCHIVE) {
                r = temporary_folder_make(&folder, error);
                if (r >= 0)
                        r = archive_unpack(class->path, &folder);
                args.sysroot = folder.path;
        }
        if (r >= 0)
                r = class->kind == FLEET_DESCRIPTION
                            ? open_description(class->path, &class->machine, error)
                            : machine_open(class->kind == FLEET_GIVEN ? fleet->args : &args,
                                           &class->machine, error);
        if (r < 0 && class->kind != FLEET_GIVEN) {
                output_error(error);
                r = error_set(error, r, "%s cannot be used as a machine", class->path);
        }

        /* The default policies are of the products in the topology: on their way to the hosts they
         * must not name anybody else's processes. */
        for (size_t i = 0; i < fleet->topology.n_servers; i++)
                wanted[servers[i].product] = true;
        wanted[PRODUCT_HAPROXY] = true; /* in front of TiDB, and nothing that TiUP deploys */
        if (r >= 0) {
                r = fleet->args->policy_is_set
                            ? policies_load(fleet->args, &class->machine, &class->policies)
                            : policies_load_defaults(&class->machine, wanted, &class->policies);
                if (r == -EINVAL)
                        r = policies_refuse(&class->policies, class->path, error);
        }
        /* The same rule as advise has: policies that the operator gives and that are enforced. */
        fleet->daemon_binds =
                fleet->args->policy_is_set && class->policies.set.mode == ENFORCEMENT_ENFORCE;
        for (size_t i = 0; i < fleet->n_hosts && r >= 0; i++) {
                FleetHost *host = &fleet->hosts[i];

                if (host->class != class)
                        continue;
                plan_host(fleet, host);
                fill_host(fleet, host);
        }
        sysroot_close(&class->machine.sysroot);
        return r;
}

/* --- the nodes of a host's instances, in its policies --- */

/* All files with the nodes in them, where the daemon would take them: two exclusive instances of
 * one node would be refused, for example. */
static int pin_files(const FleetHost *host, bool user_units, SourceFileList *ret) {
        const Policies *policies = &host->class->policies;
        const Machine *machine = &host->class->machine;
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_policy_set_ PolicySet set = { 0 };

        for (size_t i = 0; i < policies->files.n_files; i++) {
                const SourceFile *file = &policies->files.files[i];
                _cleanup_source_edit_list_ SourceEditList edits = { 0 };
                _cleanup_text_ Text text = { 0 };

                for (size_t k = 0; k < policies->set.n_policies; k++) {
                        const Policy *policy = &policies->set.policies[k];
                        const SourceSpan at = { policy->at.line, policy->at.column, 0 };
                        const int indent = (int)policy->at.column - 1;
                        _cleanup_text_ Text entries = { 0 };

                        /* Before the first key of the policy. One that has entries already keeps
                         * them, and no more. */
                        if (strcmp(policy->file, file->path) != 0 || policy->n_instances > 0 ||
                            policy->at.column == 0)
                                continue;
                        for (size_t n = 0; n < host->situation.report.n_instances; n++) {
                                const PlanReportInstance *row =
                                        &host->situation.report.instances[n];
                                const HostInstance *imagined =
                                        &host->situation.instances.instances[n];

                                if (row->in->policy != policy || !plan_report_places(row))
                                        continue;
                                text_append(&entries, entries.length == 0 ? "instances:\n" : "");
                                text_appendf(&entries, "%*s  - match: {", indent, "");
                                if (user_units) /* services of a user's own manager are no units
                                                 * that match */
                                        text_appendf(&entries, "port: %u", imagined->ports[0]);
                                else
                                        text_appendf(&entries, "unit: %s", imagined->unit);
                                text_appendf(&entries, "}\n%*s    nodes: %s\n", indent, "",
                                             id_set_list(&row->choice->placement.nodes));
                        }
                        if (entries.length == 0)
                                continue;
                        text_appendf(&entries, "%*s", indent, "");
                        must(source_edit_add(&edits, at, &entries));
                }
                must(source_edit_apply(file, &edits, &text));
                must(source_file_list_add(ret, file->path, must_text(&text), text.length));
        }
        return must(policy_set_parse(ret, &machine->topology,
                                     machine->runs ? &machine->devices : NULL, &set, &errors,
                                     &warnings));
}

/* --- files --- */

/* The topology, and the policies of each host. */
static int fleet_write(Fleet *fleet, Error *error) {
        const char *output = fleet->args->output, *name = basename(fleet->args->tiup_file);
        _cleanup_text_ Text text = { 0 };
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (mkdir(output, 0777) == 0)
                fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return error_set(error, -errno, "--output %s: %s, expected a folder to create",
                                 output, strerror(errno));
        if (strcmp(name, "-") == 0)
                name = "topology.yaml";
        r = source_edit_apply(&fleet->files.files[0], &fleet->edits, &text);
        if (r >= 0)
                r = dump_write(fd, name, text_string(&text), text.length);
        if (r < 0)
                return error_prefix(error, r, "--output %s: cannot write %s: ", output, name);

        for (const FleetHost *host = fleet->hosts; host < fleet->hosts + fleet->n_hosts; host++) {
                _cleanup_source_file_list_ SourceFileList pinned = { 0 };
                const SourceFileList *files = &pinned;

                if (!host->class)
                        continue;
                if (pin_files(host, fleet->topology.user_units, &pinned) < 0) {
                        output_line(stderr,
                                    "note: the policies of host %s do not name the nodes of its "
                                    "instances, because they could not hold together; the daemon "
                                    "places them by the same rules",
                                    host->name);
                        files = &host->class->policies.files;
                }
                for (size_t i = 0; i < files->n_files; i++) {
                        const SourceFile *file = &files->files[i];
                        /* What is not a file of its own, as the policies that come with the
                         * program, needs a name. */
                        _cleanup_free_ char *path = must_have(text_new(
                                "hosts/%s/%s", host->name,
                                text_ends_with(file->name, ".yaml") ? file->name : "50-tiup.yaml"));

                        r = dump_write(fd, path, file->text, file->size);
                        if (r < 0)
                                return error_prefix(error, r,
                                                    "--output %s: cannot write %s: ", output, path);
                }
        }
        return 0;
}
/* --- the table --- */

/* The row of the plan for a server of the host; NULL: no policy matches it. */
static const PlanReportInstance *row_of(const FleetHost *host, size_t index) {
        for (size_t i = 0; i < host->situation.instances.n_instances; i++)
                if (host->imagined_from[i] == host->servers[index])
                        return &host->situation.report.instances[i];
        return NULL;
}

static void add_row(const Fleet *fleet, const FleetHost *host, size_t index, Table *table) {
        const TiupServer *server = &fleet->topology.servers[host->servers[index]];
        const PlanReportInstance *row = row_of(host, index);
        static const Placement nowhere;
        const Placement *placement = row ? &row->choice->placement : &nowhere;
        _cleanup_text_ Text note = { 0 };

        table_add(table, host->name);
        table_add(table, !host->class                       ? "-"
                         : host->class->kind != FLEET_GIVEN ? basename(host->class->path)
                         : fleet->args->topology            ? "--topology"
                                                            : "--sysroot");
        table_add(table, server->name);
        table_add(table, row ? row->in->policy->name : "-");
        plan_words_add_set(table, ID_VIEW(&placement->nodes));
        plan_words_add_set(table, ID_VIEW(&placement->cpus));
        if (!row)
                text_append(&note,
                            host->class ? "no policy matches it" : "no machine for its host");
        else if (!plan_report_places(row))
                text_append(&note, placement_refusal_to_string(row->choice->refusal));
        else {
                if (server->nodes_unknown && !fleet->args->afresh)
                        text_append(&note, "numa_node is in words of numactl");
                if (!id_set_is_empty(&server->nodes) &&
                    !id_set_equal(&server->nodes, &placement->nodes)) {
                        text_append(&note, "was ");
                        plan_words_nodes(&server->nodes, &note);
                }
                for (unsigned i = 0; i < N_PLACEMENT_WARNINGS; i++) {
                        const char *rule = placement_warning_to_rule(1u << i);

                        if ((row->choice->warnings & (1u << i)) && *rule)
                                text_appendf(&note, "%s%s", note.length > 0 ? ", " : "", rule);
                }
        }
        table_add_text(table, &note);
}

static void append_count(Text *text, size_t n, const char *what) {
        if (n > 0)
                text_appendf(text, "  %s: %zu\n", what, n);
}

static void append_notes(const Fleet *fleet, Text *text) {
        size_t n_warned[N_PLACEMENT_WARNINGS] = { 0 }, n_without_card = 0, n_without_machine = 0;
        size_t n_bound_by_tiup = 0, n_replaced = 0, heading;
        const size_t before = text->length;

        for (const FleetHost *host = fleet->hosts; host < fleet->hosts + fleet->n_hosts; host++) {
                const PlanReport *report = &host->situation.report;

                for (size_t i = 0; i < report->n_instances; i++) {
                        const PlacementChoice *choice = report->instances[i].choice;

                        for (unsigned k = 0; k < N_PLACEMENT_WARNINGS; k++)
                                n_warned[k] += choice->warnings >> k & 1;
                        n_replaced += (choice->warnings & WARN_MOVED) != 0;
                }
                if (!host->class)
                        n_without_machine++;
                else
                        n_without_card +=
                                host->class->policies.set.host.reserve.kind == RESERVE_NIC &&
                                id_set_is_empty(&report->nic_nodes);
        }
        for (size_t i = 0; i < fleet->topology.n_servers; i++)
                n_bound_by_tiup += !id_set_is_empty(&fleet->topology.servers[i].nodes);

        text_append(text, "\nNotes:\n\n");
        heading = text->length;
        for (unsigned i = 0; i < N_PLACEMENT_WARNINGS; i++) {
                const char *rule = placement_warning_to_rule(1u << i);

                if (n_warned[i] > 0 && 1u << i != WARN_MOVED)
                        text_appendf(text, "  %s%s%s (%zu instance%s)\n", rule, *rule ? ": " : "",
                                     placement_warning_to_string(1u << i), n_warned[i],
                                     n_warned[i] == 1 ? "" : "s");
        }
        append_count(text, n_without_card,
                     "hosts whose network card is unknown, so that nothing is reserved for it");
        append_count(text, n_without_machine,
                     "hosts without a machine, whose servers are not planned");
        for (size_t i = 0; i < fleet->topology.n_others; i++) {
                text_append(text, "  ");
                text_append_printable(text, fleet->topology.others[i].section);
                text_appendf(text, " is not planned: %zu\n", fleet->topology.others[i].n);
        }
        append_count(text, n_replaced,
                     "servers that cannot be placed on the nodes that their numa_node names, and "
                     "get others");
        append_count(text, fleet->n_kept, "settings that the topology has already, and keeps");
        append_count(text, fleet->n_unfilled,
                     "servers written in braces or by an alias, which are not filled in entirely");
        if (fleet->topology.user_units)
                text_append(text,
                            "  systemd_mode: user: the servers are services of a user's own "
                            "manager, which policies with `unit` do not match; name exe and user "
                            "instead\n");
        if (fleet->daemon_binds)
                append_count(text, n_bound_by_tiup,
                             "servers with numa_node, although the daemon binds them: remove it");
        if (text->length == heading)
                text_truncate(text, before);
}

static void put_host(Json *json, const Fleet *fleet, const FleetHost *host) {
        JSON_OBJECT(json, NULL) {
                json_put_string(json, "host", host->name);
                json_put_string(json, "machine", host->class ? host->class->path : NULL);
                JSON_ARRAY(json, "unmatched", k, host->n_servers)
                        if (!row_of(host, k))
                                json_put_string(json, NULL,
                                                fleet->topology.servers[host->servers[k]].name);
                if (host->class)
                        JSON_OBJECT(json, "plan")
                                plan_json_report(json, &host->situation.report);
        }
}

static int compare_hosts(const void *a, const void *b) {
        return strverscmp(((const FleetHost *)a)->name, ((const FleetHost *)b)->name);
}

int command_plan_fleet(const Args *args, Error *error) {
        static const char *const headings[] = { "HOST",  "MACHINE", "INSTANCE", "POLICY",
                                                "NODES", "CPUS",    "NOTES" };
        _cleanup_(fleet_close) Fleet fleet = { .args = args };
        _cleanup_diagnostics_ Diagnostics errors = { 0 };
        _cleanup_table_ Table table = { 0 };
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };
        bool refused = false;
        int r = policies_read_file(args->tiup_file, &fleet.files, &errors);

        if (r >= 0)
                r = tiup_parse(&fleet.files.files[0], &fleet.topology, &errors);
        if (r >= 0 && args->hosts)
                r = read_folder(&fleet, error);
        else if (r >= 0)
                add_class(&fleet, FLEET_GIVEN,
                          strdup(args->topology ? args->topology : args->sysroot), strdup("*"));
        for (size_t i = 0; i < fleet.topology.n_servers && r >= 0; i++)
                add_server(&fleet, i, &errors);
        if (fleet.n_hosts > 0)
                qsort(fleet.hosts, fleet.n_hosts, sizeof(*fleet.hosts), compare_hosts);
        must(r);
        must(errors.error);
        policies_print(&errors);
        if (r >= 0 && errors.n_messages > 0)
                r = -EINVAL;

        for (size_t i = 0; i < fleet.n_classes && r >= 0; i++)
                if (fleet.classes[i].used)
                        r = plan_class(&fleet, &fleet.classes[i], error);
        if (r >= 0 && args->output)
                r = fleet_write(&fleet, error);
        if (r >= 0 && args->json) {
                JSON_OBJECT(&json, NULL) {
                        json_put_bool(&json, "daemon_binds", fleet.daemon_binds);
                        JSON_ARRAY(&json, "hosts", i, fleet.n_hosts)
                                put_host(&json, &fleet, &fleet.hosts[i]);
                }
                r = output_json(&text);
        } else if (r >= 0) {
                table_init(&table, headings, ELEMENTSOF(headings));
                for (size_t i = 0; i < fleet.n_hosts; i++)
                        for (size_t k = 0; k < fleet.hosts[i].n_servers; k++)
                                add_row(&fleet, &fleet.hosts[i], k, &table);
                text_appendf(&text, "Plan for %zu host%s of ", fleet.n_hosts,
                             fleet.n_hosts == 1 ? "" : "s");
                text_append_printable(&text, args->tiup_file);
                text_append(&text, "\n\n");
                table_render(&table, output_width(), &text);
                append_notes(&fleet, &text);
                if (args->output) {
                        text_append(&text, "\nWrote ");
                        text_append_printable(&text, args->output);
                        text_append(&text, ": the topology with its sizes");
                        text_append(&text,
                                    fleet.daemon_binds
                                            ? ", without numa_node, because the daemon binds;"
                                            : " and numa_node;");
                        text_append(&text, " hosts/HOST, the policies of each host.\n");
                }
                r = output_text(&text);
        }
        for (size_t i = 0; i < fleet.n_hosts; i++)
                refused |= situation_has_refusal(&fleet.hosts[i].situation);
        return r < 0 ? r : refused ? COMMAND_EXIT_REFUSED : EXIT_SUCCESS;
}
