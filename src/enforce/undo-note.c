#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"

/* --- cpusets --- */

static int cpus_of_v1(Backend *backend, const ProcHandle *handle, CpuSet *ret) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = 0;

        if (backend->root_fd < 0)
                r = cgroup1_open(backend->sysroot, "cpuset", &backend->root_fd);
        if (r >= 0)
                r = proc_cgroup_path_read(handle, "cpuset", &path);
        if (r >= 0)
                r = cgroup_open_below(backend->root_fd, path, &fd);
        return r < 0 ? r : cgroup_effective_cpus_read(fd, ret);
}

/* The group itself, or the first one above it for which the controller is enabled. */
static int cpus_of_v2(const Sysroot *sysroot, const char *cgroup, CpuSet *ret) {
        _cleanup_free_ char *path = strdup(cgroup);

        if (!path)
                return -ENOMEM;
        for (;;) {
                _cleanup_close_ int fd = -EBADF;
                char *slash = strrchr(path, '/');
                int r = cgroup_open(sysroot, path, &fd);

                if (r >= 0)
                        r = cgroup_effective_cpus_read(fd, ret);
                if (r != -EOPNOTSUPP || !slash || strcmp(path, "/") == 0)
                        return r;
                slash[slash == path] = '\0';
        }
}

int undo_note_cpuset_cpus(Backend *backend, const ProcHandle *handle, const char *cgroup,
                          CpuSet *ret) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (backend->root_fd >= 0 || cgroup_version(backend->sysroot) != CGROUP_V2)
                return cpus_of_v1(backend, handle, ret);
        if (!cgroup) {
                r = proc_cgroup_read(handle, &path);
                if (r < 0)
                        return r;
        }
        return cpus_of_v2(backend->sysroot, cgroup ? cgroup : path, ret);
}

/* --- threads --- */

typedef struct Seen {
        pid_t tid;
        uint32_t mask;
} Seen;

typedef struct ThreadWalk {
        UndoProcess *process;
        const StartCpus *start;
        CpuSet cpuset; /* empty: not known, every mask counts as chosen */
        Seen *seen;
        size_t n_seen, allocated;
} ThreadWalk;

/* What it was given at its start is ours: before that it had what its first thread had. */
static CpuSet mask_before_start(const ThreadWalk *walk, const CpuSet *mask) {
        if (!walk->start->set || !id_set_equal(mask, &walk->start->given))
                return *mask;
        return id_set_is_empty(&walk->start->before) ? walk->cpuset : walk->start->before;
}

static int see_thread(pid_t tid, void *userdata) {
        ThreadWalk *walk = userdata;
        uint32_t index = UNDO_FOLLOWS;
        CpuSet mask;

        if (affinity_read_thread(tid, &mask) < 0)
                return 0; /* it has ended */
        mask = mask_before_start(walk, &mask);
        if (ARRAY_RESERVE(walk->seen, walk->allocated, walk->n_seen + 1) < 0 ||
            (!id_set_equal(&mask, &walk->cpuset) &&
             undo_process_find_mask(walk->process, &mask, &index) < 0))
                return -ENOMEM;
        walk->seen[walk->n_seen++] = (Seen){ .tid = tid, .mask = index };
        return 0;
}

static int compare_seen(const void *a, const void *b) {
        const pid_t x = ((const Seen *)a)->tid, y = ((const Seen *)b)->tid;

        return (x > y) - (x < y);
}

static int note_threads(Backend *backend, const Member *member, UndoProcess *entry) {
        const ProcHandle *handle = member->handle;
        ThreadWalk walk = { .process = entry, .start = &member->start };
        int r;

        if (undo_note_cpuset_cpus(backend, handle, member->process.cgroup, &walk.cpuset) < 0)
                walk.cpuset = (CpuSet){ 0 };
        r = proc_foreach_thread(handle, see_thread, &walk);
        entry->noted_ticks = clock_boottime_ticks();
        if (r >= 0 && walk.n_seen > 0)
                qsort(walk.seen, walk.n_seen, sizeof(*walk.seen), compare_seen);
        for (size_t i = 0; r >= 0 && i < walk.n_seen; i++) {
                const Seen *s = &walk.seen[i];

                r = undo_process_add_thread(
                        entry, s->tid, s->mask == UNDO_FOLLOWS ? NULL : &entry->masks[s->mask]);
        }
        free(walk.seen);
        return r;
}

/* --- processes --- */

/* The parent of the process, if the record has it; else any other entry. NULL: there is no other
 * entry. */
