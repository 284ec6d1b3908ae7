/* What is bound now, on a fake machine of two nodes. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "binding-host.h"

HOST_TEST(bound) {
        Binding b = load_good(h);

        assert_true(b.cpuset);
        assert_ids(b.cpus, "4-7");
        assert_ids(b.mems, "2");
        assert_int_equal(b.n_threads, 1);
        assert_int_equal(b.n_threads_off_cpus, 0);
        assert_true(b.alone);
        assert_int_equal(b.intruder, 0);
}

HOST_TEST(threads) {
        Binding b;

        fake_thread(&h->tree, 50, 50, "4-7", 5);
        fake_thread(&h->tree, 50, 51, "4-7", 6);
        fake_thread(&h->tree, 50, 52, "4", 4);   /* by its own choice */
        fake_thread(&h->tree, 50, 53, "0-7", 7); /* a wider one counts as well */
        b = load_good(h);
        assert_int_equal(b.n_threads, 4);
        assert_int_equal(b.n_threads_off_cpus, 2);
        assert_int_equal(b.n_threads_outside, 1);
        assert_ids(b.unused_cpus, "");
        assert_ids(b.last_nodes, ""); /* an instance with a place is not asked */
        /* Ended while its folder was read. */
        fake_remove(&h->tree, "proc/50/task/52/status");
        b = load_good(h);
        assert_int_equal(b.n_threads, 3);
        assert_int_equal(b.n_threads_off_cpus, 1);
}

/* Read pools of TiFlash: a thread for each node of the host, of which some fit. */
HOST_TEST(threads_that_choose_cpus) {
        Binding b;

        fake_thread(&h->tree, 50, 50, "4", 4);
        fake_thread(&h->tree, 50, 51, "5,7", 5);
        b = load_good(h);
        assert_int_equal(b.n_threads_off_cpus, 2);
        assert_int_equal(b.n_threads_outside, 0);
        assert_ids(b.unused_cpus, "6");
        fake_thread(&h->tree, 50, 52, "6", 6);
        b = load_good(h);
        assert_int_equal(b.n_threads_off_cpus, 3);
        assert_ids(b.unused_cpus, "");
}

/* What it was says of its threads stays, though one of them has changed since. */
HOST_TEST(reload_leaves_the_threads_out) {
        BindingGroups groups;
        Binding b;

        groups = (BindingGroups){ .group_fd = h->cgroup_fd,
                                  .cpuset_fd = h->cgroup_fd,
                                  .unit_path = CGROUP };
        fake_thread(&h->tree, 50, 50, "4-7", 5);
        fake_thread(&h->tree, 50, 51, "4", 6);
        b = load_good(h);
        fake_thread(&h->tree, 50, 51, "0-7", 6);
        fake_thread(&h->tree, 50, 52, "0-7", 6);
        fake_write(&h->tree, FOLDER "cpuset.cpus.effective", "4-6\n");
        fake_process(&h->tree, 60, 1, "/srv/b", CGROUP, "4-7");
        fake_write(&h->tree, FOLDER "cgroup.procs", "50\n60\n");
        assert_int_equal(binding_reload_groups(&h->topology, &h->tree.sysroot, h->members,
                                               h->n_members, &groups, &b),
                         0);
        assert_ids(b.cpus, "4-6");
        assert_false(b.alone);
        assert_int_equal(b.intruder, 60);
        assert_int_equal(b.n_threads_off_cpus, 1);
        assert_int_equal(b.n_threads_outside, 0);
        assert_int_equal(b.n_threads, 3); /* counted all the same */
        b = load_good(h);
        assert_int_equal(b.n_threads_outside, 2);
}

/* Without a cpuset the nodes are what the threads' own masks said. */
HOST_TEST(reload_keeps_the_nodes_of_the_threads) {
        const BindingGroups none = { .group_fd = -EBADF, .cpuset_fd = -EBADF };
        Binding b = { .mems = node_set("2"), .last_nodes = node_set("2") };

        assert_int_equal(binding_reload_groups(&h->topology, &h->tree.sysroot, h->members,
                                               h->n_members, &none, &b),
                         0);
        assert_ids(b.mems, "2");
        assert_ids(b.last_nodes, "2");
        fake_remove(&h->tree, "proc/50/task");
        assert_int_equal(binding_reload_groups(&h->topology, &h->tree.sysroot, h->members,
                                               h->n_members, &none, &b),
                         -ESRCH);
}

