/* Where memory is located, by pages that are drawn at random, and which is accessed, by the
 * counters of the processor. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/world/sampling.h"

/* --- shares from draws; the formulas are in the header --- */

static double wilson_distance(double p, double n) {
        const double z2 = ESTIMATE_Z * ESTIMATE_Z, scale = 1 + z2 / n;
        const double centre = (p + z2 / (2 * n)) / scale;
        const double half = ESTIMATE_Z * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / scale;

        return half + fabs(centre - p);
}

Estimate estimate_share(uint64_t n_outside, uint64_t n_seen, uint64_t n_hidden, bool whole) {
        Estimate e = { .ratio = NAN };
        double hidden;

        if (n_seen == 0)
                return e;
        e.ratio = (double)n_outside / (double)n_seen;
        hidden = (double)n_hidden / ((double)n_seen + (double)n_hidden);
        e.random = whole ? 0 : wilson_distance(e.ratio, (double)n_seen);
        e.unknown = hidden * fmax(e.ratio, 1 - e.ratio);
        return e;
}

Estimate estimate_weighted(double outside, double all, double squares, bool whole) {
        Estimate e = { .ratio = NAN };

        if (all <= 0)
                return e;
        e.ratio = fmin(outside / all, 1); /* a sum of parts may round to more */
        e.random = whole ? 0 : wilson_distance(e.ratio, all * all / squares);
        return e;
}

Estimate estimate_combine(const Estimate *parts, const double *weights, size_t n_parts) {
        Estimate e = { 0 };
        double all = 0, squares = 0;

        for (size_t i = 0; i < n_parts; i++)
                if (!isnan(parts[i].ratio))
                        all += weights[i];
        if (all <= 0)
                return (Estimate){ .ratio = NAN };
        for (size_t i = 0; i < n_parts; i++) {
                const double weight = weights[i] / all;

                if (isnan(parts[i].ratio))
                        continue;
                e.ratio += weight * parts[i].ratio;
                e.unknown += weight * parts[i].unknown;
                squares += weight * parts[i].random * weight * parts[i].random;
        }
        e.random = sqrt(squares);
        return e;
}

double estimate_halfwidth(const Estimate *estimate) {
        return isnan(estimate->ratio) ? (double)NAN : fmin(estimate->random + estimate->unknown, 1);
}

/* --- ranges of addresses to draw from --- */

/* Address space that one call may search: the kernel holds the lock of the process's memory map
 * meanwhile, for a millisecond if all of the memory was used once and then freed. Address space
 * that was never used is searched quickly, and then in larger pieces: some programs reserve a
 * hundred TiB. */
#define SCAN_BYTES (UINT64_C(256) << 20)
#define SCAN_BYTES_MAX (UINT64_C(4) << 30)
enum { SCAN_QUICK_USEC = 100 };

/* Limits of the list: CPU time, because our loop waits meanwhile, and 10 MB of ranges. */
enum { CONDENSE_USEC_MAX = 50000 };
#define PRESENT_PAGES_MAX (UINT64_C(1) << 20)
#define RANGES_MAX ((size_t)1 << 18)

void frame_done(Frame *frame) {
        free(frame->ranges);
        *frame = (Frame){ 0 };
}

int frame_add(Frame *frame, const FrameRange *range) {
        const uint64_t n_pages = (range->end - range->start) / page_size_bytes();
        FrameRange *last = frame->n_ranges > 0 ? &frame->ranges[frame->n_ranges - 1] : NULL;

        if (last && last->end == range->start && last->kind == range->kind &&
            last->has_file == range->has_file && last->is_shmem == range->is_shmem) {
                last->end = range->end;
                frame->n_pages += n_pages;
                return 0;
        }
        if (ARRAY_RESERVE(frame->ranges, frame->allocated, frame->n_ranges + 1) < 0)
                return -ENOMEM;
        frame->ranges[frame->n_ranges] = *range;
        frame->ranges[frame->n_ranges++].first_page = frame->n_pages;
        frame->n_pages += n_pages;
        return 0;
}

