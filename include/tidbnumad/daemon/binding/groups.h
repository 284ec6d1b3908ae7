/* The control groups from which the state of an instance is read. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

typedef struct Groups {
        int group_fd;     /* for its members and its memory: the unit on v2, the group of the memory
                             controller on v1; -EBADF: none of its own */
        char *group_path; /* on v1 its path in the memory hierarchy; owned */
        int cpuset_fd;    /* with the cpuset that applies to it: the unit's on v2, with cgroup1 our
                             directory; -EBADF: none */
        char *unit_path;  /* v2: the path of the unit; NULL: none; owned */
        char *cpuset_path; /* cgroup1: the path that its processes have in it; owned */
} Groups;

#define GROUPS_NONE                                                                                \
        (Groups) {                                                                                 \
                .group_fd = -EBADF, .cpuset_fd = -EBADF                                            \
        }

/* -ESRCH: the unit is gone. */
int groups_open(const Binder *b, Instance *instance, Groups *ret);
void groups_close(Groups *groups);
#define _cleanup_groups_ _cleanup_(groups_close)
