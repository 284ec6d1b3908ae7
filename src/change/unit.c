/* The backend systemd: runtime properties of units, over D-Bus, on cgroup v2. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/change/backend.h"
#include "tidbnumad/change/scope.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/plan/limit.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

/* --- setting --- */

static int set_property(Backend *backend, const BackendTarget *target, const char *property,
                        IdView value, BackendCall *call) {
        int r = backend_systemd_ensure_bus(backend);

        if (r < 0)
                return r;
        r = bus_units_set(backend->bus, target->unit, property, value, call->reply, call->userdata,
                          &call->slot);
        return r < 0 ? r : 0;
}

static int set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                    BackendCall *call) {
        return set_property(backend, target, "AllowedCPUs", ID_VIEW(cpus), call);
}

static int set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                    BackendCall *call) {
        return set_property(backend, target, "AllowedMemoryNodes", ID_VIEW(mems), call);
}

/* --- reading, for a record --- */

static int note_property(const Sysroot *sysroot, UndoProperty *p, const char *unit,
                         const char *name, IdView value) {
        return undo_property_set(p, value,
                                 bus_manager_is_runtime(sysroot, unit, name) ? UNDO_RUNTIME
                                                                             : UNDO_PERSISTENT);
}

static int note_files(const Sysroot *sysroot, const char *group, UndoFiles **ret) {
        _cleanup_free_ UndoFiles *f = calloc(1, sizeof(*f));
        _cleanup_close_ int fd = -EBADF;

        if (!f)
                return -ENOMEM;
        if (group[0] == '\0' || cgroup_open(sysroot, group, &fd) < 0 ||
            cgroup_cpus_read(fd, &f->cpus) < 0 || cgroup_mems_read(fd, &f->mems) < 0)
                return 0; /* it does not run, or the controller is not enabled for it */
        *ret = TAKE_PTR(f);
        return 0;
}

/* A scope of ours was made with nothing set: a value there was set by an earlier run, whose
 * record is lost. */
static int note_own_scope(UndoRecord *record, const BusUnit *unit) {
        int r = id_set_is_empty(&unit->cpus)
                        ? 0
                        : undo_values_add(&record->cpus.ours, ID_VIEW(&unit->cpus));

        (void)undo_property_set(&record->cpus, (IdView){ NULL, 0 }, UNDO_UNSET);
        (void)undo_property_set(&record->mems, (IdView){ NULL, 0 }, UNDO_UNSET);
        if (r >= 0 && !id_set_is_empty(&unit->mems))
                r = undo_values_add(&record->mems.ours, ID_VIEW(&unit->mems));
        return r;
}

static int note_service(const Sysroot *sysroot, UndoRecord *record, const BusUnit *unit) {
        int r = note_property(sysroot, &record->cpus, record->unit, "AllowedCPUs",
                              ID_VIEW(&unit->cpus));

        if (r >= 0)
                r = note_property(sysroot, &record->mems, record->unit, "AllowedMemoryNodes",
                                  ID_VIEW(&unit->mems));
        return r < 0 ? r : note_files(sysroot, unit->group, &record->files);
}

int undo_note_unit(const Sysroot *sysroot, UndoRecord *record, const BusUnit *unit) {
        int r;

        free(record->files);
        record->files = NULL;
        r = record->scope ? note_own_scope(record, unit) : note_service(sysroot, record, unit);
        if (r >= 0)
                record->unit_noted = record->stale = true;
        return r;
}

static void on_unit(int error, const BusUnit *unit, void *userdata) {
        BackendNote *note = userdata;

        if (error == 0)
                error = undo_note_unit(note->backend->sysroot, note->record, unit);
        note->call->reply(error, "", note->call->userdata);
}

/* The unit once. Of its processes, the threads that have chosen CPUs themselves: kernels before 6.2
 * forget that choice when the cpuset changes. */
static int note(Backend *backend, const BackendTarget *target, BackendNote *note,
                BackendCall *call) {
        int r = undo_note_processes(backend, target, note->record, 0);

        if (r < 0 || note->record->unit_noted)
                return r < 0 ? r : 1;
        r = backend_systemd_ensure_bus(backend);
        if (r < 0)
                return r;
        note->backend = backend;
        note->call = call;
        r = bus_manager_read_unit(backend->bus, target->unit, on_unit, note, &call->slot);
        return r < 0 ? r : 0;
}

