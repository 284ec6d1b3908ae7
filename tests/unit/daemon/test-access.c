/* Rounds of counting, of this very process by software events, and what is said where nothing can
 * be counted. Refusals of the kernel are played. */
#include <linux/perf_event.h>
#include <math.h>
#include <sys/mman.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "capture.h"
#include "published.h"
#include "tidbnumad/sys/self.h"

int __real_perf_group_open(pid_t tid, const PerfCode *codes, size_t n_codes, PerfGroup *ret);
int __wrap_perf_group_open(pid_t tid, const PerfCode *codes, size_t n_codes, PerfGroup *ret);

static int refuse;

int __wrap_perf_group_open(pid_t tid, const PerfCode *codes, size_t n_codes, PerfGroup *ret) {
        return refuse ? refuse : __real_perf_group_open(tid, codes, n_codes, ret);
}

static size_t descriptors; /* 0: those that there are */

size_t __real_perf_descriptors_max(void);
size_t __wrap_perf_descriptors_max(void);

size_t __wrap_perf_descriptors_max(void) {
        return descriptors > 0 ? descriptors : __real_perf_descriptors_max();
}

enum { PAGES = 300 };

typedef struct TestHost {
        Rooms rooms;
        FakeTree runtime;
        Args args;
        Policy policy;
        PolicyInfo counters[2];
        Instance *instance;
        Capture said;
} TestHost;

/* An instance of this very process. */
static Instance *add(TestHost *h) {
        Process process = { .id = { getpid(), 100 },
                            .exe = strdup("/x"),
                            .unit = strdup("tidb-4000.service") };
        ProcHandle handle = PROC_HANDLE_NONE;

        assert_int_equal(proc_open(&h->rooms.host.sysroot, getpid(), &handle), 0);
        return rooms_add(&h->rooms, &h->policy, &process, &handle);
}

static void host_init(TestHost *h) {
        refuse = 0;
        descriptors = 0;
        *h = (TestHost){ .rooms = { .host.sysroot = SYSROOT_NONE } };
        assert_int_equal(sysroot_open(NULL, &h->rooms.host.sysroot), 0);
        h->rooms.host.args = &h->args;
        h->policy = (Policy){ .name = (char *)"tidb", .file = (char *)"p.yaml" };
        fake_init(&h->runtime);
        h->rooms.host.runtime_fd = h->runtime.fd;
        h->rooms.host.policies_known = true;
        h->rooms.host.policy_counters = h->counters;
        h->rooms.host.policies.policies = &h->policy;
        h->rooms.host.policies.n_policies = 1;
        h->rooms.host.policies.sampling_access = true;
        journal_init(&h->rooms.host.journal, false);
        rooms_wire(&h->rooms);
        h->instance = add(h);
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->rooms);
        sampling_done(&h->rooms.sampling);
        fake_done(&h->runtime);
        sysroot_close(&h->rooms.host.sysroot);
}
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

static void choose(TestHost *h) {
        CAPTURE_STDERR(&h->said, access_choose(&h->rooms.sampling));
}

static bool is_available(const TestHost *h) {
        AccessInfo a;

        access_fill(&h->rooms.sampling, &a);
        return a.available;
}

/* Local: instructions that the kernel emulates, of which there are none; remote: those of pages. */
static void use_faults(TestHost *h) {
        const PerfCode faults = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS };
        PerfGroup group;

        h->rooms.host.policies.sampling_events[LOCALITY_LOCAL] =
                (AccessEvent){ true, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS };
        h->rooms.host.policies.sampling_events[LOCALITY_REMOTE] =
                (AccessEvent){ true, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN };
        if (__real_perf_group_open(0, &faults, 1, &group) < 0)
                skip_because("perf_event_open() is refused here");
        perf_group_close(&group);
        choose(h);
        assert_true(is_available(h));
}

static void fault(void) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        assert_ptr_not_equal(memory, MAP_FAILED);
        (void)madvise(memory, size, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < size; i += page)
                ((volatile char *)memory)[i] = 1;
        (void)munmap(memory, size);
}

static void round_of(TestHost *h) {
        h->rooms.sampling.access.next = 0;
        while (access_pass(&h->rooms.sampling))
                ;
}

static uint64_t remote_of_policy(TestHost *h) {
        AccessInfo a;

        access_fill(&h->rooms.sampling, &a);
        return (uint64_t)rooms_metric(
                &h->rooms, &h->runtime,
                fmt("tidbnumad_policy_dram_accesses_total{policy=\"tidb\",locality=\"remote\","
                    "source=\"%s\",coverage=\"%s\"}",
                    a.source, a.coverage));
}

