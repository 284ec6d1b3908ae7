/* What the planner is told: who there is, where everybody is now, and what is allowed there. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/placing/place-input.h"
#include "tidbnumad/daemon/roster/groups.h"
#include "tidbnumad/daemon/undo/record.h"
#include "tidbnumad/daemon/units/unit-list.h"
#include "tidbnumad/plan/match.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"

void place_input_done(PlaceInput *input) {
        free(input->instances);
        free(input->entries);
        *input = (PlaceInput){ 0 };
}

/* --- what the kernel shows --- */

/* The cpuset of this group, or of the next one above it that has a say. */
static int read_cpuset(const Sysroot *sysroot, char *path, CpuSet *ret_cpus, NodeSet *ret_mems) {
        for (;;) {
                _cleanup_close_ int fd = -EBADF;
                char *slash;
                int r = cgroup_open(sysroot, path, &fd);

                if (r >= 0)
                        r = cgroup_effective_cpus_read(fd, ret_cpus);
                if (r >= 0)
                        r = cgroup_effective_mems_read(fd, ret_mems);
                slash = strrchr(path, '/');
                if (r >= 0 || !slash || path[1] == '\0')
                        return r;
                slash[slash == path] = '\0'; /* the root keeps its slash */
        }
}

static char *parent_of(const char *cgroup) {
        const char *slash = strrchr(cgroup, '/');

        return slash > cgroup ? strndup(cgroup, (size_t)(slash - cgroup)) : strdup("/");
}

void place_input_read_allowed(Instance *i) {
        const Manager *m = i->manager;
        _cleanup_free_ char *own = NULL, *parent = NULL;

        if (i->planned.allowed_known)
                return;
        i->planned.allowed_known = true;
        /* A process outside a service is bound where it is, unless it gets a scope beside that, and
         * v1's backend gives it a place of its own: neither is held by a parent. */
        if ((!instance_is_service(i) && backend_kind(&m->host.backend) != BACKEND_SYSTEMD) ||
            !i->processes[0].cgroup || cgroup_version(&m->host.sysroot) != CGROUP_V2)
                return;
        own = groups_unit_path(i);
        parent = own ? parent_of(own) : NULL;
        if (!parent || read_cpuset(&m->host.sysroot, parent, &i->planned.allowed_cpus,
                                   &i->planned.allowed_nodes) < 0) {
                i->planned.allowed_cpus = (CpuSet){ 0 };
                i->planned.allowed_nodes = (NodeSet){ 0 };
        }
}

/* Fewer nodes than there are, and none that is kept for network cards: a program that binds itself
 * takes the first node, as haproxy does. */
static NodeSet bound_nodes(const Manager *m, const CpuSet *cpus) {
        const NodeSet homes = topology_homes(&m->host.topology);
        NodeSet nodes = topology_nodes_of(&m->host.topology, cpus);

        id_set_keep_only(&nodes, &homes);
        if (id_set_equal(&nodes, &homes) || id_set_intersects(&nodes, &m->placing.reserved))
                return (NodeSet){ 0 };
        return nodes;
}

/* What another life of this daemon did stands in the masks of the threads, where there is no cpuset
 * to tell. A process that has just started has not been bound by us. */
static bool read_masks(const Instance *i, CpuSet *ret) {
        const Manager *m = i->manager;

        if (m->host.ready || !m->host.sysroot.live || i->n_processes == 0)
                return false;
        return affinity_read_thread(i->processes[0].id.pid, ret) >= 0;
}

static bool read_unit(const Instance *i, CpuSet *ret) {
        const Manager *m = i->manager;
        _cleanup_free_ char *own = groups_unit_path(i);
        _cleanup_close_ int fd = -EBADF;

        return own && instance_is_service(i) && cgroup_version(&m->host.sysroot) == CGROUP_V2 &&
               cgroup_open(&m->host.sysroot, own, &fd) >= 0 &&
               cgroup_effective_cpus_read(fd, ret) >= 0;
}

