/* The hierarchies of cgroup v1. Where a process is in one: proc_cgroup_path_read(). */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* A mount of a controller's hierarchy. */
typedef struct Cgroup1Mount {
        char *point;    /* owned */
        bool read_only; /* for who reads this, as the sandbox of a service makes it */
} Cgroup1Mount;

void cgroup1_mount_done(Cgroup1Mount *mount);
#define _cleanup_cgroup1_mount_ _cleanup_(cgroup1_mount_done)

/* The mount of the controller's hierarchy out of /proc/PID/mountinfo (proc(5)), alone or together
 * with other controllers: the first that is not read-only, else the first. Only a mount of the
 * whole hierarchy counts: below the part that a container sees, the paths of /proc/PID/cgroup lead
 * nowhere. -ENOENT: none; -EBADMSG: not a mountinfo. */
int cgroup1_mount_parse(const char *mountinfo, const char *controller, Cgroup1Mount *ret);

/* The same of this process, or of the one that made the dump. -ENOENT: none, or of a dump: not
 * known. */
int cgroup1_mount_read(const Sysroot *sysroot, const char *controller, Cgroup1Mount *ret);

/* Opens that folder, below the sysroot. -ENOENT: none. */
int cgroup1_open(const Sysroot *sysroot, const char *controller, int *ret_fd);

/* May this process make groups there, as far as that can be told without making one? 0; -EROFS: it
 * is read-only; -EACCES: it is another user's; -ENOENT: none. */
int cgroup1_may_write(const Sysroot *sysroot, const char *controller);

/* Makes and removes a group directly below the root of a hierarchy, which needs
 * CAP_DAC_OVERRIDE. -EEXIST; -EBUSY: in use; -ENOENT. */
int cgroup1_mkdir(int root_fd, const char *name);
int cgroup1_rmdir(int root_fd, const char *name);

/* Makes a valid directory name from any `name`: at most CGROUP1_NAME_MAX - 1 bytes, no slash, no
 * leading dot, no control character, and not the name of one of the kernel's own files. Names that
 * had to be changed end with a checksum of the whole name, so that two names never become one. */
#define CGROUP1_NAME_MAX 128u
void cgroup1_name(const char *name, char buffer[static CGROUP1_NAME_MAX]);
