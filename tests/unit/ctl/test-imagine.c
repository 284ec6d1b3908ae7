/* Imagined instances: the list, its mistakes, names and disks. */

#include "../../support/test.h"

#include "../../support/id-sets.h"

#include "tidbnumad/ctl/instances.h"

static void check_entry(const ImagineEntry *entry, uint32_t count, const char *policy,
                        const char *disk) {
        assert_int_equal(entry->count, count);
        assert_string_equal(entry->policy, policy);
        assert_int_equal(entry->disk != NULL, disk != NULL);
        if (disk)
                assert_string_equal(entry->disk, disk);
}

TEST(parse) {
        _cleanup_imagine_list_ ImagineList list = { 0 };
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(
                imagine_parse("4:tidb,2:tikv@nvme3n1,pd,1:ha_proxy.x-1@sda", &list, &error), 0);
        assert_int_equal(list.n_entries, 4);
        check_entry(&list.entries[0], 4, "tidb", NULL);
        check_entry(&list.entries[1], 2, "tikv", "nvme3n1");
        check_entry(&list.entries[2], 1, "pd", NULL);
        check_entry(&list.entries[3], 1, "ha_proxy.x-1", "sda");
        assert_null(error.sentence);
}

TEST(sizes_and_blanks) {
        _cleanup_imagine_list_ ImagineList list = { 0 };
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(imagine_parse("4:tidb, 4:tikv:32GiB ,\t1:tikv@sda:1.5TiB,pd:512MiB, 2:9p",
                                       &list, &error),
                         0);
        assert_int_equal(list.n_entries, 5);
        check_entry(&list.entries[0], 4, "tidb", NULL);
        assert_int_equal(list.entries[0].need_bytes, 0);
        check_entry(&list.entries[1], 4, "tikv", NULL);
        assert_int_equal(list.entries[1].need_bytes, UINT64_C(32) << 30);
        check_entry(&list.entries[2], 1, "tikv", "sda");
        assert_int_equal(list.entries[2].need_bytes, UINT64_C(1536) << 30);
        check_entry(&list.entries[3], 1, "pd", NULL);
        assert_int_equal(list.entries[3].need_bytes, UINT64_C(512) << 20);
        check_entry(&list.entries[4], 2, "9p", NULL);
        assert_null(error.sentence);
}

static void check_wrong(const char *text, const char *expected) {
        ImagineList list = { .n_entries = 77 };
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(imagine_parse(text, &list, &error), -EINVAL);
        if (!strstr(error.sentence, expected))
                fail_msg("'%s': '%s' does not hold '%s'", text, error.sentence, expected);
        assert_int_equal(list.n_entries, 77);
}

TEST(wrong) {
        static const char *const words[] = { "",        ":",     "4:",   ":tidb",
                                             "0:tidb",  "-1:a",  "+1:a", "1.5:a",
                                             "a:b",     "1:b:a", "1:@d", "1:a@",
                                             "1:a@b@c", "@d",    "1 :a", "99999999999999999999:a" };
        char text[64];

        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                char quoted[64];

                (void)snprintf(quoted, sizeof(quoted), "'%s' is not COUNT:POLICY", words[i]);
                check_wrong(words[i], quoted);
                /* Not the first word alone is judged. */
                (void)snprintf(text, sizeof(text), "1:ok,%s,2:ok", words[i]);
                check_wrong(text, quoted);
        }
        check_wrong("4;tidb@", "'4;tidb@' is not COUNT:POLICY");
        check_wrong("1:a,", "'' is no");
        check_wrong("4:tikv:32",
                    "'32' is not a size above zero, expected the memory of one instance");
        check_wrong("4:tikv:0GiB", "'0GiB' is not a size above zero");
        check_wrong("4:tikv:99999999999TiB", "'99999999999TiB' is too large");
        check_wrong("4:tikv@sda:32gib", "'32gib' is not a size above zero");
        check_wrong("1025:a", "more than 1024 instances");
        check_wrong("1000:a,25:b", "more than 1024 instances");
        check_wrong("4294967297:a", "more than 1024 instances");
}

typedef struct World {
        Policy policies[3];
        PolicySet set;
        Device disks[5];
        DeviceList devices;
} World;

