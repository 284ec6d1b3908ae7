/* Residency of an instance: counted by its cgroup where that is its own, else drawn.
 *
 * What is drawn is published, and nothing is done by it: neither does a strict binding narrow
 * because of it, nor is anything called bound. For the one the kernel's own count is wanted, as a
 * wrong guess may end in an OOM kill; for the other the mover's pass, which asks for every page.
 *
 * Drawing takes some milliseconds a process. It goes through the processes of an instance for
 * SAMPLE_TURN_USEC a turn: a new process waits no longer than that and the one process that was
 * begun.
 */
#pragma once

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/snapshot.h"

typedef struct Sampling Sampling;
typedef struct Instance Instance;

typedef struct Drawing Drawing;

/* A draw takes at most 3 ms: with the one that is begun at its end, a turn takes less than 8. */
#define SAMPLE_TURN_USEC (UINT64_C(5) * 1000)

/* Reads what an instance holds and its memory limit if nobody has looked at it yet: for its first
 * place. */
void sample_observe(const Sampling *s, Instance *i);

/* memory.numa_stat into `by_node`, as residency_read(). -ENODATA: that does not hold all that its
 * processes have; what was drawn stands then. */
int sample_count(Sampling *s, Instance *i, int cgroup_fd);

/* Reads the memory of its control group: the bytes by node, the limit, and the part outside
 * `nodes`. */
void sample_update(Sampling *s, Instance *i, int cgroup_fd, const NodeSet *nodes);

/* It has ended: frees what sampling keeps of it. */
void sample_end(Instance *i);

/* One turn of drawing pages of all processes of the instance. 0: all are drawn; -EAGAIN: some are
 * left for the next turn, and what was known stands until then; other negative errno: nothing is
 * known then, which the journal is told once. `clock_usec` is what a turn is measured by. */
int sample_draw(Sampling *s, Instance *i, uint64_t (*clock_usec)(void));

/* Is it to be drawn in this round? One whose ratio does not change is drawn less and less often,
 * see sampling_pause(); at once again when its nodes or processes change, or memory of it was
 * moved. */
bool sample_is_due(const Instance *i, uint64_t now_usec);

/* What was drawn, outside these nodes; NAN: not drawn, or for other nodes. */
double sample_ratio(const Instance *i, const NodeSet *nodes);

/* Of the ratio that is published; 0: it is exact, or not known. */
double sample_halfwidth(const Instance *i);
