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
