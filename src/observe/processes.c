/* Who the processes are. By what stands behind /proc/PID/exe, never by the name they give
 * themselves. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/observe/processes.h"

static int read_cgroup(const ProcHandle *handle, Process *process) {
        int r = proc_cgroup_read(handle, &process->cgroup);

        if (r == -ENXIO)
                return 0;
        if (r < 0)
                return r;
        r = unit_from_cgroup(process->cgroup, &process->unit);
        return r == -ENXIO ? 0 : r;
}

static int fill_process(const ProcHandle *handle, const char *exe, Process *process) {
        ProcStatus status;
        ProcStat stat;
        bool ours;
        int r;

        r = proc_stat_read(handle, 0, &stat);
        if (r < 0)
                return r;
        if (stat.kernel_thread || stat.state == 'Z' || stat.state == 'X')
                return -ESRCH;
        r = proc_status_read(handle, 0, &status);
        if (r < 0)
                return r;
        r = proc_shares_namespaces(handle, &ours);
        if (r < 0)
                return r;
        process->id = (ProcessId){ .pid = handle->pid, .start_ticks = handle->start_ticks };
        process->uid = status.uid;
        process->stranger = !ours;
        process->exe = strdup(exe);
        if (!process->exe)
                return -ENOMEM;
        return read_cgroup(handle, process);
}

int process_identify(const Sysroot *sysroot, pid_t pid, ExeFilter wanted, void *userdata,
                     ProcHandle *ret_handle, Process *ret) {
        _cleanup_process_ Process process = { 0 };
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char exe[PATH_MAX], again[PATH_MAX];
        int r;

        r = proc_exe_read(sysroot, pid, exe, sizeof(exe));
        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;
        if (!wanted(exe, userdata))
                return -ESRCH;
        r = proc_open(sysroot, pid, &handle);
        if (r < 0)
                return r;
        r = fill_process(&handle, exe, &process);
        if (r < 0)
                return r;
        /* The first look was by pid alone; the handle is now held, and what it shows must agree. */
        r = proc_exe_read(sysroot, pid, again, sizeof(again));
        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;
        if (!proc_is_alive(&handle))
                return -ESRCH;
        if (strcmp(exe, again) != 0)
                return -EAGAIN;
        *ret_handle = handle;
        handle = PROC_HANDLE_NONE;
        *ret = process;
        process = (Process){ 0 };
        return 0;
}

typedef struct Scan {
        const Sysroot *sysroot;
        ExeFilter wanted;
        void *userdata;
        pid_t *pids;
        size_t n_pids;
        size_t allocated;
} Scan;

static int scan_one(pid_t pid, void *userdata) {
        Scan *scan = userdata;
        char exe[PATH_MAX];

        /* Kernel threads have no link, other namespaces' processes may refuse it, all may be gone.
         */
        if (proc_exe_read(scan->sysroot, pid, exe, sizeof(exe)) < 0 ||
            !scan->wanted(exe, scan->userdata))
                return 0;
        if (ARRAY_RESERVE(scan->pids, scan->allocated, scan->n_pids + 1) < 0)
                return -ENOMEM;
        scan->pids[scan->n_pids++] = pid;
        return 0;
}

static int compare_pids(const void *a, const void *b) {
        const pid_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

int processes_scan(const Sysroot *sysroot, ExeFilter wanted, void *userdata, pid_t **ret,
                   size_t *ret_n) {
        Scan scan = { .sysroot = sysroot, .wanted = wanted, .userdata = userdata };
        int r = proc_foreach_pid(sysroot, scan_one, &scan);

        if (r < 0) {
                free(scan.pids);
                return r;
        }
        if (scan.n_pids > 1)
                qsort(scan.pids, scan.n_pids, sizeof(pid_t), compare_pids);
        *ret = scan.pids;
        *ret_n = scan.n_pids;
        return 0;
}
