#include "tidbnumad/model/huge-pages.h"

void huge_pools_done(HugePools *pools) {
        for (size_t i = 0; i < pools->n; i++) {
                free(pools->list[i].n_pages);
                free(pools->list[i].n_free);
        }
        *pools = (HugePools){ 0 };
}

static HugeUse *use_of(const HugeNeed *need, uint64_t page_bytes) {
        for (size_t i = 0; i < need->n; i++)
                if (need->list[i].page_bytes == page_bytes)
                        return (HugeUse *)&need->list[i];
        return NULL;
}

void huge_need_add(HugeNeed *need, const HugeUse *more) {
        HugeUse *use = use_of(need, more->page_bytes);

        if (!use && need->n < HUGE_SIZES_MAX) {
                use = &need->list[need->n++];
                *use = (HugeUse){ .page_bytes = more->page_bytes };
        }
        if (!use)
                return;
        use->n_mapped += more->n_mapped;
        use->n_touched += more->n_touched;
        use->n_inside += more->n_inside;
}

static void add_mapped(HugeNeed *need, uint64_t page_bytes, uint64_t n_mapped) {
        huge_need_add(need, &(HugeUse){ .page_bytes = page_bytes, .n_mapped = n_mapped });
}

HugeNeed huge_need_of_restart(const HugeNeed *need) {
        HugeNeed anew = *need;

        for (size_t i = 0; i < anew.n; i++)
                anew.list[i].n_touched = anew.list[i].n_inside;
        return anew;
}

HugeNeed huge_need_unknown(const HugePools *pools) {
        HugeNeed need = { 0 };

        for (size_t i = 0; i < pools->n; i++)
                add_mapped(&need, pools->list[i].page_bytes, pools->list[i].n_reserved);
        return need;
}

uint64_t huge_need_mapped(const HugeNeed *need, uint64_t page_bytes) {
        const HugeUse *use = use_of(need, page_bytes);

        return use ? use->n_mapped : 0;
}

uint64_t huge_need_untouched(const HugeNeed *need, uint64_t page_bytes) {
        const HugeUse *use = use_of(need, page_bytes);

        return use && use->n_mapped > use->n_touched ? use->n_mapped - use->n_touched : 0;
}

void huge_need_raise(HugeNeed *need, const HugeNeed *other) {
        for (size_t i = 0; i < other->n; i++) {
                const HugeUse *use = &other->list[i];
                const uint64_t n_mapped = huge_need_mapped(need, use->page_bytes);

                if (use->n_mapped > n_mapped)
                        add_mapped(need, use->page_bytes, use->n_mapped - n_mapped);
        }
}

void huge_need_add_untouched(HugeNeed *need, const HugeNeed *other) {
        for (size_t i = 0; i < other->n; i++)
                add_mapped(need, other->list[i].page_bytes,
                           huge_need_untouched(other, other->list[i].page_bytes));
}

/* Free pages on the nodes, and on all others. */
static void count_free(const HugePool *pool, const Topology *topology, const NodeSet *nodes,
                       uint64_t *ret_on, uint64_t *ret_elsewhere) {
        *ret_on = *ret_elsewhere = 0;
        for (size_t i = 0; i < topology->n_nodes; i++)
                *(id_set_has(nodes, topology->nodes[i].id) ? ret_on : ret_elsewhere) +=
                        pool->n_free[i];
}

bool huge_pools_lack(const HugePools *pools, const Topology *topology, const HugeNeed *need,
                     const NodeSet *nodes, HugeShortage *ret) {
        for (size_t i = 0; i < pools->n; i++) {
                const HugePool *pool = &pools->list[i];
                HugeShortage s = { .page_bytes = pool->page_bytes,
                                   .n_wanted = huge_need_untouched(need, pool->page_bytes) };

                count_free(pool, topology, nodes, &s.n_free, &s.n_elsewhere);
                if (s.n_wanted <= s.n_free || s.n_elsewhere == 0)
                        continue;
                if (ret)
                        *ret = s;
                return true;
        }
        return false;
}

bool huge_pools_have_elsewhere(const HugePools *pools, const Topology *topology,
                               const NodeSet *nodes) {
        for (size_t i = 0; i < pools->n; i++) {
                uint64_t on, elsewhere;

                count_free(&pools->list[i], topology, nodes, &on, &elsewhere);
                if (elsewhere > 0)
                        return true;
        }
        return false;
}

const HugePool *huge_pools_find(const HugePools *pools, uint64_t page_bytes) {
        for (size_t i = 0; i < pools->n; i++)
                if (pools->list[i].page_bytes == page_bytes)
                        return &pools->list[i];
        return NULL;
}
