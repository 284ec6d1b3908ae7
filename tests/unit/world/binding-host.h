/* A fake machine of two nodes with a bound process. */
#pragma once

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/world/binding.h"

#define CGROUP "/system.slice/a.service"
#define FOLDER "sys/fs/cgroup/system.slice/a.service/"

typedef struct Host {
        FakeTree tree;
        Node nodes[2];
        Topology topology;
        ProcHandle handles[2];
        Member members[2];
        size_t n_members;
        int cgroup_fd;
        int own_cpuset_fd; /* 0: the unit's counts */
        const char *cpuset_path;
        const char *group_path;
        int32_t suspect;
} Host;

static inline void host_add(Host *h, pid_t pid) {
        const size_t i = h->n_members++;

        assert_int_equal(proc_open(&h->tree.sysroot, pid, &h->handles[i]), 0);
        h->members[i].handle = &h->handles[i];
}

/* Node 0 with the CPUs 0-3, node 2 with 4-7; the unit of a server, pid 50, under pid 1. */
static inline void host_init(Host *h) {
        *h = (Host){ .nodes = { { .id = 0, .cpus = cpu_set("0-3") },
                                { .id = 2, .cpus = cpu_set("4-7") } },
                     .cgroup_fd = -EBADF };
        h->topology = (Topology){ .nodes = h->nodes, .n_nodes = 2 };
        fake_init(&h->tree);
        fake_process(&h->tree, 1, 0, "/sbin/init", "/init.scope", "0-7");
        fake_process(&h->tree, 50, 1, "/srv/a", CGROUP, "4-7");
        fake_write(&h->tree, FOLDER "cgroup.procs", "50\n");
        fake_write(&h->tree, FOLDER "cpuset.cpus.effective", "4-7\n");
        fake_write(&h->tree, FOLDER "cpuset.mems.effective", "2\n");
        host_add(h, 50);
        assert_int_equal(cgroup_open(&h->tree.sysroot, CGROUP, &h->cgroup_fd), 0);
}

static inline void host_done(Host *h) {
        for (size_t i = 0; i < h->n_members; i++) {
                proc_close(&h->handles[i]);
                free(h->members[i].threads);
        }
        closep(&h->cgroup_fd);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

#define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)

static inline int load_for(Host *h, const CpuSet *cpus, Binding *ret) {
        const BindingGroups groups = { .group_fd = h->cgroup_fd,
                                       .cpuset_fd = h->own_cpuset_fd > 0 ? h->own_cpuset_fd
                                                                         : h->cgroup_fd,
                                       .cpuset_path = h->cpuset_path,
                                       .group_path = h->group_path,
                                       .unit_path = CGROUP,
                                       .suspect = h->suspect };

        return binding_load(&h->topology, &h->tree.sysroot, h->members, h->n_members, &groups, cpus,
                            ret);
}

static inline int load(Host *h, Binding *ret) {
        const CpuSet cpus = cpu_set("4-7");

        return load_for(h, &cpus, ret);
}

static inline Binding load_good(Host *h) {
        Binding b = { .intruder = 7 };

        assert_int_equal(load(h, &b), 0);
        return b;
}
