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

/* --- the properties --- */

static const char *const PROPERTIES[N_UNIT_PROPERTIES] = {
        [UNIT_CPUS] = "AllowedCPUs",
        [UNIT_MEMS] = "AllowedMemoryNodes",
        [UNIT_LIMIT] = BUS_MEMORY_MAX,
};

/* The set of UNIT_CPUS or UNIT_MEMS that the kernel has in force. */
static int property_read_effective(int group_fd, UnitProperty property, IdSet *ret) {
        CpuSet cpus = { 0 };
        NodeSet mems = { 0 };
        int r = property == UNIT_CPUS ? cgroup_effective_cpus_read(group_fd, &cpus)
                                      : cgroup_effective_mems_read(group_fd, &mems);

        if (r >= 0)
                id_view_convert(property == UNIT_CPUS ? ID_VIEW(&cpus) : ID_VIEW(&mems),
                                ID_TARGET(ret));
        return r;
}

IdView unit_property_of(const BusUnit *unit, UnitProperty property) {
        switch (property) {
        case UNIT_CPUS:
                return ID_VIEW(&unit->cpus);
        case UNIT_MEMS:
                return ID_VIEW(&unit->mems);
        case UNIT_LIMIT:
                return UNIT_BYTES(&unit->memory_max);
        case N_UNIT_PROPERTIES:
                break;
        }
        return (IdView){ NULL, 0 };
}

int unit_set_properties(sd_bus *bus, const char *unit, const IdView values[N_UNIT_PROPERTIES],
                        BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot) {
        BusUnitsProperty list[N_UNIT_PROPERTIES];
        size_t n = 0;

        for (size_t i = N_UNIT_PROPERTIES; i-- > 0;)
                if (values[i].n_words > 0)
                        list[n++] = (BusUnitsProperty){
                                .name = PROPERTIES[i],
                                .value = values[i],
                                .bytes = values[i].words[0] ? values[i].words[0] : UINT64_MAX,
                        };
        return bus_units_set_all(bus, unit, list, n, reply, userdata, ret_slot);
}

int backend_set_property(Backend *backend, const BackendTarget *target, UnitProperty property,
                         IdView value, BackendCall *call) {
        IdView values[N_UNIT_PROPERTIES] = { 0 };
        int r = backend_systemd_ensure_bus(backend);

        if (target->unlimited)
                values[UNIT_LIMIT] = undo_property_before(&target->unlimited->limit);
        values[property] = value;
        if (r >= 0)
                r = unit_set_properties(backend->bus, target->unit, values, call->reply,
                                        call->userdata, &call->slot);
        return r < 0 ? r : 0;
}

static int systemd_set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                            BackendCall *call) {
        return backend_set_property(backend, target, UNIT_CPUS, ID_VIEW(cpus), call);
}

static int systemd_set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                            BackendCall *call) {
        return backend_set_property(backend, target, UNIT_MEMS, ID_VIEW(mems), call);
}

/* --- reading, for a record --- */

static int note_property(const Sysroot *sysroot, UndoRecord *record, UnitProperty property,
                         IdView value) {
        const bool runtime = bus_manager_is_runtime(sysroot, record->unit, PROPERTIES[property]);

        record->stale = true;
        return undo_property_set(&record->properties[property], value,
                                 runtime ? UNDO_RUNTIME : UNDO_PERSISTENT);
}