static const UndoProcess *find_maker(const UndoRecord *record, const ProcHandle *handle,
                                     const UndoProcess *self) {
        const UndoProcess *any = NULL;
        ProcStat stat = { 0 };

        (void)proc_stat_read(handle, 0, &stat);
        for (size_t i = record->n_processes; i > 0; i--) {
                const UndoProcess *p = &record->processes[i - 1];

                if (p == self)
                        continue;
                if (p->id.pid == stat.parent)
                        return p;
                any = p;
        }
        return any;
}

/* Where it is now, unless that is our own doing. */
static int note_cpuset(const UndoRecord *record, const ProcHandle *handle, UndoProcess *entry) {
        const UndoProcess *maker;
        char *path;
        int r = proc_cgroup_path_read(handle, "cpuset", &path);

        if (r < 0)
                return r;
        if (backend_cgroup1_is_ours(path)) {
                maker = find_maker(record, handle, entry);
                free(path);
                path = strdup(maker && maker->cpuset ? maker->cpuset : "/");
                if (!path)
                        return -ENOMEM;
        }
        free(entry->cpuset);
        entry->cpuset = path;
        return 0;
}

/* A thread gets the CPUs of the one that made it: a child of a bound process has ours. */
static bool was_born_bound(const UndoRecord *record, const UndoProcess *entry) {
        const CpuSet *mask = undo_process_mask(entry, entry->id.pid, 0);

        return mask && undo_values_have(&record->given, ID_VIEW(mask));
}

static int note_new(Backend *backend, UndoRecord *record, const Member *member,
                    UndoProcess *entry) {
        const UndoProcess *maker;
        int r = note_threads(backend, member, entry);

        if (r < 0 || !was_born_bound(record, entry))
                return r;
        maker = find_maker(record, member->handle, entry);
        return maker ? undo_process_inherit(entry, maker) : 0;
}

static int note_process(Backend *backend, UndoRecord *record, const Member *member, unsigned what) {
        const ProcessId *id = &member->process.id;
        UndoProcess *entry = undo_record_find(record, id);
        int r = 0;

        if (!entry) {
                r = undo_record_add(record, id, &entry);
                if (r >= 0)
                        r = note_new(backend, record, member, entry);
        }
        if (r >= 0 && (what & NOTE_CPUSET) && !entry->cpuset) {
                r = note_cpuset(record, member->handle, entry);
                record->stale = true;
        }
        if (r < 0)
                return r;
        record->stale |= (what & NOTE_MASKS) && !entry->masks_set;
        entry->masks_set |= (what & NOTE_MASKS) != 0;
        return 0;
}

int undo_note_processes(Backend *backend, const BackendTarget *target, UndoRecord *record,
                        unsigned what) {
        for (size_t i = 0; i < target->n_members; i++) {
                const Member *member = &target->members[i];
                const UndoProcess *entry;
                int r = note_process(backend, record, member, what);

                /* An incomplete entry is useless and must not be restored later. */
                if (r < 0 && (entry = undo_record_find(record, &member->process.id)))
                        undo_record_remove(record, (size_t)(entry - record->processes));
                /* One answer that it is gone is not enough to bind it without a record. */
                if (r < 0 && (r != -ESRCH || proc_is_alive(member->handle)))
                        return r;
        }
        return 0;
}

/* --- the unit --- */

static void note_property(const Sysroot *sysroot, UndoProperty *p, const char *unit,
                          const char *name, IdView value) {
        id_view_convert(value, ID_TARGET(&p->before));
        p->origin = id_set_is_empty(&p->before)                   ? UNDO_UNSET
                    : bus_manager_is_runtime(sysroot, unit, name) ? UNDO_RUNTIME
                                                                  : UNDO_PERSISTENT;
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
static int note_scope(UndoRecord *record, const BusUnit *unit) {
        int r = id_set_is_empty(&unit->cpus)
                        ? 0
                        : undo_values_add(&record->cpus.ours, ID_VIEW(&unit->cpus));

        record->cpus.before = record->mems.before = (IdSet){ 0 };
        record->cpus.origin = record->mems.origin = UNDO_UNSET;
        if (r >= 0 && !id_set_is_empty(&unit->mems))
                r = undo_values_add(&record->mems.ours, ID_VIEW(&unit->mems));
        return r;
}

void undo_note_unit(const Sysroot *sysroot, UndoRecord *record, const BusUnit *unit) {
        free(record->files);
        record->files = NULL;
        if (record->scope && note_scope(record, unit) < 0)
                return; /* noted another time */
        if (!record->scope) {
                note_property(sysroot, &record->cpus, record->unit, "AllowedCPUs",
                              ID_VIEW(&unit->cpus));
                note_property(sysroot, &record->mems, record->unit, "AllowedMemoryNodes",
                              ID_VIEW(&unit->mems));
                if (note_files(sysroot, unit->group, &record->files) < 0)
                        return; /* likewise */
        }
        record->unit_noted = record->stale = true;
}
