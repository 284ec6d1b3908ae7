/* Processes and the units they belong to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/instance-name.h"
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