static InstanceInfo snapshot_of(const TestHost *h, const Instance *i) {
        InstanceInfo s = { .name = (char *)"" };

        access_fill_instance(&h->rooms.sampling, i, &s);
        return s;
}

static InstanceInfo snapshot(const TestHost *h) {
        return snapshot_of(h, h->instance);
}

HOST_TEST(counts) {
        InstanceInfo s;
        AccessInfo a;

        use_faults(h);
        assert_contains(h->said.text, "are counted, by events of policy");
        access_fill(&h->rooms.sampling, &a);
        assert_true(a.wanted && a.available);
        assert_true(a.counted[LOCALITY_LOCAL] && a.counted[LOCALITY_REMOTE]);
        assert_string_equal(a.source, "policy");
        s = snapshot(h);
        assert_false(s.access_known); /* not yet */
        round_of(h);
        fault();
        round_of(h);
        s = snapshot(h);
        assert_true(s.access_known);
        assert_true(s.accesses[LOCALITY_REMOTE] >= PAGES);
        assert_int_equal(s.accesses[LOCALITY_LOCAL], 0);
        assert_true(s.remote_access_ratio > 0.999);
        assert_true(s.access_coverage > 0.999);
        assert_int_equal(remote_of_policy(h), s.accesses[LOCALITY_REMOTE]);
        /* What it costs is reported, and delays the next round. */
        assert_true(rooms_metric(&h->rooms, &h->runtime,
                                 "tidbnumad_sample_duration_seconds_count{method=\"counters\"}") ==
                    2);
        h->rooms.host.policies.sampling_budget_ppm = 1;
        sampling_begin_round(&h->rooms.sampling, 0);
        assert_true(sampling_interval_usec(&h->rooms.sampling) > 0);
        choose(h); /* as with a reload: nothing is new */
        assert_string_equal(h->said.text, "");
        assert_true(snapshot(h).accesses[LOCALITY_REMOTE] == s.accesses[LOCALITY_REMOTE]);
}

/* Its last counts are its policy's. */
HOST_TEST(end) {
        uint64_t before;

        use_faults(h);
        round_of(h);
        assert_true(snapshot(h).access_known);
        before = remote_of_policy(h);
        fault();
        registry_remove_process(&h->rooms.registry, h->instance, 0);
        assert_ptr_equal(registry_take_ended(&h->rooms.registry), h->instance);
        access_end(&h->rooms.sampling, h->instance); /* as the pass does */
        rooms_free_instance(h->instance);
        assert_true(remote_of_policy(h) >= before + PAGES);
}

/* What was counted of it since is no policy's. */
HOST_TEST(its_policy_is_gone) {
        uint64_t before;

        use_faults(h);
        round_of(h);
        before = remote_of_policy(h);
        fault();
        h->policy.match.exe = (char *)"/another";
        assert_int_equal(watch_rematch(&h->rooms.registry), 0);
        assert_ptr_equal(registry_take_ended(&h->rooms.registry), h->instance);
        access_end(&h->rooms.sampling, h->instance); /* as the pass does */
        rooms_free_instance(h->instance);
        assert_int_equal(remote_of_policy(h), before);
}

/* Two descriptors for two instances, two a thread: the first one has them. */
HOST_TEST(room_for_all) {
        Instance *second;

        use_faults(h);
        second = add(h);
        descriptors = 2;
        CAPTURE_STDERR(&h->said, round_of(h));
        assert_contains(h->said.text, "are not counted: the limit of open files");
        assert_true(snapshot(h).access_known);
        assert_false(snapshot_of(h, second).access_known);
        descriptors = 4;
        round_of(h);
        assert_true(snapshot_of(h, second).access_known);
}