static void world_init(World *w) {
        *w = (World){ 0 };
        w->policies[0] = (Policy){ .name = (char *)"tidb" };
        w->policies[1] = (Policy){ .name = (char *)"tikv" };
        w->policies[1].place.near = NEAR_STORAGE;
        w->policies[2] = (Policy){ .name = (char *)"lake" };
        w->policies[2].place.near = NEAR_STORAGE;
        w->set = (PolicySet){ .policies = w->policies, .n_policies = 3 };
        w->disks[0] = (Device){ .kind = DEVICE_NET, .name = (char *)"eth0" };
        w->disks[1] = (Device){ .kind = DEVICE_DISK, .name = (char *)"nvme0n1", .nvme = true };
        w->disks[2] = (Device){ .kind = DEVICE_DISK, .name = (char *)"nvme1n1", .nvme = true };
        w->disks[3] = (Device){ .kind = DEVICE_DISK, .name = (char *)"sda" };
        w->disks[4] = (Device){ .kind = DEVICE_DISK, .name = (char *)"sdb" };
        w->devices = (DeviceList){ .devices = w->disks, .n_devices = 5 };
}

static int imagine(const World *w, const char *text, HostInstances *ret, Error *error) {
        _cleanup_imagine_list_ ImagineList list = { 0 };

        assert_int_equal(imagine_parse(text, &list, error), 0);
        return imagine_instances(&list, &w->set, &w->devices, ret, error);
}

/* "name=disk" of each; '*' for a disk that came in turn. */
static void check_instances(const World *w, const char *text, const char *expected) {
        _cleanup_host_instances_ HostInstances list = { 0 };
        _cleanup_error_ Error error = { 0 };
        char told[512] = "";

        assert_int_equal(imagine(w, text, &list, &error), 0);
        for (size_t i = 0; i < list.n_instances; i++) {
                const HostInstance *one = &list.instances[i];

                (void)snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s%s%s%s%s",
                               i > 0 ? " " : "", one->name, one->storage ? "=" : "",
                               one->storage ? one->storage : "", one->in_turn ? "*" : "");
                assert_int_equal(strncmp(one->name, one->policy->name, strlen(one->policy->name)),
                                 0);
        }
        assert_string_equal(told, expected);
}

#define WORLD_TEST(test) TEST_WITH(test, World, w, world_init, (void))

WORLD_TEST(instances) {
        check_instances(w, "2:tidb,tidb", "tidb-1 tidb-2 tidb-3");
        check_instances(w, "4:tikv",
                        "tikv-1=nvme0n1* tikv-2=nvme1n1* tikv-3=nvme0n1* tikv-4=nvme1n1*");
        /* Named ones take no turn, and turns go on over policies. */
        check_instances(w, "tikv@sdb,tikv,2:lake,tidb@sda",
                        "tikv-1=sdb tikv-2=nvme0n1* lake-1=nvme1n1* lake-2=nvme0n1* tidb-1=sda");
}

WORLD_TEST(other_disks) {
        w->disks[1].nvme = w->disks[2].nvme = false;
        check_instances(w, "5:tikv",
                        "tikv-1=nvme0n1* tikv-2=nvme1n1* tikv-3=sda* tikv-4=sdb* tikv-5=nvme0n1*");
        w->devices.n_devices = 1;
        check_instances(w, "2:tikv", "tikv-1 tikv-2");
}

WORLD_TEST(nodes_of_disks) {
        _cleanup_host_instances_ HostInstances list = { 0 };
        _cleanup_error_ Error error = { 0 };

        w->disks[1].node = 3;
        w->disks[2].node = DEVICE_NODE_UNKNOWN;
        w->disks[3].node = CPU_SET_MAX; /* nonsense out of a file */
        assert_int_equal(imagine(w, "2:tikv,tikv@sda", &list, &error), 0);
        assert_ids(list.instances[0].storage_nodes, "3");
        assert_ids(list.instances[1].storage_nodes, "");
        assert_ids(list.instances[2].storage_nodes, "");
        assert_string_equal(list.instances[2].disks.devices[0].name, "sda");
}

static void check_refused(const World *w, const char *text, const char *expected) {
        HostInstances list = { .n_instances = 77 };
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(imagine(w, text, &list, &error), -EINVAL);
        assert_string_equal(error.sentence, expected);
        assert_int_equal(list.n_instances, 77);
}

WORLD_TEST(refused) {
        check_refused(w, "1:tidb,1:titb",
                      "no policy 'titb', did you mean 'tidb'? There are: tidb, tikv, lake");
        check_refused(w, "1:frontend", "no policy 'frontend', expected one of: tidb, tikv, lake");
        check_refused(
                w, "1:tikv@eth0",
                "the machine has no disk 'eth0', expected one of: nvme0n1, nvme1n1, sda, sdb");
        w->devices.n_devices = 1;
        check_refused(w, "1:tikv@sda",
                      "the machine has no disk 'sda', nor any other; remove '@sda'");
        w->set.n_policies = 0;
        check_refused(w, "1:tidb",
                      "no policy 'tidb'; there are no policies: give them with --policy or "
                      "--policy-dir");
}
