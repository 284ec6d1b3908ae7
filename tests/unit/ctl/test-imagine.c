/* Imagined instances: the list, its mistakes, names and disks. */

#include "../../support/test.h"

#include "../../support/id-sets.h"

#include "tidbnumad/ctl/instances.h"

typedef struct World {
        Policy policies[4];
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
        w->policies[3] = (Policy){ .name = (char *)"9_pd.x-1" };
        w->set = (PolicySet){ .policies = w->policies, .n_policies = 4 };
        w->disks[0] = (Device){ .kind = DEVICE_NET, .name = (char *)"eth0" };
        w->disks[1] = (Device){ .kind = DEVICE_DISK, .name = (char *)"nvme0n1", .nvme = true };
        w->disks[2] = (Device){ .kind = DEVICE_DISK, .name = (char *)"nvme1n1", .nvme = true };
        w->disks[3] = (Device){ .kind = DEVICE_DISK, .name = (char *)"sda" };
        w->disks[4] = (Device){ .kind = DEVICE_DISK, .name = (char *)"sdb" };
        w->devices = (DeviceList){ .devices = w->disks, .n_devices = 5 };
}

/* "name=disk" of each; '*' for a disk that came in turn. */
static void check_instances(const World *w, const char *text, const char *expected) {
        _cleanup_host_instances_ HostInstances list = { 0 };
        _cleanup_error_ Error error = { 0 };
        char told[512] = "";

        assert_int_equal(imagine_instances(text, &w->set, &w->devices, &list, &error), 0);
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
        assert_int_equal(imagine_instances("2:tikv,tikv@sda", &w->set, &w->devices, &list, &error),
                         0);
        assert_ids(list.instances[0].storage_nodes, "3");
        assert_ids(list.instances[1].storage_nodes, "");
        assert_ids(list.instances[2].storage_nodes, "");
        assert_string_equal(list.instances[2].disks.devices[0].name, "sda");
}

/* The memory of each, in MiB, behind its name. */
WORLD_TEST(sizes_and_blanks) {
        _cleanup_host_instances_ HostInstances list = { 0 };
        _cleanup_error_ Error error = { 0 };
        char told[512] = "";

        assert_int_equal(
                imagine_instances(
                        "tidb, 2:tikv:32GiB ,\t1:tikv@sda:1.5TiB,9_pd.x-1:512MiB, 2:9_pd.x-1",
                        &w->set, &w->devices, &list, &error),
                0);
        for (size_t i = 0; i < list.n_instances; i++)
                (void)snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s=%u ",
                               list.instances[i].name,
                               (unsigned)(list.instances[i].limit_bytes >> 20));
        assert_string_equal(told, "tidb-1=0 tikv-1=32768 tikv-2=32768 tikv-3=1572864 "
                                  "9_pd.x-1-1=512 9_pd.x-1-2=0 9_pd.x-1-3=0 ");
        assert_null(error.sentence);
}

static void check_refused(const World *w, const char *text, const char *expected) {
        HostInstances list = { .n_instances = 77 };
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(imagine_instances(text, &w->set, &w->devices, &list, &error), -EINVAL);
        if (!strstr(error.sentence, expected))
                fail_msg("'%s': '%s' does not hold '%s'", text, error.sentence, expected);
        assert_int_equal(list.n_instances, 77);
}

WORLD_TEST(wrong) {
        static const char *const words[] = { "",        ":",     "4:",   ":tidb",
                                             "0:tidb",  "-1:a",  "+1:a", "1.5:a",
                                             "a:b",     "1:b:a", "1:@d", "1:a@",
                                             "1:a@b@c", "@d",    "1 :a", "99999999999999999999:a" };
        char text[64];

        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                char quoted[64];

                (void)snprintf(quoted, sizeof(quoted), "'%s' is not COUNT:POLICY", words[i]);
                check_refused(w, words[i], quoted);
                /* Not the first word alone is judged, and all before any policy is looked up. */
                (void)snprintf(text, sizeof(text), "1:ok,%s,2:ok", words[i]);
                check_refused(w, text, quoted);
        }
        check_refused(w, "4;tidb@", "'4;tidb@' is not COUNT:POLICY");
        check_refused(w, "1:a,", "'' is no");
        check_refused(w, "4:tikv:32",
                      "'32' is not a size above zero, expected the memory of one instance");
        check_refused(w, "4:tikv:0GiB", "'0GiB' is not a size above zero");
        check_refused(w, "4:tikv:99999999999TiB", "'99999999999TiB' is too large");
        check_refused(w, "4:tikv@sda:32gib", "'32gib' is not a size above zero");
        check_refused(w, "1025:a", "more than 1024 instances");
        check_refused(w, "1000:a,25:b", "more than 1024 instances");
        check_refused(w, "4294967297:a", "more than 1024 instances");
}

/* Each word is one at least. */
WORLD_TEST(many_words) {
        char text[2 * IMAGINE_INSTANCES_MAX + 2];

        for (size_t i = 0; i < sizeof(text); i++)
                text[i] = i % 2 ? ',' : 'a';
        text[sizeof(text) - 1] = '\0';
        check_refused(w, text, "more than 1024 instances");
}

WORLD_TEST(refused) {
        check_refused(
                w, "1:tidb,1:titb",
                "no policy 'titb', did you mean 'tidb'? There are: tidb, tikv, lake, 9_pd.x-1");
        check_refused(w, "1:frontend",
                      "no policy 'frontend', expected one of: tidb, tikv, lake, 9_pd.x-1");
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
