/* Instances that run, from a fake /proc and cgroup tree: grouped, named, and with what the kernel
 * reports about them. */

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/sys/clock.h"

#define S(text) ((char *)(text))
#define GIB (UINT64_C(1) << 30)

typedef struct World {
        FakeTree tree;
        Node nodes[2];
        Topology topology;
        Policy policies[3];
        PolicySet set;
        HostInstances list;
} World;

static void world_init(World *w) {
        *w = (World){ 0 };
        fake_init(&w->tree);
        fake_write(&w->tree, "sys/fs/cgroup/cgroup.controllers", "cpuset memory\n");
        w->nodes[0] = (Node){ .id = 0, .cpus = cpu_set("0-3"), .memory_bytes = GIB };
        w->nodes[1] = (Node){ .id = 1, .cpus = cpu_set("4-7"), .memory_bytes = GIB };
        w->topology = (Topology){ .nodes = w->nodes, .n_nodes = 2 };
        w->policies[0] = (Policy){ .name = S("tidb"), .match = { .exe = S("tidb-server") } };
        w->policies[1] = (Policy){ .name = S("rest"), .match = { .unit = S("*.service") } };
        w->policies[2] = (Policy){ .name = S("pd"), .match = { .exe = S("pd-server") } };
        w->set = (PolicySet){ .policies = w->policies, .n_policies = 3 };
}

static void world_done(World *w) {
        host_instances_done(&w->list);
        fake_done(&w->tree);
}

#define WORLD_TEST(test) TEST_WITH(test, World, w, world_init, world_done)

static void load(World *w) {
        host_instances_done(&w->list);
        assert_int_equal(instances_find(&w->tree.sysroot, &w->set, NULL, &w->list), 0);
        assert_int_equal(host_instances_describe(&w->tree.sysroot, &w->topology, &w->list), 0);
        assert_int_equal(w->list.n_denied, 0);
}

/* "name:policy:processes" of each. */
static void check(World *w, const char *expected) {
        char found[512] = "";

        load(w);
        for (size_t i = 0; i < w->list.n_instances; i++) {
                const HostInstance *r = &w->list.instances[i];

                (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s:%s:%zu",
                               i > 0 ? " " : "", r->name, r->policy->name, r->n_members);
        }
        assert_string_equal(found, expected);
}

static void service(World *w, int pid, const char *exe, const char *unit, const char *cpus) {
        fake_process(&w->tree, pid, 1, exe, fmt("/system.slice/%s", unit), cpus);
}

WORLD_TEST(groups) {
        check(w, "");
        service(w, 300, "/usr/sbin/haproxy", "haproxy.service", "0-7");
        service(w, 20, "/usr/sbin/haproxy", "haproxy.service", "0-7");
        service(w, 500, "/opt/tidb-server", "tidb-10.service", "0-7");
        service(w, 501, "/opt/tidb-server", "tidb-9.service", "0-7");
        fake_process(&w->tree, 600, 1, "/opt/pd-server", "/user.slice/session-1.scope", "0-7");
        fake_process(&w->tree, 601, 1, "/opt/pd-server", "/user.slice/session-1.scope", "0-7");
        fake_process(&w->tree, 700, 1, "/bin/sh", "/user.slice/session-1.scope", "0-7");
        /* Numbers in names by value. */
        check(w, "haproxy:rest:2 pd-server:600:pd:1 pd-server:601:pd:1 tidb-9:tidb:1 "
                 "tidb-10:tidb:1");
        assert_int_equal(w->list.instances[0].members[0].process.id.pid, 20);
        assert_string_equal(w->list.instances[0].unit, "haproxy.service");
        /* A service is one instance, by the policy that comes first in the files, whichever of its
         * processes is the oldest. */
        service(w, 502, "/bin/helper", "tidb-9.service", "0-7");
        service(w, 8, "/bin/helper", "tidb-10.service", "0-7");
        check(w, "haproxy:rest:2 pd-server:600:pd:1 pd-server:601:pd:1 tidb-9:tidb:2 "
                 "tidb-10:tidb:2");
}

