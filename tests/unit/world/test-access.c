/* Counters on the real threads of a process of ours, by software events; and the sums. Threads
 * fault pages when they are told to, and are judged by the number that they were told. */
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>

#include "../../support/test.h"

#include "tidbnumad/world/sampling.h"
#include "workers.h"

/* The readings of a played group, for what no software event does: it shares no counter. */
int __real_perf_group_open(pid_t tid, const PerfCode *codes, size_t n_codes, PerfGroup *ret);
int __wrap_perf_group_open(pid_t tid, const PerfCode *codes, size_t n_codes, PerfGroup *ret);
int __real_perf_group_read(const PerfGroup *group, PerfReading *ret);
int __wrap_perf_group_read(const PerfGroup *group, PerfReading *ret);

typedef struct Play {
        int refuse; /* the answer to the opens behind these: */
        size_t allowed;
        size_t n_opens;
        const PerfReading *reading; /* NULL: the kernel's */
        struct Worker *ends;        /* between its listing and its opening */
} Play;

static Play play;

static pid_t end_worker(pid_t tid);

int __wrap_perf_group_open(pid_t tid, const PerfCode *codes, size_t n_codes, PerfGroup *ret) {
        play.n_opens++;
        tid = end_worker(tid);
        if (play.refuse && play.n_opens > play.allowed)
                return play.refuse;
        return __real_perf_group_open(tid, codes, n_codes, ret);
}

int __wrap_perf_group_read(const PerfGroup *group, PerfReading *ret) {
        if (!play.reading)
                return __real_perf_group_read(group, ret);
        *ret = *play.reading;
        return 0;
}

static const AccessEvents both = {
        .source = "test",
        .coverage = "faults",
        .events = { { true, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
                    { true, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN } },
};

static const AccessEvents remote_alone = {
        .source = "test",
        .events = { [LOCALITY_REMOTE] = { true, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS } },
};

enum { NOISE = 150, ALL = 1000 };

/* Its number is given to another at once: who asks for it gets the main thread. */
static pid_t end_worker(pid_t tid) {
        if (!play.ends || play.ends->tid != tid)
                return tid;
        stop(play.ends);
        while (access(fmt("/proc/self/task/%d", tid), F_OK) == 0)
                (void)sched_yield();
        return getpid();
}

typedef struct Host {
        Sysroot sysroot;
        ProcHandle process;
        Member member;
        AccessCounters counters;
        AccessSample sample;
} Host;

static void set_up(Host *h) {
        PerfGroup group;
        PerfCode code = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS };

        *h = (Host){ .sysroot = SYSROOT_NONE, .process = PROC_HANDLE_NONE };
        play = (Play){ 0 };
        if (__real_perf_group_open(0, &code, 1, &group) < 0)
                skip_because("perf_event_open() is refused here");
        perf_group_close(&group);
        assert_int_equal(sysroot_open(NULL, &h->sysroot), 0);
        assert_int_equal(proc_open(&h->sysroot, getpid(), &h->process), 0);
        h->member.handle = &h->process;
}

#define HOST_TEST(test) TEST_WITH(test, Host, h, set_up, test_no_done)

static void tear_down(Host *h) {
        access_close(&h->counters);
        proc_close(&h->process);
        sysroot_close(&h->sysroot);
}

static int attach(Host *h, size_t n_opens, size_t n_max) {
        return access_attach(&h->counters, &h->member, 1, &both, n_opens, n_max);
}

static void read_counts(Host *h) {
        assert_int_equal(attach(h, ALL, ALL), 0);
        access_read(&h->counters, &both, &h->sample);
}

static void assert_faults(const Host *h, size_t times) {
        assert_true(h->sample.counts[LOCALITY_REMOTE] >= times * PAGES);
        assert_true(h->sample.counts[LOCALITY_REMOTE] < times * PAGES + NOISE);
        assert_int_equal(h->sample.counts[LOCALITY_LOCAL], 0);
}