/* The group of the unit itself: its processes may be in groups below it. */
static int open_unit(const Backend *backend, const BackendTarget *target, int *ret_fd) {
        const char *path = target->n_members > 0 ? target->members[0].process.cgroup : NULL;
        const size_t length = path ? unit_cgroup_length(path, target->unit) : 0;
        _cleanup_free_ char *own = NULL;

        if (length == 0)
                return -ENXIO;
        own = strndup(path, length);
        return own ? cgroup_open(backend->sysroot, own, ret_fd) : -ENOMEM;
}

/* systemd takes up to two seconds to write a property, and longer on a host without memory: the
 * process would be stopped for so long. A second writer does not disturb systemd as long as the
 * property follows. */
static int widen_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        _cleanup_close_ int fd = -EBADF;
        int r = open_unit(backend, target, &fd);

        return r < 0 ? r : backend_write_mems(backend, target, fd, mems, true);
}

/* --- the memory limit --- */

void undo_note_limit(const Sysroot *sysroot, UndoRecord *record, uint64_t memory_max) {
        UndoLimit *l = &record->limit;

        if (l->noted)
                return;
        *l = (UndoLimit){ .noted = true, .before = memory_max };
        if (memory_max != UINT64_MAX)
                l->origin = bus_manager_is_runtime(sysroot, record->unit, BUS_MEMORY_MAX)
                                    ? UNDO_RUNTIME
                                    : UNDO_PERSISTENT;
        record->stale = true;
}

int backend_set_limit(Backend *backend, const char *unit, uint64_t bytes, BackendCall *call) {
        const BusUnitsProperty limit = { .name = BUS_MEMORY_MAX, .bytes = bytes };
        int r = backend_systemd_ensure_bus(backend);

        if (r >= 0)
                r = bus_units_set_all(backend->bus, unit, &limit, 1, call->reply, call->userdata,
                                      &call->slot);
        return r < 0 ? r : 0;
}

static bool group_has(int group_fd, const char *file) {
        return faccessat(group_fd, file, F_OK, 0) == 0;
}

static void render_limit(uint64_t bytes, const char *none, char text[static 32]) {
        if (bytes == UINT64_MAX)
                (void)snprintf(text, 32, "%s", none);
        else
                (void)snprintf(text, 32, "%" PRIu64, bytes);
}

/* The brake is no property of the unit, it is only in the kernel's file. Another value there is the
 * admin's MemoryHigh=. v1 has none. */
static int lift_brake(int group_fd, const UndoLimit *limit) {
        uint64_t high;

        if (path_read_u64(group_fd, UINT64_MAX, &high, "memory.high") < 0)
                return 0;
        for (size_t i = 0; i < limit->n_ours; i++)
                if (high == limit_brake_bytes(limit->ours[i]))
                        return cgroup_write(group_fd, "memory.high", "max");
        return 0;
}

int backend_limit_lift(int group_fd, const UndoLimit *limit) {
        char text[32];
        int r;

        if (!group_has(group_fd, "memory.max")) {
                render_limit(limit->before, "-1", text);
                return cgroup_write(group_fd, "memory.limit_in_bytes", text);
        }
        render_limit(limit->before, "max", text);
        r = cgroup_write(group_fd, "memory.max", text);
        return r < 0 ? r : lift_brake(group_fd, limit);
}

int backend_limit_brake(const Backend *backend, const ProcHandle *process, int group_fd,
                        uint64_t limit_bytes) {
        const bool v1 = !group_has(group_fd, "memory.max");
        char text[32];

        render_limit(v1 ? limit_bytes : limit_brake_bytes(limit_bytes), "max", text);
        return backend_write_group(backend, process, group_fd,
                                   v1 ? "memory.limit_in_bytes" : "memory.high", text);
}

int backend_limit_write(const Backend *backend, const ProcHandle *process, int group_fd,
                        uint64_t limit_bytes) {
        char text[32];

        render_limit(limit_bytes, "max", text);
        return backend_write_group(
                backend, process, group_fd,
                group_has(group_fd, "memory.max") ? "memory.max" : "memory.limit_in_bytes", text);
}

