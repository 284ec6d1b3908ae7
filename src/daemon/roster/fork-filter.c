#include "tidbnumad/daemon/roster/fork-filter.h"
#include "tidbnumad/base/array.h"
#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/daemon/roster/identify.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/sys/proc-connector.h"

/* Enough for generations of children that all started within one moment; the scan finds deeper
 * ones. */
enum { ROUNDS_MAX = 8 };

typedef struct Collection {
        PidList members;
        PidList children; /* children of members that joined since the last update */
} Collection;

static int append(PidList *list, pid_t pid) {
        if (ARRAY_RESERVE(list->pids, list->allocated, list->n_pids + 1) < 0)
                return -ENOMEM;
        list->pids[list->n_pids++] = pid;
        return 0;
}

static int append_child(pid_t pid, void *userdata) {
        Collection *c = userdata;

        return append(&c->children, pid);
}

static int collect_members(const Roster *roster, Collection *c) {
        ROSTER_FOREACH(i, roster)
                for (size_t p = 0; p < i->n_members; p++)
                        if (append(&c->members, i->members[p].process.id.pid) < 0)
                                return -ENOMEM;
        return 0;
}

/* To be called after the kernel's filter is set: from then on each fork causes an event. */
static void collect_children(const Roster *roster, Collection *c) {
        ROSTER_FOREACH(i, roster) {
                for (size_t p = 0; p < i->n_members; p++) {
                        if (!i->members[p].forks_reported)
                                (void)proc_foreach_child(i->members[p].handle, append_child, c);
                        i->members[p].forks_reported = true;
                }
        }
}

static void update_once(Roster *roster, size_t *left) {
        Collection c = { 0 };

        roster->fork_filter_stale = false;
        /* A filter that cannot be set costs events of foreign processes, but none is missed. */
        if (collect_members(roster, &c) < 0)
                (void)proc_connector_filter(roster->connector_fd, NULL, 0);
        else if (c.members.n_pids <= PROC_CONNECTOR_PARENTS_MAX || !roster->fork_filter_all)
                (void)proc_connector_filter(roster->connector_fd, c.members.pids, c.members.n_pids);
        roster->fork_filter_all = c.members.n_pids > PROC_CONNECTOR_PARENTS_MAX;
        collect_children(roster, &c);
        for (size_t k = 0; k<c.children.n_pids && * left> 0; k++, --*left)
                (void)identify_consider(roster, c.children.pids[k]);
        pid_list_done(&c.members);
        pid_list_done(&c.children);
}

void fork_filter_update(Roster *roster) {
        size_t left = OTHERS_CHILDREN_AT_ONCE;

        if (roster->connector_fd < 0 || !roster->fork_filter_stale)
                return;
        for (unsigned n = 0; roster->fork_filter_stale && n < ROUNDS_MAX; n++)
                update_once(roster, &left);
        if (left == 0)
                roster_scan_soon(roster);
}
