/* Exported machines: what is read back, and what lstopo draws of them. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "fake-machine.h"
#include "machine-text.h"
#include "tidbnumad/world/topology-load.h"

typedef struct Files {
        FakeTree tree;
        char xml[64];
        char drawing[64];
} Files;

static void files_init(Files *files, const char *drawing) {
        fake_init(&files->tree);
        (void)snprintf(files->xml, sizeof(files->xml), "%s/out.xml", files->tree.path);
        (void)snprintf(files->drawing, sizeof(files->drawing), "%s/%s", files->tree.path, drawing);
}

static void files_done(Files *files) {
        fake_done(&files->tree);
}
#define _cleanup_files_ _cleanup_(files_done)

#define FILES_TEST(test, drawing)                                                                  \
        TEST_AFTER(test, Files, files, files_init(files, drawing), files_done)

static void export(const char *synthetic, const TopologyMark *marks, size_t n, const char *path) {
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(topology_export(&(TopologySource){ .synthetic = synthetic }, NULL, marks,
                                         n, path, &error),
                         0);
        assert_null(error.sentence);
}

/* --- read back ------------------------------------------------------------------------------ */

static void add_device(DeviceList *list, DeviceKind kind, const char *name, int32_t node) {
        Device device = { .kind = kind, .name = strdup(name), .node = node };

        device.nvme = kind == DEVICE_DISK;
        device.driver = strdup("a \"b\";\n\\c\x01<");
        assert_int_equal(device_list_add(list, &device), 0);
}

FILES_TEST(devices_that_hwloc_does_not_know, "") {
        _cleanup_topology_ Topology t = { 0 }, again = { 0 };
        _cleanup_device_list_ DeviceList devices = { 0 }, read = { 0 };

        assert_int_equal(topology_load_synthetic("package:2 numa:2 core:2 pu:2", &t, NULL), 0);
        add_device(&devices, DEVICE_NET, "bond0", 3);
        add_device(&devices, DEVICE_DISK, "nvme0n1", DEVICE_NODE_UNKNOWN);
        assert_int_equal(
                topology_export(&(TopologySource){ .synthetic = "package:2 numa:2 core:2 pu:2" },
                                &devices, NULL, 0, files->xml, NULL),
                0);
        assert_int_equal(topology_load_xml(files->xml, &again, &read, NULL), 0);
        assert_same_machine(&t, &devices, &again, &read);
}

/* What hwloc does not know: empty sockets, isolation, whose the CPUs near a memory-only node are.
 */
TEST(what_only_sys_tells) {
        _cleanup_topology_ Topology t = { 0 }, again = { 0 };
        _cleanup_device_list_ DeviceList none = { 0 }, read = { 0 };
        _cleanup_free_ char *text = NULL;
        _cleanup_files_ Files files;

        fake_machine(&files.tree);
        (void)snprintf(files.xml, sizeof(files.xml), "%s/out.xml", files.tree.path);
        fake_write(&files.tree, CPUS "possible", "0-63\n");
        fake_write(&files.tree, CPUS "present", "0-7\n");
        fake_write(&files.tree, CPUS "isolated", "1\n");
        fake_write(&files.tree, CPUS "nohz_full", "2\n");
        assert_int_equal(topology_load(&files.tree.sysroot, &t), 0);
        assert_topology(&t, "0: package 0, 0 MiB, cpus 0-1\n"
                            "2: package 1, 1 MiB, cpus 2-3\n"
                            "5: package 0, 3 MiB,\n"
                            " offline 4-7 isolated 1 nohz_full 2");
        assert_int_equal(topology_export(&(TopologySource){ .sysroot = &files.tree.sysroot }, &none,
                                         NULL, 0, files.xml, NULL),
                         0);
        assert_int_equal(topology_load_xml(files.xml, &again, &read, NULL), 0);
        assert_same_machine(&t, &none, &again, &read);
        read_whole(files.xml, &text);
        assert_non_null(strstr(text, "name=\"TidbnumadHasCPU\" value=\"0,2\""));
}

