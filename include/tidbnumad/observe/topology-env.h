/* Around calls of hwloc: what it takes from the environment, and what it prints on standard
 * error. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/sys/sysroot.h"

typedef struct TopologyEnv {
        int stderr_fd; /* the real one, while hwloc writes to output_fd */
        int output_fd;
} TopologyEnv;

/* hwloc sees no HWLOC_ variable of whoever started this program: they are removed. Until
 * topology_env_leave() it looks below `sysroot` where that is another machine's dump. With
 * `capture` it writes its reasons to memory instead of standard error, which is the whole process's
 * meanwhile: only for programs of one thread. -ENOMEM: nothing was changed. */
int topology_env_enter(TopologyEnv *env, const Sysroot *sysroot, bool capture);

/* Everything as before. `ret_output`, where it is not NULL, becomes the first line that hwloc
 * wrote, without its own name, or NULL; the caller frees it. */
void topology_env_leave(TopologyEnv *env, char **ret_output);
