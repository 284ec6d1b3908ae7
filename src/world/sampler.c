/* Draws pages of a process and queries their nodes. The estimate is estimate.c's. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/sys/pages.h"
#include "tidbnumad/world/frame.h"
#include "tidbnumad/world/sampler.h"

/* A call of move_pages(2) holds the memory map for that many pages at a time. */
enum { BATCH = 512 };

/* After this many draws it is known whether the address space is sparse. */
enum { PROBE_DRAWS = 1024 };

typedef struct Tally {
        uint64_t anon, file, shmem;
} Tally;

typedef struct Sampling {
        const Topology *topology;
        pid_t pid;
        int pagemap_fd;
        uint64_t random; /* the generator's state, never 0 */
        uint64_t n_asked;

        /* Of the frame that is being drawn from. */
        Tally *by_node;   /* owned */
        uint64_t n_pages; /* that are drawn from */
        uint64_t n_drawn, n_found;
        uint64_t n_absent, n_checked, n_marked; /* pages that show no node */
} Sampling;

void draws_done(Draws *draws) {
        free(draws->by_node);
        *draws = (Draws){ 0 };
}

static void begin(Sampling *s) {
        memset(s->by_node, 0, s->topology->n_nodes * sizeof(*s->by_node));
        s->n_pages = s->n_drawn = s->n_found = s->n_absent = s->n_checked = s->n_marked = 0;
}

/* xorshift64* (Vigna, ACM Transactions on Mathematical Software 42, 2016). */
static uint64_t next_random(Sampling *s) {
        s->random ^= s->random >> 12;
        s->random ^= s->random << 25;
        s->random ^= s->random >> 27;
        return s->random * UINT64_C(0x2545F4914F6CDD1D);
}

__extension__ typedef unsigned __int128 Wide;

/* Below `n`: the high half of the product, whose bias is n/2^64. */
static uint64_t draw_below(Sampling *s, uint64_t n) {
        return (uint64_t)(((Wide)next_random(s) * n) >> 64);
}

/* Is this page the process's own, or still the file's? -1: it has gone meanwhile. */
static int is_own(const Sampling *s, const FrameRange *range, void *address) {
        uint64_t entry;
        void *picked;

        if (range->kind != MAPPING_PRIVATE)
                return 0;
        if (!range->has_file)
                return 1;
        if (pagemap_read(s->pagemap_fd, (uintptr_t)address, 1, &entry) < 0)
                return -1;
        if (pagemap_pick(&entry, 1, (uintptr_t)address, PAGE_OWN, &picked) == 1)
                return 1;
        return pagemap_pick(&entry, 1, (uintptr_t)address, PAGE_FILE, &picked) == 1 ? 0 : -1;
}

/* A node that came with hotplug is in the next topology. */
static void count(Sampling *s, const FrameRange *range, bool own, int node) {
        const Node *of = topology_find(s->topology, (uint32_t)node);
        Tally *at = of ? &s->by_node[of - s->topology->nodes] : NULL;

        if (!at)
                return;
        at->anon += own;
        at->shmem += !own && range->is_shmem;
        at->file += !own && !range->is_shmem;
        s->n_found += own || range->kind != MAPPING_PRIVATE;
}

static void count_seen(Sampling *s, const FrameRange *range, void *address, int node) {
        const int own = is_own(s, range, address);

        if (own >= 0)
                count(s, range, own, node);
}

/* A page without a node is not there, or NUMA balancing has marked it. */
static void count_absent(Sampling *s, void *address) {
        uint64_t entry;
        void *picked;

        s->n_absent++;
        if (s->n_checked >= SAMPLER_HIDDEN_CHECKS ||
            pagemap_read(s->pagemap_fd, (uintptr_t)address, 1, &entry) < 0)
                return;
        s->n_checked++;
        s->n_marked += pagemap_pick(&entry, 1, (uintptr_t)address, PAGE_OWN, &picked);
}

static int ask(Sampling *s, const FrameRange **ranges, void **addresses, size_t n) {
        int where[BATCH];
        int r = pages_query(s->pid, n, addresses, where);

        if (r < 0)
                return r;
        s->n_asked += n;
        s->n_drawn += n;
        for (size_t i = 0; i < n; i++) {
                if (where[i] >= 0)
                        count_seen(s, ranges[i], addresses[i], where[i]);
                else if (where[i] == -ENOENT && ranges[i]->kind == MAPPING_PRIVATE)
                        count_absent(s, addresses[i]);
        }
        return 0;
}

