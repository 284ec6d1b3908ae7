/* The host: the runtime folder and its lock, the machine as it was read, the mode, the queue of
 * work, and CPUs and memory that come and go. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/host/journal.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/self.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/memory.h"
#include "tidbnumad/world/topology-load.h"

/* Before the daemon is ready. One that waits for a stuck process may never end. */
#define FORMER_WORKERS_USEC (UINT64_C(2) * 1000 * 1000)

static int host_cannot_read(const Host *h, int error, const char *what, const char *path,
                            const char *hint) {
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
        host_queue(h, HOST_WORK_PLAN);
}

#define SYSTEM "devices/system/"

/* With those that may come: what is released keeps the full set in its group, for the kernel
 * refuses to empty it, and would be without what comes later. */
static void host_note_all(Host *h) {
        CpuSet cpus;
        NodeSet nodes;

        h->backend.all_cpus = topology_cpus(&h->topology);
        h->backend.all_nodes = topology_memory_nodes(&h->topology);
        if (path_read_list(h->sysroot.sys_fd, &cpus, SYSTEM "cpu/possible") >= 0)
                id_set_union(&h->backend.all_cpus, &cpus);
        if (path_read_list(h->sysroot.sys_fd, &nodes, SYSTEM "node/possible") >= 0)
                id_set_union(&h->backend.all_nodes, &nodes);
}

int host_open(Host *h, const Args *args) {
        const char *root = args->sysroot ? args->sysroot : "/";
        const char *path = args->runtime_dir;
        pid_t holder = 0;
        char who[32] = "";
        int r;

        h->args = args;
        h->sysroot = SYSROOT_NONE;
        h->runtime_fd = h->lock_fd = -EBADF;
        journal_init(&h->journal, args->debug);
        h->journal.limits = args->debug ? NULL : h->journal_limits;
        policy_set_init(&h->policies);
        r = sysroot_open(args->sysroot, &h->sysroot);
        if (r < 0)
                return host_cannot_read(h, r, "Cannot open proc and sys below", root,
                                        "Give --sysroot the folder that contains both");
        r = topology_load(&h->sysroot, &h->topology);
        if (r < 0)
                return host_cannot_read(h, r, "Cannot read the topology below", root,
                                        "Is sys/devices/system/node there?");
        for (unsigned i = 0; i < TOPOLOGY_NOTES; i++) {
                _cleanup_text_ Text note = { 0 };

                topology_append_note(&h->topology, i, &note);
                if (note.length > 0 && note.error == 0)
                        journal_log(&h->journal, LOG_WARNING, NULL, "Topology: %s", note.data);
        }
        host_read_devices(h);
        r = node_watermarks_load(&h->sysroot, &h->topology, &h->high_watermark_bytes);
        if (r < 0)
                return r;
        /* tmpfiles.d normally creates the runtime folder; a run by hand has to. */
        if (path && (mkdir(path, 0755) == 0 || errno == EEXIST))
                h->runtime_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (path && h->runtime_fd < 0)
                return host_cannot_read(h, -errno, "Cannot open the runtime folder", path,
                                        "Run as root, or choose another with --runtime-dir");
        if (path)
                r = lock_file_take(h->runtime_fd, RUNTIME_DIR_LOCK, &h->lock_fd, &holder);
        if (r == -EBUSY) {
                if (holder > 0)
                        (void)snprintf(who, sizeof(who), " (process %d)", holder);
                journal_log(&h->journal, LOG_ERR, NULL,
                            "Another tidbnumad%s uses the runtime folder %s. Stop that one first "
                            "(systemctl stop tidbnumad), or choose another folder with "
                            "--runtime-dir; --dry-run without --runtime-dir uses none",
                            who, path);
                return r;
        }
        if (r == -ENOSPC || r == -EDQUOT || r == -EROFS) /* bindings matter more than the lock */
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "The lock file %s/%s cannot be used: %s. Do not start a second "
                            "tidbnumad: it would not be detected",
                            path, RUNTIME_DIR_LOCK, strerror(-r));
        else if (r < 0)
                return host_cannot_read(h, r, "Cannot open the runtime folder", path,
                                        "Run as root, or choose another with --runtime-dir");
        /* A worker that is in the kernel when its daemon is killed still does what it was asked. */
        if (h->lock_fd >= 0 && lock_file_share(h->lock_fd, FORMER_WORKERS_USEC) == -ETIME)
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "A worker of the tidbnumad before this one has not ended in %u s. What "
                            "it still changes is seen later. Look for tasks in state D: ps -eo "
                            "pid,stat,wchan:30,comm",
                            (unsigned)(FORMER_WORKERS_USEC / 1000000));
        r = sd_event_default(&h->event);
        if (r < 0) {
                journal_log(&h->journal, LOG_ERR, NULL, "The event loop cannot be made: %s%s",
                            strerror(-r),
                            r == -EMFILE ? ". Raise LimitNOFILE= of the unit, or ulimit -n" : "");
                return r;
        }
        notify_init(&h->notifier, h->event);
        backend_init(&h->backend, &h->sysroot, h->event);
        host_note_all(h);
        return 0;
}