NodeSet place_input_adopt(Instance *i) {
        const Unit *unit = i->unit ? unit_list_find(&i->manager->units, i->unit) : NULL;
        const bool v2 =
                instance_is_service(i) && cgroup_version(&i->manager->host.sysroot) == CGROUP_V2;
        CpuSet cpus;

        if (unit && unit->planned.known)
                return unit->planned.placement.nodes;
        if (v2 ? !read_unit(i, &cpus) : !read_masks(i, &cpus))
                return (NodeSet){ 0 };
        if (id_set_equal(&cpus, &i->planned.allowed_cpus))
                return (NodeSet){ 0 }; /* its slice's, not its own */
        return bound_nodes(i->manager, &cpus);
}

/* --- who there is --- */

static uint64_t need_bytes(const Instance *i) {
        uint64_t bytes = 0;

        for (size_t k = 0; i->sampling.memory_known && k < i->manager->host.topology.n_nodes; k++)
                bytes += i->sampling.by_node[k].anon_bytes;
        return bytes;
}

/* Its nodes are named: then they are not chosen among what the unit's own properties leave, but cut
 * down to it. */
static bool is_explicit(const Instance *i) {
        const Place *place = &i->policy->place;

        return (!place->count_given && !id_set_is_empty(&place->nodes)) ||
               match_instance(i->policy, i->unit, i->ports, i->n_ports);
}

void place_input_fill(Instance *i, PlacementInstance *ret) {
        Planned *p = &i->planned;

        place_input_read_allowed(i);
        *ret = (PlacementInstance){
                .name = i->name,
                .policy = i->policy,
                .unit = i->unit,
                .ports = i->ports,
                .n_ports = i->n_ports,
                .allowed_nodes = p->allowed_nodes,
                .allowed_cpus = p->allowed_cpus,
                .device_nodes = p->device_nodes,
                .need_bytes = need_bytes(i),
        };
        if (!is_explicit(i))
                record_add_own(i, &ret->allowed_cpus, &ret->allowed_nodes);
        if (!p->again)
                ret->in_force = p->known ? p->placement.nodes : place_input_adopt(i);
}

/* The place of a unit that is to be near its storage is known once it has run: before, nobody can
 * say where its data will be. */
static bool must_run_first(const Policy *policy, const Unit *u) {
        return policy->place.near == NEAR_STORAGE && !u->planned.known &&
               id_set_is_empty(&u->cpus.value) && id_set_is_empty(&policy->place.nodes) &&
               !match_instance(policy, u->name, NULL, 0);
}

static bool has_instance(const Manager *m, const char *unit) {
        for (size_t i = 0; i < m->roster.n_instances; i++)
                if (m->roster.instances[i]->unit && strcmp(m->roster.instances[i]->unit, unit) == 0)
                        return true;
        return false;
}

static bool fill_unit(const Manager *m, Unit *u, PlacementInstance *ret) {
        const char *reason;
        const Policy *policy;

        if (!u->known || !u->loaded || u->released || has_instance(m, u->name))
                return false;
        policy = known_unit_policy(&m->host.policies, u->name, u->uid_known, u->uid, &reason);
        if (!policy || must_run_first(policy, u))
                return false;
        *ret = (PlacementInstance){ .name = u->label,
                                    .policy = policy,
                                    .unit = u->name,
                                    .device_nodes = u->planned.device_nodes,
                                    .allowed_nodes = u->planned.allowed_nodes,
                                    .allowed_cpus = u->planned.allowed_cpus };
        if (u->planned.again)
                return true;
        if (u->planned.known)
                ret->in_force = u->planned.placement.nodes;
        else if (!id_set_is_empty(&u->cpus.value))
                ret->in_force = bound_nodes(m, &u->cpus.value);
        return true;
}

int place_input_collect(Manager *m, PlaceInput *ret) {
        const size_t n_max = m->roster.n_instances + m->units.n_units;
        PlaceInput in = { 0 };

        in.instances = calloc(n_max + 1, sizeof(*in.instances));
        in.entries = calloc(n_max + 1, sizeof(*in.entries));
        if (!in.instances || !in.entries) {
                place_input_done(&in);
                return -ENOMEM;
        }
        for (size_t i = 0; i < m->roster.n_instances; i++, in.n++) {
                place_input_fill(m->roster.instances[i], &in.instances[in.n]);
                in.entries[in.n].instance = m->roster.instances[i];
        }
        for (size_t i = 0; i < m->units.n_units; i++)
                if (fill_unit(m, m->units.units[i], &in.instances[in.n]))
                        in.entries[in.n++].unit = m->units.units[i];
        *ret = in;
        return 0;
}