/* `first` and `n`: pages in their order; NULL: drawn. */
static int ask_batch(Sampling *s, const Frame *frame, const uint64_t *first, size_t n) {
        const FrameRange *ranges[BATCH];
        void *addresses[BATCH];

        for (size_t i = 0; i < n; i++) {
                uint64_t page = first ? *first + i : draw_below(s, frame->n_pages);

                addresses[i] = (void *)(uintptr_t)frame_page(frame, page, &ranges[i]);
        }
        return ask(s, ranges, addresses, n);
}

static int ask_whole(Sampling *s, const Frame *frame) {
        int r = 0;

        for (uint64_t at = 0; r >= 0 && at < frame->n_pages; at += BATCH) {
                uint64_t left = frame->n_pages - at;

                r = ask_batch(s, frame, &at, left < BATCH ? (size_t)left : BATCH);
        }
        return r;
}

static int draw_up_to(Sampling *s, const Frame *frame, uint64_t n_pages, uint64_t n_draws) {
        int r = 0;

        for (uint64_t n = 0; r >= 0 && n < n_draws && s->n_found < n_pages; n += BATCH)
                r = ask_batch(s, frame, NULL, BATCH);
        return r;
}

/* Computes how sparse it is. Where the frame changes, former results are dropped: they were
 * drawn from another one. */
static int probe(Sampling *s, Frame *frame) {
        int r = draw_up_to(s, frame, UINT64_MAX, PROBE_DRAWS);

        if (r < 0 || s->n_found >= PROBE_DRAWS / SAMPLER_SPARSE)
                return r;
        r = frame_condense(frame, s->pagemap_fd);
        if (r < 0)
                return r == -EOPNOTSUPP || r == -E2BIG ? 0 : r;
        begin(s);
        return 0;
}

/* Number of marked pages among the draws, estimated from those that were checked further. */
static uint64_t n_hidden(const Sampling *s) {
        return s->n_checked == 0 ? 0
                                 : (uint64_t)((double)s->n_marked * (double)s->n_absent /
                                                      (double)s->n_checked +
                                              0.5);
}

static int draw_large(Sampling *s, Frame *frame, uint64_t n_pages, bool *ret_whole) {
        int r = probe(s, frame);

        s->n_pages = frame->n_pages;
        *ret_whole = s->n_drawn == 0 && frame->n_pages <= SAMPLER_WHOLE_PAGES;
        if (r < 0 || frame->n_pages == 0)
                return r;
        return *ret_whole ? ask_whole(s, frame) : draw_up_to(s, frame, n_pages, SAMPLER_DRAWS_MAX);
}

/* --- a small frame: its pages that are there are listed first --- */

/* `first`: as of ask_batch(). A present page that shows no node is marked by NUMA balancing. */
static int ask_present(Sampling *s, const Frame *frame, const PresentPages *present,
                       const size_t *first, size_t n) {
        const PresentPage *pages[BATCH];
        void *addresses[BATCH];
        int where[BATCH], r;

        for (size_t i = 0; i < n; i++) {
                pages[i] = &present->pages[first ? *first + i : draw_below(s, present->n)];
                addresses[i] = (void *)(uintptr_t)pages[i]->address;
        }
        r = pages_query(s->pid, n, addresses, where);
        if (r < 0)
                return r;
        s->n_asked += n;
        s->n_drawn += n;
        for (size_t i = 0; i < n; i++) {
                const bool marked = where[i] == -ENOENT && pages[i]->own;

                if (where[i] >= 0)
                        count(s, &frame->ranges[pages[i]->range], pages[i]->own, where[i]);
                s->n_absent += marked;
                s->n_checked += marked;
                s->n_marked += marked;
        }
        return 0;
}

static int draw_small(Sampling *s, const Frame *frame, uint64_t n_pages, bool *ret_whole) {
        _cleanup_present_ PresentPages present = { 0 };
        int r = present_list(frame, s->pagemap_fd, &present);

        if (r < 0)
                return r;
        s->n_pages = present.n;
        *ret_whole = present.n <= SAMPLER_WHOLE_PAGES;
        for (size_t at = 0; r >= 0 && *ret_whole && at < present.n; at += BATCH)
                r = ask_present(s, frame, &present, &at,
                                present.n - at < BATCH ? present.n - at : BATCH);
        while (r >= 0 && !*ret_whole && s->n_drawn < SAMPLER_DRAWS_MAX && s->n_found < n_pages)
                r = ask_present(s, frame, &present, NULL, BATCH);
        return r;
}

static int draw_from(Sampling *s, Frame *frame, uint64_t n_pages, bool *ret_whole) {
        begin(s);
        return frame->n_pages <= SAMPLER_LISTED_PAGES ? draw_small(s, frame, n_pages, ret_whole)
                                                      : draw_large(s, frame, n_pages, ret_whole);
}

