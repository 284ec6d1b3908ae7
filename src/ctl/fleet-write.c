/* A whole cluster: what is written for TiUP and for each host. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/ctl/fleet.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/sys/dump.h"

/* --- the nodes of a host's instances, in its policies --- */

/* Services of a user's own manager are no units that match. */
static void append_entry(Text *text, const FleetHost *host, size_t index, bool user_units,
                         unsigned indent) {
        const HostInstance *imagined = &host->situation.instances.instances[index];
        char nodes[ID_SET_LIST_MAX];

        if (id_set_render_list(&host->situation.report.instances[index].choice->placement.nodes,
                               nodes, sizeof(nodes)) < 0)
                text->error = -ENOMEM;
        text_appendf(text, "%*s  - match: {", (int)indent, "");
        if (user_units)
                text_appendf(text, "port: %u", imagined->ports[0]);
        else
                text_appendf(text, "unit: %s", imagined->unit);
        text_appendf(text, "}\n%*s    nodes: %s\n", (int)indent, "", nodes);
}

/* Before the first key of the policy. One that has entries already keeps them, and no more. */
static int pin(const FleetHost *host, bool user_units, const Policy *policy,
               SourceEditList *edits) {
        const SourceSpan at = { policy->line, policy->column, 0 };
        _cleanup_text_ Text text = { 0 };

        if (policy->n_instances > 0 || policy->column == 0)
                return 0;
        for (size_t i = 0; i < host->situation.report.n_instances; i++) {
                const PlanReportInstance *row = &host->situation.report.instances[i];

                if (row->in->policy != policy || !plan_report_places(row))
                        continue;
                text_append(&text, text.length == 0 ? "instances:\n" : "");
                append_entry(&text, host, i, user_units, policy->column - 1);
        }
        if (text.length == 0)
                return text.error;
        text_appendf(&text, "%*s", (int)policy->column - 1, "");
        return source_edit_add(edits, at, &text);
}

static int pin_file(const FleetHost *host, bool user_units, const SourceFile *file, Text *ret) {
        const PolicySet *set = &host->situation.policies->set;
        _cleanup_source_edit_list_ SourceEditList edits = { 0 };
        int r = 0;

        for (size_t i = 0; i < set->n_policies && r >= 0; i++)
                if (strcmp(set->policies[i].file, file->path) == 0)
                        r = pin(host, user_units, &set->policies[i], &edits);
        return r < 0 ? r : source_edit_apply(file, &edits, ret);
}

/* All files with the nodes in them, where the daemon would take them: two exclusive instances of
 * one node would be refused, for example. */
static int pin_files(const FleetHost *host, bool user_units, SourceFileList *ret) {
        const SourceFileList *files = &host->situation.policies->files;
        const Machine *machine = &host->class->machine;
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_policy_set_ PolicySet set = { 0 };
        int r = 0;

        for (size_t i = 0; i < files->n_files && r >= 0; i++) {
                _cleanup_text_ Text text = { 0 };

                r = pin_file(host, user_units, &files->files[i], &text);
                if (r >= 0)
                        r = source_file_list_add(ret, files->files[i].path,
                                                 text.data ? text.data : "", text.length);
        }
        return r < 0 ? r
                     : policy_set_parse(ret, &machine->topology,
                                        machine->runs ? &machine->devices : NULL, &set, &errors,
                                        &warnings);
}

/* --- files --- */

static int cannot_write(const Fleet *fleet, const char *path, int error) {
        output_line(stderr, "tidbnumactl: --output %s: cannot write %s: %s", fleet->args->output,
                    path, strerror(-error));
        return error;
}

/* What is not a file of its own, as the policies that come with the program, needs a name. */
static int write_policies(const Fleet *fleet, const FleetHost *host, const SourceFileList *files,
                          int to_fd) {
        for (size_t i = 0; i < files->n_files; i++) {
                const SourceFile *file = &files->files[i];
                _cleanup_free_ char *path = NULL;
                int r;

                if (asprintf(&path, "hosts/%s/%s", host->name,
                             text_ends_with(file->name, ".yaml") ? file->name : "50-tiup.yaml") <
                    0) {
                        path = NULL;
                        return -ENOMEM;
                }
                r = dump_write(to_fd, path, file->text, file->size);
                if (r < 0)
                        return cannot_write(fleet, path, r);
        }
        return 0;
}

static int write_host(const Fleet *fleet, const FleetHost *host, int to_fd) {
        _cleanup_source_file_list_ SourceFileList pinned = { 0 };
        int r = pin_files(host, fleet->topology.user_units, &pinned);

        if (r == -ENOMEM)
                return r;
        if (r >= 0)
                return write_policies(fleet, host, &pinned, to_fd);
        output_line(stderr,
                    "note: the policies of host %s do not name the nodes of its instances, because "
                    "they could not hold together; the daemon places them by the same rules",
                    host->name);
        return write_policies(fleet, host, &host->situation.policies->files, to_fd);
}

static int write_topology(Fleet *fleet, int to_fd) {
        const char *name = basename(fleet->args->tiup_file);
        _cleanup_text_ Text text = { 0 };
        int r = source_edit_apply(&fleet->files.files[0], &fleet->edits, &text);

        if (strcmp(name, "-") == 0)
                name = "topology.yaml";
        if (r >= 0)
                r = dump_write(to_fd, name, text.data ? text.data : "", text.length);
        return r < 0 ? cannot_write(fleet, name, r) : 0;
}

int fleet_write(Fleet *fleet) {
        const char *output = fleet->args->output;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (mkdir(output, 0777) == 0)
                fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
                r = -errno;
                output_line(stderr, "tidbnumactl: --output %s: %s, expected a folder to create",
                            output, strerror(-r));
                return r;
        }
        r = write_topology(fleet, fd);
        for (size_t i = 0; i < fleet->n_hosts && r >= 0; i++)
                if (fleet->hosts[i].class)
                        r = write_host(fleet, &fleet->hosts[i], fd);
        return r;
}
