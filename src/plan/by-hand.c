#include "tidbnumad/plan/by-hand.h"

static CpuSet cpus_on_offer(const ByHandInput *in) {
        CpuSet cpus = topology_cpus(in->topology);

        if (!id_set_is_empty(in->above_cpus))
                id_set_intersect(&cpus, in->above_cpus);
        return cpus;
}

/* Is it all that it could have? */
static bool is_whole(const ByHandInput *in, const CpuSet *cpus, const CpuSet *offer) {
        const CpuSet without_asking = id_set_minus(offer, &in->topology->isolated_cpus);

        return id_set_is_empty(cpus) || id_set_is_subset(&without_asking, cpus);
}

/* That of a daemon is no hand. */
static bool is_unit_narrow(const ByHandInput *in) {
        const CpuSet offer = cpus_on_offer(in);

        return !in->bound_by_daemon && !id_set_equal(in->unit_cpus, in->place_cpus) &&
               !is_whole(in, in->unit_cpus, &offer);
}

static bool are_threads_narrow(const ByHandInput *in) {
        const bool in_unit = !id_set_is_empty(in->unit_cpus);
        const CpuSet offer = in_unit ? *in->unit_cpus : cpus_on_offer(in);

        /* Without a cpuset the daemon sets the threads themselves. */
        if (in->bound_by_daemon && !in_unit)
                return false;
        return !id_set_equal(in->thread_cpus, in->place_cpus) &&
               !is_whole(in, in->thread_cpus, &offer);
}

static bool are_mems_narrow(const ByHandInput *in) {
        NodeSet offer = topology_memory_nodes(in->topology), place = offer;

        if (!id_set_is_empty(in->above_nodes))
                id_set_intersect(&offer, in->above_nodes);
        id_set_intersect(&place, in->place_nodes);
        return !in->bound_by_daemon && !id_set_is_empty(in->mems) &&
               !id_set_equal(in->mems, &place) && !id_set_is_subset(&offer, in->mems);
}

ByHand by_hand_find(const ByHandInput *in) {
        ByHand found = { 0 };

        if (is_unit_narrow(in))
                found.cpuset_cpus = *in->unit_cpus;
        if (are_mems_narrow(in))
                found.cpuset_nodes = *in->mems;
        if (are_threads_narrow(in)) {
                found.thread_cpus = *in->thread_cpus;
                found.start = in->cpu_source;
        }
        return found;
}

CpuSet by_hand_left(const ByHand *found, const CpuSet *cpus) {
        CpuSet left = *cpus;

        if (!id_set_is_empty(&found->cpuset_cpus))
                id_set_intersect(&left, &found->cpuset_cpus);
        if (!id_set_is_empty(&found->thread_cpus))
                id_set_intersect(&left, &found->thread_cpus);
        return id_set_is_empty(&left) ? *cpus : left;
}
