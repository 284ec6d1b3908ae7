#include <stdio.h>
#include <string.h>

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/topology-load.h"

/* The CPUs of one socket are switched together. */
#define DELAY_USEC (UINT64_C(100) * 1000)

#define SYSTEM "devices/system/"

/* --- what is present --- */

static bool read_set(const Host *h, const char *path, IdTarget ret) {
        char text[ID_SET_LIST_MAX];

        return path_read(h->sysroot.sys_fd, text, sizeof(text), "%s", path) >= 0 &&
               id_target_parse_list(text, ret) >= 0;
}

static void read_offered(const Host *h, Hotplug *ret) {
        char text[ID_SET_LIST_MAX];

        if (h->sysroot.cgroup_fd < 0 ||
            path_read(h->sysroot.cgroup_fd, text, sizeof(text), "cpuset.cpus.effective") < 0 ||
            id_set_parse_list(text, &ret->offered) < 0)
                ret->offered = (CpuSet){ 0 };
}

/* False: it cannot be read, so no change is assumed. */
static bool read_present(const Host *h, Hotplug *ret) {
        read_offered(h, ret);
        return read_set(h, SYSTEM "cpu/online", ID_TARGET(&ret->cpus)) &&
               read_set(h, SYSTEM "node/online", ID_TARGET(&ret->nodes)) &&
               (read_set(h, SYSTEM "node/has_memory", ID_TARGET(&ret->memory)) ||
                read_set(h, SYSTEM "node/has_normal_memory", ID_TARGET(&ret->memory)));
}

static bool is_same_hardware(const Hotplug *a, const Hotplug *b) {
        return id_set_equal(&a->cpus, &b->cpus) && id_set_equal(&a->nodes, &b->nodes) &&
               id_set_equal(&a->memory, &b->memory);
}

static bool has_changed(const Hotplug *a, const Hotplug *b) {
        return !is_same_hardware(a, b) || !id_set_equal(&a->offered, &b->offered);
}

/* --- changes --- */

static void log_change(const Host *h, const Hotplug *now) {
        char before[ID_SET_LIST_MAX], cpus[ID_SET_LIST_MAX], memory[ID_SET_LIST_MAX];

        (void)id_set_render_list(&h->hotplug.cpus, before, sizeof(before));
        (void)id_set_render_list(&now->cpus, cpus, sizeof(cpus));
        (void)id_set_render_list(&now->memory, memory, sizeof(memory));
        journal_log(&h->journal, LOG_NOTICE, NULL,
                    "CPUs %s are online now, %s were before; memory is on nodes %s: planning again",
                    cpus, before, memory);
}

static void log_taken(const Host *h, const Topology *fresh) {
        char cpus[ID_SET_LIST_MAX];

        if (id_set_equal(&h->topology.taken_cpus, &fresh->taken_cpus))
                return;
        (void)id_set_render_list(&fresh->taken_cpus, cpus, sizeof(cpus));
        if (id_set_is_empty(&fresh->taken_cpus))
                journal_log(&h->journal, LOG_NOTICE, NULL,
                            "No cpuset partition takes CPUs any more");
        else
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "CPUs %s are taken by a cpuset partition%s%s: nothing else can run on "
                            "them, and instances there get another place",
                            cpus, *fresh->taken_by ? ", " : "", fresh->taken_by);
}

/* Arrays by node have one element for each node that was present at the start. */
static void log_new_nodes(Host *h, const Topology *fresh) {
        const NodeSet known = topology_nodes(&h->topology);
        NodeSet come = topology_nodes(fresh);
        char list[ID_SET_LIST_MAX];

        id_set_subtract(&come, &known);
        if (id_set_is_subset(&come, &h->hotplug.logged))
                return;
        id_set_union(&h->hotplug.logged, &come);
        (void)id_set_render_list(&come, list, sizeof(list));
        journal_log(&h->journal, LOG_NOTICE, NULL,
                    "Nodes %s were added; they are used after the next start of the daemon", list);
}

/* A node that was removed stays in the list, without CPUs and memory. */
static void take_over(Topology *topology, Topology *fresh) {
        for (size_t i = 0; i < topology->n_nodes; i++) {
                Node *node = &topology->nodes[i];
                const Node *now = topology_find(fresh, node->id);

                *node = now ? *now : (Node){ .id = node->id, .package = node->package };
        }
        free(topology->core);
        topology->core = TAKE_PTR(fresh->core); /* a core's lowest CPU may have come or gone */
        topology->offline_cpus = fresh->offline_cpus;
        topology->isolated_cpus = fresh->isolated_cpus;
        topology->nohz_full_cpus = fresh->nohz_full_cpus;
        topology->taken_cpus = fresh->taken_cpus;
        (void)snprintf(topology->taken_by, sizeof(topology->taken_by), "%s", fresh->taken_by);
        topology->hidden_cpus = fresh->hidden_cpus;
        topology->hidden_nodes = fresh->hidden_nodes;
        topology->lost_nodes = fresh->lost_nodes;
        topology->mismasked_nodes = fresh->mismasked_nodes;
}

static void remember(Hotplug *hotplug, const Hotplug *now) {
        hotplug->cpus = now->cpus;
        hotplug->nodes = now->nodes;
        hotplug->memory = now->memory;
        hotplug->offered = now->offered;
        hotplug->known = true;
}

void hotplug_check(Host *h) {
        _cleanup_topology_ Topology fresh = { 0 };
        Hotplug now = { 0 };
        int r;

        if (!h->hotplug.known || !read_present(h, &now) || !has_changed(&h->hotplug, &now))
                return;
        r = topology_load(&h->sysroot, &fresh);
        if (r < 0) {
                journal_log(&h->journal, LOG_WARNING, NULL,
                            "CPUs or memory were added or removed, but the topology cannot be "
                            "read: %s; trying again at the next sample",
                            strerror(-r));
                return;
        }
        if (!is_same_hardware(&h->hotplug, &now))
                log_change(h, &now);
        log_taken(h, &fresh);
        log_new_nodes(h, &fresh);
        take_over(&h->topology, &fresh);
        h->backend.all_cpus = topology_cpus(&h->topology);
        h->backend.all_nodes = topology_memory_nodes(&h->topology);
        h->hotplug.come = now.cpus;
        id_set_subtract(&h->hotplug.come, &h->hotplug.cpus);
        remember(&h->hotplug, &now);
        host_mark(h, HOST_MARK_PLAN | HOST_MARK_TOPOLOGY);
}

/* --- the loop --- */

static int on_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        hotplug_check(userdata);
        return 0;
}

static void on_uevent(void *userdata) {
        Host *h = userdata;

        (void)event_source_arm_after(h->hotplug.timer, DELAY_USEC);
}

int hotplug_start(Host *h) {
        static const char *const subsystems[] = { "cpu", "node", "memory", NULL };
        Hotplug now = { 0 };
        int r;

        if (!h->sysroot.live || !read_present(h, &now))
                return 0;
        remember(&h->hotplug, &now);
        r = event_source_add_off(h->event, &h->hotplug.timer, 0, on_timer, h);
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
