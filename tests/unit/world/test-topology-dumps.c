/* Other people's machines: each dump is read, written as XML, read again, and is the same. Every
 * line that is expected here was compared with the dump's own files. But for one: the kernel calls
 * the two cores of a module of 64amd64 threads, hwloc calls them cores. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "machine-text.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/topology-load.h"

typedef struct Dump {
        const char *archive;
        const char *topology;
        const char *devices;
} Dump;

static const Dump dumps[] = {
        {
                "128arm-2pa2n8cluster4co",
                "0: package 36, 128645 MiB, cpus 0-31\n"
                "1: package 36, 129021 MiB, cpus 32-63\n"
                "2: package 8442, 129021 MiB, cpus 64-95\n"
                "3: package 8442, 127990 MiB, cpus 96-127\n",
                "",
        },
        {
                "16em64t-4s2c2t-offlines",
                "0: package ?, 16379 MiB, cpus 0-1,3-4,6-12,15 first 0-1,3-4,6-7,10\n"
                " offline 2,5,13-14",
                "",
        },
        {
                "32em64t-2n8c+dax+nvme+mic+dimms",
                "0: package 0, 16354 MiB, cpus 0-7\n"
                "1: package 1, 16384 MiB, cpus 8-15\n",
                "net eth0 node=0 pci=0000:02:00.0 driver=igb speed=1000\n"
                "net eth1 node=0 pci=0000:02:00.3 driver=igb\n"
                "net ib0 node=1 pci=0000:82:00.0 driver=mlx4_core\n"
                "disk nvme0n1 node=0 pci=0000:00:02.0 driver=nvme size=400088457216 nvme\n"
                "disk pmem0.1 node=0 driver=nd_pmem size=107808292864\n"
                "disk pmem0.2s node=0 driver=nd_pmem size=109413736448\n"
                "disk pmem0.3 node=0 driver=nd_pmem size=483183820800\n"
                "disk pmem1 node=1 driver=nd_pmem size=64424509440\n"
                "disk pmem1.1s node=1 driver=nd_pmem size=64360574976\n"
                "disk pmem1.2 node=1 driver=nd_pmem size=63415779328\n"
                "disk sda node=0 pci=0000:00:1f.2 driver=sd size=250059350016\n",
        },
        {
                "40intel64-2g2n4c+pcilocality",
                "0: package 0, 131058 MiB, cpus 0,4,8,12,16,20,24,28,32,36\n"
                "1: package 1, 131072 MiB, cpus 1,5,9,13,17,21,25,29,33,37\n"
                "2: package 2, 131072 MiB, cpus 2,6,10,14,18,22,26,30,34,38\n"
                "3: package 3, 131072 MiB, cpus 3,7,11,15,19,23,27,31,35,39\n",
                "net eth0 pci=0000:02:00.0 driver=bnx2 speed=1000\n"
                "net eth1 pci=0000:02:00.1 driver=bnx2\n"
                "net eth2 pci=0000:03:00.0 driver=bnx2\n"
                "net eth3 pci=0000:03:00.1 driver=bnx2\n"
                "net ib0 node=2 pci=0000:43:00.0 driver=ib_qib\n"
                "disk sda pci=0000:01:00.0 driver=sd size=1798651772928\n",
        },
        {
                "48amd64-4pa2n6c-sparse",
                "0: package 0, 8189 MiB, cpus 0-5\n"
                "1: package 0, 16384 MiB, cpus 6-11\n"
                "2: package 1, 8192 MiB, cpus 12-17\n"
                "33: package 1, 16384 MiB, cpus 18-23\n"
                "34: package 2, 8192 MiB, cpus 24-29\n"
                "45: package 2, 16384 MiB, cpus 30-35\n"
                "72: package 3, 8192 MiB, cpus 36-41\n"
                "73: package 3, 16384 MiB, cpus 42-47\n",
                "",
        },
        {
                "64amd64-4s2n4ca2co",
                "0: package 0, 16376 MiB, cpus 0-7\n"
                "1: package 0, 16384 MiB, cpus 8-15\n"
                "2: package 1, 16384 MiB, cpus 16-23\n"
                "3: package 1, 16384 MiB, cpus 24-31\n"
                "4: package 2, 16384 MiB, cpus 32-39\n"
                "5: package 2, 8192 MiB, cpus 40-47\n"
                "6: package 3, 16384 MiB, cpus 48-55\n"
                "7: package 3, 16368 MiB, cpus 56-63\n",
                "",
        },
        {
                "fakememinitiators-1np2c+1npp+gi",
                "0: package 0, 0 MiB, cpus 0-1\n"
                "1: package 1, 0 MiB, cpus 2-3\n"
                "2: package 0, 0 MiB, cpus 4-5\n"
                "3: package 1, 0 MiB, cpus 6-7\n"
                "4: package 0, 0 MiB,\n"
                "5: package 0, 95163 MiB,\n"
                "6: package 0, 96767 MiB,\n"
                "7: package 0, 759808 MiB, nvm\n"
                "8: package 1, 95255 MiB,\n"
                "9: package 1, 96729 MiB,\n"
                "10: package 1, 761856 MiB, nvm\n",
                "",
        },
};

/* The state of a test, so that its files go even when it fails: they may lie in memory. */
typedef struct Machine {
        const Dump *dump;
        char folder[32];
        Sysroot sysroot;
} Machine;

