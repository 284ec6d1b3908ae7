/* Samples of the larger mappings. Where a mapping is mostly empty the samples say nothing of it: it
 * is not ranked then, and comes with the rest. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/enforce/mover-survey.h"

/* Evenly over the mapping, so that one whose memory was allocated by different threads one after
 * the other is seen as what it is. */
static int estimate_outside(pid_t pid, const Mapping *mapping, const NodeSet *nodes,
                            uint64_t *ret_bytes) {
        const uint64_t page = page_size_bytes();
        const uint64_t step = (mapping->end - mapping->start) / MOVER_SAMPLES / page * page;
        void *addresses[MOVER_SAMPLES];
        int where[MOVER_SAMPLES], r;
        unsigned n = 0;

        for (unsigned i = 0; i < MOVER_SAMPLES; i++)
                addresses[i] = (void *)(uintptr_t)(mapping->start + i * step);
        r = pages_query(pid, MOVER_SAMPLES, addresses, where);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < MOVER_SAMPLES; i++)
                n += where[i] >= 0 && !id_set_has(nodes, (uint32_t)where[i]);
        *ret_bytes = (mapping->end - mapping->start) / MOVER_SAMPLES * n;
        return 0;
}

/* Into its place among the ranked ones; the least falls out when there are too many. */
static void rank(Mover *mover, const Mapping *mapping, uint64_t outside_bytes) {
        size_t at = mover->n_ranked;

        while (at > 0 && mover->ranked[at - 1].outside_bytes < outside_bytes)
                at--;
        if (at == MOVER_RANKED_MAX)
                return;
        if (mover->n_ranked < MOVER_RANKED_MAX)
                mover->n_ranked++;
        memmove(&mover->ranked[at + 1], &mover->ranked[at],
                (mover->n_ranked - 1 - at) * sizeof(mover->ranked[0]));
        mover->ranked[at] = (RankedMapping){ .mapping = *mapping, .outside_bytes = outside_bytes };
}

int mover_survey_step(Mover *mover, const NodeSet *nodes) {
        if (!proc_is_alive(mover->process))
                return -ESRCH;
        for (unsigned i = 0; i < MOVER_LINES; i++) {
                uint64_t outside_bytes;
                Mapping mapping;
                int r = maps_next(mover->maps, &mapping);

                if (r <= 0)
                        return r;
                if (mapping.kind != MAPPING_PRIVATE ||
                    mapping.end - mapping.start < MOVER_CHUNK_BYTES)
                        continue;
                r = estimate_outside(mover->process->pid, &mapping, nodes, &outside_bytes);
                if (r < 0)
                        return r;
                if (outside_bytes > 0)
                        rank(mover, &mapping, outside_bytes);
        }
        return 1;
}

bool mover_survey_has(const Mover *mover, const Mapping *mapping) {
        for (size_t i = 0; i < mover->n_ranked; i++)
                if (mapping->start >= mover->ranked[i].mapping.start &&
                    mapping->end <= mover->ranked[i].mapping.end)
                        return true;
        return false;
}
