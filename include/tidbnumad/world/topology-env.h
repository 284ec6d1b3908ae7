/* Around calls of hwloc: what it takes from the environment, and what it prints on standard
 * error. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/sys/sysroot.h"

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
