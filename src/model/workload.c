/* Processes and the units they belong to. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/workload.h"

bool process_id_equal(const ProcessId *a, const ProcessId *b) {
        return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

bool process_is_same(const Process *a, const Process *b) {
        return process_id_equal(&a->id, &b->id) && a->uid == b->uid && text_equal(a->exe, b->exe) &&
               text_equal(a->unit, b->unit) &&
               (!a->args || !b->args || strcmp(a->args, b->args) == 0);
}

bool process_joins(const Process *process, const Member *members, size_t n_members,
                   const char *unit) {
        for (size_t i = 0; process->scope && i < n_members; i++)
                if (members[i].process.scope &&
                    strcmp(members[i].process.scope, process->scope) == 0)
                        return true;
        if (unit_is_service(process->unit))
                return unit && strcmp(unit, process->unit) == 0;
        for (size_t i = 0; i < n_members; i++)
                if (members[i].process.id.pid == process->id.pid)
                        return true;
        return false;
}

void process_done(Process *process) {
        free(process->exe);
        free(process->cgroup);
        free(process->unit);
        free(process->scope);
        free(process->args);
        *process = (Process){ 0 };
}

const char *foreign_to_string(Foreign foreign) {
        switch (foreign) {
        case FOREIGN_PID:
                return "PID";
        case FOREIGN_USER:
                return "user";
        case FOREIGN_MOUNT:
        case FOREIGN_ROOT:
                return "mount";
        case FOREIGN_NONE:
                break;
        }
        return "";
}

bool unit_is_own_scope(const char *unit) {
        return unit && strncmp(unit, OWN_SCOPE_PREFIX, strlen(OWN_SCOPE_PREFIX)) == 0 &&
               text_ends_with(unit, ".scope");
}

size_t unit_cgroup_length(const char *path, const char *unit) {
        const size_t length = strlen(unit);

        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                const char *part = slash + 1 + (slash[1] == '_' && unit[0] != '_');

                if (strncmp(part, unit, length) == 0 &&
                    (part[length] == '\0' || part[length] == '/'))
                        return (size_t)(part + length - path);
        }
        return 0;
}

int unit_from_cgroup(const char *path, char **ret) {
        for (const char *p = path; *p;) {
                size_t length;

                p += strspn(p, "/");
                length = strcspn(p, "/");
                if (length == 0)
                        break;
                if (text_ends_with_n(p, length, ".slice")) {
                        p += length;
                        continue;
                }
                if (*p == '_') { /* cg_escape(): names that a cgroup file could have */
                        p++;
                        length--;
                }
                if (!text_ends_with_n(p, length, ".service") &&
                    !text_ends_with_n(p, length, ".scope"))
                        break;
                *ret = strndup(p, length);
                return *ret ? 0 : -ENOMEM;
        }
        return -ENXIO;
}

#define SUFFIX ".service"

bool unit_is_service(const char *unit) {
        return text_ends_with(unit, SUFFIX) && strncmp(unit, "user@", 5) != 0;
}

int instance_name_choose(const InstanceIdentity *identity, NameTaken is_taken, void *userdata,
                         char **ret) {
        const bool service = unit_is_service(identity->unit);
        const char *base = service ? identity->unit : basename(identity->exe);
        const int pid = identity->first.pid;
        const int number = identity->n_ports > 0 ? identity->ports[0] : pid;

        for (unsigned rank = 0; rank < INSTANCE_NAME_RANKS; rank++) {
                char *name;
                int r;

                if (service)
                        r = rank == 0   ? asprintf(&name, "%.*s",
                                                   (int)(strlen(base) - strlen(SUFFIX)), base)
                            : rank == 1 ? asprintf(&name, "%s", base)
                                        : asprintf(&name, "%s:%d", base, pid);
                else
                        r = rank == 0   ? asprintf(&name, "%s:%d", base, number)
                            : rank == 1 ? asprintf(&name, "%s:%d:%d", base, number, pid)
                                        : asprintf(&name, "%s:%d:%d:%" PRIu64, base, number, pid,
                                                   identity->first.start_ticks);
                if (r < 0)
                        return -ENOMEM;
                if (!is_taken(name, userdata)) {
                        *ret = name;
                        return 0;
                }
                free(name);
        }
        return -EEXIST;
}

void tiup_topology_done(TiupTopology *topology) {
        for (size_t i = 0; i < topology->n_servers; i++) {
                TiupServer *server = &topology->servers[i];

                for (size_t k = 0; k < server->n_settings; k++)
                        free(server->settings[k]);
                free(server->settings);
                free(server->host);
                free(server->unit);
                free(server->name);
                free(server->data_dirs);
        }
        free(topology->servers);
        for (size_t i = 0; i < topology->n_others; i++)
                free(topology->others[i].section);
        free(topology->others);
        *topology = (TiupTopology){ 0 };
}

bool tiup_server_sets(const TiupServer *server, const char *setting) {
        for (size_t i = 0; i < server->n_settings; i++)
                if (strcmp(server->settings[i], setting) == 0)
                        return true;
        return false;
}