WORLD_TEST(names_collide) {
        service(w, 10, "/opt/tidb-server", "tidb.service", "0-7");
        fake_process(&w->tree, 20, 1, "/opt/tidb-server", "/other.slice/x.scope", "0-7");
        w->set.n_policies = 1;
        check(w, "tidb:tidb:1 tidb-server:20:tidb:1");
        service(w, 11, "/opt/tidb-server", "tidb-server:20.service", "0-7");
        check(w, "tidb:tidb:1 tidb-server:20:tidb:1 tidb-server:20:20:tidb:1");
}

static void group(World *w, const char *path, const char *cpus, const char *mems) {
        fake_write(&w->tree, fmt("sys/fs/cgroup%s/cpuset.cpus.effective", path), fmt("%s\n", cpus));
        fake_write(&w->tree, fmt("sys/fs/cgroup%s/cpuset.mems.effective", path), fmt("%s\n", mems));
}

/* The highest of the groups above it that allows no more. */
WORLD_TEST(what_limits_it_is_named) {
        group(w, "", "0-7", "0-1");
        group(w, "/db.slice", "0-3", "0");
        group(w, "/db.slice/inner.slice", "0-3", "0");
        group(w, "/db.slice/inner.slice/tidb.service", "0", "0");
        fake_process(&w->tree, 10, 1, "/opt/tidb-server", "/db.slice/inner.slice/tidb.service",
                     "0");
        load(w);
        assert_ids(w->list.instances[0].allowed_nodes, "0");
        assert_string_equal(w->list.instances[0].allowed_by, "/db.slice");
        group(w, "/db.slice", "0-7", "0-1");
        load(w);
        assert_string_equal(w->list.instances[0].allowed_by, "/db.slice/inner.slice");
        group(w, "/db.slice/inner.slice", "0-7", "0-1");
        load(w);
        assert_string_equal(w->list.instances[0].allowed_by, "");
}

/* Of a service without a cpuset the threads tell. */
WORLD_TEST(cpus_of_threads) {
        service(w, 10, "/opt/tidb-server", "tidb.service", "4-7");
        load(w);
        assert_ids(w->list.instances[0].cpus, "4-7");
        assert_ids(w->list.instances[0].allowed_nodes, "");
        fake_thread(&w->tree, 10, 11, "0", 0);
        load(w);
        assert_ids(w->list.instances[0].cpus, "0,4-7");
        fake_thread(&w->tree, 10, 11, "5", 0);
        load(w);
        assert_ids(w->list.instances[0].cpus, "4-7");
        /* A second process of the service elsewhere. */
        service(w, 12, "/opt/tidb-server", "tidb.service", "3");
        load(w);
        assert_ids(w->list.instances[0].cpus, "3-7");
        /* The unit's own cpuset decides: threads may be narrower for other reasons. */
        fake_write(&w->tree, "sys/fs/cgroup/system.slice/tidb.service/cpuset.cpus.effective",
                   "0-7\n");
        load(w);
        assert_ids(w->list.instances[0].cpus, "0-7");
}

