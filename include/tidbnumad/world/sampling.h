/* The share of pages outside, estimated from draws, and the error of that. Pure.
 *
 * Pages are drawn uniformly and with replacement from all addresses of a process's mappings; those
 * that are present are kept. Such draws weigh each mapping by what it has resident, by themselves:
 * the share among them estimates the share of all pages, whatever the sizes of the mappings, and
 * however the pages of a node are grouped (a huge page counts as the base pages it is made of).
 *
 * `random` is the half-width at 95 % for n draws of which k are outside, p = k/n, z = 1.96: of the
 * score interval of Wilson (Journal of the American Statistical Association 22, 1927, 209-212),
 *     (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n) the larger distance of its ends from p.
 *     Unlike p ± z√(p(1-p)/n) it is not 0 where all draws agree: 4,096 of them still may have
 *     missed one page in a thousand.
 *
 * `unknown` is not chance: pages that are present and show no node (NUMA balancing has marked them)
 * may all be outside, or none. With h their share among the pages drawn it is h·max(p, 1-p).
 * Touching these pages would show their nodes, but it would also change what the kernel's balancing
 * sees, so the sampler only reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/perf-event.h"
#include "tidbnumad/sys/proc.h"

#define ESTIMATE_Z 1.959964

typedef struct Estimate {
        double ratio; /* 0..1; NAN: nothing was seen */
        double random, unknown;
} Estimate;

/* `whole`: nothing was drawn, each page was queried once, so that there is no random error. */
Estimate estimate_share(uint64_t n_outside, uint64_t n_seen, uint64_t n_hidden, bool whole);

/* The same of draws that do not count alike, for they are from frames of several sizes: of all
 * weights, `outside` among them, with their squares. Their number is that of equal ones which would
 * be as sure (Kish, Survey Sampling, 1965, 8.2): all²/squares. */
Estimate estimate_weighted(double outside, double all, double squares, bool whole);

/* The estimate for an instance of several processes, each a stratum of its own (Cochran, Sampling
 * Techniques, 3rd edition, 5.3-5.4): shares and what is unknown by weight, chance by the root of
 * the weighted squares. Parts without weight or without a share count for nothing; with none left:
 * NAN. */
Estimate estimate_combine(const Estimate *parts, const double *weights, size_t n_parts);

/* Half the width of the interval by chance and by what is unknown together, at most 1; NAN where
 * there is no share. */
double estimate_halfwidth(const Estimate *estimate);

/* What pages are drawn from: the mappings of a process, as ranges of addresses. */

typedef struct FrameRange {
        uint64_t start, end; /* addresses */
        uint64_t first_page; /* pages of all ranges before it */
        MappingKind kind;
        bool has_file, is_shmem; /* as of Mapping */
} FrameRange;

typedef struct Frame {
        FrameRange *ranges; /* ascending; owned */
        size_t n_ranges, allocated;
        uint64_t n_pages;
} Frame;

void frame_done(Frame *frame);
#define _cleanup_frame_ _cleanup_(frame_done)

/* All private mappings of the process into one frame, all shared ones into the other. -ESRCH. */
int frame_load(const ProcHandle *process, Frame *ret_private, Frame *ret_shared);

/* Appends a range. A range of the same kind that starts where the last one ends is joined to it,
 * because a mapping in pieces is read faster as a whole. -ENOMEM. */
int frame_add(Frame *frame, const FrameRange *range);

/* The address of the page of that number, below n_pages, and its range. */
uint64_t frame_page(const Frame *frame, uint64_t page, const FrameRange **ret_range);

/* Keeps only the present pages, by PAGEMAP_SCAN: if most of the address space is only reserved,
 * little remains. -EOPNOTSUPP: an older kernel; -E2BIG: too many pages or pieces are present to be
 * listed, or the search takes too long; the frame then stays unchanged. */
int frame_condense(Frame *frame, int pagemap_fd);

/* The statistical sampler: queries the kernel for the nodes of a few thousand pages of a process,
 * drawn at random, and changes nothing. A change of its memory map waits for a part of a
 * millisecond.
 *
 * Addresses are drawn uniformly over the mappings; a page that is not present uses up a draw. If
 * fewer than one page in SAMPLER_SPARSE is present, the present ranges are listed first
 * (PAGEMAP_SCAN, kernel 6.7) and the draws are made from them. On an older kernel, or if there are
 * too many ranges, draws continue until enough pages are found or SAMPLER_DRAWS_MAX is reached:
 * with fewer pages, the confidence interval is wider. For a process with mappings of at most
 * SAMPLER_LISTED_PAGES, only present pages are drawn, on any kernel. If at most SAMPLER_WHOLE_PAGES
 * are present, all of them are queried.
 *
 * Private memory and shared memory with files are drawn apart: the ratio that counts is that of
 * anonymous pages. What is mapped after the mappings were read is not drawn. */

