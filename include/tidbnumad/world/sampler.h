/* The statistical sampler: queries the kernel for the nodes of a few thousand pages of a process,
 * drawn at random, and never changes or delays anything.
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
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/estimate.h"

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