/* What the slice allows is no binding of the instance. */
WORLD_TEST(allowed) {
        fake_process(&w->tree, 10, 1, "/opt/tidb-server", "/system.slice/tidb.service/inner",
                     "4-7");
        fake_write(&w->tree, "sys/fs/cgroup/system.slice/tidb.service/cpuset.cpus.effective",
                   "5\n");
        fake_write(&w->tree, "sys/fs/cgroup/system.slice/tidb.service/cpuset.mems.effective",
                   "1\n");
        fake_write(&w->tree, "sys/fs/cgroup/system.slice/cpuset.cpus.effective", "4-7\n");
        fake_write(&w->tree, "sys/fs/cgroup/system.slice/cpuset.mems.effective", "1\n");
        load(w);
        assert_ids(w->list.instances[0].allowed_cpus, "4-7");
        assert_ids(w->list.instances[0].allowed_nodes, "1");
        assert_ids(w->list.instances[0].cpus, "5");
        /* Without the controller in the slice, what is above it counts. */
        fake_remove(&w->tree, "sys/fs/cgroup/system.slice/cpuset.cpus.effective");
        fake_write(&w->tree, "sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
        fake_write(&w->tree, "sys/fs/cgroup/cpuset.mems.effective", "0-1\n");
        load(w);
        assert_ids(w->list.instances[0].allowed_cpus, "0-7");
}

#define UNIT "sys/fs/cgroup/system.slice/tidb.service/"

WORLD_TEST(memory) {
        service(w, 10, "/opt/tidb-server", "tidb.service", "0-7");
        fake_write(&w->tree, UNIT "cgroup.procs", "10\n");
        load(w);
        assert_false(w->list.instances[0].memory_known);
        fake_write(&w->tree, UNIT "memory.numa_stat",
                   "anon N0=100 N1=20\nfile N0=1000 N1=1000\nshmem N0=0 N1=3\n");
        load(w);
        assert_true(w->list.instances[0].memory_known);
        assert_int_equal(w->list.instances[0].by_node[0].anon_bytes, 100);
        assert_int_equal(w->list.instances[0].by_node[1].shmem_bytes, 3);
        /* Another process in the unit: what is counted is not the instance's alone. */
        fake_process(&w->tree, 11, 1, "/bin/backup", "/system.slice/tidb.service", "0-7");
        fake_write(&w->tree, UNIT "cgroup.procs", "10\n11\n");
        w->set.n_policies = 1;
        load(w);
        assert_false(w->list.instances[0].memory_known);
}

WORLD_TEST(memory_that_was_charged_elsewhere) {
        service(w, 10, "/opt/tidb-server", "tidb.service", "0-7");
        fake_write(&w->tree, UNIT "cgroup.procs", "10\n");
        fake_write(&w->tree, UNIT "memory.numa_stat",
                   "anon N0=100 N1=20\nfile N0=0 N1=0\nshmem N0=0 N1=0\n");
        fake_write(&w->tree, "proc/10/status",
                   "Name:\ta\nUid:\t0\t997\t0\t0\nCpus_allowed_list:\t0-7\n"
                   "Mems_allowed_list:\t0-1\nRssAnon:\t 1048576 kB\nRssFile:\t 0 kB\n"
                   "RssShmem:\t 0 kB\n");
        load(w);
        assert_false(w->list.instances[0].memory_known);
}

WORLD_TEST(quota) {
        service(w, 10, "/opt/tidb-server", "tidb.service", "0-7");
        fake_write(&w->tree, UNIT "cgroup.procs", "10\n");
        fake_write(&w->tree, UNIT "cpu.max", "400000 100000\n");
        load(w);
        assert_int_equal(w->list.instances[0].cpu_quota, 400);
}

static void assert_limit(World *w, const char *own, const char *above, uint64_t expected) {
        fake_write(&w->tree, UNIT "memory.max", own);
        fake_write(&w->tree, "sys/fs/cgroup/system.slice/memory.max", above);
        load(w);
        assert_int_equal(w->list.instances[0].limit_bytes, expected);
}

/* The machine has 2 GiB. */
WORLD_TEST(limit) {
        service(w, 10, "/opt/tidb-server", "tidb.service", "0-7");
        fake_write(&w->tree, UNIT "cgroup.procs", "10\n");
        load(w);
        assert_int_equal(w->list.instances[0].limit_bytes, 0);
        assert_limit(w, "max\n", "max\n", 0);
        assert_limit(w, "8192\n", "max\n", 8192);
        assert_limit(w, "8192\n", "4096\n", 4096);
        assert_limit(w, "8192\n", "16384\n", 8192);
        assert_limit(w, "2147483648\n", "max\n", 0); /* it limits nothing */
        assert_limit(w, "max\n", "4096\n", 0);       /* the slice's is for all in it */
        fake_process(&w->tree, 11, 1, "/bin/backup", "/system.slice/tidb.service", "0-7");
        fake_write(&w->tree, UNIT "cgroup.procs", "10\n11\n");
        w->set.n_policies = 1;
        assert_limit(w, "8192\n", "max\n", 0);
}

WORLD_TEST(memory_policy) {
        service(w, 10, "/opt/tidb-server", "tidb.service", "0-7");
        service(w, 11, "/opt/tidb-server", "tidb.service", "0-7");
        load(w);
        assert_null(w->list.instances[0].memory_policy);
        fake_write(&w->tree, "proc/10/numa_maps", "55d0 default file=/opt/tidb-server\n");
        load(w);
        assert_null(w->list.instances[0].memory_policy);
        fake_write(&w->tree, "proc/11/numa_maps", "55d0 interleave:0-1 file=/opt/tidb-server\n");
        load(w);
        assert_string_equal(w->list.instances[0].memory_policy, "interleave:0-1");
}

/* Of a process without a service its group is others' too. */
WORLD_TEST(memory_of_a_session) {
        fake_process(&w->tree, 10, 1, "/opt/tidb-server", "/user.slice/s.scope", "0-7");
        fake_process(&w->tree, 11, 1, "/bin/sh", "/user.slice/s.scope", "0-7");
        fake_write(&w->tree, "sys/fs/cgroup/user.slice/s.scope/cgroup.procs", "10\n11\n");
        fake_write(&w->tree, "sys/fs/cgroup/user.slice/s.scope/memory.numa_stat",
                   "anon N0=100 N1=20\nfile N0=0 N1=0\nshmem N0=0 N1=0\n");
        load(w);
        assert_false(w->list.instances[0].memory_known);
}

WORLD_TEST(find) {
        service(w, 10, "/opt/tidb-server", "tidb-1.service", "0-7");
        service(w, 11, "/opt/tidb-server", "tidb-1.service", "0-7");
        service(w, 12, "/opt/tidb-server", "12.service", "0-7");
        service(w, 13, "/opt/tidb-server", "13.service", "0-7");
        load(w);
        assert_string_equal(host_instances_find_subject(&w->list, "tidb-1")->name, "tidb-1");
        assert_string_equal(host_instances_find_subject(&w->list, "tidb-1.service")->name,
                            "tidb-1");
        assert_string_equal(host_instances_find_subject(&w->list, "11")->name, "tidb-1");
        assert_string_equal(host_instances_find_subject(&w->list, "12")->name, "12");
        assert_null(host_instances_find_subject(&w->list, "tidb"));
        assert_null(host_instances_find_subject(&w->list, "tidb-1.serv"));
        assert_null(host_instances_find_subject(&w->list, "14"));
        assert_null(host_instances_find_subject(&w->list, ""));
}

/* What the daemon has published keeps its place, though others have lower numbers. */
WORLD_TEST(beyond_max_instances) {
        _cleanup_host_instances_ HostInstances ignored = { 0 };
        InstanceInfo published = {
                .name = S("x"), .policy = S("tidb"), .exe = S("/opt/tidb-server"), .pid = 12
        };
        const Snapshot status = { .instances = &published,
                                  .n_instances = 1,
                                  .time_seconds = clock_realtime_seconds() + 3600 };

        w->set.n_policies = 1;
        w->policies[0].max_instances = 2;
        for (int pid = 10; pid < 14; pid++)
                fake_process(&w->tree, pid, 1, "/opt/tidb-server", "/user.slice", "0-7");
        assert_int_equal(instances_find(&w->tree.sysroot, &w->set, &status, &w->list), 0);
        assert_int_equal(w->list.n_instances, 4);
        instances_limit(&w->set, &status, &w->list, &ignored);
        assert_int_equal(w->list.n_instances, 2);
        assert_non_null(host_instances_find_pid(&w->list, 10));
        assert_non_null(host_instances_find_pid(&w->list, 12));
        assert_int_equal(ignored.n_instances, 2);
        assert_non_null(host_instances_find_pid(&ignored, 11));
        assert_non_null(host_instances_find_pid(&ignored, 13));
}

/* What the user can read counts more: the daemon may be behind. */
WORLD_TEST(published_and_seen) {
        InstanceInfo published = {
                .name = S("x"), .exe = S("/opt/tidb-server"), .unit = S("x.service"), .pid = 10
        };
        const Snapshot status = { .instances = &published, .n_instances = 1 };

        w->set.n_policies = 1;
        service(w, 10, "/bin/sh", "x.service", "0-7");
        assert_int_equal(instances_find(&w->tree.sysroot, &w->set, &status, &w->list), 0);
        assert_int_equal(w->list.n_instances, 0);
}

/* The disks of an instance whose path this user cannot follow; what can be read counts more. */
WORLD_TEST(published_disks) {
        InstanceInfo published = { .name = S("x"),
                                   .exe = S("/opt/tidb-server"),
                                   .unit = S("x.service"),
                                   .storage = S("/data: nvme0n1"),
                                   .storage_nodes = node_set("3"),
                                   .pid = 10 };
        const Snapshot status = { .instances = &published,
                                  .n_instances = 1,
                                  .time_seconds = clock_realtime_seconds() };

        w->set.n_policies = 1;
        service(w, 10, "/opt/tidb-server", "x.service", "0-7");
        assert_int_equal(instances_find(&w->tree.sysroot, &w->set, &status, &w->list), 0);
        instances_take_storage(&status, &w->list);
        assert_string_equal(w->list.instances[0].storage, "/data: nvme0n1");
        assert_true(id_set_has(&w->list.instances[0].storage_nodes, 3));
        published.storage = S("another");
        instances_take_storage(&status, &w->list);
        assert_string_equal(w->list.instances[0].storage, "/data: nvme0n1");
}

/* What a user who may not read the process gets: what the daemon has published of it. */
static int load_as_nobody(pid_t pid, double age_seconds) {
        InstanceInfo published = { .name = S("x"),
                                   .policy = S("tidb"),
                                   .exe = S("/opt/tidb-server"),
                                   .unit = S("tidb.service"),
                                   .data_dir = S("/data"),
                                   .pid = pid };
        const Snapshot status = { .instances = &published,
                                  .n_instances = 1,
                                  .time_seconds = clock_realtime_seconds() - age_seconds };
        _cleanup_host_instances_ HostInstances list = { 0 }, without = { 0 };
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        Policy policy = { .name = S("tidb"),
                          .match = { .exe = S("tidb-server"), .args = S("*-P 4000*") } };
        const PolicySet set = { .policies = &policy, .n_policies = 1 };
        Node node = { .id = 0 };
        const Topology topology = { .nodes = &node, .n_nodes = 1 };

        if (setuid(65534) < 0 || sysroot_open(NULL, &sysroot) < 0 ||
            instances_find(&sysroot, &set, NULL, &without) < 0 ||
            instances_find(&sysroot, &set, &status, &list) < 0 ||
            host_instances_describe(&sysroot, &topology, &list) < 0)
                return 10;
        if (without.n_instances != 0 || without.n_denied == 0)
                return 11;
        if (without.n_reported != 0 || list.n_reported != list.n_instances)
                return 12;
        return (int)list.n_instances +
               (list.n_instances == 1 && list.instances[0].data_dir &&
                                strcmp(list.instances[0].data_dir, "/data") == 0 &&
                                strcmp(list.instances[0].name, "x") == 0
                        ? 1
                        : 0);
}

static int exit_of(pid_t pid) {
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

TEST(published_to_nobody) {
        pid_t sleeper, child;

        if (geteuid() != 0)
                skip();
        sleeper = child_start();
        child = fork();
        if (child == 0)
                _exit(load_as_nobody(sleeper, 0));
        assert_int_equal(exit_of(child), 2);
        /* Not where it has become another's number meanwhile. */
        child = fork();
        if (child == 0)
                _exit(load_as_nobody(sleeper, 3600));
        assert_int_equal(exit_of(child), 0);
        child_end(sleeper);
}
