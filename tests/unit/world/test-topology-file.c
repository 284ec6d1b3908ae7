/* Machines from XML and from descriptions, and what is said of those that hwloc does not take. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "machine-text.h"
#include "tidbnumad/world/topology-load.h"

static void assert_synthetic(const char *description, const char *expected) {
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(topology_load_synthetic(description, &t, &error), 0);
        assert_null(error.sentence);
        assert_null(t.distances);
        assert_topology(&t, expected);
}

/* Where the description says nothing of memory, hwloc invents 1 GiB a node. */
TEST(synthetic) {
        assert_synthetic("package:2 numa:2 core:2 pu:2",
                         "0: package 0, ? MiB, cpus 0-3 first 0,2\n"
                         "1: package 0, ? MiB, cpus 4-7 first 4,6\n"
                         "2: package 1, ? MiB, cpus 8-11 first 8,10\n"
                         "3: package 1, ? MiB, cpus 12-15 first 12,14\n");
        assert_synthetic("core:4 pu:1", "0: package ?, ? MiB, cpus 0-3\n");
        assert_synthetic("numa:2(memory=4GiB) package:2 pu:1",
                         "0: package ?, 4096 MiB, cpus 0-1\n"
                         "1: package ?, 4096 MiB, cpus 2-3\n");
        /* Memory beside the nodes that have the CPUs. */
        assert_synthetic("package:2 [numa(memory=2GiB)] [numa(memory=1GiB)] pu:2",
                         "0: package 0, 2048 MiB, cpus 0-1\n"
                         "1: package 0, 1024 MiB,\n"
                         "2: package 1, 2048 MiB, cpus 2-3\n"
                         "3: package 1, 1024 MiB,\n");
}

TEST(synthetic_with_memory_at_two_levels) {
        assert_synthetic("package:1 [numa(memory=8GiB)] group:2 [numa(memory=2GiB)] pu:2",
                         "0: package 0, 2048 MiB, cpus 0-1\n"
                         "1: package 0, 2048 MiB, cpus 2-3\n"
                         "2: package 0, 8192 MiB,\n");
}

TEST(numbers_in_brackets) {
        _cleanup_topology_ Topology t = { 0 };

        assert_synthetic("package:2(indexes=7,3) pu:1", "0: package ?, ? MiB, cpus 0-1\n");
        assert_int_equal(topology_load_synthetic("pu:1024(indexes=2*512:512*2)", &t, NULL), 0);
        assert_ids(topology_cpus(&t), "0-1023");
}

TEST(synthetic_of_64_nodes) {
        _cleanup_topology_ Topology t = { 0 };

        assert_int_equal(topology_load_synthetic("package:8 numa:8 core:4 pu:2", &t, NULL), 0);
        assert_int_equal(t.n_nodes, 64);
        assert_int_equal(t.nodes[63].package, 7);
        assert_ids(t.nodes[63].cpus, "504-511");
        assert_ids(topology_cpus(&t), "0-511");
}

static void assert_refused(const char *description, const char *part) {
        Topology t = { .n_nodes = 7 };
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(topology_load_synthetic(description, &t, NULL), -EINVAL);
        assert_int_equal(topology_load_synthetic(description, &t, &error), -EINVAL);
        assert_non_null(error.sentence);
        if (!strstr(error.sentence, part))
                fail_msg("\"%s\" lacks \"%s\"", error.sentence, part);
        assert_null(strchr(error.sentence, '\n'));
        assert_int_equal(t.n_nodes, 7);
}

TEST(synthetic_that_is_none) {
        assert_refused("package:2 nmua:4 pu:2",
                       "hwloc rejects the machine \"package:2 nmua:4 pu:2\": ");
        assert_refused("package:2 nmua:4 pu:2", "at 'nmua:4 pu:2'; expected levels");
        assert_refused("", "hwloc rejects the machine \"\"");
        assert_refused("package:2", "expected levels");
        assert_refused("package:0 pu:1", "0 pu:1");
        assert_refused("package:100000 core:100000 pu:1", "too many CPUs, expected at most 8192");
        assert_refused("8193", "too many CPUs");
        assert_refused("package:0x10000 pu:2", "too many CPUs");
        assert_refused("package:18446744073709551615 pu:2", "too many CPUs");
        assert_refused("numa:2048 pu:1", "too many nodes, expected at most 1024");
}

/* --- XML ------------------------------------------------------------------------------------ */

static void open_object(Text *xml, const char *head, unsigned cpus, unsigned nodes) {
        text_appendf(xml,
                     "<object %s cpuset=\"0x%08x\" complete_cpuset=\"0x%08x\" "
                     "nodeset=\"0x%08x\" complete_nodeset=\"0x%08x\" gp_index=\"%zu\">\n",
                     head, cpus, cpus, nodes, nodes, xml->length + 1);
}

static void close_object(Text *xml) {
        text_append(xml, "</object>\n");
}

