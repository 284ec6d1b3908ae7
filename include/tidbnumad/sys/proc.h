/* Processes and threads in /proc.
 *
 * A process is held by a directory fd of /proc/PID and, on the live machine, a pidfd: both stay
 * with the one process that they were opened for. Every function returns -ESRCH if the process is
 * gone. Kernels before 5.3 have no pidfd_open(2): there, only the directory and the start time
 * identify the process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/sysroot.h"

typedef struct ProcHandle {
        pid_t pid;
        uint64_t start_ticks;
        int dir_fd;            /* /proc/PID */
        bool live;             /* of this machine, not below a --sysroot */
        bool silent;           /* see process_answers() */
        int pidfd;             /* -EBADF below a --sysroot, or without pidfd_open(2) */
        sd_event_source *exit; /* see proc_watch_exit(); NULL: not watched */
} ProcHandle;

#define PROC_HANDLE_NONE                                                                           \
        (ProcHandle) {                                                                             \
                .dir_fd = -EBADF, .pidfd = -EBADF                                                  \
        }

/* A vanished task shows as -ENOENT on opening and as -ESRCH on reading: both become -ESRCH. */
int proc_error(int r);

/* -ESRCH: no such process; -EAGAIN: no pidfd of it, though the kernel has pidfds. */
int proc_open(const Sysroot *sysroot, pid_t pid, ProcHandle *ret);
/* The same for a caller that is about to remove its records of the process: -ESRCH only if two
 * attempts fail this way. */
int proc_open_twice(const Sysroot *sysroot, pid_t pid, ProcHandle *ret);
void proc_close(ProcHandle *handle);
#define _cleanup_proc_ _cleanup_(proc_close)

/* A file of /proc/PID for which the kernel takes the lock of the memory map. -EHOSTDOWN: it is
 * known that this would wait. */
int proc_open_memory_file(const ProcHandle *handle, const char *name);

/* False once the process has ended, also while it waits as a zombie for its parent. Below a
 * --sysroot always true. */
bool proc_is_alive(const ProcHandle *handle);

/* Does the kernel have pidfd_open(2), and may it be called? A unit's list of system calls, made by
 * a systemd that is older than the kernel, may refuse it. */
bool proc_has_pidfds(void);

/* Calls `callback` when the last thread of the process has ended, ahead of other events of the
 * loop, until the handle is closed. An event of the process connector reports the end of the first
 * thread only. 0, also where there is no pidfd: below a --sysroot no process ends, and on the live
 * machine the caller has to check from time to time. */
int proc_watch_exit(ProcHandle *handle, sd_event *event, sd_event_io_handler_t callback,
                    void *userdata);

typedef struct ProcStat {
        char state; /* R S D Z T t X I, proc(5) */
        pid_t parent;
        bool kernel_thread; /* PF_KTHREAD */
        bool forked_only;   /* PF_FORKNOEXEC: it has not executed a program since its fork */
        uint64_t n_threads;
        uint64_t cpu_ticks; /* used in user mode and the kernel: of a process by all its threads */
        uint64_t start_ticks; /* clock ticks after boot */
        uint32_t last_cpu;    /* where it last ran */
} ProcStat;

/* proc_open(), and what it has to read for it: of the first thread, so `cpu_ticks` are its own. */
int proc_open_stat(const Sysroot *sysroot, pid_t pid, ProcHandle *ret, ProcStat *ret_stat);

/* The comm may hold anything, brackets and newlines too. -EBADMSG: not a stat file. */
int proc_stat_parse(const char *text, ProcStat *ret);

typedef struct ProcStatus {
        uid_t uid; /* effective */
        CpuSet cpus_allowed;
        NodeSet mems_allowed;
} ProcStatus;

int proc_status_parse(const char *text, ProcStatus *ret);

/* The two files above of a process (`tid` 0) or of one of its threads. -ESRCH: gone. */
int proc_stat_read(const ProcHandle *handle, pid_t tid, ProcStat *ret);
int proc_status_read(const ProcHandle *handle, pid_t tid, ProcStatus *ret);