void host_close(Host *h) {
        h->workers = workers_free(h->workers);
        backend_done(&h->backend);
        notify_done(&h->notifier);
        sd_event_unref(h->event);
        closep(&h->runtime_fd);
        closep(&h->lock_fd);
        policy_set_done(&h->policies);
        free(h->policy_counters);
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

DaemonMode host_mode(const Host *h) {
        return !h->sysroot.live || h->args->dry_run ? DAEMON_DRY_RUN
               : h->requests.paused                 ? DAEMON_PAUSED
               : h->policies.mode == ENFORCEMENT_OBSERVE && !requests_override_mode(&h->requests)
                       ? DAEMON_OBSERVING
                       : DAEMON_ENFORCING;
}

bool host_enforces(const Host *h) {
        return host_mode(h) == DAEMON_ENFORCING && !h->stopping;
}

bool host_obeys(const Host *h) {
        return h->sysroot.live && !h->args->dry_run && !h->stopping;
}

void host_queue(Host *h, uint32_t work) {
        h->queued |= work;
}

bool host_take(Host *h, HostWork work) {
        const bool was_set = h->queued & work;

        h->queued &= ~(uint32_t)work;
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
                (void)lock_file_share(fd, 0);
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

/* The CPUs of one socket are switched together. */
#define DELAY_USEC (UINT64_C(100) * 1000)

/* --- what is present --- */

/* False: it cannot be read, so no change is assumed. */
static bool hotplug_read(const Host *h, Present *ret) {
        const int sys_fd = h->sysroot.sys_fd, cgroup_fd = h->sysroot.cgroup_fd,
                  proc_fd = h->sysroot.proc_fd;

        if (cgroup_fd < 0 || path_read_list(cgroup_fd, &ret->offered, "cpuset.cpus.effective") < 0)
                ret->offered = (CpuSet){ 0 };
        if (path_read_u64(proc_fd, UINT64_MAX, &ret->min_free_kib, "sys/vm/min_free_kbytes") < 0 ||
            path_read_u64(proc_fd, UINT64_MAX, &ret->watermark_scale,
                          "sys/vm/watermark_scale_factor") < 0)
                ret->min_free_kib = ret->watermark_scale = 0;
        return path_read_list(sys_fd, &ret->cpus, SYSTEM "cpu/online") >= 0 &&
               path_read_list(sys_fd, &ret->nodes, SYSTEM "node/online") >= 0 &&
               (path_read_list(sys_fd, &ret->memory, SYSTEM "node/has_memory") >= 0 ||
                path_read_list(sys_fd, &ret->memory, SYSTEM "node/has_normal_memory") >= 0);
}

/* --- changes --- */

/* `udevadm trigger` sends the events of all that has long been there. */
static bool memory_has_changed(const Host *h) {
        for (size_t i = 0; i < h->topology.n_nodes; i++) {
                NodeMeminfo now;

                if (node_meminfo_read(&h->sysroot, h->topology.nodes[i].id, &now) >= 0 &&
                    now.total_bytes != h->topology.nodes[i].memory_bytes)
                        return true;
        }
        return false;
}

/* Below them the kernel kills, so the guard has to know those that are in force. */
static void watermarks_read_again(Host *h) {
        uint64_t *fresh;

        if (node_watermarks_load(&h->sysroot, &h->topology, &fresh) < 0)
                return;
        free(h->high_watermark_bytes);
        h->high_watermark_bytes = fresh;
        host_queue(h, HOST_WORK_PLAN);
}

/* `now`: what is present, if that has changed. */
static void hotplug_log(Host *h, const Present *now, const Topology *fresh) {
        const NodeSet known = topology_nodes(&h->topology);
        NodeSet come = topology_nodes(fresh);

        id_set_subtract(&come, &known);
        if (now)
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "CPUs %s are online now, %s were before; memory is on nodes %s: "
                            "planning again",
                            id_set_list(&now->cpus), id_set_list(&h->hotplug.present.cpus),
                            id_set_list(&now->memory));
        if (id_set_is_empty(&fresh->taken_cpus) && !id_set_is_empty(&h->topology.taken_cpus))
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "No cpuset partition takes CPUs any more");
        else if (!id_set_equal(&h->topology.taken_cpus, &fresh->taken_cpus))
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "CPUs %s are taken by a cpuset partition%s%s: nothing else can run on "
                            "them, and instances there get another place",
                            id_set_list(&fresh->taken_cpus), *fresh->taken_by ? ", " : "",
                            fresh->taken_by);
        if (!id_set_is_subset(&come, &h->hotplug.logged)) {
                /* Arrays by node have one element for each node that was present at the start. */
                id_set_union(&h->hotplug.logged, &come);
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "Nodes %s were added; they are used after the next start of the daemon",
                            id_set_list(&come));
        }
}

