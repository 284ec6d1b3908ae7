#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/enforce/undo-record.h"

int undo_record_new(const char *instance, const char *unit, UndoRecord **ret) {
        _cleanup_(undo_record_freep) UndoRecord *r = calloc(1, sizeof(*r));

        if (!r)
                return -ENOMEM;
        r->instance = strdup(instance);
        r->unit = unit ? strdup(unit) : NULL;
        if (!r->instance || (unit && !r->unit))
                return -ENOMEM;
        r->stale = true;
        *ret = TAKE_PTR(r);
        return 0;
}

static void process_entry_done(UndoProcess *p) {
        free(p->cpuset);
        free(p->masks);
        free(p->threads);
        *p = (UndoProcess){ 0 };
}

UndoRecord *undo_record_free(UndoRecord *record) {
        if (!record)
                return NULL;
        undo_values_clear(&record->cpus.ours);
        undo_values_clear(&record->mems.ours);
        undo_values_clear(&record->given);
        for (size_t i = 0; i < record->n_processes; i++)
                process_entry_done(&record->processes[i]);
        free(record->processes);
        free(record->instance);
        free(record->unit);
        free(record->scope);
        free(record->home);
        free(record->files);
        free(record->file);
        free(record);
        return NULL;
}

/* --- processes --- */

UndoProcess *undo_record_find(const UndoRecord *record, const ProcessId *id) {
        for (size_t i = 0; i < record->n_processes; i++)
                if (record->processes[i].id.pid == id->pid &&
                    record->processes[i].id.start_ticks == id->start_ticks)
                        return &record->processes[i];
        return NULL;
}

int undo_record_add(UndoRecord *record, const ProcessId *id, UndoProcess **ret) {
        if (ARRAY_RESERVE(record->processes, record->processes_allocated, record->n_processes + 1) <
            0)
                return -ENOMEM;
        *ret = &record->processes[record->n_processes++];
        **ret = (UndoProcess){ .id = *id, .leader = UNDO_FOLLOWS };
        record->stale = true;
        return 0;
}

void undo_record_remove(UndoRecord *record, size_t index) {
        process_entry_done(&record->processes[index]);
        ARRAY_REMOVE(record->processes, record->n_processes, index);
        record->stale = true;
}

/* --- threads --- */

int undo_process_find_mask(UndoProcess *p, const CpuSet *mask, uint32_t *ret) {
        for (size_t i = 0; i < p->n_masks; i++)
                if (id_set_equal(&p->masks[i], mask)) {
                        *ret = (uint32_t)i;
                        return 0;
                }
        if (p->n_masks == UNDO_MASKS_MAX) {
                *ret = UNDO_FOLLOWS;
                return 0;
        }
        if (ARRAY_RESERVE(p->masks, p->masks_allocated, p->n_masks + 1) < 0)
                return -ENOMEM;
        p->masks[p->n_masks] = *mask;
        *ret = (uint32_t)p->n_masks++;
        return 0;
}

int undo_process_add_thread(UndoProcess *p, pid_t tid, const CpuSet *mask) {
        UndoThreads *last = p->n_threads > 0 ? &p->threads[p->n_threads - 1] : NULL;
        uint32_t index = UNDO_FOLLOWS;

        if (mask && undo_process_find_mask(p, mask, &index) < 0)
                return -ENOMEM;
        if (tid == p->id.pid)
                p->leader = index;
        if (last && last->last + 1 == tid && last->mask == index) {
                last->last = tid;
                return 0;
        }
        if (ARRAY_RESERVE(p->threads, p->threads_allocated, p->n_threads + 1) < 0)
                return -ENOMEM;
        p->threads[p->n_threads++] = (UndoThreads){ .first = tid, .last = tid, .mask = index };
        return 0;
}

static const UndoThreads *find_threads(const UndoProcess *p, pid_t tid) {
        size_t low = 0, high = p->n_threads;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (p->threads[middle].last < tid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < p->n_threads && p->threads[low].first <= tid ? &p->threads[low] : NULL;
}

const CpuSet *undo_process_mask(const UndoProcess *p, pid_t tid, uint64_t start_ticks) {
        /* The number of a later thread proves nothing: it may have been another's. */
        const UndoThreads *t = start_ticks > p->noted_ticks ? NULL : find_threads(p, tid);
        const uint32_t mask = t ? t->mask : p->leader;

        return mask == UNDO_FOLLOWS ? NULL : &p->masks[mask];
}

int undo_process_inherit(UndoProcess *p, const UndoProcess *from) {
        uint32_t leader = UNDO_FOLLOWS;
        char *cpuset = NULL;

        if (from->leader != UNDO_FOLLOWS &&
            undo_process_find_mask(p, &from->masks[from->leader], &leader) < 0)
                return -ENOMEM;
        if (from->cpuset && !(cpuset = strdup(from->cpuset)))
                return -ENOMEM;
        free(p->cpuset);
        p->cpuset = cpuset;
        p->leader = leader;
        p->n_threads = 0; /* each has the recorded values of its first one */
        return 0;
}

/* --- what is ours --- */

/* The first one was confirmed once, and is in force as long as none of the others has had its
 * effect. */
int undo_values_add(UndoValues *v, IdView value) {
        IdSet last = undo_values_last(v), wanted;

        id_view_convert(value, ID_TARGET(&wanted));
        if (v->n > 0 && id_set_equal(&last, &wanted))
                return 0;
        if (v->n == UNDO_VALUES_MAX)
                ARRAY_REMOVE(v->values, v->n, 1);
        if (ARRAY_RESERVE(v->values, v->allocated, v->n + 1) < 0)
                return -ENOMEM;
        v->values[v->n++] = wanted;
        return 1;
}

bool undo_values_have(const UndoValues *v, IdView value) {
        IdSet wanted;

        id_view_convert(value, ID_TARGET(&wanted));
        for (size_t i = 0; i < v->n; i++)
                if (id_set_equal(&v->values[i], &wanted))
                        return true;
        return false;
}

IdSet undo_values_last(const UndoValues *v) {
        return v->n > 0 ? v->values[v->n - 1] : (IdSet){ 0 };
}

void undo_values_confirm(UndoValues *v) {
        if (v->n <= 1)
                return;
        v->values[0] = v->values[v->n - 1];
        v->n = 1;
}

void undo_values_clear(UndoValues *v) {
        free(v->values);
        *v = (UndoValues){ 0 };
}

int undo_record_will_give(UndoRecord *record, const CpuSet *cpus) {
        int r = undo_values_add(&record->given, ID_VIEW(cpus));

        for (size_t i = 0; r > 0 && i < record->n_processes; i++)
                record->processes[i].given = false;
        record->stale |= r > 0;
        return r;
}

bool undo_record_has_unit(const UndoRecord *record) {
        return record->unit_noted && (record->cpus.ours.n > 0 || record->mems.ours.n > 0);
}

int undo_record_set_scope(UndoRecord *record, const char *scope, const char *home) {
        _cleanup_free_ char *copy = strdup(scope);
        char *home_copy = strdup(home);

        if (!copy || !home_copy) {
                free(home_copy);
                return -ENOMEM;
        }
        record->scope = TAKE_PTR(copy);
        record->home = home_copy;
        record->unit_noted = false;
        record->stale = true;
        return 0;
}

const char *undo_record_unit(const UndoRecord *record) {
        return record->scope ? record->scope : record->unit;
}

/* All processes in a scope must be moved back to their control group, also a helper that outlives
 * its server. */
bool undo_record_is_empty(const UndoRecord *record) {
        return record->n_processes == 0 && !undo_record_has_unit(record) && !record->scope;
}