/* --- restoring ---
 *
 * Never by clearing alone: the kernel refuses to empty the sets of a cgroup that has processes
 * (-ENOSPC, validate_change() in kernel/cgroup/cpuset.c), so that a cleared property leaves the
 * live set narrow (systemd issue 43846); and when systemd then disables the controller, some
 * kernels leave the processes as narrow as they were. So the full sets first, and only when the
 * kernel's files show them, the former values. */

void undo_restore_begin(UndoRestore *restore, UndoRecord *record) {
        *restore = (UndoRestore){ .record = record };
}

void undo_restore_done(UndoRestore *restore) {
        free(restore->group);
        *restore = (UndoRestore){ 0 };
}

/* --- what systemd has --- */

/* Only a property that still has our value is restored. Otherwise something else
 * has set it since. */
static bool is_to_be_written(const UndoProperty *p, IdView now) {
        return undo_values_have(&p->ours, now);
}

static int note_group(UndoRestore *restore, const BusUnit *unit) {
        free(restore->group);
        restore->group = unit->group[0] ? strdup(unit->group) : NULL;
        return unit->group[0] && !restore->group ? -ENOMEM : 0;
}

/* For a unit that is masked, or has a mistake in its file, systemd shows
 * properties but sets none: our values stay in force, also at its next start. A unit that is gone
 * has no properties. */
static int restore_begin(UndoRestore *restore, const BusUnit *unit) {
        const UndoRecord *record = restore->record;
        const bool there = strcmp(unit->load_state, "not-found") != 0;
        _cleanup_close_ int fd = -EBADF;
        bool only_limit;
        int r;

        restore->writes_cpus = there && is_to_be_written(&record->cpus, ID_VIEW(&unit->cpus));
        restore->writes_mems = there && is_to_be_written(&record->mems, ID_VIEW(&unit->mems));
        restore->writes_limit = there && undo_limit_has(&record->limit, unit->memory_max);
        if ((restore->writes_cpus || restore->writes_mems || restore->writes_limit) &&
            strcmp(unit->load_state, "loaded") != 0)
                return strcmp(unit->load_state, "masked") == 0 ? -ERFKILL : -ENOEXEC;
        r = note_group(restore, unit);
        if (r < 0)
                return r;
        if (restore->group && cgroup_open(restore->sysroot, restore->group, &fd) >= 0)
                (void)lift_brake(fd, &record->limit);
        only_limit = restore->writes_limit && !restore->writes_cpus && !restore->writes_mems;
        restore->stage = restore->group && !only_limit ? RESTORE_WIDEN : RESTORE_CLEAR;
        return 0;
}

static void on_restore_read(int error, const BusUnit *unit, void *userdata) {
        UndoRestore *restore = userdata;

        if (error == 0)
                error = restore_begin(restore, unit);
        restore->call->reply(error, "", restore->call->userdata);
}

static int restore_read_unit(Backend *backend, UndoRestore *restore, BusUnitReply reply) {
        int r = backend_systemd_ensure_bus(backend);

        if (r >= 0)
                r = bus_manager_read_unit(backend->bus, undo_record_unit(restore->record), reply,
                                          restore, &restore->call->slot);
        return r < 0 ? r : 0;
}

/* --- writing --- */

static IdView full_set(const UndoProperty *p, IdView file, IdView all) {
        if (p->before)
                return undo_property_before(p);
        /* Written to the file by hand, past systemd: then that. */
        return id_view_next(file, 0) >= 0 ? file : all;
}

static IdView full_cpus(const Backend *backend, const UndoRecord *r) {
        return full_set(&r->cpus, r->files ? ID_VIEW(&r->files->cpus) : (IdView){ 0 },
                        ID_VIEW(&backend->all_cpus));
}

static IdView full_mems(const Backend *backend, const UndoRecord *r) {
        return full_set(&r->mems, r->files ? ID_VIEW(&r->files->mems) : (IdView){ 0 },
                        ID_VIEW(&backend->all_nodes));
}