int frame_load(const ProcHandle *process, Frame *ret_private, Frame *ret_shared) {
        MapsReader *reader = NULL;
        Mapping mapping;
        int r = maps_open(process, &reader);

        if (r < 0)
                return r;
        while ((r = maps_next(reader, &mapping)) > 0) {
                const FrameRange range = { .start = mapping.start,
                                           .end = mapping.end,
                                           .kind = mapping.kind,
                                           .has_file = mapping.has_file,
                                           .is_shmem = mapping.is_shmem };

                if (mapping.kind == MAPPING_OTHER)
                        continue;
                r = frame_add(mapping.kind == MAPPING_PRIVATE ? ret_private : ret_shared, &range);
                if (r < 0)
                        break;
        }
        (void)maps_close(reader);
        return r;
}

uint64_t frame_page(const Frame *frame, uint64_t page, const FrameRange **ret_range) {
        const size_t at =
                ARRAY_LOWER_BOUND(frame->n_ranges, i, frame->ranges[i].first_page <= page) - 1;

        *ret_range = &frame->ranges[at];
        return frame->ranges[at].start + (page - frame->ranges[at].first_page) * page_size_bytes();
}

int frame_condense(Frame *frame, int pagemap_fd) {
        _cleanup_frame_ Frame dense = { 0 };
        uint64_t scan_bytes = SCAN_BYTES; /* of the next call */
        uint64_t used_usec = 0;           /* of a CPU, by all calls */

        for (size_t i = 0; i < frame->n_ranges; i++) {
                FrameRange range = frame->ranges[i];
                const uint64_t end = range.end;

                for (uint64_t at = range.start; at < end;) {
                        PageRange present[PAGEMAP_RANGES_MAX];
                        const uint64_t begin = clock_thread_cpu_usec(), before = at,
                                       left = end - before;
                        const int n = pagemap_ranges(
                                pagemap_fd, &at, before + (left < scan_bytes ? left : scan_bytes),
                                present);
                        const uint64_t used = clock_thread_cpu_usec() - begin;

                        if (n < 0)
                                return n;
                        used_usec += used;
                        if (n > 0 || used > SCAN_QUICK_USEC)
                                scan_bytes = SCAN_BYTES;
                        else if (scan_bytes < SCAN_BYTES_MAX)
                                scan_bytes *= 2;
                        if (used_usec > CONDENSE_USEC_MAX)
                                return -E2BIG;
                        if (at <= before) /* no kernel does; it would be for ever */
                                return -EOPNOTSUPP;
                        for (int k = 0; k < n; k++) {
                                int r;

                                range.start = present[k].start;
                                range.end = present[k].end;
                                r = frame_add(&dense, &range);
                                if (r < 0)
                                        return r;
                                if (dense.n_pages > PRESENT_PAGES_MAX ||
                                    dense.n_ranges > RANGES_MAX)
                                        return -E2BIG;
                        }
                }
        }
        frame_done(frame);
        *frame = TAKE_STRUCT(dense);
        return 0;
}

/* --- the pages of a small frame --- */

typedef struct PresentPage {
        uint64_t address;
        uint32_t range; /* its index in the frame */
        bool own;       /* of a private mapping, and no longer the file's */
} PresentPage;

typedef struct PresentPages {
        PresentPage *pages; /* owned */
        size_t n, allocated;
} PresentPages;

static void present_done(PresentPages *present) {
        free(present->pages);
        *present = (PresentPages){ 0 };
}

/* Lists the present pages of a small frame, by the kernel's entry for each page. Reading an entry
 * costs a fraction of a query for the node of a page, and every kernel has these entries. -ESTALE:
 * the process has executed another program meanwhile; -EPERM; -ENOMEM. */
