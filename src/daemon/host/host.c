#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/host/journal.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/self.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/node-load.h"
#include "tidbnumad/world/topology-load.h"

/* --- the folder in which the daemon publishes and keeps its undo records --- */

static int cannot_open(const Journal *journal, const char *path, int error) {
        journal_log(journal, LOG_ERR, NULL,
                    "Cannot open the runtime folder %s: %s. Run as root, or choose another with "
                    "--runtime-dir",
                    path, strerror(-error));
        return error;
}

static int is_in_use(const Journal *journal, const char *path, pid_t holder) {
        char who[32] = "";

        if (holder > 0)
                (void)snprintf(who, sizeof(who), " (process %d)", holder);
        journal_log(journal, LOG_ERR, NULL,
                    "Another tidbnumad%s uses the runtime folder %s. Stop that one first "
                    "(systemctl stop tidbnumad), or choose another folder with --runtime-dir; "
                    "--dry-run without --runtime-dir uses none",
                    who, path);
        return -EBUSY;
}

static int take_lock(const Journal *journal, const char *path, int fd, int *ret_lock_fd) {
        pid_t holder = 0;
        int r = lock_file_take(fd, RUNTIME_DIR_LOCK, ret_lock_fd, &holder);

        if (r == -EBUSY)
                return is_in_use(journal, path, holder);
        if (r == -ENOSPC || r == -EDQUOT || r == -EROFS) {
                journal_log(journal, LOG_WARNING, NULL,
                            "The lock file %s/%s cannot be used: %s. Do not start a second "
                            "tidbnumad: it would not be detected",
                            path, RUNTIME_DIR_LOCK, strerror(-r));
                return 0;
        }
        return r < 0 ? cannot_open(journal, path, r) : 0;
}

/* Opens the runtime folder, creates it if it is missing, and locks it. Errors are logged. If the
 * disk is full or read-only, the daemon starts without the lock file, and that is logged. */
static int runtime_dir_open(const Journal *journal, const char *path, int *ret_fd,
                            int *ret_lock_fd) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        /* tmpfiles.d normally creates the folder; a run by hand has to. */
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return cannot_open(journal, path, -errno);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return cannot_open(journal, path, -errno);
        r = take_lock(journal, path, fd, ret_lock_fd);
        if (r < 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int fail(const Host *h, int error, const char *what, const char *path, const char *hint) {
        journal_log(&h->journal, LOG_ERR, NULL, "%s %s: %s. %s", what, path, strerror(-error),
                    hint);
        return error;
}

void host_read_devices(Host *h) {
        DeviceList devices = { 0 };
        int r = devices_load(&h->sysroot, &devices);

        if (r < 0) {
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "The network cards and disks cannot be read: %s. %s", strerror(-r),
                            h->devices.n_devices > 0 ? "The list that was read before stays in use"
                                                     : "Nothing is placed near them");
                return;
        }
        device_list_done(&h->devices);
        h->devices = devices;
        host_mark(h, HOST_MARK_PLAN);
}

static void log_topology_notes(const Host *h) {
        for (unsigned i = 0; i < TOPOLOGY_NOTES; i++) {
                _cleanup_text_ Text note = { 0 };

                topology_append_note(&h->topology, i, &note);
                if (note.length > 0 && note.error == 0)
                        journal_log(&h->journal, LOG_WARNING, NULL, "Topology: %s", note.data);
        }
}

static int read_machine(Host *h) {
        const char *root = h->args->sysroot ? h->args->sysroot : "/";
        int r;

        r = sysroot_open(h->args->sysroot, &h->sysroot);
        if (r < 0)
                return fail(h, r, "Cannot open proc and sys below", root,
                            "Give --sysroot the folder that contains both");
        r = topology_load(&h->sysroot, &h->topology);
        if (r < 0)
                return fail(h, r, "Cannot read the topology below", root,
                            "Is sys/devices/system/node there?");
        log_topology_notes(h);
        host_read_devices(h);
        return node_watermarks_load(&h->sysroot, &h->topology, &h->high_watermark_bytes);
}

int host_open(Host *h, const Args *args) {
        int r;

        h->args = args;
        h->sysroot = SYSROOT_NONE;
        h->runtime_fd = h->lock_fd = -EBADF;
        journal_init(&h->journal, args->debug);
        h->journal.limits = args->debug ? NULL : h->journal_limits;
        policy_set_init(&h->policies);
        r = read_machine(h);
        if (r >= 0 && args->runtime_dir)
                r = runtime_dir_open(&h->journal, args->runtime_dir, &h->runtime_fd, &h->lock_fd);
        if (r >= 0)
                r = sd_event_default(&h->event);
        if (r < 0)
                return r;
        notify_init(&h->notifier, h->event);
        backend_init(&h->backend, &h->sysroot, h->event);
        h->backend.all_cpus = topology_cpus(&h->topology);
        h->backend.all_nodes = topology_memory_nodes(&h->topology);
        return 0;
}

void host_close(Host *h) {
        workers_done(&h->workers);
        backend_done(&h->backend);
        notify_done(&h->notifier);
        sd_event_unref(h->event);
        closep(&h->runtime_fd);
        closep(&h->lock_fd);
        policy_set_done(&h->policies);
        requests_done(&h->requests);
        source_file_list_done(&h->policy_files);
        diagnostics_done(&h->policy_errors);
        diagnostics_done(&h->policy_warnings);
        topology_done(&h->topology);
        device_list_done(&h->devices);
        free(h->high_watermark_bytes);
        sysroot_close(&h->sysroot);
        journal_done(&h->journal);
}

bool host_enforces(const Host *h) {
        return h->sysroot.live && !h->args->dry_run && h->policies.mode == ENFORCEMENT_ENFORCE &&
               !h->requests.paused && !h->stopping;
}

bool host_obeys(const Host *h) {
        return h->sysroot.live && !h->args->dry_run && !h->stopping;
}

void host_mark(Host *h, uint32_t marks) {
        h->marks |= marks;
}

bool host_take_mark(Host *h, HostMark mark) {
        const bool was_set = h->marks & mark;

        h->marks &= ~(uint32_t)mark;
        return was_set;
}

void host_keep_lock(Host *h) {
        struct stat st;
        int fd = -EBADF;
        pid_t holder = 0;

        if (h->lock_fd < 0 || h->runtime_fd < 0 || fstat(h->lock_fd, &st) < 0 || st.st_nlink > 0)
                return;
        if (lock_file_take(h->runtime_fd, RUNTIME_DIR_LOCK, &fd, &holder) >= 0) {
                closep(&h->lock_fd);
                h->lock_fd = fd;
                h->lock_lost_logged = false;
                return;
        }
        if (!h->lock_lost_logged)
                journal_log(&h->journal, LOG_ERR, NULL,
                            "Something else has removed %s/%s, and it cannot be taken again "
                            "(process %d has it): stop the second daemon",
                            h->args->runtime_dir, RUNTIME_DIR_LOCK, holder);
        h->lock_lost_logged = true;
}

void host_lock_memory(Host *h) {
        int r;

        if (h->memory_lock_tried || !host_enforces(h))
                return;
        h->memory_lock_tried = true;
        r = self_lock_memory();
        if (r < 0)
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "The daemon's memory could not be locked (%s): when the host runs out "
                            "of memory, a full node may be noticed late. Set LimitMEMLOCK=infinity",
                            strerror(-r));
}
