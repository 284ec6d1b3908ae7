/* The planner on a machine of four sockets with instances of eight policies, none of them bound
 * yet, which is the most work. Prints the milliseconds of CPU time of the slowest of so many
 * different inputs. Nodes: a multiple of 4.
 *
 *     bench-plan NODES INSTANCES INPUTS
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tidbnumad/plan/placement.h"

enum { NODES_MOST = 64, INSTANCES_MOST = 256, POLICIES = 8, CPUS_A_NODE = 8 };

typedef struct Input {
        Node nodes[NODES_MOST];
        uint16_t distances[NODES_MOST * NODES_MOST];
        Topology topology;
        HostPolicy host;
        Policy policies[POLICIES];
        PlacementInstance instances[INSTANCES_MOST];
        char names[INSTANCES_MOST][16];
} Input;

static uint32_t next_number(uint32_t *seed, uint32_t below) {
        *seed = *seed * 1664525u + 1013904223u;
        return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

static void build_machine(Input *in, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                in->nodes[i] =
                        (Node){ .id = i, .package = i * 4 / n, .memory_bytes = UINT64_C(32) << 30 };
                for (uint32_t c = 0; c < CPUS_A_NODE; c++)
                        id_set_add(&in->nodes[i].cpus, i * CPUS_A_NODE + c);
                for (uint32_t k = 0; k < n; k++)
                        in->distances[i * n + k] = i == k ? 10 : i * 4 / n == k * 4 / n ? 12 : 28;
        }
        in->topology = (Topology){ .nodes = in->nodes, .n_nodes = n, .distances = in->distances };
        in->host.reserve.kind = RESERVE_LIST;
        id_set_add(&in->host.reserve.nodes, 0);
}

/* Half of them exclusive, some near their disks, some of two or three nodes. */
static void build_policies(Input *in, uint32_t *seed) {
        for (uint32_t i = 0; i < POLICIES; i++)
                in->policies[i] = (Policy){
                        .place = { .count = 1 + (i % 4 == 3 ? next_number(seed, 3) : 0),
                                   .count_is_set = true,
                                   .near = i % 4 == 1 ? NEAR_STORAGE : NEAR_NONE,
                                   .share = i % 2 ? SHARE_EXCLUSIVE : SHARE_SHARED,
                                   .same_package = true },
                };
}

static void build_instances(Input *in, uint32_t n, uint32_t *seed) {
        for (uint32_t i = 0; i < n; i++) {
                (void)snprintf(in->names[i], sizeof(in->names[i]), "i-%u", i);
                in->instances[i] = (PlacementInstance){
                        .name = in->names[i],
                        .policy = &in->policies[next_number(seed, POLICIES)],
                        .need_bytes = (UINT64_C(1) << 30) * next_number(seed, 16),
                };
                id_set_add(&in->instances[i].device_nodes,
                           next_number(seed, (uint32_t)in->topology.n_nodes));
        }
}

static double cpu_msec(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double measure(uint32_t nodes, uint32_t instances, uint32_t seed) {
        _cleanup_free_ Input *in = calloc(1, sizeof(*in));
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        PlacementInput input;
        double begin;

        if (!in)
                err(1, "calloc");
        build_machine(in, nodes);
        build_policies(in, &seed);
        build_instances(in, instances, &seed);
        input = (PlacementInput){ .topology = &in->topology,
                                  .host = &in->host,
                                  .instances = in->instances,
                                  .n_instances = instances };
        begin = cpu_msec();
        if (placement_plan_build(&input, &plan) < 0)
                err(1, "placement_plan_build");
        return cpu_msec() - begin;
}

int main(int argc, char *argv[]) {
        long nodes = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
        long instances = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
        long inputs = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
        double most = 0;

        if (nodes <= 0 || nodes > NODES_MOST || instances <= 0 || instances > INSTANCES_MOST ||
            inputs <= 0)
                errx(1, "usage: bench-plan NODES INSTANCES INPUTS");
        for (uint32_t seed = 1; seed <= (uint32_t)inputs; seed++) {
                double msec = measure((uint32_t)nodes, (uint32_t)instances, seed);

                most = msec > most ? msec : most;
        }
        (void)printf("%.2f\n", most);
        return 0;
}