HOST_TEST(threads_come_and_go) {
        Worker a, b;

        start(&a);
        read_counts(h);
        assert_int_equal(h->sample.n_counted, 2); /* and this one */
        tell(&a);
        read_counts(h);
        assert_faults(h, 1);
        assert_true(h->sample.enabled_nsec > 0);
        read_counts(h);
        assert_faults(h, 0); /* what was counted is not counted again */
        start(&b);
        tell(&b); /* before it is seen */
        read_counts(h);
        assert_faults(h, 0);
        assert_int_equal(h->sample.n_counted, 3);
        tell(&a);
        tell(&b);
        read_counts(h);
        assert_faults(h, 2);
        tell(&b);
        stop(&b); /* and what it did until its end */
        read_counts(h);
        assert_faults(h, 1);
        assert_int_equal(h->sample.n_counted, 2);
        read_counts(h);
        assert_faults(h, 0);
        stop(&a);
        tear_down(h);
}

static size_t count_descriptors(void) {
        size_t n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

/* The end of the instance: the rest is counted, and nothing stays open. */
HOST_TEST(finish) {
        size_t before;
        Worker a;

        before = count_descriptors();
        start(&a);
        read_counts(h);
        assert_int_equal(count_descriptors(), before + 4 + 4);
        tell(&a);
        stop(&a);
        access_finish(&h->counters, &both, &h->sample);
        assert_faults(h, 1);
        assert_int_equal(h->counters.n_threads, 0);
        assert_int_equal(count_descriptors(), before);
        access_finish(&h->counters, &both, &h->sample);
        assert_faults(h, 0);
        tear_down(h);
}

/* One event only, that of the second place: it is counted as what it is. */
HOST_TEST(remote_alone) {
        assert_int_equal(access_attach(&h->counters, &h->member, 1, &remote_alone, ALL, ALL), 0);
        access_read(&h->counters, &remote_alone, &h->sample);
        fault();
        access_read(&h->counters, &remote_alone, &h->sample);
        assert_faults(h, 1);
        assert_true(isnan(access_ratio(&h->sample, &remote_alone)));
        tear_down(h);
}

HOST_TEST(step_by_step) {
        Worker workers[4];

        start_all(workers, 4);
        assert_int_equal(attach(h, 2, ALL), -EAGAIN);
        assert_int_equal(h->counters.n_threads, 2);
        assert_int_equal(attach(h, 2, ALL), -EAGAIN);
        assert_int_equal(attach(h, 2, ALL), 0);
        assert_int_equal(h->counters.n_threads, 5);
        assert_int_equal(h->counters.n_missing, 0);
        assert_int_equal(play.n_opens, 5);
        for (size_t i = 1; i < h->counters.n_threads; i++)
                assert_true(h->counters.threads[i - 1].tid < h->counters.threads[i].tid);
        stop_all(workers, 4);
        tear_down(h);
}

/* More threads than there may be descriptors: the rest is reported as missing. */
HOST_TEST(no_room) {
        Worker workers[3];

        start_all(workers, 3);
        assert_int_equal(attach(h, 1, 1), -EAGAIN);
        assert_int_equal(attach(h, 1, 1), 0);
        assert_int_equal(play.n_opens, 1); /* no counter was opened for a thread that is gone */
        assert_int_equal(h->counters.n_missing, 3);
        assert_int_equal(h->counters.error, -EMFILE);
        access_read(&h->counters, &both, &h->sample);
        assert_int_equal(h->sample.n_counted, 1);
        assert_int_equal(h->sample.n_missing, 3);
        assert_true(access_coverage(&h->sample) <= 0.25);
        assert_int_equal(attach(h, ALL, ALL), 0);
        assert_int_equal(h->counters.n_missing, 0);
        assert_int_equal(h->counters.error, 0);
        stop_all(workers, 3);
        tear_down(h);
}

/* What is refused is asked for once a listing, however many threads there are. */
HOST_TEST(refused) {
        static const int refusals[] = { -EACCES, -EMFILE, -EOPNOTSUPP, -ENOMEM };
        Worker workers[3];

        start_all(workers, 3);
        for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
                play = (Play){ .refuse = refusals[i] };
                assert_int_equal(attach(h, 2, ALL), 0);
                assert_int_equal(play.n_opens, 1);
                assert_int_equal(h->counters.n_missing, 4);
                assert_int_equal(h->counters.error, refusals[i]);
        }
        play = (Play){ .refuse = -ESRCH, .allowed = 1 };
        assert_int_equal(attach(h, ALL, ALL), 0);
        assert_int_equal(play.n_opens, 4); /* each of them may have ended */
        assert_int_equal(h->counters.n_missing, 0);
        assert_int_equal(h->counters.n_threads, 1);
        stop_all(workers, 3);
        tear_down(h);
}

