/* How many instances and processes each policy has of each user. An entry whose instances have
 * ended stays until the policies are loaded again: it remembers what was logged. */
#include <stdlib.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/plan/instance-count.h"

void instance_counts_done(InstanceCounts *counts) {
        free(counts->counts);
        *counts = (InstanceCounts){ 0 };
}

static bool is_before(const InstanceCount *a, size_t policy, uid_t uid) {
        return a->policy < policy || (a->policy == policy && a->uid < uid);
}

/* The index of the entry, or where it would be. */
static size_t find(const InstanceCounts *c, size_t policy, uid_t uid, bool *ret_found) {
        const size_t at = ARRAY_LOWER_BOUND(c->n_counts, i, is_before(&c->counts[i], policy, uid));

        *ret_found = at < c->n_counts && c->counts[at].policy == policy && c->counts[at].uid == uid;
        return at;
}

int instance_counts_add(InstanceCounts *c, size_t policy, uid_t uid) {
        const InstanceCount first = { .policy = policy, .uid = uid, .n = 1 };
        bool found;
        const size_t i = find(c, policy, uid, &found);

        if (!found)
                return ARRAY_INSERT(c->counts, c->n_counts, c->allocated, i, &first);
        c->counts[i].n++;
        return 0;
}

void instance_counts_remove(InstanceCounts *c, size_t policy, uid_t uid) {
        bool found;
        const size_t i = find(c, policy, uid, &found);

        if (found && c->counts[i].n > 0)
                c->counts[i].n--;
}

size_t instance_counts_of(const InstanceCounts *c, size_t policy, uid_t uid) {
        bool found;
        const size_t i = find(c, policy, uid, &found);

        return found ? c->counts[i].n : 0;
}

void instance_counts_join(InstanceCounts *c, size_t policy, uid_t uid, size_t n) {
        bool found;
        const size_t i = find(c, policy, uid, &found);

        if (found)
                c->counts[i].n_processes += n;
}

void instance_counts_leave(InstanceCounts *c, size_t policy, uid_t uid) {
        bool found;
        const size_t i = find(c, policy, uid, &found);

        if (found && c->counts[i].n_processes > 0)
                c->counts[i].n_processes--;
}

bool instance_counts_have_place(const InstanceCounts *c, size_t policy, uid_t uid,
                                size_t n_places) {
        size_t taken = 0, of_user = 0, own = 0;

        for (size_t i = 0; i < c->n_counts; i++) {
                const InstanceCount *count = &c->counts[i];

                taken += count->n_processes;
                of_user += count->uid == uid ? count->n_processes : 0;
                own += count->uid == uid && count->policy == policy ? count->n_processes : 0;
        }
        return taken + own < n_places && of_user < n_places - n_places / 4;
}

bool instance_counts_log(InstanceCounts *c, size_t policy, uid_t uid, InstanceLimit limit) {
        bool found;
        const size_t i = find(c, policy, uid, &found);

        if (!found || (c->counts[i].logged & limit))
                return false;
        c->counts[i].logged |= limit;
        return true;
}