/* Nodes that contradict each other, a socket that is not known, GPU memory, and a node that is
 * lost. */
TEST(what_cannot_be_trusted) {
        _cleanup_topology_ Topology t = { 0 }, again = { 0 };
        _cleanup_device_list_ DeviceList none = { 0 }, read = { 0 };
        _cleanup_files_ Files files;

        fake_machine(&files.tree);
        (void)snprintf(files.xml, sizeof(files.xml), "%s/out.xml", files.tree.path);
        fake_write(&files.tree, NODES "online", "0,2,5,7\n");
        fake_node(&files.tree, 2, "e\n", "21 10 28\n", 2000);
        fake_remove(&files.tree, NODES "node0/meminfo");
        fake_write(&files.tree, CPUS "cpu0/topology/physical_package_id", "-1\n");
        fake_write(&files.tree, "proc/driver/nvidia/gpus/0000:04:00.0/numa_status", "Node: 5\n");
        assert_int_equal(topology_load(&files.tree.sysroot, &t), 0);
        assert_topology(&t, "0: package ?, ? MiB, cpus 0-1\n"
                            "2: package 1, 1 MiB, overlaps cpus 2-3\n"
                            "5: package ?, 3 MiB, gpu\n"
                            " lost nodes 7 mismasked nodes 2");
        assert_int_equal(topology_export(&(TopologySource){ .sysroot = &files.tree.sysroot }, &none,
                                         NULL, 0, files.xml, NULL),
                         0);
        assert_int_equal(topology_load_xml(files.xml, &again, &read, NULL), 0);
        assert_same_machine(&t, &none, &again, &read);
}

static size_t count(const char *text, const char *part) {
        size_t n = 0;

        for (; (text = strstr(text, part)); text++)
                n++;
        return n;
}

/* Of an XML with instances and devices: those of now, not those of then. */
FILES_TEST(an_export_of_an_export, "") {
        const TopologyMark before = { "tidb-4000", "tidbnumad:tidb", node_set("1") };
        const TopologyMark after = { "tikv-20160", "tidbnumad:tikv", node_set("0") };
        _cleanup_device_list_ DeviceList devices = { 0 }, fewer = { 0 }, read = { 0 };
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_free_ char *text = NULL;
        TopologySource source = { .synthetic = "numa:2 pu:2" };

        add_device(&devices, DEVICE_NET, "bond0", 1);
        add_device(&fewer, DEVICE_NET, "bond1", 0);
        assert_int_equal(topology_export(&source, &devices, &before, 1, files->xml, NULL), 0);
        source = (TopologySource){ .xml = files->xml };
        assert_int_equal(topology_export(&source, &fewer, &after, 1, files->xml, NULL), 0);
        read_whole(files->xml, &text);
        assert_int_equal(count(text, "tidb-4000"), 0);
        assert_int_equal(count(text, "tikv-20160 (node 0)"), 1);
        assert_int_equal(topology_load_xml(files->xml, &t, &read, NULL), 0);
        assert_int_equal(read.n_devices, 1);
        assert_string_equal(read.devices[0].name, "bond1");
        assert_int_equal(topology_export(&source, &(DeviceList){ 0 }, NULL, 0, files->xml, NULL),
                         0);
        device_list_done(&read);
        topology_done(&t);
        assert_int_equal(topology_load_xml(files->xml, &t, &read, NULL), 0);
        assert_int_equal(read.n_devices, 0);
        assert_int_equal(t.n_nodes, 2);
}