int undo_note_unit(const Sysroot *sysroot, UndoRecord *record, const BusUnit *unit) {
        _cleanup_close_ int fd = -EBADF;
        CpuSet cpus;
        NodeSet mems;
        int r = 0;

        for (UnitProperty i = UNIT_CPUS; r >= 0 && i <= UNIT_MEMS; i++) {
                const IdView value = unit_property_of(unit, i);
                UndoProperty *p = &record->properties[i];

                free(p->file);
                p->file = NULL;
                if (!record->scope) {
                        r = note_property(sysroot, record, i, value);
                        continue;
                }
                /* A scope of ours was made with nothing set: a value there was set by an earlier
                 * run, whose record is lost. */
                record->stale = true;
                (void)undo_property_set(p, (IdView){ NULL, 0 }, UNDO_UNSET);
                if (id_view_next(value, 0) >= 0)
                        r = undo_values_add(&p->ours, value);
        }
        /* Else it does not run, or the controller is not enabled for it. */
        if (r >= 0 && !record->scope && unit->group[0] &&
            cgroup_open(sysroot, unit->group, &fd) >= 0 && cgroup_cpus_read(fd, &cpus) >= 0 &&
            cgroup_mems_read(fd, &mems) >= 0) {
                record->cpus.file = calloc(1, sizeof(IdSet));
                record->mems.file = calloc(1, sizeof(IdSet));
                if (record->cpus.file && record->mems.file) {
                        id_set_convert(&cpus, record->cpus.file);
                        id_set_convert(&mems, record->mems.file);
                } else
                        r = -ENOMEM;
        }
        if (r < 0) /* half of a unit is nothing */
                record->cpus.noted = record->mems.noted = false;
        return r < 0 ? r : 0;
}

static void on_note_read(int error, const BusUnit *unit, void *userdata) {
        const BackendCall *call = userdata;

        if (error == 0)
                error = undo_note_unit(call->sysroot, call->record, unit);
        call->reply(&(Error){ .code = error }, call->userdata);
}

/* The unit once. Of its processes, the threads that have chosen CPUs themselves: kernels before 6.2
 * forget that choice when the cpuset changes. */
static int systemd_note(Backend *backend, const BackendTarget *target, UndoRecord *record,
                        BackendCall *call) {
        int r = undo_note_processes(backend, target, record, 0);

        if (r < 0 || record->cpus.noted)
                return r < 0 ? r : 1;
        r = backend_systemd_ensure_bus(backend);
        if (r < 0)
                return r;
        call->sysroot = backend->sysroot;
        call->record = record;
        r = bus_manager_read_unit(backend->bus, target->unit, on_note_read, call, &call->slot);
        return r < 0 ? r : 0;
}

/* systemd takes up to two seconds to write a property, and longer on a host without memory: the
 * process would be stopped for so long. A second writer does not disturb systemd as long as the
 * property follows. */
static int systemd_widen_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        const char *path = target->n_members > 0 ? target->members[0].process.cgroup : NULL;
        const size_t length = path ? unit_cgroup_length(path, target->unit) : 0;
        _cleanup_free_ char *own = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        /* The group of the unit itself: its processes may be in groups below it. */
        if (length == 0)
                return -ENXIO;
        own = strndup(path, length);
        r = own ? cgroup_open(backend->sysroot, own, &fd) : -ENOMEM;
        return r < 0 ? r : backend_write_mems(backend, target, fd, mems, true);
}

/* --- the memory limit --- */