/* Of the time between two readings, not of all since the start: then it had all of its counters. */
HOST_TEST(shared_counters) {
        const PerfReading first = { 1000, 1000, { 5000, 1000 } };
        const PerfReading then = { 1400, 1100, { 5030, 1010 } };
        const PerfReading never = { 1800, 1100, { 5030, 1010 } };

        assert_int_equal(attach(h, ALL, ALL), 0);
        play.reading = &first;
        access_read(&h->counters, &both, &h->sample);
        assert_int_equal(h->sample.counts[LOCALITY_LOCAL], 5000);
        assert_int_equal(h->sample.counts[LOCALITY_REMOTE], 1000);
        play.reading = &then; /* for a quarter of 400 ns: four times what was seen */
        access_read(&h->counters, &both, &h->sample);
        assert_int_equal(h->sample.counts[LOCALITY_LOCAL], 120);
        assert_int_equal(h->sample.counts[LOCALITY_REMOTE], 40);
        assert_true(fabs(access_coverage(&h->sample) - 0.25) < 1e-9);
        assert_true(fabs(access_ratio(&h->sample, &both) - 0.25) < 1e-9);
        play.reading = &never;
        access_read(&h->counters, &both, &h->sample);
        assert_int_equal(h->sample.counts[LOCALITY_LOCAL], 0);
        assert_true(access_coverage(&h->sample) <= 0);
        tear_down(h);
}

/* A number that was reused between listing and opening is not counted, nor kept open. */
HOST_TEST(number_given_away) {
        size_t before;
        Worker a;

        before = count_descriptors();
        start(&a);
        play.ends = &a;
        assert_int_equal(attach(h, ALL, ALL), 0);
        assert_int_equal(play.n_opens, 2);
        assert_int_equal(h->counters.n_threads, 1);
        assert_int_equal(h->counters.threads[0].tid, getpid());
        assert_int_equal(h->counters.n_missing, 0);
        assert_int_equal(count_descriptors(), before + 2);
        tear_down(h);
}

TEST(sums) {
        AccessSample s = { .counts = { 300, 100 },
                           .enabled_nsec = 10,
                           .running_nsec = 5,
                           .n_counted = 3,
                           .n_missing = 1 };

        assert_true(fabs(access_ratio(&s, &both) - 0.25) < 1e-9);
        assert_true(fabs(access_coverage(&s) - 0.375) < 1e-9);
        s.enabled_nsec = s.running_nsec = 0;
        assert_true(fabs(access_coverage(&s) - 0.75) < 1e-9);
        s.counts[LOCALITY_LOCAL] = s.counts[LOCALITY_REMOTE] = 0;
        assert_true(isnan(access_ratio(&s, &both)));
        s.counts[LOCALITY_REMOTE] = 1;
        assert_true(access_ratio(&s, &both) > 0.999);
        s.n_counted = s.n_missing = 0;
        assert_true(isnan(access_coverage(&s)));
}