/* Of the slice: the unit's own cpuset can have no more. */
HOST_TEST(what_is_above) {
        assert_ids(load_good(h).mems_above, ""); /* it cannot be read */
        assert_ids(load_good(h).cpus_above, "");
        fake_write(&h->tree, "sys/fs/cgroup/system.slice/cpuset.mems.effective", "1-2\n");
        assert_ids(load_good(h).mems_above, "1-2");
        fake_write(&h->tree, "sys/fs/cgroup/system.slice/cpuset.cpus.effective", "0-2\n");
        assert_ids(load_good(h).cpus_above, "0-2");
        fake_remove(&h->tree, FOLDER "cpuset.mems.effective"); /* without the controller */
        assert_ids(load_good(h).mems_above, "");
        assert_ids(load_good(h).cpus_above, "");
}

/* Below the unit, with these sets of its own; CPUs NULL: without the controller. */
static void inner(Host *h, const char *name, int pid, const char *cpus, const char *mems) {
        fake_process(&h->tree, pid, 1, "/srv/a", fmt(CGROUP "/%s", name), cpus ? cpus : "4-7");
        fake_write(&h->tree, fmt(FOLDER "%s/cgroup.procs", name), "");
        if (!cpus)
                return;
        fake_write(&h->tree, fmt(FOLDER "%s/cpuset.cpus.effective", name), cpus);
        fake_write(&h->tree, fmt(FOLDER "%s/cpuset.mems.effective", name), mems);
}

