/* Processes and the units they belong to. */
#include <errno.h>
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

void process_done(Process *process) {
        free(process->exe);
        free(process->cgroup);
        free(process->unit);
        free(process->scope);
        free(process->args);
        *process = (Process){ 0 };
}

static const char *const foreign_strings[] = {
        [FOREIGN_NONE] = "",       [FOREIGN_PID] = "PID",    [FOREIGN_USER] = "user",
        [FOREIGN_MOUNT] = "mount", [FOREIGN_ROOT] = "mount",
};
DEFINE_STRING_TABLE(foreign_to_string, Foreign, foreign_strings)

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

bool unit_is_service(const char *unit) {
        return text_ends_with(unit, ".service") && strncmp(unit, "user@", 5) != 0;
}

bool unit_is_named(const char *unit, const char *word) {
        const size_t n = strlen(word);

        return unit && strncmp(unit, word, n) == 0 &&
               (unit[n] == '\0' || strcmp(unit + n, ".service") == 0);
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