/* Somebody edited the file. */
FILES_TEST(notes_that_are_damaged, "") {
        _cleanup_device_list_ DeviceList devices = { 0 }, read = { 0 };
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_free_ char *text = NULL;
        _cleanup_error_ Error error = { 0 };

        add_device(&devices, DEVICE_NET, "bond0", 1);
        assert_int_equal(topology_export(&(TopologySource){ .synthetic = "pu:2" }, &devices, NULL,
                                         0, files->xml, NULL),
                         0);
        read_whole(files->xml, &text);
        memcpy(strstr(text, "node=1"), "node=x", 6);
        fake_write(&files->tree, "out.xml", text);
        assert_int_equal(topology_load_xml(files->xml, &t, &read, &error), -EINVAL);
        assert_non_null(strstr(error.sentence, "damaged notes on devices"));
        assert_int_equal(topology_load_xml(files->xml, &t, NULL, NULL), 0);
}

/* --- marks ---------------------------------------------------------------------------------- */

static size_t indent_of(const char *line) {
        return strspn(line, " ");
}

/* The type of the object that the mark hangs below: by hwloc's indentation, the last line before it
 * that stands further left. */
static void assert_below(const char *xml, const char *name, const char *type) {
        _cleanup_free_ char *text = NULL;
        char *mark, *above, expected[64];

        read_whole(xml, &text);
        mark = strstr(text, name);
        assert_non_null(mark);
        while (mark[-1] != '\n')
                mark--;
        for (above = mark; above > text && (above == mark || indent_of(above) >= indent_of(mark));)
                for (above--; above > text && above[-1] != '\n';)
                        above--;
        (void)snprintf(expected, sizeof(expected), "<object type=\"%s\"", type);
        assert_memory_equal(above + indent_of(above), expected, strlen(expected));
}

FILES_TEST(where_marks_hang, "") {
        const TopologyMark marks[] = {
                { "tidb-4000", "tidbnumad:tidb", node_set("1") },
                { "tikv-20160", "tidbnumad:tikv", node_set("0-1") },
                { "java", "tidbnumad:other", node_set("1-2") },
                { "gone", "tidbnumad:other", node_set("1,99") },
                { "nowhere", "tidbnumad:other", node_set("") },
        };

        export("package:2 numa:2 core:8 pu:2", marks, ELEMENTSOF(marks), files->xml);
        assert_below(files->xml, "tidb-4000 (node 1)", "NUMANode");
        assert_below(files->xml, "tikv-20160 (nodes 0-1)", "Package");
        assert_below(files->xml, "java (nodes 1-2)", "Machine");
        assert_below(files->xml, "gone (nodes 1,99)", "Machine");
        assert_below(files->xml, "nowhere (nodes )", "Machine");
        /* What lstopo would fold away. */
        export("package:2 numa:8 core:8 pu:2", marks, 1, files->xml);
        assert_below(files->xml, "tidb-4000 (node 1)", "Package");
        export("package:8 numa:2 core:8 pu:2", marks, 1, files->xml);
        assert_below(files->xml, "tidb-4000 (node 1)", "Machine");
}

/* --- drawing -------------------------------------------------------------------------------- */

static void skip_without(const char *program) {
        if (have_program(program))
                return;
        skip_because("%s is not installed (Debian package hwloc)", program);
}

static void assert_drawn(const char *synthetic, unsigned n_nodes) {
        TopologyMark marks[64];
        char names[64][32];
        _cleanup_free_ char *svg = NULL;
        _cleanup_files_ Files files;

        files_init(&files, "out.svg");
        for (unsigned i = 0; i < n_nodes; i++) {
                (void)snprintf(names[i], sizeof(names[i]), "tikv-%u", 20160 + i);
                marks[i] = (TopologyMark){ .name = names[i], .type = "tidbnumad:tikv" };
                id_set_add(&marks[i].nodes, i);
        }
        export(synthetic, marks, n_nodes, files.xml);
        run_lstopo("lstopo-no-graphics", files.xml, files.drawing);
        read_whole(files.drawing, &svg);
        for (unsigned i = 0; i < n_nodes; i++) {
                assert_int_equal(count(svg, fmt("%s (node %u)", names[i], i)), 1);
        }
}