TEST(inner_groups) {
        static const struct {
                const char *cpus, *mems; /* of the group that process 50 is in */
                const char *inner_cpus, *inner_mems;
                bool less;
        } cases[] = {
                { "4-7", "2", "4-7", "2", false }, /* it follows */
                { "4-5", "2", "4-5", "2", true },
                { "0-1", "2", "", "2", true }, /* apart from the unit's: never by the kernel */
                { "4-7", "0", "4-7", "", true },
                { NULL, NULL, "4-7", "2", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ Host h;
                Binding b;

                host_init(&h);
                inner(&h, "payload", 50, cases[i].cpus, cases[i].mems);
                b = load_good(&h);
                assert_ids(b.cpus, "4-7"); /* the unit's, which is what its properties set */
                assert_ids(b.mems, "2");
                assert_ids(b.inner_cpus, cases[i].inner_cpus);
                assert_ids(b.inner_mems, cases[i].inner_mems);
                assert_string_equal(b.inner_group, cases[i].less ? CGROUP "/payload" : "");
        }
}

HOST_TEST(inner_groups_of_several) {
        Binding b;

        fake_write(&h->tree, FOLDER "cpuset.mems.effective", "0,2");
        inner(h, "a", 50, "4-6", "0,2");
        inner(h, "b/c", 51, NULL, NULL); /* the nearest above it that has a cpuset counts */
        inner(h, "b", 60, "5-7", "2");
        host_add(h, 51);
        b = load_good(h);
        assert_ids(b.inner_cpus, "5-6");
        assert_ids(b.inner_mems, "2");
        assert_string_equal(b.inner_group, CGROUP "/a");
        fake_remove(&h->tree, FOLDER "a"); /* it moves just now */
        b = load_good(h);
        assert_ids(b.inner_cpus, "5-7");
        assert_string_equal(b.inner_group, CGROUP "/b");
}

/* A group of a like name is none below it. */
HOST_TEST(neighbour_is_no_inner_group) {
        Binding b;

        fake_process(&h->tree, 50, 1, "/srv/a", CGROUP "-2/x", "4-7");
        fake_write(&h->tree, "sys/fs/cgroup" CGROUP "-2/x/cpuset.cpus.effective", "1");
        fake_write(&h->tree, "sys/fs/cgroup" CGROUP "-2/x/cpuset.mems.effective", "0");
        b = load_good(h);
        assert_string_equal(b.inner_group, "");
        assert_ids(b.inner_cpus, "4-7");
}

HOST_TEST(where_it_ran) {
        const CpuSet none = { 0 };
        Binding b;

        assert_int_equal(load_for(h, &none, &b), 0);
        assert_ids(b.last_nodes, "0");
        fake_thread(&h->tree, 50, 50, "4-7", 5);
        fake_thread(&h->tree, 50, 51, "4-7", 99); /* a CPU that went offline since */
        assert_int_equal(load_for(h, &none, &b), 0);
        assert_ids(b.last_nodes, "2");
        fake_thread(&h->tree, 50, 52, "4-7", 2);
        assert_int_equal(load_for(h, &none, &b), 0);
        assert_ids(b.last_nodes, "0,2");
        fake_remove(&h->tree, "proc/50/task/52/stat"); /* ended in the middle */
        assert_int_equal(load_for(h, &none, &b), 0);
        assert_ids(b.last_nodes, "2");
}

HOST_TEST(several_members) {
        fake_process(&h->tree, 60, 50, "/srv/a", CGROUP, "4-7");
        fake_thread(&h->tree, 60, 61, "0", 0);
        fake_write(&h->tree, FOLDER "cgroup.procs", "50\n60\n");
        host_add(h, 60);
        assert_int_equal(load_good(h).n_threads, 3);
        assert_int_equal(load_good(h).n_threads_off_cpus, 1);
        /* One has ended: the other counts. */
        fake_remove(&h->tree, "proc/50");
        assert_int_equal(load_good(h).n_threads, 2);
}

HOST_TEST(gone) {
        Binding b = { .intruder = 7 };

        fake_remove(&h->tree, "proc/50");
        assert_int_equal(load(h, &b), -ESRCH);
        fake_process(&h->tree, 50, 1, "/srv/a", CGROUP, "4-7");
        fake_remove(&h->tree, FOLDER "cgroup.procs");
        fake_remove(&h->tree, FOLDER "cpuset.cpus.effective");
        assert_int_equal(load(h, &b), -ESRCH); /* the unit has */
        assert_int_equal(b.intruder, 7);
}

static void assert_nothing_holds_it(Host *h) {
        Binding b = load_good(h);

        assert_false(b.cpuset);
        assert_ids(b.cpus, "0-7");
        assert_ids(b.mems, "0"); /* of 0 and 2, what its thread may use: 0-1 */
        assert_int_equal(b.n_threads, 1);
        assert_true(b.alone);
}

HOST_TEST(without_cpuset) {
        fake_remove(&h->tree, FOLDER "cpuset.cpus.effective");
        fake_remove(&h->tree, FOLDER "cpuset.mems.effective");
        assert_nothing_holds_it(h);
        closep(&h->cgroup_fd); /* and without a unit at all */
        h->cgroup_fd = -EBADF;
        assert_nothing_holds_it(h);
}

/* A directory of v1: it counts when all are in it. */
HOST_TEST(own_cpuset) {
        _cleanup_close_ int fd = -EBADF;
        Binding b;

        fake_write(&h->tree, "own/cpuset.effective_cpus", "4-6\n");
        fake_write(&h->tree, "own/cpuset.effective_mems", "2\n");
        fake_write(&h->tree, "proc/50/cgroup", "9:name=systemd:/a\n3:cpu,cpuset:/tidbnumad/a\n");
        fd = h->own_cpuset_fd = openat(h->tree.fd, "own", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        h->cpuset_path = "/tidbnumad/a";
        b = load_good(h);
        assert_true(b.cpuset);
        assert_ids(b.cpus, "4-6");
        assert_ids(b.mems, "2");
        fake_process(&h->tree, 60, 50, "/srv/a", CGROUP, "4-7");
        fake_write(&h->tree, "proc/60/cgroup", "3:cpu,cpuset:/tidbnumad/ab\n");
        host_add(h, 60);
        b = load_good(h);
        assert_false(b.cpuset);
        assert_ids(b.cpus, "0-7");
        fake_remove(&h->tree, "proc/60"); /* one that has ended does not count */
        assert_true(load_good(h).cpuset);
}

HOST_TEST(unreadable_cpuset) {
        Binding b = { .intruder = 7 };

        fake_write(&h->tree, FOLDER "cpuset.mems.effective", "rubbish\n");
        assert_int_equal(load(h, &b), -EINVAL);
        assert_int_equal(b.intruder, 7);
}

/* --- threads of this process, which is live --- */

typedef struct Thread {
        pthread_t thread;
        sem_t ready, end;
} Thread;

static void *wait_for_end(void *userdata) {
        Thread *t = userdata;

        (void)sem_post(&t->ready);
        (void)sem_wait(&t->end);
        return NULL;
}

static void thread_start(Thread *t, const cpu_set_t *cpus) {
        pthread_attr_t attr;

        assert_int_equal(pthread_attr_init(&attr), 0);
        if (cpus)
                assert_int_equal(pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus), 0);
        assert_int_equal(sem_init(&t->ready, 0, 0) | sem_init(&t->end, 0, 0), 0);
        assert_int_equal(pthread_create(&t->thread, &attr, wait_for_end, t), 0);
        assert_int_equal(sem_wait(&t->ready), 0);
        (void)pthread_attr_destroy(&attr);
}

static void thread_end(Thread *t) {
        assert_int_equal(sem_post(&t->end), 0);
        assert_int_equal(pthread_join(t->thread, NULL), 0);
}

/* Of the same process again and again: what a thread chose is seen each time, also by one that came
 * in the place of another. */
LIVE_TEST(threads_that_come_and_go) {
        const BindingGroups groups = { .group_fd = -EBADF, .cpuset_fd = -EBADF };
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Member member = { .handle = &handle };
        cpu_set_t cpus, one;
        Node node = { .id = 0 };
        const Topology topology = { .nodes = &node, .n_nodes = 1 };
        CpuSet wanted = { 0 };
        Thread threads[3];
        Binding b;

        assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
        if (CPU_COUNT(&cpus) < 2)
                skip_because("one CPU is all that there is here");
        CPU_ZERO(&one);
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
                if (CPU_ISSET(cpu, &cpus)) {
                        id_set_add(&wanted, cpu);
                        if (CPU_COUNT(&one) == 0)
                                CPU_SET(cpu, &one);
                }
        node.cpus = wanted;
        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        for (size_t i = 0; i < ELEMENTSOF(threads); i++)
                thread_start(&threads[i], NULL);
        for (unsigned round = 0; round < 3 * THREAD_LIST_USES; round++) {
                const size_t at = round % ELEMENTSOF(threads);
                const bool narrow = round % 4 == 1;
                size_t n_narrow = 0;

                if (round % 2 == 1) { /* the number of threads stays */
                        thread_end(&threads[at]);
                        thread_start(&threads[at], narrow ? &one : NULL);
                } else
                        assert_int_equal(pthread_setaffinity_np(threads[at].thread, sizeof(one),
                                                                round % 3 ? &one : &cpus),
                                         0);
                for (size_t i = 0; i < ELEMENTSOF(threads); i++) {
                        cpu_set_t has;

                        assert_int_equal(
                                pthread_getaffinity_np(threads[i].thread, sizeof(has), &has), 0);
                        n_narrow += CPU_EQUAL(&has, &one);
                }
                assert_int_equal(binding_load(&topology, sysroot, &member, 1, &groups, &wanted, &b),
                                 0);
                assert_int_equal(b.n_threads, ELEMENTSOF(threads) + 1);
                assert_int_equal(b.n_threads_off_cpus, n_narrow);
        }
        for (size_t i = 0; i < ELEMENTSOF(threads); i++)
                thread_end(&threads[i]);
        assert_int_equal(binding_load(&topology, sysroot, &member, 1, &groups, &wanted, &b), 0);
        assert_int_equal(b.n_threads, 1);
        free(member.threads);
}
