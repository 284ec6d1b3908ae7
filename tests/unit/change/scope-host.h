/* A systemd and a tree of cgroups that answer as the test says. */
#pragma once

#include <limits.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/change/scope.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

#define SLICE "/user.slice/user-7.slice"
#define HOME SLICE "/session-3.scope"
#define NAME "tidbnumad-tidb-server:50-1050.scope"
#define SCOPE SLICE "/" NAME

/* systemd, and what was asked of it. */
static struct {
        int error; /* of the next call */
        BusScopeState state;
        char read[64]; /* the unit that was read */
        BusScopeReply read_reply;
        BusTasksReply tasks_reply;
        void *read_userdata;
        unsigned n_starts;
        char name[128], slice[64], part_of[64];
        BusScope scope;
        pid_t pids[4];
} bus;

/* The kernel. */
static struct {
        const FakeTree *tree;
        int error;        /* of the next write */
        const char *born; /* appears in the scope while the first one leaves it; NULL: none */
        unsigned n_writes;
} kernel;

int __wrap_backend_systemd_ensure_bus(Backend *backend);
int __wrap_bus_scope_read(sd_bus *b, const char *unit, BusScopeReply reply, void *userdata,
                          sd_bus_slot **ret_slot);
int __wrap_bus_scope_read_default_tasks(sd_bus *b, BusTasksReply reply, void *userdata,
                                        sd_bus_slot **ret_slot);
int __wrap_bus_scope_start(sd_bus *b, const BusScope *scope, BusUnitsReply reply, void *userdata,
                           sd_bus_slot **ret_slot);
int __wrap_cgroup_write(int fd, const char *name, const char *text);

int __wrap_backend_systemd_ensure_bus(Backend *backend) {
        (void)backend;
        return bus.error;
}

int __wrap_bus_scope_read_default_tasks(sd_bus *b, BusTasksReply reply, void *userdata,
                                        sd_bus_slot **ret_slot) {
        (void)b;
        (void)ret_slot;
        bus.tasks_reply = reply;
        bus.read_userdata = userdata;
        return 0;
}

int __wrap_bus_scope_read(sd_bus *b, const char *unit, BusScopeReply reply, void *userdata,
                          sd_bus_slot **ret_slot) {
        (void)b;
        (void)ret_slot;
        (void)snprintf(bus.read, sizeof(bus.read), "%s", unit);
        bus.read_reply = reply;
        bus.read_userdata = userdata;
        return 0;
}

int __wrap_bus_scope_start(sd_bus *b, const BusScope *scope, BusUnitsReply reply, void *userdata,
                           sd_bus_slot **ret_slot) {
        (void)b;
        (void)reply;
        (void)userdata;
        (void)ret_slot;
        bus.n_starts++;
        bus.scope = *scope;
        (void)snprintf(bus.name, sizeof(bus.name), "%s", scope->name);
        (void)snprintf(bus.slice, sizeof(bus.slice), "%s", scope->slice);
        (void)snprintf(bus.part_of, sizeof(bus.part_of), "%s", scope->part_of);
        assert_true(scope->n_pids <= ELEMENTSOF(bus.pids));
        memcpy(bus.pids, scope->pids, scope->n_pids * sizeof(pid_t));
        return 0;
}

static inline void write_procs(const char *group, const char *text) {
        fake_write(kernel.tree, fmt("sys/fs/cgroup%s/cgroup.procs", group), text);
}