TEST(svg_shows_every_instance) {
        skip_without("lstopo-no-graphics");
        assert_drawn("core:4 pu:2", 1);
        assert_drawn("package:2 core:4 pu:2", 1);
        assert_drawn("package:2 numa:4 core:8 pu:2", 8);
        assert_drawn("package:2 numa:8 core:8 pu:1", 16);
        assert_drawn("numa:64 core:4 pu:2", 64);
        assert_drawn("package:16 numa:4 core:2 pu:2", 64);
}

/* Several on one node, a name that XML would take for its own, and a PNG. */
TEST(png) {
        static const unsigned char signature[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
        const TopologyMark marks[] = {
                { "pd-2379", "tidbnumad:pd", node_set("0") },
                { "<tidb> & \"4000\"", "tidbnumad:tidb", node_set("0") },
                { "tikv-20160", "tidbnumad:tikv", node_set("2-3") },
        };
        _cleanup_free_ char *svg = NULL, *png = NULL;
        _cleanup_files_ Files files;
        char path[64];

        skip_without("lstopo-no-graphics");
        skip_without("lstopo");
        files_init(&files, "out.png");
        export("package:2 numa:2 core:2 pu:2", marks, ELEMENTSOF(marks), files.xml);
        run_lstopo("lstopo", files.xml, files.drawing);
        read_whole(files.drawing, &png);
        assert_memory_equal(png, signature, sizeof(signature));
        (void)snprintf(path, sizeof(path), "%s/out.svg", files.tree.path);
        run_lstopo("lstopo-no-graphics", files.xml, path);
        read_whole(path, &svg);
        assert_int_equal(count(svg, "pd-2379 (node 0)"), 1);
        assert_int_equal(count(svg, "tikv-20160 (nodes 2-3)"), 1);
        assert_int_equal(count(svg, "4000"), 1);
}

/* --- the file ------------------------------------------------------------------------------- */

static void assert_not_written(const TopologySource *source, const char *path, int code,
                               const char *part) {
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(topology_export(source, NULL, NULL, 0, path, &error), code);
        assert_non_null(error.sentence);
        if (!strstr(error.sentence, part))
                fail_msg("\"%s\" lacks \"%s\"", error.sentence, part);
}

FILES_TEST(where_it_cannot_write, "") {
        const TopologySource machine = { .synthetic = "pu:2" }, none = { .synthetic = "x" };
        struct stat st;
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/no/out.xml", files->tree.path);
        assert_not_written(&machine, path, -ENOENT, "cannot write");
        assert_not_written(&machine, path, -ENOENT, path);
        assert_not_written(&machine, files->tree.path, -EISDIR, "Is a directory");
        (void)snprintf(path, sizeof(path), "%s/fifo", files->tree.path);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_not_written(&machine, path, -ENOTSUP, "cannot write");
        assert_int_equal(stat(path, &st), 0);
        assert_true(S_ISFIFO(st.st_mode));
        assert_not_written(&none, files->xml, -EINVAL, "hwloc rejects the machine");
        assert_int_equal(access(files->xml, F_OK), -1);
}

/* As a whole, through a link, and with nothing left behind. */
FILES_TEST(replaces_a_file, "") {
        _cleanup_free_ char *text = NULL;
        struct stat before, after;
        char path[64];

        fake_write(&files->tree, "out.xml", "old");
        fake_link(&files->tree, "link.xml", "out.xml");
        assert_int_equal(stat(files->xml, &before), 0);
        (void)snprintf(path, sizeof(path), "%s/link.xml", files->tree.path);
        export("pu:2", NULL, 0, path);
        assert_int_equal(lstat(path, &after), 0);
        assert_true(S_ISLNK(after.st_mode));
        assert_int_equal(stat(files->xml, &after), 0);
        assert_int_not_equal(before.st_ino, after.st_ino);
        assert_int_equal(after.st_mode & 07777, 0644);
        read_whole(files->xml, &text);
        assert_non_null(strstr(text, "</topology>"));
        assert_int_equal(faccessat(files->tree.fd, ".out.xml.new", F_OK, 0), -1);
}