static unsigned n_descriptors(void) {
        unsigned n = 0;

        for (int fd = 0; fd < 1024; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

/* Other events, and none: the sums of the former say nothing. */
HOST_TEST(other_events) {
        const unsigned n = n_descriptors();

        use_faults(h);
        round_of(h);
        fault();
        round_of(h);
        h->rooms.host.policies.sampling_events[LOCALITY_LOCAL].given = false;
        choose(h);
        assert_false(snapshot(h).access_known);
        assert_int_equal(remote_of_policy(h), 0);
        round_of(h);
        fault();
        round_of(h);
        assert_true(snapshot(h).accesses[LOCALITY_REMOTE] >= PAGES);
        assert_true(isnan(snapshot(h).remote_access_ratio)); /* of what? */
        h->rooms.host.policies.sampling_access = false;
        choose(h);
        assert_string_equal(h->said.text, "");
        assert_false(snapshot(h).access_known);
        assert_int_equal(n_descriptors(), n);
        assert_false(access_pass(&h->rooms.sampling));
}

HOST_TEST(absence) {
        static const struct {
                int error;
                const char *said;
        } cases[] = {
                { -EOPNOTSUPP, "not counted: this machine has no such counters" },
                { -EMFILE, "not counted: the limit of open files" },
                { -ENOMEM, "not counted: Cannot allocate memory" },
        };
        AccessInfo a;

        h->rooms.host.policies.sampling_events[LOCALITY_LOCAL] = (AccessEvent){ true, 4, 1 };
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                refuse = cases[i].error;
                choose(h);
                assert_contains(h->said.text, cases[i].said);
                choose(h);
                assert_string_equal(h->said.text, ""); /* once */
                access_fill(&h->rooms.sampling, &a);
                assert_true(a.wanted && !a.available);
                assert_null(a.source);
                assert_true(strlen(a.reason) > 10);
                assert_false(a.counted[LOCALITY_LOCAL]);
                assert_false(access_pass(&h->rooms.sampling));
                assert_false(snapshot(h).access_known);
        }
}

/* The unit does not give it, before an operator wants counters. */
HOST_TEST(a_missing_capability_is_named) {
        bool lowered;

        h->rooms.host.policies.sampling_events[LOCALITY_LOCAL] = (AccessEvent){ true, 4, 1 };
        refuse = -EACCES;
        lowered = capability_set_effective(CAP_PERFMON, false) > 0;
        lowered &= capability_set_effective(CAP_SYS_ADMIN, false) > 0;
        choose(h);
        assert_contains(h->said.text, "does not have CAP_PERFMON: install the drop-in "
                                      "sampling-access.conf, see tidbnumad-metrics(7)");
        if (lowered) {
                assert_int_equal(capability_set_effective(CAP_PERFMON, true), 1);
                assert_int_equal(capability_set_effective(CAP_SYS_ADMIN, true), 1);
                choose(h);
                assert_contains(h->said.text, "set kernel.perf_event_paranoid to 2");
        }
}

static void assert_unknown(TestHost *h, FakeTree *tree, const char *cpuinfo, const char *said) {
        fake_write(tree, "proc/cpuinfo", cpuinfo);
        choose(h);
        assert_contains(h->said.text, said);
        assert_false(is_available(h));
}

HOST_TEST(processors) {
        _cleanup_fake_ FakeTree tree;
        Sysroot own;

        fake_init(&tree);
        own = h->rooms.host.sysroot;
        h->rooms.host.sysroot = tree.sysroot;
        h->rooms.host.sysroot.live = true;
        refuse = -EOPNOTSUPP;
        assert_unknown(h, &tree, "vendor_id : GenuineIntel\ncpu family:6\nmodel:45\n",
                       "the processor is not known; sampling.events can name");
        assert_unknown(h, &tree, "CPU implementer : 0x48\nCPU part : 0xd01\n",
                       "counts them by die, and not by thread");
        assert_unknown(h, &tree, "nothing\n", "does not identify the processor");
        assert_unknown(h, &tree, "vendor_id : AuthenticAMD\ncpu family:25\nmodel:1\n",
                       "no such counters, as most virtual machines");
        h->rooms.host.sysroot.live = false;
        assert_unknown(h, &tree, "vendor_id : AuthenticAMD\ncpu family:25\nmodel:1\n",
                       "a dump of a machine");
        h->rooms.host.sysroot = own;
}

/* What can be tried and what the instance's threads allow are two things. */
HOST_TEST(refused_later) {
        use_faults(h);
        refuse = -EACCES;
        capture_begin(&h->said, STDERR_FILENO);
        round_of(h);
        round_of(h);
        capture_end(&h->said);
        assert_contains(h->said.text,
                        "Accesses of 1 of the 1 threads of tidb-4000 are not counted: the kernel");
        assert_null(strstr(strstr(h->said.text, "tidb-4000 are") + 1, "tidb-4000 are"));
        assert_false(snapshot(h).access_known);
        refuse = 0;
        round_of(h);
        assert_true(snapshot(h).access_known);
}