static inline char *read_procs(const char *group, char buffer[static 256]) {
        char path[256];

        (void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/cgroup.procs", group);
        if (path_read(kernel.tree->fd, buffer, 256, "%s", path) < 0)
                buffer[0] = '\0';
        return buffer;
}

/* Out of the scope's list, or into it. */
static inline void leave(const char *group, const char *pid) {
        char text[256], left[256] = "", *save = NULL;

        read_procs(group, text);
        for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
                if (strcmp(p, pid) != 0)
                        (void)snprintf(left + strlen(left), sizeof(left) - strlen(left), "%s\n", p);
        if (kernel.born && strcmp(group, SCOPE) == 0) {
                (void)snprintf(left + strlen(left), sizeof(left) - strlen(left), "%s\n",
                               kernel.born);
                kernel.born = NULL;
        }
        write_procs(group, left);
}

int __wrap_cgroup_write(int fd, const char *name, const char *pid) {
        char link[32], path[PATH_MAX] = "", text[256], more[300];
        bool to_home;

        assert_string_equal(name, "cgroup.procs");
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        to_home = readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, HOME);
        kernel.n_writes++;
        if (kernel.error < 0)
                return kernel.error;
        leave(to_home ? SCOPE : HOME, pid);
        read_procs(to_home ? HOME : SCOPE, text);
        (void)snprintf(more, sizeof(more), "%s%s%s\n", text, *text ? "\n" : "", pid);
        write_procs(to_home ? HOME : SCOPE, more);
        return 0;
}

typedef struct Host {
        FakeTree tree;
        Backend backend;
        UndoRecord *record;
        Member members[2];
        ProcHandle handles[2];
        BackendTarget target;
        UndoRestore restore;
        BackendCall call;
        int replied; /* 1: not yet */
} Host;

static inline Process process(pid_t pid, const char *cgroup) {
        return (Process){ .id = { .pid = pid, .start_ticks = 1000 + (uint64_t)pid },
                          .exe = (char *)"/srv/tidb-server",
                          .cgroup = (char *)cgroup };
}

/* Process 50 in a session with the shell 40, which is of no instance. */
static inline void host_init(Host *h) {
        *h = (Host){ .replied = 1 };
        memset(&bus, 0, sizeof(bus));
        memset(&kernel, 0, sizeof(kernel));
        fake_init(&h->tree);
        kernel.tree = &h->tree;
        write_procs(HOME, "40\n50\n");
        for (int i = 0; i < 2; i++) {
                fake_process(&h->tree, 50 + i, 1, "/srv/tidb-server", HOME, "0-7");
                assert_int_equal(proc_open(&h->tree.sysroot, 50 + i, &h->handles[i]), 0);
                h->members[i] =
                        (Member){ .process = process(50 + i, HOME), .handle = &h->handles[i] };
        }
        fake_process(&h->tree, 60, 50, "/bin/helper", SCOPE, "0-7");
        backend_init(&h->backend, &h->tree.sysroot, NULL);
        assert_int_equal(undo_record_new("tidb-server:50", NULL, &h->record), 0);
        h->target = (BackendTarget){ .instance = "tidb-server:50",
                                     .members = h->members,
                                     .n_members = 1 };
        bus.state = (BusScopeState){ .send_sighup = true,
                                     .stop_timeout_usec = 77,
                                     .tasks_max = UINT64_MAX };
}

static inline void host_done(Host *h) {
        undo_restore_done(&h->restore);
        undo_record_free(h->record);
        for (int i = 0; i < 2; i++)
                proc_close(&h->handles[i]);
        backend_done(&h->backend);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)

static inline void on_reply(const Error *error, void *userdata) {
        Host *h = userdata;

        h->replied = error->code;
}

static inline int note(Host *h) {
        h->call = (BackendCall){ .reply = on_reply, .userdata = h };
        return scope_note(&h->backend, &h->target, h->record, &h->call);
}

static inline int start(Host *h) {
        h->call = (BackendCall){ .reply = on_reply, .userdata = h };
        return scope_start(&h->backend, &h->target, h->record, &h->call);
}

static inline void note_all(Host *h) {
        assert_int_equal(note(h), 0);
        bus.read_reply(0, &bus.state, bus.read_userdata);
        assert_int_equal(h->replied, 0);
        assert_int_equal(note(h), 1);
}