/* Since boot, as `start_ticks` counts. */
int proc_uptime_read(const Sysroot *sysroot, uint64_t *ret_ticks);

/* Is the process still in an exec, with a memory map that has no program yet? The kernel then holds
 * a lock of the process and frees its former memory map, which may wait for ever for the server of
 * any file that was mapped. A reader of the process's stat, maps and other files waits for that
 * lock, since 6255da28d4bb (2026, also in stable kernels) one of its links too. The functions below
 * that read any of these fail with -EBUSY instead: an event reports the end of the exec. */
bool proc_is_in_exec(const Sysroot *sysroot, pid_t pid);
bool proc_held_is_in_exec(const ProcHandle *handle);

/* /proc/PID/exe of a process that is not opened yet: the first file that a scan reads. `buffer` of
 * PATH_MAX. The " (deleted)" of a replaced binary is cut off. -ESRCH: gone; -ENOENT: kernel thread
 * or zombie; -EBUSY: see above; -EACCES. */
int proc_exe_read(const Sysroot *sysroot, pid_t pid, char *buffer, size_t size);

/* The same of one that is held. What answers has not ended. */
int proc_held_exe_read(const ProcHandle *handle, char *buffer, size_t size);

/* Does it run a program? It has not ended then, and the kernel gives its number to no other. */
bool proc_has_program(const ProcHandle *handle);

/* The path in one hierarchy out of /proc/PID/cgroup (cgroups(7)): that of a v1 controller
 * ("memory", "name=systemd"), or "" for the unified one. Read by lines and fields: a group's name
 * may contain
 * ":name=systemd:/system.slice/tikv.service", and a newline before Linux 5.13. -ENXIO: no such
 * hierarchy, or the text is not what the kernel writes, which is one line a hierarchy. The caller
 * owns the new string. */
int proc_cgroup_path_parse(const char *text, const char *controller, char **ret);
int proc_cgroup_path_read(const ProcHandle *handle, const char *controller, char **ret);

/* The same of the hierarchy in which systemd has its units: the unified one, else its own (v1 and
 * hybrid). Of a process that is deeper than OTHERS_GROUP_DEPTH_MAX groups it reads the group of
 * that depth. */
int proc_cgroup_parse(const char *text, char **ret);
int proc_cgroup_read(const ProcHandle *handle, char **ret);

/* Those entries of a folder whose name is a number:
 *
 *     _cleanup_numbers_ Numbers threads;
 *
 *     proc_threads(handle, &threads);
 *     while ((r = numbers_next(&threads, &tid)) > 0)
 */
typedef struct Numbers {
        int dir_fd;     /* owned; a negative errno: it could not be opened */
        uint64_t inode; /* of the last entry */
        size_t at, n;
        _Alignas(uint64_t) char entries[8192];
} Numbers;

/* Takes over the descriptor, or the error of opening it, which numbers_next() returns. */
void numbers_begin(int dir_fd, Numbers *ret);
void numbers_end(Numbers *numbers);
#define _cleanup_numbers_ _cleanup_(numbers_end)

/* 1; 0: there are no more; -ESRCH: the process ended; another negative errno. */
int numbers_next(Numbers *numbers, pid_t *ret);

/* Every pid of the machine: as long as `inode` stays the same it is the same process's. */
void proc_pids(const Sysroot *sysroot, Numbers *ret);
void proc_threads(const ProcHandle *handle, Numbers *ret);

typedef struct PidList {
        pid_t *pids; /* owned */
        size_t n_pids, allocated;
} PidList;

/* Adds to `list`, a PidList, at its end: for cgroup_foreach_pid() as well. 0 or -ENOMEM. */
int pid_list_add(pid_t pid, void *list);
void pid_list_done(PidList *list);
#define _cleanup_pid_list_ _cleanup_(pid_list_done)

