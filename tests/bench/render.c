/* Milliseconds for one rendering of metrics.prom and of status.json with 64 instances on 16 nodes,
 * as "METRICS-MS BYTES STATUS-MS BYTES"; with an argument the metrics themselves. */
#include <err.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/publish/metrics.h"
#include "tidbnumad/publish/status.h"

enum { INSTANCES = 64, NODES = 16, CPUS_PER_NODE = 16, ROUNDS = 100 };

typedef struct Scene {
        Node nodes[NODES];
        uint16_t distances[NODES * NODES];
        Topology topology;
        InstanceMemory memory[INSTANCES][NODES];
        char names[INSTANCES][32];
        InstanceInfo instances[INSTANCES];
        PolicyInfo policy;
        EventInfo event;
        Snapshot snapshot;
} Scene;

static void fill_topology(Scene *scene) {
        for (uint32_t n = 0; n < NODES; n++) {
                scene->nodes[n] = (Node){ .id = n, .package = n / 8, .memory_bytes = 1ULL << 36 };
                for (uint32_t c = 0; c < CPUS_PER_NODE; c++)
                        id_set_add(&scene->nodes[n].cpus, n * CPUS_PER_NODE + c);
        }
        for (unsigned i = 0; i < NODES * NODES; i++)
                scene->distances[i] = i % (NODES + 1) == 0 ? 10 : 32;
        scene->topology = (Topology){ .nodes = scene->nodes,
                                      .n_nodes = NODES,
                                      .distances = scene->distances };
}

static void fill_instance(Scene *scene, unsigned i) {
        InstanceInfo *instance = &scene->instances[i];

        (void)snprintf(scene->names[i], sizeof(scene->names[i]), "tikv-%u", 20160 + i);
        *instance = (InstanceInfo){
                .name = scene->names[i],
                .policy = "tikv",
                .unit = (char *)"tikv-20160.service",
                .exe = (char *)"/srv/tidb-deploy/tikv-20160/bin/tikv-server",
                .backend = "systemd",
                .pid = (pid_t)(1000 + i),
                .n_processes = 1,
                .state = INSTANCE_BOUND,
                .reason = "",
                .cpu_bound = true,
                .memory_bound = true,
                .n_threads = 500,
                .memory_by_node = scene->memory[i],
                .n_memory = NODES,
                .remote_ratio = 0.015625,
                .bind_seconds = 0.5,
        };
        id_set_add(&instance->nodes, i % NODES);
        instance->cpus = scene->nodes[i % NODES].cpus;
        for (unsigned n = 0; n < NODES; n++)
                scene->memory[i][n] = (InstanceMemory){ .node = n,
                                                        .anon_bytes = 123456789ULL * (i + n),
                                                        .file_bytes = 4096 };
}

static void fill(Scene *scene) {
        fill_topology(scene);
        for (unsigned i = 0; i < INSTANCES; i++)
                fill_instance(scene, i);
        scene->policy = (PolicyInfo){ .name = "tikv", .bind_attempts = 64 };
        scene->event = (EventInfo){ .source = "connector", .received = 123456 };
        scene->snapshot = (Snapshot){
                .version = "0",
                .hwloc_version = "2",
                .systemd_version = "252",
                .time_seconds = 1780000000.5,
                .ready = true,
                .policy_load_success = true,
                .sample_interval_seconds = 10,
                .topology = &scene->topology,
                .instances = scene->instances,
                .n_instances = INSTANCES,
                .policies = &scene->policy,
                .n_policies = 1,
                .events = &scene->event,
                .n_events = 1,
        };
}

static double now_ms(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double time_metrics(const Snapshot *snapshot, size_t *ret_bytes) {
        _cleanup_text_ Text text = { 0 };
        double begin = now_ms();

        for (unsigned i = 0; i < ROUNDS; i++)
                if (metrics_render(snapshot, &text) < 0)
                        errx(1, "the metrics cannot be rendered");
        *ret_bytes = text.length;
        return (now_ms() - begin) / ROUNDS;
}

static double time_status(const Snapshot *snapshot, size_t *ret_bytes) {
        _cleanup_text_ Text text = { 0 };
        double begin = now_ms();

        for (unsigned i = 0; i < ROUNDS; i++)
                if (status_render(snapshot, &text) < 0)
                        errx(1, "the status cannot be rendered");
        *ret_bytes = text.length;
        return (now_ms() - begin) / ROUNDS;
}

static int print_metrics(const Snapshot *snapshot) {
        _cleanup_text_ Text text = { 0 };

        if (metrics_render(snapshot, &text) < 0)
                errx(1, "the metrics cannot be rendered");
        (void)fputs(text.data, stdout);
        return 0;
}

int main(int argc, char **argv) {
        static Scene scene;
        size_t metrics_bytes, status_bytes;
        double metrics, status;

        (void)argv;
        fill(&scene);
        if (argc > 1)
                return print_metrics(&scene.snapshot);
        metrics = time_metrics(&scene.snapshot, &metrics_bytes);
        status = time_status(&scene.snapshot, &status_bytes);
        (void)printf("%.3f %zu %.3f %zu\n", metrics, metrics_bytes, status, status_bytes);
        return 0;
}
