/* A systemd and a cgroup that the test makes up, for properties of a unit on their way back. */
#pragma once

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "set-before.h"
#include "tidbnumad/change/cgroup1.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"

#define SLICE "sys/fs/cgroup/system.slice"
#define GROUP SLICE "/a.service"

/* What systemd has, and what was asked of it since. */
static struct {
        const char *name; /* that is asked for */
        BusUnit unit;
        int error;      /* of the next answer */
        int begins;     /* of the next call */
        char said[512]; /* each write as "CPUs=…;MemoryNodes=… " */
        BusUnitReply read_reply;
        BusUnitsReply write_reply;
        void *userdata;
} bus;

int __wrap_backend_systemd_ensure_bus(Backend *backend);
int __wrap_bus_manager_read_unit(sd_bus *b, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot);
int __wrap_bus_units_set_all(sd_bus *b, const char *unit, const BusUnitsProperty *properties,
                             size_t n, BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot);

int __wrap_backend_systemd_ensure_bus(Backend *backend) {
        (void)backend;
        return bus.begins;
}

int __wrap_bus_manager_read_unit(sd_bus *b, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot) {
        (void)b;
        (void)ret_slot;
        assert_string_equal(unit, bus.name);
        bus.read_reply = reply;
        bus.userdata = userdata;
        return 0;
}

int __wrap_bus_units_set_all(sd_bus *b, const char *unit, const BusUnitsProperty *properties,
                             size_t n, BusUnitsReply reply, void *userdata,
                             sd_bus_slot **ret_slot) {
        char list[ID_SET_LIST_MAX];

        (void)b;
        (void)ret_slot;
        assert_string_equal(unit, bus.name);
        for (size_t i = 0; i < n; i++) {
                if (strcmp(properties[i].name, BUS_MEMORY_MAX) == 0) {
                        (void)snprintf(bus.said + strlen(bus.said),
                                       sizeof(bus.said) - strlen(bus.said), "%sLimit=%lld%s",
                                       i > 0 ? "," : "", (long long)properties[i].bytes,
                                       i + 1 == n ? ";" : "");
                        continue;
                }
                assert_true(id_view_render_list(properties[i].value, list, sizeof(list)) >= 0);
                assert_memory_equal(properties[i].name, "Allowed", 7);
                (void)snprintf(bus.said + strlen(bus.said), sizeof(bus.said) - strlen(bus.said),
                               "%s%s=%.80s%s", i > 0 ? "," : "", properties[i].name + 7, list,
                               i + 1 == n ? ";" : "");
        }
        bus.write_reply = reply;
        bus.userdata = userdata;
        return 0;
}

typedef struct Host {
        FakeTree tree;
        Backend backend;
        UndoRecord *record;
        UndoRestore restore;
        BackendCall call;
        int replied; /* 1: not yet */
} Host;

static inline void group(Host *h, const char *cpus, const char *mems) {
        fake_write(&h->tree, GROUP "/cpuset.cpus.effective", cpus);
        fake_write(&h->tree, GROUP "/cpuset.mems.effective", mems);
}

static inline void add(UndoProperty *p, const char *value) {
        const IdSet set = id_set(value);

        assert_int_equal(undo_values_add(&p->ours, ID_VIEW(&set)), 1);
}

/* It runs, and is bound to CPU 2 and memory node 1; nothing was set before. */
static inline void host_init(Host *h) {
        *h = (Host){ .replied = 1 };
        fake_init(&h->tree);
        fake_write(&h->tree, GROUP "/cgroup.procs", "50\n");
        fake_write(&h->tree, SLICE "/cpuset.cpus.effective", "0-7");
        fake_write(&h->tree, SLICE "/cpuset.mems.effective", "0-3");
        group(h, "2", "1");
        backend_init(&h->backend, &h->tree.sysroot, NULL);
        h->backend.all_cpus = cpu_set("0-7");
        h->backend.all_nodes = node_set("0-3");
        assert_int_equal(undo_record_new("a", "a.service", &h->record), 0);
        h->record->cpus.noted = h->record->mems.noted = true;
        add(&h->record->cpus, "2");
        add(&h->record->mems, "1");
        undo_restore_begin(&h->restore, h->record);
        memset(&bus, 0, sizeof(bus));
        bus.name = "a.service";
        bus.unit = (BusUnit){ .load_state = "loaded",
                              .group = "/system.slice/a.service",
                              .cpus = cpu_set("2"),
                              .mems = node_set("1") };
}

static inline void host_done(Host *h) {
        undo_restore_done(&h->restore);
        undo_record_free(h->record);
        backend_done(&h->backend);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)

static inline void on_reply(const Error *error, void *userdata) {
        Host *h = userdata;

        h->replied = error->code;
}

static inline int step(Host *h) {
        h->call = (BackendCall){ .reply = on_reply, .userdata = h };
        return undo_restore_unit(&h->backend, &h->restore, &h->call);
}

/* A step that asks systemd, and systemd's answer. */
static inline void step_and_answer(Host *h) {
        h->replied = 1;
        bus.read_reply = NULL;
        bus.write_reply = NULL;
        assert_int_equal(step(h), 0);
        assert_int_equal(h->replied, 1);
        if (bus.read_reply)
                bus.read_reply(bus.error, bus.error ? NULL : &bus.unit, bus.userdata);
        else
                bus.write_reply(&(Error){ .code = bus.error }, bus.userdata);
        assert_int_equal(h->replied, bus.error);
}

/* What systemd and the kernel's files have in the end. */
static inline void check_and_finish(Host *h, const char *cpus, const char *mems) {
        bus.unit.cpus = cpu_set(cpus);
        bus.unit.mems = node_set(mems);
        step_and_answer(h);
        assert_int_equal(step(h), 1);
}
