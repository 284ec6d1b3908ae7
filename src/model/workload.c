/* Processes and the units they belong to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/model/workload.h"

static bool is_same_text(const char *a, const char *b) {
        return a && b ? strcmp(a, b) == 0 : a == b;
}

bool process_id_equal(const ProcessId *a, const ProcessId *b) {
        return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

bool process_is_same(const Process *a, const Process *b) {
        return process_id_equal(&a->id, &b->id) && a->uid == b->uid &&
               is_same_text(a->exe, b->exe) && is_same_text(a->unit, b->unit) &&
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
                return "mount";
        case FOREIGN_NONE:
                break;
        }
        return "";
}

static int has_suffix(const char *s, size_t length, const char *suffix) {
        size_t n = strlen(suffix);

        return length > n && memcmp(s + length - n, suffix, n) == 0;
}

bool unit_is_own_scope(const char *unit) {
        return unit && strncmp(unit, OWN_SCOPE_PREFIX, strlen(OWN_SCOPE_PREFIX)) == 0 &&
               has_suffix(unit, strlen(unit), ".scope");
}

bool unit_is_system_service(const char *unit) {
        return unit && has_suffix(unit, strlen(unit), ".service") &&
               strncmp(unit, "user@", strlen("user@")) != 0;
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
                if (has_suffix(p, length, ".slice")) {
                        p += length;
                        continue;
                }
                if (*p == '_') { /* cg_escape(): names that a cgroup file could have */
                        p++;
                        length--;
                }
                if (!has_suffix(p, length, ".service") && !has_suffix(p, length, ".scope"))
                        break;
                *ret = strndup(p, length);
                return *ret ? 0 : -ENOMEM;
        }
        return -ENXIO;
}
