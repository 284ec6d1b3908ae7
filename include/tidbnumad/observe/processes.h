/* The processes of the machine into the model: who is who. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/proc.h"

/* Is a process of this executable worth a closer look? `exe` is the path out of /proc/PID/exe. */
typedef bool (*ExeFilter)(const char *exe, void *userdata);

/* Opens one process and reads who it is. `ret_handle` stays open for the caller. 0; -ESRCH: gone, a
 * zombie, a kernel thread, or an executable that `wanted` does not want; -EAGAIN: it exec'd in the
 * middle, look again. */
int process_identify(const Sysroot *sysroot, pid_t pid, ExeFilter wanted, void *userdata,
                     ProcHandle *ret_handle, Process *ret);

/* The pids of all processes whose executable is wanted, ascending; the link is all that is read of
 * the others. The caller owns the array. */
int processes_scan(const Sysroot *sysroot, ExeFilter wanted, void *userdata, pid_t **ret,
                   size_t *ret_n);