enum {
        SAMPLER_PAGES = 4096,        /* present anonymous pages, ±1.5 points at 95 % */
        SAMPLER_SHARED_PAGES = 1024, /* of files and shared memory, ±3 points */
        SAMPLER_DRAWS_MAX = 32768,
        SAMPLER_LISTED_PAGES = 32768, /* their entries take half a millisecond */
        SAMPLER_WHOLE_PAGES = 8192,
        SAMPLER_SPARSE = 16,
        /* Pages without a node that are checked further: are they absent, or marked? */
        SAMPLER_HIDDEN_CHECKS = 1024,
};

/* What was seen on a node. Files are in private mappings and in shared ones, which are drawn
 * separately: each page seen represents as many as there are pages for each draw. */
typedef struct NodeDraws {
        uint64_t n_anon;
        double file_pages, shmem_pages;
} NodeDraws;

typedef struct Draws {
        NodeDraws *by_node; /* beside the topology's nodes; owned */
        uint64_t n_anon, n_hidden;
        double file_pages, shmem_pages;
        double file_squares, shmem_squares; /* of what each page represents */
        uint64_t n_asked;
        bool whole;        /* every page of private memory was queried once */
        bool mapped_whole; /* of shared memory too */
} Draws;

void draws_done(Draws *draws);
#define _cleanup_draws_ _cleanup_(draws_done)

/* `n_pages`: how many anonymous pages to find; of shared ones a quarter. `seed`: any number; the
 * same one draws the same. -ESRCH: the process has ended; -ESTALE: it has executed another program
 * meanwhile; -EPERM, -EACCES: no permission; -ENOMEM. */
int sampler_draw(const Topology *topology, const ProcHandle *process, size_t n_pages, uint64_t seed,
                 Draws *ret);

/* The share of anonymous pages outside the nodes. */
Estimate sampler_outside(const Topology *topology, const Draws *draws, const NodeSet *nodes);

/* The share of a node, by its index, of the pages of files and of shared memory. */
Estimate sampler_file_on(const Draws *draws, size_t node);
Estimate sampler_shmem_on(const Draws *draws, size_t node);

/* Distributes the memory of the process by the kernel's own counters over `by_node`, in the shares
 * that were drawn. Huge pages that were reserved for the process (hugetlbfs) count as anonymous
 * memory, also shared ones, which are drawn with files: there is no cheap way to distinguish them.
 * A kind of memory without draws adds nothing. */
void sampler_add_bytes(const Topology *topology, const Draws *draws, const ProcMemory *memory,
                       NodeMemory *by_node);

/* Accesses of an instance to local and remote memory: a group of counters for each of its threads.
 *
 * By thread, and not by control group: that works on every host, for an instance that shares its
 * group as well, costs nothing while the instance does not run, and needs as many descriptors as it
 * has threads. By control group it would be as many as the host has CPUs, for each instance, and
 * every switch between groups on any of them would cost more.
 *
 * What a thread did before the first round that saw it is not counted, nor a thread that came and
 * went between two rounds. What one did until its end is.
 */

typedef struct AccessThread {
        pid_t tid;
        PerfGroup group;
        PerfReading last;
        bool seen; /* in the list of threads that is being read */
} AccessThread;

typedef struct AccessCounters {
        AccessThread *threads; /* ascending by tid; owned */
        size_t n_threads, allocated;
        size_t n_missing; /* of the last listing: those that got none */
        int error;        /* why; 0: none missing */
} AccessCounters;

typedef struct AccessSample {
        uint64_t counts[N_LOCALITIES]; /* since the last sample, corrected for shared counters */
        uint64_t enabled_nsec, running_nsec;
        size_t n_counted, n_missing; /* threads */
} AccessSample;

/* The codes of the events that are given, leader first, and their localities. */
size_t access_codes(const AccessEvents *events, PerfCode codes[static N_LOCALITIES],
                    Locality localities[static N_LOCALITIES]);

/* One step of giving counters to threads that have none: at most `n_opens` of them, and so many
 * that the instance has `n_max` in all. 0: all that can be are counted; -EAGAIN: more are left for
 * the next step; other negative errno: the threads cannot be listed. */
int access_attach(AccessCounters *counters, const Member *members, size_t n_members,
                  const AccessEvents *events, size_t n_opens, size_t n_max);

/* What was counted since the last time. Threads that the last access_attach() did not find have
 * ended: they are counted a last time and let go. */
void access_read(AccessCounters *counters, const AccessEvents *events, AccessSample *ret);

/* The end of the instance: as above, for all of them. */
void access_finish(AccessCounters *counters, const AccessEvents *events, AccessSample *ret);

void access_close(AccessCounters *counters);

/* 0..1; NAN: nothing was counted, or one of the two is not. */
double access_ratio(const AccessSample *sample, const AccessEvents *events);

/* The share of the threads' running time for which they were counted. Threads without counters are
 * taken to run like the others. NAN: there are no threads. */
double access_coverage(const AccessSample *sample);
