/* Whose threads a look at all instances reads: each in turn, and all of them of what does not rest.
 */
#include "../../support/test.h"

#include "rooms.h"
#include "tidbnumad/daemon/binding/binding.h"

enum { INSTANCES = 4 };

typedef struct TestHost {
        Rooms rooms;
        Policy policy;
} TestHost;

/* Each rests in a cpuset with 600 threads; at least 1,000 are read in a round. */
static void host_init(TestHost *h, size_t n_threads) {
        *h = (TestHost){ .policy = { .name = (char *)"ours" } };
        rooms_wire(&h->rooms);
        h->rooms.host.policies.sampling_interval_usec = 10000000;
        for (pid_t pid = 10; pid < 10 + INSTANCES; pid++) {
                Process process = { .id = { pid, 100 }, .exe = strdup("/x") };
                Instance *i = rooms_add(&h->rooms, &h->policy, &process, NULL);

                i->binding.placement.cpus = cpu_set("4-7");
                i->binding.observed = (Binding){ .cpuset = true, .n_threads = n_threads };
                i->binding.observed_known = true;
                i->binding.step.kind = STEP_DONE;
        }
}

/* Which are read: a digit each. */
static unsigned next_round(TestHost *h) {
        unsigned read = 0;

        thread_rounds_choose(&h->rooms.binding);
        for (size_t k = 0; k < INSTANCES; k++)
                read = read * 10 + !h->rooms.registry.instances[k]->binding.threads_known;
        return read;
}

TEST(each_in_turn) {
        TestHost h;

        host_init(&h, 600);
        assert_int_equal(next_round(&h), 1100);
        assert_int_equal(next_round(&h), 11);   /* 200 were ahead: 800 are left to it */
        assert_int_equal(next_round(&h), 1000); /* 400 ahead */
        rooms_free_instances(&h.rooms);
}

/* The budget allows the next sample only after ten minutes. Observed once a minute, 20,000 threads
 * in a cpuset are 2,000 each time. */
TEST(rare_samples_do_not_delay_it) {
        TestHost h;

        host_init(&h, 5000);
        h.rooms.host.policies.sampling_budget_ppm = 2000;
        h.rooms.sampling.rounds.last_cost_usec = 1200000;
        assert_int_equal(sampling_interval_usec(&h.rooms.sampling), 600000000);
        assert_int_equal(binding_interval_usec(&h.rooms.binding), 60000000);
        assert_int_equal(next_round(&h), 1000);
        h.rooms.sampling.rounds.last_cost_usec = 60000;
        assert_int_equal(binding_interval_usec(&h.rooms.binding), 30000000);
        rooms_free_instances(&h.rooms);
}

TEST(few_threads_are_all_read) {
        TestHost h;

        host_init(&h, 100);
        assert_int_equal(next_round(&h), 1111);
        assert_int_equal(next_round(&h), 1111);
        rooms_free_instances(&h.rooms);
}

TEST(what_does_not_rest_is_always_read) {
        TestHost h;

        host_init(&h, 5000);
        h.rooms.registry.instances[3]->binding.step.kind = STEP_PULL;
        h.rooms.registry.instances[2]->binding.observed.n_threads_outside = 1;
        assert_int_equal(next_round(&h), 1011);
        assert_int_equal(next_round(&h), 11);
        rooms_free_instances(&h.rooms);
}