static void take(const Sampling *s, Draws *draws) {
        const double scale = s->n_drawn == 0 ? 0 : (double)s->n_pages / (double)s->n_drawn;

        for (size_t i = 0; i < s->topology->n_nodes; i++) {
                const Tally *tally = &s->by_node[i];
                NodeDraws *at = &draws->by_node[i];

                at->n_anon += tally->anon;
                at->file_pages += (double)tally->file * scale;
                at->shmem_pages += (double)tally->shmem * scale;
                draws->n_anon += tally->anon;
                draws->file_pages += (double)tally->file * scale;
                draws->shmem_pages += (double)tally->shmem * scale;
                draws->file_squares += (double)tally->file * scale * scale;
                draws->shmem_squares += (double)tally->shmem * scale * scale;
        }
        draws->n_hidden += n_hidden(s);
}

/* Was it the same process, and the same program, all the time? */
static int check_same(const ProcHandle *process, int pagemap_fd) {
        uint64_t entry;

        if (!proc_is_alive(process))
                return -ESRCH;
        return pagemap_read(pagemap_fd, 0, 1, &entry);
}

static int draw_both(Sampling *s, const ProcHandle *process, size_t n_pages, Draws *draws) {
        _cleanup_frame_ Frame private = { 0 }, shared = { 0 };
        bool whole;
        int r = frame_load(process, &private, &shared);

        if (r >= 0)
                r = draw_from(s, &private, n_pages, &draws->whole);
        if (r < 0)
                return r;
        take(s, draws);
        r = draw_from(s, &shared, n_pages / (SAMPLER_PAGES / SAMPLER_SHARED_PAGES), &whole);
        if (r < 0)
                return r;
        take(s, draws);
        draws->mapped_whole = draws->whole && whole;
        return check_same(process, s->pagemap_fd);
}

int sampler_draw(const Topology *topology, const ProcHandle *process, size_t n_pages, uint64_t seed,
                 Draws *ret) {
        _cleanup_draws_ Draws draws = { 0 };
        _cleanup_free_ Tally *tally = calloc(topology->n_nodes, sizeof(*tally));
        _cleanup_close_ int fd = -EBADF;
        Sampling s = { .topology = topology, .pid = process->pid, .by_node = tally };
        int r;

        draws.by_node = calloc(topology->n_nodes, sizeof(*draws.by_node));
        if (!draws.by_node || !tally)
                return -ENOMEM;
        r = pagemap_open(process, &fd);
        if (r < 0)
                return r;
        s.pagemap_fd = fd;
        s.random = seed == 0 ? 1 : seed * UINT64_C(0x9E3779B97F4A7C15); /* odd: never 0 */
        r = draw_both(&s, process, n_pages, &draws);
        if (r < 0)
                return r;
        draws.n_asked = s.n_asked;
        *ret = TAKE_STRUCT(draws);
        return 0;
}

Estimate sampler_outside(const Topology *topology, const Draws *draws, const NodeSet *nodes) {
        uint64_t outside = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (!id_set_has(nodes, topology->nodes[i].id))
                        outside += draws->by_node[i].n_anon;
        return estimate_share(outside, draws->n_anon, draws->n_hidden, draws->whole);
}

Estimate sampler_file_on(const Draws *draws, size_t node) {
        return estimate_weighted(draws->by_node[node].file_pages, draws->file_pages,
                                 draws->file_squares, draws->mapped_whole);
}

Estimate sampler_shmem_on(const Draws *draws, size_t node) {
        return estimate_weighted(draws->by_node[node].shmem_pages, draws->shmem_pages,
                                 draws->shmem_squares, draws->mapped_whole);
}

static uint64_t part(double share_of, double all, uint64_t bytes) {
        return all <= 0 ? 0 : (uint64_t)((double)bytes * (share_of / all) + 0.5);
}

void sampler_add_bytes(const Topology *topology, const Draws *draws, const ProcMemory *memory,
                       NodeMemory *by_node) {
        const uint64_t anon = memory->anon_bytes + memory->huge_bytes;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const NodeDraws *at = &draws->by_node[i];
                uint64_t file = part(at->file_pages, draws->file_pages, memory->file_bytes);
                uint64_t shmem = part(at->shmem_pages, draws->shmem_pages, memory->shmem_bytes);

                by_node[i].anon_bytes += part((double)at->n_anon, (double)draws->n_anon, anon);
                by_node[i].file_bytes += file;
                by_node[i].shmem_bytes += shmem;
                by_node[i].mapped_bytes += file + shmem;
        }
}
