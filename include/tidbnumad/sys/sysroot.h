/* The directories of /proc and /sys that everything is read through, so that the dump of
 * another machine can be put under the real program (--sysroot). */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/path.h"

typedef enum ProcNamespace {
        PROC_NAMESPACE_PID,
        PROC_NAMESPACE_USER,
        PROC_NAMESPACE_MOUNT,
        PROC_NAMESPACE_NETWORK,
        N_PROC_NAMESPACES,
} ProcNamespace;

extern const char *const PROC_NAMESPACE_FILES[N_PROC_NAMESPACES]; /* in /proc/PID */

typedef struct Sysroot {
        int proc_fd;   /* <root>/proc */
        int sys_fd;    /* <root>/sys */
        int cgroup_fd; /* <root>/sys/fs/cgroup, or -EBADF where there is none */
        bool live;     /* this machine itself: things may be changed */
        FileIdentity namespaces[N_PROC_NAMESPACES]; /* our own, where live: they never change */
        char *path; /* the root as given, "/" for the live machine; owned */
} Sysroot;

#define SYSROOT_NONE                                                                               \
        (Sysroot) {                                                                                \
                .proc_fd = -EBADF, .sys_fd = -EBADF, .cgroup_fd = -EBADF                           \
        }

/* `path` NULL: this machine. -ENOENT: no proc or no sys below it. */
int sysroot_open(const char *path, Sysroot *ret);
void sysroot_close(Sysroot *sysroot);
#define _cleanup_sysroot_ _cleanup_(sysroot_close)
