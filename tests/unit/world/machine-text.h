/* Machines as text, to be compared. To be included after cmocka.h and id-sets.h. */
#pragma once

#include <inttypes.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/world/topology-hwloc.h"

static inline void append_ids(Text *text, const char *what, IdView set) {
        char list[ID_SET_LIST_MAX];

        if (id_view_next(set, 0) < 0)
                return;
        assert_true(id_view_render_list(set, list, sizeof(list)) > 0);
        text_appendf(text, " %s %s", what, list);
}

/* One line a node: number, package, MiB, CPUs and where that is not all of them the first threads.
 * Then what is offline and so on. */
static inline void append_topology(Text *text, const Topology *t) {
        text_append(text, "");
        for (size_t i = 0; i < t->n_nodes; i++) {
                const Node *n = &t->nodes[i];
                const CpuSet firsts = topology_one_per_core(t, &n->cpus);

                text_appendf(text, "%u: package ", n->id);
                text_appendf(text, n->package == PACKAGE_UNKNOWN ? "?" : "%u", n->package);
                text_appendf(text, n->memory_unknown ? ", ? MiB," : ", %" PRIu64 " MiB,",
                             n->memory_bytes >> 20);
                if (n->kind != NODE_NORMAL)
                        text_appendf(text, " %s", node_kind_to_string(n->kind));
                if (n->overlaps)
                        text_append(text, " overlaps");
                append_ids(text, "cpus", ID_VIEW(&n->cpus));
                if (!id_set_equal(&n->cpus, &firsts))
                        append_ids(text, "first", ID_VIEW(&firsts));
                text_append(text, "\n");
        }
        append_ids(text, "offline", ID_VIEW(&t->offline_cpus));
        append_ids(text, "isolated", ID_VIEW(&t->isolated_cpus));
        append_ids(text, "nohz_full", ID_VIEW(&t->nohz_full_cpus));
        append_ids(text, "hidden cpus", ID_VIEW(&t->hidden_cpus));
        append_ids(text, "hidden nodes", ID_VIEW(&t->hidden_nodes));
        append_ids(text, "lost nodes", ID_VIEW(&t->lost_nodes));
        append_ids(text, "mismasked nodes", ID_VIEW(&t->mismasked_nodes));
}

static inline void append_distances(Text *text, const Topology *t) {
        for (size_t i = 0; t->distances && i < t->n_nodes * t->n_nodes; i++)
                text_appendf(text, "%u%s", t->distances[i], (i + 1) % t->n_nodes == 0 ? "\n" : " ");
}

static inline void append_devices(Text *text, const DeviceList *list) {
        text_append(text, "");
        for (size_t i = 0; i < list->n_devices; i++) {
                device_note_render(&list->devices[i], text);
                text_append(text, "\n");
        }
}

static inline void assert_topology(const Topology *t, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        append_topology(&text, t);
        assert_string_equal(text.data, expected);
}

static inline void assert_devices_are(const DeviceList *list, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        append_devices(&text, list);
        assert_string_equal(text.data, expected);
}

static inline void assert_same_machine(const Topology *a, const DeviceList *devices_a,
                                       const Topology *b, const DeviceList *devices_b) {
        _cleanup_text_ Text x = { 0 }, y = { 0 };

        append_topology(&x, a);
        append_distances(&x, a);
        append_devices(&x, devices_a);
        append_topology(&y, b);
        append_distances(&y, b);
        append_devices(&y, devices_b);
        assert_string_equal(x.data, y.data);
        for (size_t i = 0; i < a->n_nodes; i++) /* to the byte */
                assert_int_equal(a->nodes[i].memory_bytes, b->nodes[i].memory_bytes);
}

/* --- lstopo --------------------------------------------------------------------------------- */

static inline bool have_program(const char *name) {
        char command[256];

        (void)snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
        return system(command) == 0;
}

/* `program` is lstopo, or lstopo-no-graphics, whose SVG holds its labels as text. */
static inline void run_lstopo(const char *program, const char *xml, const char *drawing) {
        char command[1024];

        (void)snprintf(command, sizeof(command), "%s -f -i %s %s </dev/null", program, xml,
                       drawing);
        if (system(command) != 0)
                fail_msg("failed: %s", command);
}

/* The caller frees it. */
static inline void read_whole(const char *path, char **ret) {
        assert_int_equal(path_read_alloc(AT_FDCWD, ret, NULL, "%s", path), 0);
}
