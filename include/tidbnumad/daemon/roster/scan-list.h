/* The processes of the machine, and which of them a scan need not read again.
 *
 * One getdents64(2) of /proc shows the inode number of the folder of each process. The kernel gives
 * the folder this number at its first lookup, and removes the folder with its process:
 * the same PID with the same inode number is the same process. The kernel may drop a folder from
 * its cache when memory is short. It then has another number, and the process is read once more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/proc.h"

typedef struct ScanEntry {
        pid_t pid;
        bool passed; /* no policy names its executable, and no exec was reported since */
        bool failed; /* its executable could not be read when the list was gone through last */
        uint64_t inode;
} ScanEntry;

typedef struct ScanList {
        ScanEntry *entries; /* ascending by pid; owned */
        size_t n_entries, allocated;
        size_t n_unread; /* number of those that were not passed when the list was read */
} ScanList;

void scan_list_done(ScanList *list);

/* Reads the processes that there are. Those that were passed still are. On error the list stays as
 * it was. */
int scan_list_read(ScanList *list, const Sysroot *sysroot);

/* Does a policy name its executable? 0 passes the process. A negative errno passes it the second
 * time in succession: a kernel thread has no executable, but a failure may also be of one moment.
 */
void scan_entry_note(ScanEntry *entry, int may_match);

/* The process has executed a program: the next scan reads it. */
void scan_list_forget(ScanList *list, pid_t pid);

/* The next scan reads all of them. */
void scan_list_forget_all(ScanList *list);