static void add_object(Text *xml, const char *head, unsigned cpus, unsigned nodes) {
        open_object(xml, head, cpus, nodes);
        close_object(xml);
}

/* `type`: 0 is a block device, 2 a network card, 1 a graphics card. */
static void add_device(Text *xml, const char *name, unsigned type, const char *subtype) {
        text_appendf(xml,
                     "<object type=\"OSDev\" gp_index=\"%zu\" name=\"%s\"%s osdev_type=\"%u\"/>\n",
                     xml->length + 1, name, subtype, type);
}

static void open_pci(Text *xml, const char *address) {
        text_appendf(xml,
                     "<object type=\"PCIDev\" gp_index=\"%zu\" pci_busid=\"%s\" "
                     "pci_type=\"0200 [8086:10fb] [8086:0003] 01\" pci_link_speed=\"0\">\n",
                     xml->length + 1, address);
}

#define NODE "type=\"NUMANode\" local_memory=\"1073741824\" os_index="
#define NVM " subtype=\"NVM\""

/* In the first package two nodes, for two kinds of memory, and some devices. */
static void add_first_package(Text *xml, const char *subtype_0, const char *subtype_8) {
        char head[128];

        open_object(xml, "type=\"Package\" os_index=\"0\"", 0x3, 0x101);
        (void)snprintf(head, sizeof(head), NODE "\"0\"%s", subtype_0);
        add_object(xml, head, 0x3, 0x1);
        (void)snprintf(head, sizeof(head), NODE "\"8\"%s", subtype_8);
        add_object(xml, head, 0x3, 0x100);
        add_object(xml, "type=\"PU\" os_index=\"0\"", 0x1, 0x101);
        add_object(xml, "type=\"PU\" os_index=\"1\"", 0x2, 0x101);
        open_pci(xml, "0000:3b:00.0");
        add_device(xml, "eth0", 2, "");
        close_object(xml);
        open_pci(xml, "0000:3c:00.0");
        add_device(xml, "nvme0n1", 0, " subtype=\"Disk\"");
        close_object(xml);
        add_device(xml, "pmem0", 0, NVM);
        close_object(xml);
}

static void add_second_package(Text *xml) {
        open_object(xml, "type=\"Package\" os_index=\"1\"", 0xc, 0x10);
        add_object(xml, NODE "\"4\"", 0xc, 0x10);
        add_object(xml, "type=\"PU\" os_index=\"2\"", 0x4, 0x10);
        add_object(xml, "type=\"PU\" os_index=\"3\"", 0x8, 0x10);
        close_object(xml);
}

/* As lstopo writes it; `info` is on the machine. */
static void build_foreign(Text *xml, const char *info, const char *subtype_0,
                          const char *subtype_8) {
        text_append(xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                         "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n");
        open_object(xml,
                    "type=\"Machine\" os_index=\"0\" allowed_cpuset=\"0x0000000f\" "
                    "allowed_nodeset=\"0x00000111\"",
                    0xf, 0x111);
        text_append(xml, info);
        add_first_package(xml, subtype_0, subtype_8);
        add_second_package(xml);
        open_pci(xml, "0000:00:1f.2");
        add_device(xml, "sda", 0, "");
        add_device(xml, "sr0", 0, "");
        close_object(xml);
        open_pci(xml, "0000:01:00.0");
        add_device(xml, "card0", 1, "");
        close_object(xml);
        close_object(xml);
        text_append(xml, "</topology>\n");
}

FAKE_TEST(xml_of_others) {
        _cleanup_text_ Text xml = { 0 };
        _cleanup_topology_ Topology t = { 0 };
        _cleanup_device_list_ DeviceList devices = { 0 };
        _cleanup_error_ Error error = { 0 };
        char path[64];

        build_foreign(&xml, "", "", NVM);
        fake_write(tree, "a.xml", xml.data);
        (void)snprintf(path, sizeof(path), "%s/a.xml", tree->path);
        assert_int_equal(topology_load_xml(path, &t, &devices, &error), 0);
        assert_topology(&t, "0: package 0, 1024 MiB, cpus 0-1\n"
                            "4: package 1, 1024 MiB, cpus 2-3\n"
                            "8: package 0, 1024 MiB, nvm\n");
        assert_devices_are(&devices, "net eth0 node=0 pci=0000:3b:00.0\n"
                                     "disk nvme0n1 node=0 pci=0000:3c:00.0 nvme\n"
                                     "disk sda pci=0000:00:1f.2\n");
        topology_done(&t);
        assert_int_equal(topology_load_xml(path, &t, NULL, NULL), 0);
}

