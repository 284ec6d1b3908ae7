/* Where the memory of an instance is located: counted by its own control group, else sampled from
 * its pages.
 *
 * Sampled values are published only. No binding is narrowed because of them, for an error might end
 * in an OOM kill, and no instance is reported as bound: the one needs the kernel's count, the other
 * a pass of the mover, which checks every page.
 *
 * Sampling takes some milliseconds a process. One turn takes SAMPLE_TURN_USEC, so that a new
 * process waits no longer than that and for the process whose sample was begun. */
#pragma once

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/huge-pages.h"
#include "tidbnumad/model/snapshot.h"

typedef struct Sampling Sampling;
typedef struct Instance Instance;

typedef struct Drawing Drawing;

/* Sampling one process takes at most 3 ms: with the last one that is begun, a turn takes less than
 * 8 ms. */
#define SAMPLE_TURN_USEC (UINT64_C(5) * 1000)

/* Reads the memory and the memory limit of an instance that has not been read yet, for its first
 * place. */
void sample_observe(const Sampling *s, Instance *i);

/* Reads memory.numa_stat into `by_node`, as residency_read(). -ENODATA: the group does not account
 * for all memory of its processes; sampled values stay valid then. */
int sample_count(Sampling *s, Instance *i, int cgroup_fd);

/* Reads the memory of its control group: bytes by node, the limit, and the bytes outside `nodes`.
 */
void sample_update(Sampling *s, Instance *i, int cgroup_fd, const NodeSet *nodes);

/* Reads the reserved huge pages that the instance has mapped, and how many of these it has touched:
 * at the first call, when a process has joined or left or its place has changed, and when more is
 * reserved on the host than before; `again`: also when nothing of that has changed. Nothing is read
 * on a host without such pages. */
void sample_huge(const Sampling *s, Instance *i, const HugePools *pools, bool again);

/* Frees what sampling keeps of an instance that has ended. */
void sample_end(Instance *i);

/* Samples pages of the instance's processes for one turn. 0: all are complete; -EAGAIN: the rest
 * follows with the next turn, and the former values stay valid until then. Any other negative
 * errno: nothing is known, which is logged once. `clock_usec` measures the turn. */
int sample_draw(Sampling *s, Instance *i, uint64_t (*clock_usec)(void));

/* Is it sampled in this round? An instance whose ratio does not change is sampled less and less
 * often, see sampling_pause(); at once again when its nodes or processes change, or when memory of
 * it was moved. */
bool sample_is_due(const Instance *i, uint64_t now_usec);

/* Sampled share of memory outside these nodes; NAN: not sampled, or for other nodes. */
double sample_ratio(const Instance *i, const NodeSet *nodes);

/* Half the width of the confidence interval of the published ratio; 0: it is exact, or not known.
 */
double sample_halfwidth(const Instance *i);
