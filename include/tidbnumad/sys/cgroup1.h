/* The hierarchies of cgroup v1. Where a process is in one: proc_cgroup_path_read(). */
#pragma once

#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* The mount point of the controller's hierarchy out of /proc/PID/mountinfo (proc(5)), alone or
 * together with other controllers. Only a mount of the whole hierarchy counts: below the part that
 * a container sees, the paths of /proc/PID/cgroup lead nowhere. -ENOENT: none; -EBADMSG: not a
 * mountinfo. The caller owns the string. */
int cgroup1_mount_parse(const char *mountinfo, const char *controller, char **ret);

/* Opens that folder, below the sysroot. -ENOENT: none. */
int cgroup1_open(const Sysroot *sysroot, const char *controller, int *ret_fd);

/* Makes and removes a group directly below the root of a hierarchy, which needs
 * CAP_DAC_OVERRIDE. -EEXIST; -EBUSY: in use; -ENOENT. */
int cgroup1_mkdir(int root_fd, const char *name);
int cgroup1_rmdir(int root_fd, const char *name);

/* Makes a valid directory name from any `name`: at most CGROUP1_NAME_MAX - 1 bytes, no slash, no
 * leading dot, no control character, and not the name of one of the kernel's own files. Names that
 * had to be changed end with a checksum of the whole name, so that two names never become one. */
#define CGROUP1_NAME_MAX 128u
void cgroup1_name(const char *name, char buffer[static CGROUP1_NAME_MAX]);
