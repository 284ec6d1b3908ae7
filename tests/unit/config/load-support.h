/* What the tests of policy loading share: files from strings, a machine of eight nodes, and one
 * way to say "exactly this message". */
#pragma once

#include "../../support/id-sets.h"
#include "../../support/test.h"

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-load.h"

#define V "version: 1\n"

/* One load and all that came of it. */
typedef struct Load {
        SourceFileList files;
        PolicySet set;
        Diagnostics errors, warnings;
        const Topology *topology; /* NULL: eight_nodes() */
        int result;
} Load;

static inline void load_done(Load *load) {
        source_file_list_done(&load->files);
        if (load->result == 0)
                policy_set_done(&load->set);
        diagnostics_done(&load->errors);
        diagnostics_done(&load->warnings);
}
#define _cleanup_load_ _cleanup_(load_done)

/* Two sockets of four nodes; node n has the CPUs 4n to 4n+3. */
static inline const Topology *eight_nodes(void) {
        static Node nodes[8];
        static Topology topology = { .nodes = nodes, .n_nodes = 8 };

        for (uint32_t i = 0; i < 8; i++) {
                nodes[i] = (Node){ .id = i, .package = i / 4, .memory_bytes = 1 << 30 };
                for (uint32_t cpu = 0; cpu < 4; cpu++)
                        id_set_add(&nodes[i].cpus, 4 * i + cpu);
        }
        /* Of node 7 one CPU is offline, so that no node is known to have it. */
        nodes[7].cpus = (CpuSet){ 0 };
        for (uint32_t cpu = 28; cpu < 31; cpu++)
                id_set_add(&nodes[7].cpus, cpu);
        topology.offline_cpus = (CpuSet){ 0 };
        id_set_add(&topology.offline_cpus, 31);
        return &topology;
}

static inline const DeviceList *eight_cards(void) {
        static Device devices[] = { { .kind = DEVICE_NET, .name = (char *)"eth0" },
                                    { .kind = DEVICE_NET, .name = (char *)"eth1" },
                                    { .kind = DEVICE_DISK, .name = (char *)"nvme0n1" } };
        static const DeviceList list = { .devices = devices, .n_devices = ELEMENTSOF(devices) };

        return &list;
}

/* The set is filled with a pattern before, so that a half-written one shows. */
static inline void load_run(Load *load) {
        PolicySet untouched;

        memset(&untouched, 0xa5, sizeof(untouched));
        memset(&load->set, 0xa5, sizeof(load->set));
        load->result =
                policy_set_parse(&load->files, load->topology ? load->topology : eight_nodes(),
                                 eight_cards(), &load->set, &load->errors, &load->warnings);
        assert_true(load->result == 0 || load->result == -EINVAL);
        assert_int_equal(load->result == 0, load->errors.n_messages == 0);
        for (size_t i = 0; i < load->errors.n_messages && i < DIAGNOSTICS_EXCERPTS_MAX; i++)
                if (load->errors.details[i].path && !load->errors.details[i].excerpt)
                        fail_msg("no excerpt: %s", load->errors.messages[i]);
        if (load->result < 0)
                assert_memory_equal(&load->set, &untouched, sizeof(untouched));
}

static inline Load load_on(const Topology *topology, const char *text) {
        Load load = { .topology = topology };

        assert_int_equal(source_file_list_add(&load.files, "a.yaml", text, strlen(text)), 0);
        load_run(&load);
        return load;
}

static inline Load load_text(const char *text) {
        return load_on(NULL, text);
}

static inline Load load_two(const char *first, const char *second) {
        Load load = { 0 };

        assert_int_equal(source_file_list_add(&load.files, "etc/a.yaml", first, strlen(first)), 0);
        assert_int_equal(source_file_list_add(&load.files, "etc/b.yaml", second, strlen(second)),
                         0);
        load_run(&load);
        return load;
}

static inline void assert_messages(const Diagnostics *diagnostics, const char *const *expected) {
        size_t n = 0;

        for (; expected[n]; n++) {
                if (n >= diagnostics->n_messages)
                        fail_msg("missing: %s", expected[n]);
                assert_string_equal(diagnostics->messages[n], expected[n]);
        }
        if (diagnostics->n_messages > n)
                fail_msg("too much: %s", diagnostics->messages[n]);
}

#define assert_errors(text, ...)                                                                   \
        do {                                                                                       \
                _cleanup_load_ Load _load = load_text(text);                                       \
                assert_messages(&_load.errors, (const char *const[]){ __VA_ARGS__, NULL });        \
        } while (0)

#define assert_warnings(load, ...)                                                                 \
        assert_messages(&(load).warnings, (const char *const[]){ __VA_ARGS__, NULL })
