/* Between the parts of world's topology: calls of hwloc, and its tree of objects into the model. */
#pragma once

#include <hwloc.h>
#include <stdbool.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"
#include "tidbnumad/world/topology-load.h"

typedef struct TopologyEnv {
        int stderr_fd; /* the real one, while hwloc writes to output_fd */
        int output_fd;
} TopologyEnv;

/* Removes the HWLOC_ variables of the caller's environment, so that they do not affect hwloc. Until
 * topology_env_leave(), hwloc reads below `sysroot` if that is another machine's dump. With
 * `capture`, hwloc writes its messages to memory instead of standard error; this redirects standard
 * error of the whole process, so it is only for programs with one thread. -ENOMEM: nothing was
 * changed. */
int topology_env_enter(TopologyEnv *env, const Sysroot *sysroot, bool capture);

/* Everything as before. `ret_output`, where it is not NULL, becomes the first line that hwloc
 * wrote, without its own name, or NULL; the caller frees it. */
void topology_env_leave(TopologyEnv *env, char **ret_output);

/* --- hwloc's objects into nodes --- */

/* hwloc's tree of objects, wherever it came from, into the model. */

static inline void hwloc_topology_destroyp(hwloc_topology_t *t) {
        if (*t)
                hwloc_topology_destroy(*t);
}
#define _cleanup_hwloc_ _cleanup_(hwloc_topology_destroyp)

/* What topology_export() notes on hwloc's objects, for what hwloc does not know. On the machine: */
#define TOPOLOGY_INFO_VERSION "TidbnumadExport"  /* "1" */
#define TOPOLOGY_INFO_HAS_CPU "TidbnumadHasCPU"  /* nodes */
#define TOPOLOGY_INFO_DEVICES "TidbnumadDevices" /* those that hwloc has no object for */
/* On a node: "package=-1 memory=known overlaps=no kind=gpu cpus=0-3"; -1: the package is unknown.
 */
#define TOPOLOGY_INFO_NODE "TidbnumadNode"
/* On a device: */
#define TOPOLOGY_INFO_DEVICE "TidbnumadDevice"

/* The value of the last info of that name: an export of an export has two. NULL: none. */
const char *topology_fill_info(hwloc_obj_t object, const char *name);

/* The members of one of hwloc's sets that have a place in ours. */
NodeSet topology_fill_nodes(hwloc_const_bitmap_t bitmap);

/* Nodes, packages, memory, distances, cores, and as offline the CPUs that hwloc knows
 * and does not show. Each CPU is in one node only, as with the kernel, though hwloc gives a
 * memory-only node the CPUs that are near it: `has_cpu` are the nodes that have some; NULL: not
 * known, and derived from the sizes of the sets. -ENODATA: no node at all; -E2BIG: too many. */
int topology_fill(hwloc_topology_t t, const NodeSet *has_cpu, Topology *ret);

/* --- a device as one line of text, as an export notes it --- */

void device_note_render(const Device *device, Text *text);

/* Unknown words are passed over: a later version may know more. -EBADMSG: no such line. */
int device_note_parse(const char *text, Device *ret);
