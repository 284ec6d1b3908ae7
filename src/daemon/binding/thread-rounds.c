/* Chooses the instances whose threads are read. */
#include "tidbnumad/daemon/binding/thread-rounds.h"

/* A round reads at least this many threads; each thread of an instance at rest is read again within
 * these times. A cpuset confines the threads to its CPUs, and the kernel reports writes to it;
 * without a cpuset only the threads' own masks show drift. */
#define ROUND_THREADS 1000
#define THREADS_CPUSET_USEC (UINT64_C(600) * 1000 * 1000)
#define THREADS_USEC (UINT64_C(60) * 1000 * 1000)

static bool is_in_cpuset(const Instance *i) {
        return i->binding.observed.cpuset && !id_set_is_empty(&i->binding.placement.cpus);
}

/* Is it at a final step, with no thread outside its CPUs? */
static bool rests(const Instance *i) {
        const InstanceBinding *own = &i->binding;

        return step_is_final(own->step.kind) && own->observed_known && !own->fresh &&
               (id_set_is_empty(&own->placement.cpus) || own->observed.n_threads_outside == 0);
}

static size_t threads_per_round(const Binder *b, bool in_cpuset) {
        const uint64_t within_usec = in_cpuset ? THREADS_CPUSET_USEC : THREADS_USEC;
        uint64_t n = 0;

        ROSTER_FOREACH(i, b->roster)
                if (is_in_cpuset(i) == in_cpuset)
                        n += i->binding.observed.n_threads;
        n = n * binding_interval_usec(b) / within_usec + 1;
        return n > ROUND_THREADS ? n : ROUND_THREADS;
}

/* Continues where the last round ended. Threads that the last round read beyond its share are
 * subtracted; otherwise one instance with 100,000 threads would be read in each round. */
static void choose_threads(Binder *b, bool in_cpuset) {
        const size_t n_instances = b->roster->n_instances;
        const size_t most = threads_per_round(b, in_cpuset);
        ThreadRounds *rounds = &b->thread_rounds[in_cpuset];
        const size_t first = n_instances > 0 ? rounds->next % n_instances : 0;
        size_t n = rounds->n_ahead;

        for (size_t k = 0; k < n_instances; k++) {
                const size_t index = (first + k) % n_instances;
                Instance *i = b->roster->instances[index];

                if (is_in_cpuset(i) != in_cpuset)
                        continue;
                i->binding.threads_known = n >= most && rests(i);
                if (i->binding.threads_known)
                        continue;
                n += i->binding.observed.n_threads;
                rounds->next = index + 1;
        }
        rounds->n_ahead = n > most ? n - most : 0;
}

void thread_rounds_choose(Binder *b) {
        choose_threads(b, false);
        choose_threads(b, true);
}
