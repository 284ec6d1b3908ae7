/* The processes that a scan goes through. */
#include <stdlib.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/daemon/roster/scan-list.h"

#define _cleanup_scan_list_ _cleanup_(scan_list_done)

void scan_list_done(ScanList *list) {
        free(list->entries);
        *list = (ScanList){ 0 };
}

static int append(pid_t pid, uint64_t inode, void *userdata) {
        ScanList *list = userdata;

        if (ARRAY_RESERVE(list->entries, list->allocated, list->n_entries + 1) < 0)
                return -ENOMEM;
        list->entries[list->n_entries++] = (ScanEntry){ .pid = pid, .inode = inode };
        return 0;
}

static int compare_pids(const void *a, const void *b) {
        const ScanEntry *x = a, *y = b;

        return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Both are in the same order, so one walk over the two is enough. */
static void take_over_passed(ScanList *list, const ScanList *former) {
        size_t k = 0;

        list->n_unread = 0;
        for (size_t i = 0; i < list->n_entries; i++) {
                ScanEntry *entry = &list->entries[i];

                while (k < former->n_entries && former->entries[k].pid < entry->pid)
                        k++;
                if (k < former->n_entries && former->entries[k].pid == entry->pid &&
                    former->entries[k].inode == entry->inode)
                        *entry = former->entries[k];
                list->n_unread += !entry->passed;
        }
}

int scan_list_read(ScanList *list, const Sysroot *sysroot) {
        _cleanup_scan_list_ ScanList now = { 0 };
        int r = proc_foreach_pid(sysroot, append, &now);

        if (r < 0)
                return r;
        if (now.n_entries > 1)
                qsort(now.entries, now.n_entries, sizeof(now.entries[0]), compare_pids);
        take_over_passed(&now, list);
        scan_list_done(list);
        *list = TAKE_STRUCT(now);
        return 0;
}

void scan_entry_note(ScanEntry *entry, int may_match) {
        entry->passed = may_match == 0 || (may_match < 0 && entry->failed);
        entry->failed = may_match < 0;
}

void scan_list_forget(ScanList *list, pid_t pid) {
        const size_t at = ARRAY_LOWER_BOUND(list->n_entries, k, list->entries[k].pid < pid);

        if (at < list->n_entries && list->entries[at].pid == pid)
                list->entries[at].passed = list->entries[at].failed = false;
}

void scan_list_forget_all(ScanList *list) {
        for (size_t i = 0; i < list->n_entries; i++)
                list->entries[i].passed = false;
}
