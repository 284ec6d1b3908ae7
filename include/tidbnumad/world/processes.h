/* Identifies the processes of the machine. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* Must a process of this executable be identified? `exe` is the path from /proc/PID/exe. */
typedef bool (*ExeFilter)(const char *exe, void *userdata);

/* Opens one process and identifies it. `exe` is the path that proc_exe_read() has just returned for
 * it, if the caller has read it and wants it; with NULL, this function reads it and calls `wanted`.
 * `ret_handle` stays open for the caller. Returns 0; -ESRCH: gone, a zombie, a kernel thread, or an
 * executable that `wanted` does not want; -EAGAIN: it went on to execute programs meanwhile, after
 * several tries. */
int process_identify(const Sysroot *sysroot, pid_t pid, const char *exe, ExeFilter wanted,
                     void *userdata, ProcHandle *ret_handle, Process *ret);

/* Is the process the child of a vfork(2) before its exec, and so not yet a process of its own? 1:
 * yes; 0: no; negative errno as of proc_shares_memory(). During an exec of the parent this call
 * waits, possibly for the server of a file that the parent has mapped. */
int process_is_vforked(const ProcHandle *handle, const Process *process);

/* Reads its command line into `process->args`. -ESRCH: gone. */
int process_read_args(const ProcHandle *handle, Process *process);

/* Decides what process_identify() leaves open, and sets `process->foreign` by that: whether
 * FOREIGN_ROOT is a chroot inside the mount namespace of its unit, which is not foreign; and
 * whether its executable is where /proc/PID/exe shows it, which matters for policies that name a
 * path. May wait for file systems, see proc_namespace_has_host_root() and proc_exe_is_mounted(). 0,
 * or negative errno: not known. */
int process_check_mounts(const Sysroot *sysroot, const ProcHandle *handle, Process *process);

/* Does what `read` asks of the process end within seconds? It is asked by a child process, which a
 * process whose memory map or file system does not answer may keep for ever. False: it does not,
 * and the handle says so from now on: what would wait as well fails with -EHOSTDOWN. For programs
 * that have no workers. */
bool process_answers(ProcHandle *handle, void (*read)(void *userdata), void *userdata);

/* The functions above that may wait, by that: whether it is vforked, and what policies want to
 * know. 0, also where its arguments or mounts are not known; -ESRCH: it is no process of its own
 * yet; -EHOSTDOWN. */
int process_complete(const Sysroot *sysroot, ProcHandle *handle, Process *process, bool args,
                     bool mounts);

/* Is its executable wanted? Reads only the link of the executable: a scan checks this first for
 * every process. Negative: the link cannot be read, see proc_exe_read(). */
int process_may_match(const Sysroot *sysroot, pid_t pid, ExeFilter wanted, void *userdata);

/* All processes there are, their numbers alone, ascending, into `list`, which is used again and
 * again. */
int pid_list_read(const Sysroot *sysroot, PidList *list);

/* The numbers of the users that policies name: config is pure, and only the system knows them. */

/* user_to_uid(), or what does the same. */
typedef int (*UserLookup)(const char *user, uid_t *ret, void *userdata);

/* Resolves each `match.user` to a user ID. A user that does not exist is a warning: such a policy
 * matches nothing. `files` are the files that the set was made from. For a dump of another machine,
 * numbers are used, and the names in the dump's own etc/passwd if it has one, but never the names
 * of this host. */
void policy_users_look_up(PolicySet *set, const SourceFileList *files, const Sysroot *sysroot,
                          UserLookup look_up, void *userdata, Diagnostics *warnings);
