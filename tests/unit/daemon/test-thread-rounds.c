/* Whose threads a round of reconciles reads: each instance in turn, and all of those that are not
 * at rest. How many threads each has, and how many of them are off its CPUs, is the test's. */
#include "guard-host.h"

enum { INSTANCES = 4 };

static struct {
        size_t n_threads; /* of each */
        pid_t outside;    /* one thread of this process */
        bool read[INSTANCES];
} threads;

int __real_binding_load(const Topology *topology, const Sysroot *sysroot, Member *members,
                        size_t n_members, const BindingGroups *groups, const CpuSet *cpus,
                        Binding *ret);
int __wrap_binding_load(const Topology *topology, const Sysroot *sysroot, Member *members,
                        size_t n_members, const BindingGroups *groups, const CpuSet *cpus,
                        Binding *ret);
int __wrap_binding_load(const Topology *topology, const Sysroot *sysroot, Member *members,
                        size_t n_members, const BindingGroups *groups, const CpuSet *cpus,
                        Binding *ret) {
        const pid_t pid = members[0].process.id.pid;

        assert_int_equal(
                __real_binding_load(topology, sysroot, members, n_members, groups, cpus, ret), 0);
        threads.read[pid - 10] = true;
        ret->n_threads = threads.n_threads;
        ret->n_threads_outside = pid == threads.outside;
        return 0;
}

int __real_binding_reload_groups(const Topology *topology, const Sysroot *sysroot,
                                 const Member *members, size_t n_members,
                                 const BindingGroups *groups, Binding *binding);
int __wrap_binding_reload_groups(const Topology *topology, const Sysroot *sysroot,
                                 const Member *members, size_t n_members,
                                 const BindingGroups *groups, Binding *binding);
int __wrap_binding_reload_groups(const Topology *topology, const Sysroot *sysroot,
                                 const Member *members, size_t n_members,
                                 const BindingGroups *groups, Binding *binding) {
        assert_int_equal(__real_binding_reload_groups(topology, sysroot, members, n_members, groups,
                                                      binding),
                         0);
        binding->n_threads = threads.n_threads;
        return 0;
}

/* Which are read: a digit each. */
static unsigned next_round(TestHost *h) {
        unsigned digits = 0;

        memset(threads.read, 0, sizeof(threads.read));
        kernel.now += SEC(10);
        observe(h);
        for (size_t k = 0; k < INSTANCES; k++)
                digits = digits * 10 + threads.read[k];
        return digits;
}

/* A round has cost so much of the CPU. */
static void round_has_cost(TestHost *h, uint64_t usec) {
        Begun begun = cost_begin();

        begun.cpu_usec -= usec;
        cost_pause(&h->rooms.sampling, begun);
        sampling_begin_round(&h->rooms.sampling, kernel.now);
}

/* Each is in a cpuset; at least 1,000 threads are read in a round, and each thread within ten
 * minutes. `cost_usec`: of the samples, of which the budget allows the next one later. */
TEST(each_in_turn) {
        static const struct {
                const char *what;
                size_t n_threads;
                uint64_t cost_usec;
                pid_t outside;
                EnforcementMode mode;
                unsigned rounds[3];
        } rows[] = {
                /* 200 were ahead: 800 are left to the next round; then 400 */
                { "600 threads", 600, 0, 0, ENFORCEMENT_ENFORCE, { 1100, 11, 1000 } },
                { "few", 100, 0, 0, ENFORCEMENT_ENFORCE, { 1111, 1111, 1111 } },
                { "one is not at rest", 5000, 0, 12, ENFORCEMENT_ENFORCE, { 1010, 10, 10 } },
                { "nothing may be changed", 5000, 0, 0, ENFORCEMENT_OBSERVE, { 1111, 1111, 1111 } },
                /* once a minute all the same: 20,000 threads are 2,000 each time */
                { "rare samples", 1000, 1200000, 0, ENFORCEMENT_ENFORCE, { 1000, 100, 10 } },
                { "rare, and many", 5000, 1200000, 0, ENFORCEMENT_ENFORCE, { 1000, 0, 100 } },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                _cleanup_host_ TestHost h;

                memset(&threads, 0, sizeof(threads));
                host_init(&h);
                h.rooms.host.policies.mode = rows[k].mode;
                h.rooms.host.policies.sampling_interval_usec = SEC(10);
                h.rooms.host.policies.sampling_budget_ppm = 2000;
                threads.n_threads = rows[k].n_threads;
                threads.outside = rows[k].outside;
                for (pid_t pid = 10; pid < 10 + INSTANCES; pid++)
                        (void)serve(&h, pid, "1");
                round_has_cost(&h, rows[k].cost_usec);
                for (size_t n = 0; n < ELEMENTSOF(rows[k].rounds); n++) {
                        const unsigned read = next_round(&h);

                        if (read != rows[k].rounds[n])
                                fail_msg("%s, round %zu: %04u", rows[k].what, n, read);
                }
        }
}

/* Samples that the budget makes rarer do not delay the search for drift by more than a minute. */
HOST_TEST(interval) {
        static const struct {
                uint64_t cost_usec, least_usec;
        } rows[] = { { 60000, SEC(30) }, { 1200000, SEC(60) } };

        h->rooms.host.policies.sampling_interval_usec = SEC(10);
        h->rooms.host.policies.sampling_budget_ppm = 2000;
        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                round_has_cost(h, rows[k].cost_usec);
                assert_in_range(binding_interval_usec(&h->rooms.binding), rows[k].least_usec,
                                rows[k].least_usec + 100000);
        }
}