static int present_list(const Frame *frame, int pagemap_fd, PresentPages *ret) {
        _cleanup_(present_done) PresentPages present = { 0 };

        for (size_t i = 0; i < frame->n_ranges; i++) {
                const FrameRange *range = &frame->ranges[i];

                for (uint64_t at = range->start; at < range->end;) {
                        uint64_t entries[PAGEMAP_PAGES_MAX];
                        void *addresses[PAGEMAP_PAGES_MAX];
                        const uint64_t left = (range->end - at) / page_size_bytes();
                        const size_t n =
                                left < PAGEMAP_PAGES_MAX ? (size_t)left : PAGEMAP_PAGES_MAX;
                        int r = pagemap_read(pagemap_fd, at, n, entries);

                        if (r < 0)
                                return r;
                        if (ARRAY_RESERVE(present.pages, present.allocated, present.n + n) < 0)
                                return -ENOMEM;
                        /* Own pages and those of the file may alternate: their order is of no
                         * account to who draws. */
                        for (int own = 1; own >= 0; own--) {
                                const size_t n_picked = pagemap_pick(
                                        entries, n, at, own ? PAGE_OWN : PAGE_FILE, addresses);

                                for (size_t k = 0; k < n_picked; k++)
                                        present.pages[present.n++] = (PresentPage){
                                                .address = (uintptr_t)addresses[k],
                                                .range = (uint32_t)i,
                                                .own = own && range->kind == MAPPING_PRIVATE,
                                        };
                        }
                        at += n * page_size_bytes();
                }
        }
        *ret = TAKE_STRUCT(present);
        return 0;
}

/* --- pages that are drawn, and their nodes --- */

/* A call of move_pages(2) takes and drops the lock of the memory map for each 16 pages
 * (DO_PAGES_STAT_CHUNK_NR in mm/migrate.c). A mmap(2) or munmap(2) of the process that waits is
 * woken each time, but until it runs the next 16 pages have the lock again: a reader may pass it
 * for 4 ms (RWSEM_WAIT_TIMEOUT in kernel/locking/rwsem.c). The wakings make such a call some times
 * as long as the others; a pause after it lets the writer in. */
enum { BATCH = 64, PAUSE_NSEC = 20000 };

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
        uint64_t quickest_usec;                 /* of its full batches; 0: none yet */
        uint64_t n_absent, n_checked, n_marked; /* pages that show no node */
} Sampling;

void draws_done(Draws *draws) {
        free(draws->by_node);
        *draws = (Draws){ 0 };
}

static void sampling_begin(Sampling *s) {
        memset(s->by_node, 0, s->topology->n_nodes * sizeof(*s->by_node));
        s->n_pages = s->n_drawn = s->n_found = s->n_absent = s->n_checked = s->n_marked = 0;
        s->quickest_usec = 0; /* pages that are not there are answered at once */
}

__extension__ typedef unsigned __int128 Wide;

/* A number below `n` by xorshift64* (Vigna, ACM Transactions on Mathematical Software 42, 2016):
 * the high half of the product, whose bias is n/2^64. */
static uint64_t sampling_random_below(Sampling *s, uint64_t n) {
        s->random ^= s->random >> 12;
        s->random ^= s->random << 25;
        s->random ^= s->random >> 27;
        return (uint64_t)(((Wide)(s->random * UINT64_C(0x2545F4914F6CDD1D)) * n) >> 64);
}