/* How many threads it has, by one call however many they are; 0: it has ended. */
size_t proc_count_threads(const ProcHandle *handle);

/* Is the number a thread of the process now? As long as it is, a zombie's too, the kernel gives
 * the number to no other: after a call that takes a number, this shows which thread the call
 * reached. */
bool proc_has_thread(const ProcHandle *handle, pid_t tid);

/* Adds every child of any of its threads (CONFIG_PROC_CHILDREN; without it none). */
int proc_children(const ProcHandle *handle, PidList *list);

/* --- resident memory by kind: /proc/PID/status --- */

/* Counters that the kernel keeps anyway: reading them walks through nothing. */
typedef struct ProcMemory {
        uint64_t anon_bytes;  /* RssAnon */
        uint64_t file_bytes;  /* RssFile */
        uint64_t shmem_bytes; /* RssShmem */
        uint64_t huge_bytes;  /* HugetlbPages, in none of the others */
} ProcMemory;

/* -EBADMSG: a field is missing, as of a kernel thread or of a process that has ended. */
int proc_memory_parse(const char *text, ProcMemory *ret);

/* -ESRCH: gone. */
int proc_memory_read(const ProcHandle *handle, ProcMemory *ret);

/* --- the command line --- */

/* The command line of a process: /proc/PID/cmdline. It is in the process's own memory: it may
 * have been rewritten since, and contain anything. */

/* Linux takes command lines of some MiB; the name of a server is at the front. */
#define CMDLINE_MAX_BYTES ((size_t)128 << 10)

/* The arguments, each with a NUL behind it, the last one too: `*ret_size` counts those. The caller
 * owns the bytes. A process that has none (kernel thread, zombie) gives size 0 and an allocated,
 * empty text. 0; 1: it is longer than CMDLINE_MAX_BYTES, and the arguments that do not fit whole
 * are left out; -ESRCH: gone. */
int cmdline_read(const ProcHandle *handle, char **ret_bytes, size_t *ret_size);

/* The argument after `argument` in these bytes, for NULL the first one; NULL: there are no more. */
const char *cmdline_next(const char *bytes, size_t size, const char *argument);

/* As one text, "a b c", for people and globs: blanks inside of arguments cannot be distinguished
 * from those between arguments. The caller owns it. -ENOMEM. */
int cmdline_join(const char *bytes, size_t size, char **ret);

/* The value of `key` in these bytes, entries with a NUL behind each; NULL: it is not there. */
const char *environment_find(const char *bytes, size_t size, const char *key);

/* Copies the value. -ENODATA: it is not there; -ENOSPC; -ESRCH: gone; -EACCES. */
int environment_read(const ProcHandle *handle, const char *key, char *buffer, size_t size);

/* --- open files: /proc/PID/fd --- */

/* Where a walk stops, for a process may hoard a million. A server opens the files that identify
 * it (the lock of its data directory, its listening sockets) while it starts, so with low
 * numbers, and /proc lists those first; this leaves room for the 40,960 files that TiKV's
 * RocksDB may open before. A descriptor takes 1 to 5 µs: 0.3 s at most. */
#define OPEN_FILES_MAX ((size_t)1 << 16)

/* `target` is the link's text, valid during the call: "/path", "/path (deleted)", "socket:[N]",
 * "anon_inode:[eventpoll]". Paths are what the other users' processes made them: any bytes. */
typedef int (*OpenFileCallback)(int fd, const char *target, void *userdata);

/* Calls back for each descriptor of the process's main thread, lowest first (below a --sysroot
 * in any order), but for OPEN_FILES_MAX at most. A callback's negative answer ends the walk and
 * is returned. Descriptors that are closed meanwhile, and targets of PATH_MAX bytes or more, are
 * left out. 0: all; 1: the process has more than that; -ESRCH: gone; -EACCES: not ours to read. */
int open_files_foreach(const ProcHandle *handle, OpenFileCallback callback, void *userdata);
