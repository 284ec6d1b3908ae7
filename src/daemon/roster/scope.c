/* Processes in scopes of tidbnumad. */
#include <string.h>

#include "tidbnumad/daemon/roster/scope.h"
#include "tidbnumad/enforce/undo.h"

void scope_resolve(const Roster *roster, Process *process) {
        const UndoRecord *record =
                process->scope ? undo_find_scope(roster->records, process->scope) : NULL;

        /* Without memory for the name it has no unit now; the next scan finds another process then.
         */
        if (record && !process->unit)
                (void)unit_from_cgroup(record->home, &process->unit);
        if (unit_is_own_scope(process->unit)) {
                free(process->unit);
                process->unit = NULL;
        }
}

static void take_group(Process *process, char *cgroup) {
        char *unit = NULL;

        free(process->cgroup);
        free(process->scope);
        process->cgroup = cgroup;
        process->scope = NULL;
        if (unit_from_cgroup(cgroup, &unit) < 0)
                return;
        if (unit_is_own_scope(unit))
                process->scope = unit;
        else
                free(unit);
}

void scope_follow(const Roster *roster, Instance *i) {
        if (instance_is_service(i) || backend_kind(&roster->host->backend) != BACKEND_SYSTEMD)
                return;
        for (size_t k = 0; k < i->n_members; k++) {
                Process *p = &i->members[k].process;
                char *cgroup;

                if (proc_cgroup_read(i->members[k].handle, &cgroup) < 0)
                        continue;
                if (p->cgroup && strcmp(p->cgroup, cgroup) == 0)
                        free(cgroup);
                else
                        take_group(p, cgroup);
        }
}

const char *scope_of(const Instance *i) {
        const Members members = instance_members(i, NULL);

        return members_scope(&members);
}

bool scope_holds(const Instance *i) {
        const char *scope = scope_of(i);

        for (size_t k = 0; scope && k < i->n_members; k++)
                if (!i->members[k].process.scope || strcmp(i->members[k].process.scope, scope) != 0)
                        return false;
        return scope;
}