/* Is this page the process's own, or still the file's? -1: it has gone meanwhile. */
static int sampling_page_is_own(const Sampling *s, const FrameRange *range, void *address) {
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

/* What pages are drawn from. */
typedef struct PageSource {
        const Frame *frame;
        const PresentPages *present; /* its pages that are there; NULL: any of its addresses */
        uint64_t n_pages;
} PageSource;

/* Queries the nodes of a batch, and pauses where somebody seems to have waited meanwhile. */
static int sampling_query(Sampling *s, size_t n, void *addresses[], int *ret_nodes) {
        const struct timespec pause = { .tv_nsec = PAUSE_NSEC };
        const uint64_t begin = clock_monotonic_usec();
        uint64_t took;
        int r = pages_query(s->pid, n, addresses, ret_nodes);

        if (r < 0 || n < BATCH)
                return r;
        took = clock_monotonic_usec() - begin;
        if (s->quickest_usec == 0 || took < s->quickest_usec)
                s->quickest_usec = took;
        else if (took > 2 * s->quickest_usec)
                (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        return 0;
}

/* `first` and `n`: pages in their order; NULL: drawn. */
static int sampling_ask_batch(Sampling *s, const PageSource *from, const uint64_t *first,
                              size_t n) {
        const PresentPage *present[BATCH];
        const FrameRange *ranges[BATCH];
        void *addresses[BATCH], *picked;
        uint64_t entry;
        int where[BATCH], r;

        for (size_t i = 0; i < n; i++) {
                const uint64_t page = first ? *first + i : sampling_random_below(s, from->n_pages);

                present[i] = from->present ? &from->present->pages[page] : NULL;
                if (present[i])
                        ranges[i] = &from->frame->ranges[present[i]->range];
                addresses[i] =
                        (void *)(uintptr_t)(present[i] ? present[i]->address
                                                       : frame_page(from->frame, page, &ranges[i]));
        }
        r = sampling_query(s, n, addresses, where);
        if (r < 0)
                return r;
        s->n_asked += n;
        s->n_drawn += n;
        for (size_t i = 0; i < n; i++) {
                const bool private =
                        present[i] ? present[i]->own : ranges[i]->kind == MAPPING_PRIVATE;

                const Node *node;
                Tally *at;
                int own;

                /* A page without a node is not there, or NUMA balancing has marked it; one that is
                 * known to be there is marked. */
                if (where[i] == -ENOENT && private) {
                        s->n_absent++;
                        if (present[i] || (s->n_checked < SAMPLER_HIDDEN_CHECKS &&
                                           pagemap_read(s->pagemap_fd, (uintptr_t)addresses[i], 1,
                                                        &entry) >= 0)) {
                                s->n_checked++;
                                s->n_marked += present[i] ||
                                               pagemap_pick(&entry, 1, (uintptr_t)addresses[i],
                                                            PAGE_OWN, &picked) == 1;
                        }
                }
                if (where[i] < 0)
                        continue;
                own = present[i] ? present[i]->own
                                 : sampling_page_is_own(s, ranges[i], addresses[i]);
                node = topology_find(s->topology, (uint32_t)where[i]);
                if (own < 0 || !node) /* a node that came with hotplug is in the next topology */
                        continue;
                at = &s->by_node[node - s->topology->nodes];
                at->anon += own;
                at->shmem += !own && ranges[i]->is_shmem;
                at->file += !own && !ranges[i]->is_shmem;
                s->n_found += own || ranges[i]->kind != MAPPING_PRIVATE;
        }
        return 0;
}

static int sampling_draw_up_to(Sampling *s, const PageSource *from, uint64_t n_pages,
                               uint64_t n_draws) {
        int r = 0;

        for (uint64_t n = 0; r >= 0 && n < n_draws && s->n_found < n_pages; n += BATCH)
                r = sampling_ask_batch(s, from, NULL, BATCH);
        return r;
}

/* Of a small frame the pages that are there are listed first. */
static int sampling_draw_frame(Sampling *s, Frame *frame, uint64_t n_pages, bool *ret_whole) {
        _cleanup_(present_done) PresentPages present = { 0 };
        PageSource from = { .frame = frame, .n_pages = frame->n_pages };
        int r;

        sampling_begin(s);
        if (frame->n_pages <= SAMPLER_LISTED_PAGES) {
                r = present_list(frame, s->pagemap_fd, &present);
                from.present = &present;
                from.n_pages = present.n;
        } else {
                r = sampling_draw_up_to(s, &from, UINT64_MAX, PROBE_DRAWS);
                if (r >= 0 && s->n_found < PROBE_DRAWS / SAMPLER_SPARSE) {
                        /* It is sparse. Where the frame changes, former results are dropped: they
                         * were drawn from another one. */
                        r = frame_condense(frame, s->pagemap_fd);
                        if (r >= 0)
                                sampling_begin(s);
                        else if (r == -EOPNOTSUPP || r == -E2BIG)
                                r = 0;
                }
                from.n_pages = frame->n_pages;
        }
        s->n_pages = from.n_pages;
        *ret_whole = s->n_drawn == 0 && from.n_pages <= SAMPLER_WHOLE_PAGES;
        if (r < 0 || from.n_pages == 0)
                return r;
        if (!*ret_whole)
                return sampling_draw_up_to(s, &from, n_pages, SAMPLER_DRAWS_MAX);
        for (uint64_t at = 0; r >= 0 && at < from.n_pages; at += BATCH) {
                const uint64_t left = from.n_pages - at;

                r = sampling_ask_batch(s, &from, &at, left < BATCH ? (size_t)left : BATCH);
        }
        return r;
}

static void sampling_add_to_draws(const Sampling *s, Draws *draws) {
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
        /* Marked pages among the draws, estimated from those that were checked further. */
        if (s->n_checked > 0)
                draws->n_hidden += (uint64_t)((double)s->n_marked * (double)s->n_absent /
                                                      (double)s->n_checked +
                                              0.5);
}

int sampler_draw(const Topology *topology, const ProcHandle *process, size_t n_pages, uint64_t seed,
                 Draws *ret) {
        _cleanup_draws_ Draws draws = { 0 };
        _cleanup_free_ Tally *tally = calloc(topology->n_nodes, sizeof(*tally));
        _cleanup_close_ int fd = -EBADF;
        _cleanup_frame_ Frame private = { 0 }, shared = { 0 };
        Sampling s = { .topology = topology, .pid = process->pid, .by_node = tally };
        bool shared_whole;
        uint64_t entry;
        int r;

        draws.by_node = calloc(topology->n_nodes, sizeof(*draws.by_node));
        if (!draws.by_node || !tally)
                return -ENOMEM;
        r = pagemap_open(process, &fd);
        if (r < 0)
                return r;
        s.pagemap_fd = fd;
        s.random = seed == 0 ? 1 : seed * UINT64_C(0x9E3779B97F4A7C15); /* odd: never 0 */
        r = frame_load(process, &private, &shared);
        if (r >= 0)
                r = sampling_draw_frame(&s, &private, n_pages, &draws.whole);
        if (r < 0)
                return r;
        sampling_add_to_draws(&s, &draws);
        r = sampling_draw_frame(&s, &shared, n_pages / (SAMPLER_PAGES / SAMPLER_SHARED_PAGES),
                                &shared_whole);
        if (r < 0)
                return r;
        sampling_add_to_draws(&s, &draws);
        draws.mapped_whole = draws.whole && shared_whole;
        /* Was it the same process, and the same program, all the time? */
        r = proc_is_alive(process) ? pagemap_read(fd, 0, 1, &entry) : -ESRCH;
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

static uint64_t bytes_of_share(double share_of, double all, uint64_t bytes) {
        return all <= 0 ? 0 : (uint64_t)((double)bytes * (share_of / all) + 0.5);
}

void sampler_add_bytes(const Topology *topology, const Draws *draws, const ProcMemory *memory,
                       NodeMemory *by_node) {
        const uint64_t anon = memory->anon_bytes + memory->huge_bytes;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const NodeDraws *at = &draws->by_node[i];
                uint64_t file =
                        bytes_of_share(at->file_pages, draws->file_pages, memory->file_bytes);
                uint64_t shmem =
                        bytes_of_share(at->shmem_pages, draws->shmem_pages, memory->shmem_bytes);

                by_node[i].anon_bytes +=
                        bytes_of_share((double)at->n_anon, (double)draws->n_anon, anon);
                by_node[i].file_bytes += file;
                by_node[i].shmem_bytes += shmem;
                by_node[i].mapped_bytes += file + shmem;
        }
}

/* --- accesses: counters of threads that come and go --- */

size_t access_codes(const AccessEvents *events, PerfCode codes[static N_LOCALITIES],
                    Locality localities[static N_LOCALITIES]) {
        size_t n = 0;

        for (Locality l = 0; l < N_LOCALITIES; l++) {
                if (!events->events[l].given)
                        continue;
                codes[n] = (PerfCode){ events->events[l].type, events->events[l].config };
                localities[n++] = l;
        }
        return n;
}

static int thread_open(AccessCounters *c, const ProcHandle *process, pid_t tid, size_t at,
                       const PerfCode *codes, size_t n_codes) {
        AccessThread thread = { .tid = tid, .seen = true };
        int r = perf_group_open(tid, codes, n_codes, &thread.group);

        if (r < 0)
                return r;
        /* Between the listing and the opening a thread may have ended, and its number be another
         * thread's. */
        r = proc_has_thread(process, tid)
                    ? ARRAY_INSERT(c->threads, c->n_threads, c->allocated, at, &thread)
                    : -ESRCH;
        if (r < 0)
                perf_group_close(&thread.group);
        return r;
}

int access_attach(AccessCounters *c, const Member *members, size_t n_members,
                  const AccessEvents *events, size_t n_opens, size_t n_max) {
        Locality localities[N_LOCALITIES];
        PerfCode codes[N_LOCALITIES];
        const size_t n_codes = access_codes(events, codes, localities);
        bool more = false;

        c->n_missing = 0;
        c->error = 0;
        for (size_t i = 0; i < c->n_threads; i++)
                c->threads[i].seen = false;
        for (size_t i = 0; i < n_members; i++) {
                const ProcHandle *process = members[i].handle;
                _cleanup_numbers_ Numbers threads = { .dir_fd = -EBADF };
                pid_t tid;
                int r;

                if (proc_held_is_in_exec(process)) /* perf_event_open(2) waits for it too */
                        continue;
                proc_threads(process, &threads);
                while ((r = numbers_next(&threads, &tid)) > 0) {
                        const size_t at =
                                ARRAY_LOWER_BOUND(c->n_threads, k, c->threads[k].tid < tid);

                        if (at < c->n_threads && c->threads[at].tid == tid)
                                c->threads[at].seen = true;
                        else if (c->error != 0) /* what one is refused the others are, too: with
                                                   the next listing it is tried again */
                                c->n_missing++;
                        else if (n_opens == 0)
                                more = true;
                        else {
                                n_opens--;
                                r = c->n_threads < n_max
                                            ? thread_open(c, process, tid, at, codes, n_codes)
                                            : -EMFILE;
                                if (r >= 0 || r == -ESRCH) /* ended since it was listed */
                                        continue;
                                c->error = r;
                                c->n_missing++;
                        }
                }
                if (r < 0 && r != -ESRCH)
                        return r;
        }
        return more ? -EAGAIN : 0;
}

void access_read(AccessCounters *counters, const AccessEvents *events, AccessSample *ret) {
        PerfCode codes[N_LOCALITIES];
        Locality localities[N_LOCALITIES];
        AccessSample sample = { .n_missing = counters->n_missing };
        size_t kept = 0;

        (void)access_codes(events, codes, localities);
        for (size_t i = 0; i < counters->n_threads; i++) {
                AccessThread *t = &counters->threads[i];
                PerfReading now;

                /* What is counted twice at the same time is scaled alike: the share is not changed
                 * by it. */
                if (perf_group_read(&t->group, &now) >= 0) {
                        const uint64_t enabled = now.enabled_nsec - t->last.enabled_nsec;
                        const uint64_t running = now.running_nsec - t->last.running_nsec;

                        for (size_t k = 0; k < t->group.n_fds; k++)
                                sample.counts[localities[k]] += perf_scale(
                                        now.values[k] - t->last.values[k], enabled, running);
                        sample.enabled_nsec += enabled;
                        sample.running_nsec += running < enabled ? running : enabled;
                        t->last = now;
                }
                if (t->seen)
                        counters->threads[kept++] = *t;
                else
                        perf_group_close(&t->group);
        }
        counters->n_threads = sample.n_counted = kept;
        *ret = sample;
}

void access_finish(AccessCounters *counters, const AccessEvents *events, AccessSample *ret) {
        for (size_t i = 0; i < counters->n_threads; i++)
                counters->threads[i].seen = false;
        access_read(counters, events, ret);
        access_close(counters);
}

void access_close(AccessCounters *counters) {
        for (size_t i = 0; i < counters->n_threads; i++)
                perf_group_close(&counters->threads[i].group);
        free(counters->threads);
        *counters = (AccessCounters){ 0 };
}

double access_ratio(const AccessSample *sample, const AccessEvents *events) {
        const double local = (double)sample->counts[LOCALITY_LOCAL];
        const double remote = (double)sample->counts[LOCALITY_REMOTE];

        if (!events->events[LOCALITY_LOCAL].given || !events->events[LOCALITY_REMOTE].given ||
            local + remote <= 0)
                return NAN;
        return remote / (local + remote);
}

double access_coverage(const AccessSample *sample) {
        const size_t n = sample->n_counted + sample->n_missing;
        /* None of them ran: nothing was missed. */
        const double time = sample->enabled_nsec == 0
                                    ? 1
                                    : (double)sample->running_nsec / (double)sample->enabled_nsec;

        return n == 0 ? (double)NAN : time * (double)sample->n_counted / (double)n;
}
