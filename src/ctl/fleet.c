#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/tiup.h"
#include "tidbnumad/ctl/fleet.h"
#include "tidbnumad/ctl/output.h"

static void class_done(FleetClass *class) {
        policies_done(&class->policies);
        machine_close(&class->machine);
        free(class->path);
        free(class->pattern);
}

static void host_done(FleetHost *host) {
        situation_done(&host->situation);
        free(host->imagined_from);
        free(host->servers);
}

void fleet_close(Fleet *fleet) {
        for (size_t i = 0; i < fleet->n_hosts; i++)
                host_done(&fleet->hosts[i]);
        free(fleet->hosts);
        for (size_t i = 0; i < fleet->n_classes; i++)
                class_done(&fleet->classes[i]);
        free(fleet->classes);
        source_edit_list_done(&fleet->edits);
        tiup_topology_done(&fleet->topology);
        source_file_list_done(&fleet->files);
        *fleet = (Fleet){ 0 };
}

/* --- the folder of machines --- */

static const struct {
        const char *suffix;
        FleetMachineKind kind;
} kinds[] = {
        { ".tar.gz", FLEET_ARCHIVE },       { ".tgz", FLEET_ARCHIVE }, { ".tar", FLEET_ARCHIVE },
        { ".topology", FLEET_DESCRIPTION }, { ".xml", FLEET_XML },
};

/* The length of the pattern of hosts in a file's name; 0: it is no machine. */
static size_t pattern_length(const char *path, const char *name, FleetMachineKind *ret) {
        struct stat st;

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                *ret = kinds[i].kind;
                if (text_ends_with(name, kinds[i].suffix))
                        return strlen(name) - strlen(kinds[i].suffix);
        }
        *ret = FLEET_DUMP;
        return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? strlen(name) : 0;
}

static int add_class(Fleet *fleet, const char *name) {
        _cleanup_free_ char *path = NULL;
        FleetMachineKind kind;
        FleetClass *class;
        size_t length;

        if (asprintf(&path, "%s/%s", fleet->args->hosts, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        length = pattern_length(path, name, &kind);
        if (length == 0)
                return 0;
        if (ARRAY_RESERVE(fleet->classes, fleet->classes_allocated, fleet->n_classes + 1) < 0)
                return -ENOMEM;
        class = &fleet->classes[fleet->n_classes++];
        *class = (FleetClass){ .path = TAKE_PTR(path),
                               .pattern = strndup(name, length),
                               .kind = kind,
                               .machine = MACHINE_NONE };
        return class->pattern ? 0 : -ENOMEM;
}

static int read_folder(Fleet *fleet) {
        struct dirent **names;
        int n = scandir(fleet->args->hosts, &names, NULL, alphasort), r = 0;

        if (n < 0) {
                r = -errno;
                output_line(stderr, "tidbnumactl: --hosts %s: %s, expected a folder of machines",
                            fleet->args->hosts, strerror(-r));
                return r;
        }
        for (int i = 0; i < n; i++) {
                if (r >= 0 && names[i]->d_name[0] != '.')
                        r = add_class(fleet, names[i]->d_name);
                free(names[i]);
        }
        free(names);
        return r;
}

static int add_given(Fleet *fleet) {
        const Args *args = fleet->args;
        FleetClass *class = calloc(1, sizeof(*class));

        if (!class)
                return -ENOMEM;
        *class = (FleetClass){ .path = strdup(args->topology ? args->topology : args->sysroot),
                               .pattern = strdup("*"),
                               .kind = FLEET_GIVEN,
                               .machine = MACHINE_NONE };
        fleet->classes = class;
        fleet->n_classes = fleet->classes_allocated = 1;
        return class->path && class->pattern ? 0 : -ENOMEM;
}

/* Its own file, else the longest glob; of equal ones the first by name. NULL: none. */
static FleetClass *find_class(const Fleet *fleet, const char *host) {
        FleetClass *best = NULL;

        for (size_t i = 0; i < fleet->n_classes; i++) {
                FleetClass *class = &fleet->classes[i];

                if (strcmp(class->pattern, host) == 0)
                        return class;
                if (fnmatch(class->pattern, host, 0) == 0 &&
                    (!best || strlen(class->pattern) > strlen(best->pattern)))
                        best = class;
        }
        return best;
}

/* --- hosts --- */

static FleetHost *find_host(const Fleet *fleet, const char *name) {
        for (size_t i = 0; i < fleet->n_hosts; i++)
                if (strcmp(fleet->hosts[i].name, name) == 0)
                        return &fleet->hosts[i];
        return NULL;
}

static int add_host(Fleet *fleet, const TiupServer *server, FleetHost **ret) {
        if (ARRAY_RESERVE(fleet->hosts, fleet->hosts_allocated, fleet->n_hosts + 1) < 0)
                return -ENOMEM;
        *ret = &fleet->hosts[fleet->n_hosts++];
        **ret = (FleetHost){ .name = server->host, .class = find_class(fleet, server->host) };
        return 0;
}

/* A host without a machine cannot be planned: an error where servers that size themselves by it, or
 * PD, would be left out; a host of monitoring alone is only reported. */
static void check_machine(const Fleet *fleet, const FleetHost *host, const TiupServer *server,
                          Diagnostics *errors) {
        if (!host->class && (product_info(server->product)->heavy || server->product == PRODUCT_PD))
                diagnostics_add_at(errors, &fleet->files.files[0], server->host_at,
                                   "no machine for host `%s` in %s, expected %s.tar.gz of "
                                   "tidbnumactl gather, or %s.topology; a name may be a glob",
                                   server->host, fleet->args->hosts, server->host, server->host);
}

static int add_server(Fleet *fleet, size_t index, Diagnostics *errors) {
        const TiupServer *server = &fleet->topology.servers[index];
        FleetHost *host = find_host(fleet, server->host);
        int r = host ? 0 : add_host(fleet, server, &host);

        if (r < 0 || ARRAY_RESERVE(host->servers, host->servers_allocated, host->n_servers + 1) < 0)
                return -ENOMEM;
        check_machine(fleet, host, server, errors);
        host->servers[host->n_servers++] = index;
        return 0;
}

static int compare_hosts(const void *a, const void *b) {
        return strverscmp(((const FleetHost *)a)->name, ((const FleetHost *)b)->name);
}

static int find_hosts(Fleet *fleet, Diagnostics *errors) {
        int r = 0;

        for (size_t i = 0; i < fleet->topology.n_servers && r >= 0; i++)
                r = add_server(fleet, i, errors);
        if (fleet->n_hosts > 0)
                qsort(fleet->hosts, fleet->n_hosts, sizeof(*fleet->hosts), compare_hosts);
        if (r >= 0 && errors->error < 0)
                r = -ENOMEM;
        return r >= 0 && errors->n_messages > 0 ? -EINVAL : r;
}

static int read_all(Fleet *fleet, Diagnostics *errors) {
        int r = policies_read_file(fleet->args->tiup_file, &fleet->files, errors);

        if (r >= 0)
                r = tiup_parse(&fleet->files.files[0], &fleet->topology, errors);
        if (r >= 0)
                r = fleet->args->hosts ? read_folder(fleet) : add_given(fleet);
        return r < 0 ? r : find_hosts(fleet, errors);
}

int fleet_open(const Args *args, Fleet *ret) {
        _cleanup_diagnostics_ Diagnostics errors = { 0 };
        int r, printed;

        *ret = (Fleet){ .args = args };
        r = read_all(ret, &errors);
        printed = r == -ENOMEM ? 0 : policies_print(&errors, "");
        return printed < 0 ? printed : r;
}
