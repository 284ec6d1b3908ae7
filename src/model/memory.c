/* Reserved huge pages, and which events of which processors count reads from local and from remote
 * memory. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/memory.h"

void huge_pools_done(HugePools *pools) {
        for (size_t i = 0; i < pools->n; i++) {
                free(pools->list[i].n_pages);
                free(pools->list[i].n_free);
        }
        *pools = (HugePools){ 0 };
}

static HugeUse *huge_use_of(const HugeNeed *need, uint64_t page_bytes) {
        for (size_t i = 0; i < need->n; i++)
                if (need->list[i].page_bytes == page_bytes)
                        return (HugeUse *)&need->list[i];
        return NULL;
}

void huge_need_add(HugeNeed *need, const HugeUse *more) {
        HugeUse *use = huge_use_of(need, more->page_bytes);

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

uint64_t huge_need_untouched(const HugeNeed *need, uint64_t page_bytes) {
        const HugeUse *use = huge_use_of(need, page_bytes);

        return use && use->n_mapped > use->n_touched ? use->n_mapped - use->n_touched : 0;
}

void huge_need_raise(HugeNeed *need, const HugeNeed *other) {
        for (size_t i = 0; i < other->n; i++) {
                const HugeUse *use = &other->list[i], *own = huge_use_of(need, use->page_bytes);
                const uint64_t n_mapped = own ? own->n_mapped : 0;

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

/* Which events of which processors count reads from local and from remote memory.
 *
 * Codes are from Linux, tools/perf/pmu-events/arch/, which the vendors themselves keep; which
 * models are which, from mapfile.csv there. A processor is in the table only where its file has the
 * event.
 */

static const char *const locality_strings[N_LOCALITIES] = {
        [LOCALITY_LOCAL] = "local", [LOCALITY_REMOTE] = "remote"
};
DEFINE_STRING_TABLE(locality_to_string, Locality, locality_strings)

/* Both vendors of x86 have the event in bits 0-7 of `config`, the unit mask in bits 8-15. */
#define X86(event, umask)                                                                          \
        { .given = true, .type = ACCESS_EVENT_RAW, .config = (uint64_t)(umask) << 8 | (event) }
#define ARM(event)                                                                                 \
        { .given = true, .type = ACCESS_EVENT_RAW, .config = (event) }

/* MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM and .REMOTE_DRAM: load instructions that retired, so neither
 * stores nor what was fetched ahead. */
#define INTEL_XEON                                                                                 \
        .source = "intel", .coverage = "loads", .events = { X86(0xd3, 0x01), X86(0xd3, 0x02) }

/* LS_REFILLS_FROM_SYS.LS_MABRESP_LCL_DRAM and _RMT_DRAM: demand fills of the data cache. */
#define AMD_ZEN_2                                                                                  \
        .source = "amd", .coverage = "demand-fills", .events = { X86(0x43, 0x08), X86(0x43, 0x40) }

/* LS_ANY_FILLS_FROM_SYS.MEM_IO_LOCAL and .MEM_IO_REMOTE (Zen 4 and 5: DRAM_IO_NEAR and _FAR): all
 * fills of the data cache, with what was fetched ahead. */
#define AMD_ZEN_3                                                                                  \
        .source = "amd", .coverage = "fills", .events = { X86(0x44, 0x08), X86(0x44, 0x40) }

/* REMOTE_ACCESS: answered from another chip. The nodes of one chip are not distinguished, and
 * local accesses are not counted. */
#define ARM_NEOVERSE                                                                               \
        .source = "arm", .coverage = "other-chip", .events = { [LOCALITY_REMOTE] = ARM(0x31) }

typedef struct Row {
        ProcessorVendor vendor;
        uint32_t family, first_model, last_model;
        AccessEvents found;
} Row;