/* Of two nodes with the same CPUs near them the one of plain memory has them, not the first. */
FAKE_TEST(xml_with_special_memory_first) {
        _cleanup_text_ Text xml = { 0 };
        _cleanup_topology_ Topology t = { 0 };
        char path[64];

        build_foreign(&xml, "", NVM, "");
        fake_write(tree, "a.xml", xml.data);
        (void)snprintf(path, sizeof(path), "%s/a.xml", tree->path);
        assert_int_equal(topology_load_xml(path, &t, NULL, NULL), 0);
        assert_topology(&t, "0: package 0, 1024 MiB, nvm\n"
                            "4: package 1, 1024 MiB, cpus 2-3\n"
                            "8: package 0, 1024 MiB, cpus 0-1\n");
        topology_done(&t);
        /* Unless it is told whose they are. */
        text_reset(&xml);
        build_foreign(&xml, "<info name=\"TidbnumadHasCPU\" value=\"0,4\"/>\n", NVM, "");
        fake_write(tree, "a.xml", xml.data);
        assert_int_equal(topology_load_xml(path, &t, NULL, NULL), 0);
        assert_topology(&t, "0: package 0, 1024 MiB, nvm cpus 0-1\n"
                            "4: package 1, 1024 MiB, cpus 2-3\n"
                            "8: package 0, 1024 MiB,\n");
}

static void assert_no_xml(const FakeTree *tree, const char *text, int code, const char *part) {
        _cleanup_error_ Error error = { 0 };
        char path[64];
        DeviceList devices = { .allocated = 7 };
        Topology t = { .n_nodes = 7 };

        if (text)
                fake_write(tree, "b.xml", text);
        (void)snprintf(path, sizeof(path), "%s/b.xml", tree->path);
        assert_int_equal(topology_load_xml(path, &t, &devices, &error), code);
        assert_non_null(error.sentence);
        assert_non_null(strstr(error.sentence, path));
        if (!strstr(error.sentence, part))
                fail_msg("\"%s\" lacks \"%s\"", error.sentence, part);
        assert_int_equal(t.n_nodes, 7);
        assert_int_equal(devices.allocated, 7);
}

FAKE_TEST(xml_that_is_none) {
        _cleanup_text_ Text half = { 0 };

        assert_no_xml(tree, NULL, -ENOENT, "No such file");
        assert_no_xml(tree, "", -EINVAL, "hwloc cannot read");
        assert_no_xml(tree, "rubbish\n", -EINVAL, "expected XML from");
        assert_no_xml(tree, "<?xml version=\"1.0\"?><svg/>\n", -EINVAL, "expected XML from");
        build_foreign(&half, "", "", NVM);
        half.data[half.length / 2] = '\0';
        assert_no_xml(tree, half.data, -EINVAL, "expected XML from");
        fake_remove(tree, "b.xml");
        fake_mkdir(tree, "b.xml");
        assert_no_xml(tree, NULL, -EISDIR, "Is a directory");
}

/* --- the environment ------------------------------------------------------------------------ */

/* Whoever has hwloc set up for another use: all of it would make another machine. */
LIVE_TEST(variables_of_hwloc) {
        static const char *const variables[][2] = {
                { "HWLOC_COMPONENTS", "xml,stop" }, { "HWLOC_SYNTHETIC", "3" },
                { "HWLOC_XMLFILE", "/none" },       { "HWLOC_FSROOT", "/none" },
                { "HWLOC_THISSYSTEM", "0" },        { "HWLOC_", "" },
        };
        CpuSet cpus, cpus_again;
        _cleanup_topology_ Topology synthetic = { 0 }, live = { 0 }, again = { 0 };

        assert_int_equal(topology_load(sysroot, &live), 0);
        for (size_t i = 0; i < ELEMENTSOF(variables); i++)
                assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
        assert_int_equal(topology_load(sysroot, &again), 0);
        assert_int_equal(topology_load_synthetic("numa:2 pu:2", &synthetic, NULL), 0);
        assert_int_equal(synthetic.n_nodes, 2);
        cpus = topology_cpus(&live);
        cpus_again = topology_cpus(&again);
        assert_true(id_set_equal(&cpus, &cpus_again));
        for (size_t i = 0; i < ELEMENTSOF(variables); i++)
                assert_null(getenv(variables[i][0]));
        assert_null(getenv("HWLOC_SYNTHETIC_VERBOSE"));
}

/* What hwloc says is kept from the terminal, what others say afterwards is not. */
TEST(standard_error_is_given_back) {
        int saved = dup(STDERR_FILENO), pipes[2];
        Topology t = { 0 };
        char text[64];

        assert_int_equal(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
        assert_true(dup2(pipes[1], STDERR_FILENO) >= 0);
        assert_int_equal(topology_load_synthetic("nmua:2", &t, NULL), -EINVAL);
        assert_int_equal(write(STDERR_FILENO, "x", 1), 1);
        assert_true(dup2(saved, STDERR_FILENO) >= 0);
        assert_int_equal(read(pipes[0], text, sizeof(text)), 1);
        assert_int_equal(text[0], 'x');
        (void)close(saved);
        (void)close(pipes[0]);
        (void)close(pipes[1]);
}