static void on_restore_written(int error, const char *message, void *userdata) {
        UndoRestore *restore = userdata;

        if (error == 0)
                restore->stage = restore->stage == RESTORE_WIDEN ? RESTORE_WIDENING : RESTORE_CHECK;
        restore->call->reply(error, message, restore->call->userdata);
}

/* A set without words is not written. `limit`: also the memory limit of before. */
static int write_values(Backend *backend, UndoRestore *restore, IdView cpus, IdView mems,
                        bool limit) {
        BusUnitsProperty properties[3];
        size_t n = 0;
        int r;

        if (limit && restore->writes_limit)
                properties[n++] = (BusUnitsProperty){ .name = BUS_MEMORY_MAX,
                                                      .bytes = restore->record->limit.before };
        if (restore->writes_mems && mems.n_words > 0)
                properties[n++] = (BusUnitsProperty){ .name = "AllowedMemoryNodes", .value = mems };
        if (restore->writes_cpus && cpus.n_words > 0)
                properties[n++] = (BusUnitsProperty){ .name = "AllowedCPUs", .value = cpus };
        if (n == 0)
                return 1;
        r = backend_systemd_ensure_bus(backend);
        if (r >= 0)
                r = bus_units_set_all(backend->bus, undo_record_unit(restore->record), properties,
                                      n, on_restore_written, restore, &restore->call->slot);
        return r < 0 ? r : 0;
}

/* The unit's own value again, or none. Of one that was widened, what had a value has it
 * already. */
static int restore_clear(Backend *backend, UndoRestore *restore) {
        const UndoRecord *r = restore->record;
        IdView cpus = { NULL, 0 }, mems = { NULL, 0 };

        if (!restore->group || !r->cpus.before)
                cpus = undo_property_before(&r->cpus);
        if (!restore->group || !r->mems.before)
                mems = undo_property_before(&r->mems);
        return write_values(backend, restore, cpus, mems, true);
}

/* The full set is ours, too: when the daemon is killed before it is cleared, or that fails,
 * nothing else would remove it. Where it cannot be recorded, opening is right anyway. */
static int note_opening(UndoRestore *restore, UndoProperty *p, bool writes, IdView full) {
        int r = writes && !p->before ? undo_values_add(&p->ours, full) : 0;

        restore->record->stale |= r > 0;
        return r;
}

static int restore_widen(Backend *backend, UndoRestore *restore) {
        UndoRecord *record = restore->record;
        const IdView cpus = full_cpus(backend, record);
        const IdView mems = full_mems(backend, record);
        int r = note_opening(restore, &record->cpus, restore->writes_cpus, cpus);

        if (r >= 0)
                r = note_opening(restore, &record->mems, restore->writes_mems, mems);
        if (r < 0)
                return r;
        if (restore->undo)
                (void)undo_write(restore->undo, record);
        return write_values(backend, restore, cpus, mems, false);
}

/* --- what the kernel shows --- */

typedef int (*ReadEffective)(int cgroup_fd, IdSet *ret);

static int read_cpus(int cgroup_fd, IdSet *ret) {
        CpuSet cpus;
        int r = cgroup_effective_cpus_read(cgroup_fd, &cpus);

        if (r >= 0)
                id_set_convert(&cpus, ret);
        return r;
}

static int read_mems(int cgroup_fd, IdSet *ret) {
        NodeSet mems;
        int r = cgroup_effective_mems_read(cgroup_fd, &mems);

        if (r >= 0)
                id_set_convert(&mems, ret);
        return r;
}

/* Has the group what was written, within what the group above allows? */
static bool is_wide(int fd, int above_fd, ReadEffective read_effective, IdView want) {
        IdSet now, allowed, above = { 0 };

        if (read_effective(fd, &now) < 0)
                return true; /* the controller is gone from it: nothing is narrow */
        id_view_convert(want, ID_TARGET(&allowed));
        if (read_effective(above_fd, &above) == 0)
                id_set_intersect(&allowed, &above);
        /* Of sets that have nothing in common the kernel takes the one above. */
        return id_set_equal(id_set_is_empty(&allowed) ? &above : &allowed, &now);
}