int undo_note_limit(const Sysroot *sysroot, UndoRecord *record, uint64_t memory_max) {
        return record->limit.noted
                       ? 0
                       : note_property(sysroot, record, UNIT_LIMIT, UNIT_BYTES(&memory_max));
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

static bool brake_is_ours(const UndoRecord *record, uint64_t bytes) {
        for (size_t i = 0; i < record->limit.ours.n; i++)
                if (bytes == limit_brake_bytes(record->limit.ours.values[i].words[0]))
                        return true;
        return false;
}

void backend_limit_note_brake(UndoRecord *record, uint64_t brake_bytes) {
        const uint64_t before = brake_bytes == UINT64_MAX ? 0 : brake_bytes;

        if (brake_is_ours(record, brake_bytes) || before == record->limit.brake_before)
                return;
        record->limit.brake_before = before;
        record->stale = true;
}

/* The brake is no property of the unit, it is only in the kernel's file. Another value there is the
 * admin's MemoryHigh=. v1 has none. */
static int lift_brake(int group_fd, const UndoRecord *record) {
        const uint64_t before = record->limit.brake_before;
        uint64_t high;
        char text[32];

        if (path_read_u64(group_fd, UINT64_MAX, &high, "memory.high") < 0 ||
            !brake_is_ours(record, high))
                return 0;
        render_limit(before > 0 ? before : UINT64_MAX, "max", text);
        return cgroup_write(group_fd, "memory.high", text);
}

int backend_limit_lift(int group_fd, const UndoRecord *record) {
        const bool v1 = !group_has(group_fd, "memory.max");
        const char *file = v1 ? "memory.limit_in_bytes" : "memory.max";
        uint64_t now;
        char text[32];
        int r = 0;

        /* Another one is the admin's, or what was there before; "max" is no number. */
        if (path_read_u64(group_fd, UINT64_MAX, &now, "%s", file) >= 0 &&
            undo_record_is_ours(record, UNIT_LIMIT, UNIT_BYTES(&now))) {
                render_limit(undo_record_limit_before(record), v1 ? "-1" : "max", text);
                r = cgroup_write(group_fd, file, text);
        }
        return r < 0 || v1 ? r : lift_brake(group_fd, record);
}

int backend_limit_brake(const Backend *backend, const ProcHandle *process, int group_fd,
                        uint64_t limit_bytes) {
        const bool v1 = !group_has(group_fd, "memory.max");
        char text[32];

        render_limit(v1 ? limit_bytes : limit_brake_bytes(limit_bytes), "max", text);
        return backend_write_group(backend, process, group_fd,
                                   v1 ? "memory.limit_in_bytes" : "memory.high", text);
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

static int restore_note_group(UndoRestore *restore, const BusUnit *unit) {
        free(restore->group);
        restore->group = unit->group[0] ? strdup(unit->group) : NULL;
        return unit->group[0] && !restore->group ? -ENOMEM : 0;
}

/* For a unit that is masked, or has a mistake in its file, systemd shows
 * properties but sets none: our values stay in force, also at its next start; and so it is while a
 * unit runs whose file was removed. A unit that is gone has no properties. */
static void on_restore_read(int error, const BusUnit *unit, void *userdata) {
        UndoRestore *restore = userdata;
        const UndoRecord *record = restore->record;
        _cleanup_close_ int fd = -EBADF;
        const char *sentence = NULL;
        bool there, any = false;

        if (error == 0)
                error = restore_note_group(restore, unit);
        if (error == 0 && restore->group)
                (void)cgroup_open(restore->sysroot, restore->group, &fd);
        /* Its file may be removed while it runs. */
        there = error == 0 && (strcmp(unit->load_state, "not-found") != 0 || fd >= 0);
        /* Only a property that still has our value is restored. Otherwise something else
         * has set it since. */
        for (size_t i = 0; error == 0 && i < N_UNIT_PROPERTIES; i++) {
                const UndoProperty *p = &record->properties[i];
                const IdView now = unit_property_of(unit, i);
                IdSet has, shown;

                id_view_convert(now, ID_TARGET(&has));
                restore->writes[i] = there && undo_values_have(&p->ours, now);
                /* v1: the kernel's file has it before the property. */
                if (there && i == UNIT_LIMIT && restore->group && fd < 0 && p->ours.n > 0)
                        restore->writes[i] |= undo_record_limit_before(record) == unit->memory_max;
                /* Has systemd what was there before, while the kernel still shows our value? So it
                 * is where the kernel did not follow a release in time, and where somebody has
                 * cleared the property, which leaves the live set narrow. */
                if (there && fd >= 0 && i != UNIT_LIMIT &&
                    id_view_equal(undo_property_before(p), ID_VIEW(&has)) &&
                    property_read_effective(fd, i, &shown) >= 0)
                        restore->writes[i] |= undo_values_have(&p->ours, ID_VIEW(&shown));
                any |= restore->writes[i];
        }
        if (error == 0 && any && strcmp(unit->load_state, "loaded") != 0) {
                error = strcmp(unit->load_state, "masked") == 0 ? -ERFKILL : -ENOEXEC;
                sentence = error == -ERFKILL ? "its unit is masked"
                                             : "systemd could not load its unit's file";
        }
        if (error == 0 && fd >= 0)
                (void)lift_brake(fd, record);
        if (error == 0)
                restore->stage = restore->group && (restore->writes[UNIT_CPUS] ||
                                                    restore->writes[UNIT_MEMS] ||
                                                    !restore->writes[UNIT_LIMIT])
                                         ? RESTORE_WIDEN
                                         : RESTORE_CLEAR;
        restore->call->reply(&(Error){ error, sentence }, restore->call->userdata);
}

static int restore_read_unit(Backend *backend, UndoRestore *restore, BusUnitReply reply) {
        int r = backend_systemd_ensure_bus(backend);

        if (r >= 0)
                r = bus_manager_read_unit(backend->bus, undo_record_unit(restore->record), reply,
                                          restore, &restore->call->slot);
        return r < 0 ? r : 0;
}

/* --- writing --- */

static IdView property_full_set(const Backend *backend, const UndoRecord *r,
                                UnitProperty property) {
        const UndoProperty *p = &r->properties[property];

        if (p->before)
                return undo_property_before(p);
        /* Written to the file by hand, past systemd: then that. */
        return p->file && !id_set_is_empty(p->file) ? ID_VIEW(p->file)
               : property == UNIT_CPUS              ? ID_VIEW(&backend->all_cpus)
                                                    : ID_VIEW(&backend->all_nodes);
}

static void on_restore_written(const Error *error, void *userdata) {
        UndoRestore *restore = userdata;

        if (error->code == 0)
                restore->stage = restore->stage == RESTORE_WIDEN ? RESTORE_WIDENING : RESTORE_CHECK;
        restore->call->reply(error, restore->call->userdata);
}

/* 1: there is nothing to write. */
static int restore_write(Backend *backend, UndoRestore *restore,
                         const IdView values[N_UNIT_PROPERTIES]) {
        int r;

        if (values[UNIT_CPUS].n_words + values[UNIT_MEMS].n_words + values[UNIT_LIMIT].n_words == 0)
                return 1;
        r = backend_systemd_ensure_bus(backend);
        if (r >= 0)
                r = unit_set_properties(backend->bus, undo_record_unit(restore->record), values,
                                        on_restore_written, restore, &restore->call->slot);
        return r < 0 ? r : 0;
}

/* --- what the kernel shows --- */

/* Has the group what was written, within what the group above allows? */
static bool restore_is_shown(const Backend *backend, const UndoRestore *restore) {
        _cleanup_close_ int fd = -EBADF, above_fd = -EBADF;

        if (!restore->group || cgroup_open(backend->sysroot, restore->group, &fd) < 0)
                return true; /* it has ended */
        above_fd = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (UnitProperty i = UNIT_CPUS; i <= UNIT_MEMS; i++) {
                IdSet now, allowed, above = { 0 };

                /* Where the controller is gone from it, nothing is narrow. */
                if (!restore->writes[i] || property_read_effective(fd, i, &now) < 0)
                        continue;
                id_view_convert(property_full_set(backend, restore->record, i),
                                ID_TARGET(&allowed));
                if (property_read_effective(above_fd, i, &above) == 0)
                        id_set_intersect(&allowed, &above);
                /* Of sets that have nothing in common the kernel takes the one above. */
                if (!id_set_equal(id_set_is_empty(&allowed) ? &above : &allowed, &now))
                        return false;
        }
        return true;
}

/* systemd answers a write before it has carried it out, and does that before it reads
 * the next call: its answer now comes when all of it is in the cgroup files. Only then are the
 * masks of the threads restored, for kernels before 6.2 forget them at every such change. */
static void on_restore_checked(int error, const BusUnit *unit, void *userdata) {
        UndoRestore *restore = userdata;
        const UndoProperty *before = restore->record->properties;
        Error answer = { .code = error };

        for (size_t i = 0; answer.code == 0 && i < N_UNIT_PROPERTIES; i++) {
                IdSet now;

                if (!restore->writes[i] || strcmp(unit->load_state, "loaded") != 0)
                        continue;
                id_view_convert(unit_property_of(unit, i), ID_TARGET(&now));
                if (!id_view_equal(undo_property_before(&before[i]), ID_VIEW(&now)))
                        answer = (Error){ -EBUSY, "something else changed it meanwhile" };
        }
        /* A process that was started in the meantime has inherited the narrow set. */
        if (answer.code == 0)
                answer.code = restore_note_group(restore, unit);
        if (answer.code == 0)
                restore->stage = RESTORE_CHECKED;
        restore->call->reply(&answer, restore->call->userdata);
}

int undo_restore_unit(Backend *backend, UndoRestore *restore, BackendCall *call) {
        UndoRecord *record = restore->record;
        IdView values[N_UNIT_PROPERTIES] = { 0 };
        int r;

        if (!undo_record_has_unit(record) && restore->stage == RESTORE_READ)
                return 1;
        restore->call = call;
        restore->sysroot = backend->sysroot;
        switch (restore->stage) {
        case RESTORE_READ:
                return restore_read_unit(backend, restore, on_restore_read);
        case RESTORE_WIDEN:
                for (UnitProperty i = UNIT_CPUS; i <= UNIT_MEMS; i++) {
                        UndoProperty *p = &record->properties[i];

                        if (!restore->writes[i])
                                continue;
                        values[i] = property_full_set(backend, record, i);
                        /* The full set is ours, too: when the daemon is killed before it is
                         * cleared, or that fails, nothing else would remove it. Where it cannot be
                         * recorded, opening is right anyway. */
                        r = p->before ? 0 : undo_values_add(&p->ours, values[i]);
                        if (r < 0)
                                return r;
                        record->stale |= r > 0;
                }
                /* Together with the others: systemd writes all that the unit has with any of them,
                 * also a limit that was lifted in the kernel's file alone. */
                if (restore->writes[UNIT_LIMIT])
                        values[UNIT_LIMIT] = undo_property_before(&record->limit);
                if (restore->undo)
                        (void)undo_write(restore->undo, record);
                return restore_write(backend, restore, values);
        case RESTORE_WIDENING:
                if (!restore_is_shown(backend, restore))
                        return -EAGAIN;
                restore->stage = RESTORE_CLEAR;
                /* fall through */
        case RESTORE_CLEAR:
                /* The unit's own value again, or none. Of one that was widened, what had a value
                 * has it already. */
                for (size_t i = 0; i < N_UNIT_PROPERTIES; i++) {
                        const UndoProperty *p = &record->properties[i];

                        if (restore->writes[i] &&
                            (i == UNIT_LIMIT || !restore->group || !p->before))
                                values[i] = undo_property_before(p);
                }
                r = restore_write(backend, restore, values);
                if (r <= 0)
                        return r;
                restore->stage = RESTORE_CHECK;
                /* fall through */
        case RESTORE_CHECK:
                return restore_read_unit(backend, restore, on_restore_checked);
        case RESTORE_CHECKED:
                if (!restore_is_shown(backend, restore)) {
                        /* Emptied, and narrow again: then from the beginning. */
                        restore->stage = RESTORE_WIDEN;
                        return -EAGAIN;
                }
                for (size_t i = 0; i < N_UNIT_PROPERTIES; i++)
                        if (restore->writes[i] && record->properties[i].origin == UNDO_PERSISTENT)
                                restore->shortfall = "a runtime drop-in repeats the values of its "
                                                     "unit files until the next boot";
                return 1;
        }
        return -EINVAL;
}

static int systemd_restore(Backend *backend, UndoRestore *restore, BackendCall *call) {
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
        .set_cpus = systemd_set_cpus,
        .set_mems = systemd_set_mems,
        .note = systemd_note,
        .note_scope = scope_note,
        .start_scope = scope_start,
        .restore = systemd_restore,
        .widen_mems = systemd_widen_mems,
};