void hotplug_check(Host *h) {
        _cleanup_topology_ Topology fresh = { 0 };
        Present *before = &h->hotplug.present, now = { 0 };
        Topology former = h->topology;
        bool same_hardware;
        CpuSet late;
        int r;

        if (!h->hotplug.known || !hotplug_read(h, &now))
                return;
        if (now.min_free_kib != before->min_free_kib ||
            now.watermark_scale != before->watermark_scale) {
                watermarks_read_again(h);
                before->min_free_kib = now.min_free_kib;
                before->watermark_scale = now.watermark_scale;
        }
        same_hardware = id_set_equal(&before->cpus, &now.cpus) &&
                        id_set_equal(&before->nodes, &now.nodes) &&
                        id_set_equal(&before->memory, &now.memory);
        h->hotplug.event_seen = h->hotplug.event_seen && memory_has_changed(h);
        if (same_hardware && id_set_equal(&before->offered, &now.offered) && !h->hotplug.event_seen)
                return;
        r = topology_load(&h->sysroot, &fresh);
        if (r < 0) {
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "CPUs or memory were added or removed, but the topology cannot be "
                            "read: %s; trying again at the next sample",
                            strerror(-r));
                return;
        }
        /* The root group offers a CPU a moment after it is online: it is looked at once more. */
        late = id_set_minus(&now.cpus, &before->cpus);
        late = id_set_and(&late, &fresh.taken_cpus);
        if (!id_set_is_empty(&late) && !*fresh.taken_by) {
                id_set_subtract(&fresh.taken_cpus, &late);
                now.offered = (CpuSet){ 0 };
                if (h->hotplug.timer)
                        (void)event_source_arm_after(h->hotplug.timer, DELAY_USEC);
        }
        hotplug_log(h, same_hardware ? NULL : &now, &fresh);
        /* A node that was removed stays in the list, without CPUs and memory. All else is as it was
         * just read, also which CPU is a core's lowest: it may have come or gone. */
        for (size_t i = 0; i < former.n_nodes; i++) {
                Node *node = &former.nodes[i];
                const Node *there = topology_find(&fresh, node->id);

                *node = there ? *there : (Node){ .id = node->id, .package = node->package };
        }
        h->topology = fresh;
        h->topology.nodes = former.nodes;
        h->topology.n_nodes = former.n_nodes;
        h->topology.distances = former.distances;
        former.nodes = fresh.nodes;
        former.distances = fresh.distances;
        fresh = former; /* what is freed now */
        host_note_all(h);
        h->hotplug.come = now.cpus;
        id_set_subtract(&h->hotplug.come, &before->cpus);
        h->hotplug.memory_come = now.memory;
        id_set_subtract(&h->hotplug.memory_come, &before->memory);
        h->hotplug.event_seen = false;
        *before = now;
        watermarks_read_again(h);
        host_queue(h, HOST_WORK_PLAN | HOST_WORK_TOPOLOGY);
}

/* --- the loop --- */

static int on_hotplug_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec,
                            void *userdata) {
        hotplug_check(userdata);
        return 0;
}

static void on_uevent(void *userdata) {
        Host *h = userdata;

        h->hotplug.event_seen = true;
        (void)event_source_arm_after(h->hotplug.timer, DELAY_USEC);
}

int hotplug_start(Host *h) {
        static const char *const subsystems[] = { "cpu", "node", "memory", NULL };
        int r;

        h->hotplug.known = h->sysroot.live && hotplug_read(h, &h->hotplug.present);
        if (!h->hotplug.known)
                return 0;
        r = event_source_add_off(h->event, &h->hotplug.timer, 0, on_hotplug_timer, h);
        if (r < 0)
                return r;
        r = uevents_open(&h->hotplug.uevents, h->event, subsystems, on_uevent, h);
        if (r < 0)
                journal_log(&h->journal, LOG_INFO, NULL,
                            "No events from udev: %s. Added or removed CPUs are noticed at the "
                            "next sample",
                            strerror(-r));
        return 0;
}

void hotplug_done(Host *h) {
        uevents_close(&h->hotplug.uevents);
        h->hotplug.timer = sd_event_source_unref(h->hotplug.timer);
}