static bool restore_is_shown(const Backend *backend, const UndoRestore *restore) {
        const UndoRecord *r = restore->record;
        _cleanup_close_ int fd = -EBADF, above_fd = -EBADF;

        if (!restore->group || cgroup_open(backend->sysroot, restore->group, &fd) < 0)
                return true; /* it has ended */
        above_fd = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return (!restore->writes_cpus || is_wide(fd, above_fd, read_cpus, full_cpus(backend, r))) &&
               (!restore->writes_mems || is_wide(fd, above_fd, read_mems, full_mems(backend, r)));
}

static bool property_is_back(const UndoProperty *p, bool written, IdView now) {
        IdSet read;

        id_view_convert(now, ID_TARGET(&read));
        return !written || id_view_equal(undo_property_before(p), ID_VIEW(&read));
}

/* systemd answers a write before it has carried it out, and does that before it reads
 * the next call: its answer now comes when all of it is in the cgroup files. Only then are the
 * masks of the threads restored, for kernels before 6.2 forget them at every such change. */
static void on_restore_checked(int error, const BusUnit *unit, void *userdata) {
        UndoRestore *restore = userdata;
        const UndoRecord *r = restore->record;

        if (error == 0 && strcmp(unit->load_state, "loaded") == 0 &&
            (!property_is_back(&r->cpus, restore->writes_cpus, ID_VIEW(&unit->cpus)) ||
             !property_is_back(&r->mems, restore->writes_mems, ID_VIEW(&unit->mems)) ||
             (restore->writes_limit && unit->memory_max != r->limit.before)))
                error = -EBUSY; /* something else writes to it as well */
        /* A process that was started in the meantime has inherited the narrow set. */
        if (error == 0)
                error = note_group(restore, unit);
        if (error == 0)
                restore->stage = RESTORE_CHECKED;
        restore->call->reply(error, error == -EBUSY ? "something else changed it meanwhile" : "",
                             restore->call->userdata);
}

/* Emptied, and narrow again: then from the beginning. */
static int restore_finish(Backend *backend, UndoRestore *restore) {
        UndoRecord *r = restore->record;

        if (!restore_is_shown(backend, restore)) {
                restore->stage = RESTORE_WIDEN;
                return -EAGAIN;
        }
        if ((restore->writes_limit && r->limit.origin == UNDO_PERSISTENT) ||
            (restore->writes_cpus && r->cpus.origin == UNDO_PERSISTENT) ||
            (restore->writes_mems && r->mems.origin == UNDO_PERSISTENT))
                restore->shortfall = "a runtime drop-in repeats the values of its unit files until "
                                     "the next boot";
        return 1;
}

int undo_restore_unit(Backend *backend, UndoRestore *restore, BackendCall *call) {
        const UndoRecord *r = restore->record;
        int cleared;

        if (!undo_record_has_unit(r) && restore->stage == RESTORE_READ)
                return 1;
        restore->call = call;
        restore->sysroot = backend->sysroot;
        switch (restore->stage) {
        case RESTORE_READ:
                return restore_read_unit(backend, restore, on_restore_read);
        case RESTORE_WIDEN:
                return restore_widen(backend, restore);
        case RESTORE_WIDENING:
                if (!restore_is_shown(backend, restore))
                        return -EAGAIN;
                restore->stage = RESTORE_CLEAR;
                /* fall through */
        case RESTORE_CLEAR:
                cleared = restore_clear(backend, restore);
                if (cleared <= 0)
                        return cleared;
                restore->stage = RESTORE_CHECK;
                /* fall through */
        case RESTORE_CHECK:
                return restore_read_unit(backend, restore, on_restore_checked);
        case RESTORE_CHECKED:
                return restore_finish(backend, restore);
        }
        return -EINVAL;
}

static int restore(Backend *backend, UndoRestore *restore, BackendCall *call) {
        int r;

        if (restore->record->scope && restore->stage == RESTORE_READ) {
                r = scope_send_home(backend, restore);
                if (r != 0)
                        return r;
        }
        return undo_restore_unit(backend, restore, call);
}

const BackendOps backend_systemd_ops = {
        .name = "systemd",
        .kind = BACKEND_SYSTEMD,
        .set_cpus = set_cpus,
        .set_mems = set_mems,
        .note = note,
        .note_scope = scope_note,
        .start_scope = scope_start,
        .restore = restore,
        .widen_mems = widen_mems,
};