static int set_up(void **state) {
        Machine *machine = calloc(1, sizeof(*machine));

        if (!machine)
                return -1;
        *machine = (Machine){ .dump = *state, .sysroot = SYSROOT_NONE };
        *state = machine;
        return 0;
}

static int tear_down(void **state) {
        Machine *machine = *state;

        sysroot_close(&machine->sysroot);
        if (machine->folder[0])
                (void)nftw(machine->folder, fake_remove_one, 8, FTW_DEPTH | FTW_PHYS);
        free(machine);
        return 0;
}

/* What is not read, but is most of the files, stays packed. */
static void unpack(Machine *machine) {
        const char *from = getenv("TIDBNUMAD_TOPOLOGIES");
        char path[512], command[1024];

        (void)snprintf(path, sizeof(path), "%s/%s.tar.bz2", from ? from : "",
                       machine->dump->archive);
        if (!from || access(path, R_OK) < 0)
                skip_because("no %s.tar.bz2 in $TIDBNUMAD_TOPOLOGIES", machine->dump->archive);
        (void)snprintf(machine->folder, sizeof(machine->folder), "%s/machine-XXXXXX",
                       fake_scratch());
        assert_non_null(mkdtemp(machine->folder));
        (void)snprintf(command, sizeof(command),
                       "tar -C %s -xf %s --strip-components=1 --no-same-owner "
                       "--exclude='*/node/node*/memory*' --exclude='*/cpu/cpu*/c[apr]*' "
                       "--exclude=statistics --exclude=power --exclude=infiniband --exclude=queues",
                       machine->folder, path);
        assert_int_equal(system(command), 0);
        assert_int_equal(sysroot_open(machine->folder, &machine->sysroot), 0);
}

static void test_dump(void **state) {
        Machine *machine = *state;
        _cleanup_topology_ Topology t = { 0 }, again = { 0 };
        _cleanup_device_list_ DeviceList devices = { 0 }, read = { 0 };
        char path[64];

        unpack(machine);
        assert_int_equal(topology_load(&machine->sysroot, &t), 0);
        assert_int_equal(devices_load(&machine->sysroot, &devices), 0);
        assert_topology(&t, machine->dump->topology);
        assert_devices_are(&devices, machine->dump->devices);
        (void)snprintf(path, sizeof(path), "%s/out.xml", machine->folder);
        assert_int_equal(topology_export(&(TopologySource){ .sysroot = &machine->sysroot },
                                         &devices, NULL, 0, path, NULL),
                         0);
        assert_int_equal(topology_load_xml(path, &again, &read, NULL), 0);
        assert_same_machine(&t, &devices, &again, &read);
}

/* And this machine. */
FAKE_TEST(this_machine) {
        _cleanup_topology_ Topology t = { 0 }, again = { 0 };
        _cleanup_device_list_ DeviceList devices = { 0 }, read = { 0 };
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        char path[64];

        (void)snprintf(path, sizeof(path), "%s/out.xml", tree->path);
        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(topology_load(&sysroot, &t), 0);
        assert_int_equal(devices_load(&sysroot, &devices), 0);
        assert_int_equal(topology_export(&(TopologySource){ .sysroot = &sysroot }, &devices, NULL,
                                         0, path, NULL),
                         0);
        assert_int_equal(topology_load_xml(path, &again, &read, NULL), 0);
        assert_same_machine(&t, &devices, &again, &read);
}

__attribute__((constructor)) static void register_dumps(void) {
        for (size_t i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++)
                test_register(&(struct CMUnitTest){ .name = dumps[i].archive,
                                                    .test_func = test_dump,
                                                    .setup_func = set_up,
                                                    .teardown_func = tear_down,
                                                    .initial_state = (void *)&dumps[i] });
}