static const Row rows[] = {
        /* x86/skylakex/cache.json, and from stepping 5 on x86/cascadelakex/cache.json */
        { PROCESSOR_INTEL, 6, 0x55, 0x55, { INTEL_XEON } },
        /* x86/icelakex/cache.json */
        { PROCESSOR_INTEL, 6, 0x6a, 0x6a, { INTEL_XEON } },
        { PROCESSOR_INTEL, 6, 0x6c, 0x6c, { INTEL_XEON } },
        /* x86/sapphirerapids/cache.json */
        { PROCESSOR_INTEL, 6, 0x8f, 0x8f, { INTEL_XEON } },
        /* x86/emeraldrapids/cache.json */
        { PROCESSOR_INTEL, 6, 0xcf, 0xcf, { INTEL_XEON } },
        /* x86/graniterapids/cache.json */
        { PROCESSOR_INTEL, 6, 0xad, 0xae, { INTEL_XEON } },

        /* Zen 1, models 00 to 2f: x86/amdzen1/memory.json has no event of the kind. */
        /* x86/amdzen2/memory.json */
        { PROCESSOR_AMD, 0x17, 0x30, 0xff, { AMD_ZEN_2 } },
        /* x86/amdzen3/memory.json, and for models 10 to 1f and from 60 on x86/amdzen4/cache.json */
        { PROCESSOR_AMD, 0x19, 0x00, 0xff, { AMD_ZEN_3 } },
        /* x86/amdzen5/load-store.json */
        { PROCESSOR_AMD, 0x1a, 0x00, 0x4f, { AMD_ZEN_3 } },
        { PROCESSOR_AMD, 0x1a, 0x70, 0x7f, { AMD_ZEN_3 } },

        /* arm64/arm/neoverse-n1/memory.json */
        { PROCESSOR_ARM, 0, 0xd0c, 0xd0c, { ARM_NEOVERSE } },
        /* arm64/arm/neoverse-v1/memory.json */
        { PROCESSOR_ARM, 0, 0xd40, 0xd40, { ARM_NEOVERSE } },
        /* arm64/arm/neoverse-n2-v2/memory.json */
        { PROCESSOR_ARM, 0, 0xd49, 0xd49, { ARM_NEOVERSE } },
        { PROCESSOR_ARM, 0, 0xd4f, 0xd4f, { ARM_NEOVERSE } },

        /* Kunpeng 920: arm64/hisilicon/hip08/uncore-hha.json, rx_outer and rx_sccl, is of a die. */
        { PROCESSOR_HISILICON, 0, 0xd01, 0xd01, { .source = NULL } },
};

int access_events_find(const Processor *processor, AccessEvents *ret) {
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const Row *row = &rows[i];

                if (row->vendor != processor->vendor || row->family != processor->family ||
                    processor->model < row->first_model || processor->model > row->last_model)
                        continue;
                if (!row->found.source)
                        return -EOPNOTSUPP;
                *ret = row->found;
                return 0;
        }
        return -ENOENT;
}

bool access_events_equal(const AccessEvents *a, const AccessEvents *b) {
        for (Locality l = 0; l < N_LOCALITIES; l++) {
                const AccessEvent *x = &a->events[l], *y = &b->events[l];

                if (x->given != y->given ||
                    (x->given && (x->type != y->type || x->config != y->config)))
                        return false;
        }
        return !a->source == !b->source && (!a->source || strcmp(a->source, b->source) == 0);
}

NodeSet memory_policy_nodes(const char *policy) {
        const char *list = policy && !strstr(policy, "=relative") ? strrchr(policy, ':') : NULL;
        NodeSet nodes = { 0 };

        if (list)
                (void)id_set_parse_list(list + 1, &nodes);
        return nodes;
}

uint64_t node_memory_held(const NodeMemory *memory) {
        return memory->anon_bytes + memory->shmem_bytes;
}

uint64_t memory_part(uint64_t value, uint64_t part, uint64_t whole) {
        return value / whole * part + value % whole * part / whole;
}
