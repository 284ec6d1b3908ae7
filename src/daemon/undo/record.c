/* What stood before us: kept for instances and units. How a record looks is enforce's. */
#include <string.h>

#include "tidbnumad/daemon/binding/bind.h"
#include "tidbnumad/daemon/roster/scope.h"
#include "tidbnumad/daemon/undo/record.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/memory-policy.h"

/* --- the folder --- */

static const char *what_is_wrong(int error) {
        switch (error) {
        case -EPERM:
                return "it is not root's alone";
        case -ENOTSUP:
                return "a newer version wrote it, and it is kept: nothing that it is about is "
                       "changed";
        case -EEXIST:
                return "another one speaks of the same unit";
        case -EBADMSG:
        case -EFBIG:
                return "it is not a record";
        default:
                return strerror(-error);
        }
}

static void on_bad_file(const char *name, int error, void *userdata) {
        const Manager *m = userdata;

        journal_log(&m->host.journal, LOG_WARNING, NULL,
                    "The undo record %s/%s/%s is not believed: %s. What it was about cannot be "
                    "taken back by this daemon",
                    m->host.args->runtime_dir, UNDO_FOLDER, name, what_is_wrong(error));
}

int record_start(Manager *m) {
        int r;

        if (!m->host.sysroot.live || m->host.args->dry_run)
                return 0;
        r = undo_open(&m->undo.records, m->host.runtime_fd);
        if (r >= 0)
                r = undo_load(&m->undo.records, on_bad_file, m);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                journal_log(&m->host.journal, LOG_ERR, NULL,
                            "The undo records in %s/%s cannot be used: %s. Nothing is changed "
                            "before what stands can be written down there; see to the folder and "
                            "restart the daemon",
                            m->host.args->runtime_dir, UNDO_FOLDER, strerror(-r));
        else if (m->undo.records.n_records > 0)
                journal_log(&m->host.journal, LOG_INFO, NULL,
                            "%zu undo records of an earlier life of the daemon are taken over",
                            m->undo.records.n_records);
        return 0;
}

/* --- finding --- */

static const char *unit_of(const Instance *i) {
        return instance_is_service(i) ? i->unit : NULL;
}

UndoRecord *record_of(const Instance *i) {
        const Undo *undo = &i->manager->undo.records;
        UndoRecord *record = scope_of(i) ? undo_find_scope(undo, scope_of(i)) : NULL;

        return record || i->n_processes == 0 ? record
                                             : undo_find(undo, unit_of(i), &i->processes[0].id);
}

UndoRecord *record_of_unit(const Unit *u) {
        return undo_find(&u->manager->undo.records, u->name, NULL);
}

/* --- before and after --- */

static bool is_by_unit(const Instance *i) {
        return backend_kind(&i->manager->host.backend) == BACKEND_SYSTEMD;
}

/* What will be ours by this step; NULL: what goes with the process is not remembered. */
static UndoValues *values_of(const Instance *i, UndoRecord *record, StepKind step) {
        if (step == STEP_SCOPE)
                return NULL;
        if (!is_by_unit(i))
                return step == STEP_SET_CPUS ? &record->given : NULL;
        return step == STEP_SET_CPUS ? &record->cpus.ours : &record->mems.ours;
}

static int will_do(Instance *i, UndoRecord *record, const Step *step) {
        const CpuSet *cpus = &i->binding.placement.cpus;
        UndoValues *values = values_of(i, record, step->kind);
        int r;

        if (!values)
                return 0;
        if (values == &record->given)
                r = undo_record_will_give(record, cpus);
        else if (step->kind == STEP_SET_CPUS)
                r = undo_values_add(values, ID_VIEW(cpus));
        else
                r = undo_values_add(values, ID_VIEW(&step->mems));
        record->stale |= r > 0;
        return r;
}

/* The one thing of a process that cannot be put back. */
static void tell_policies(const Instance *i) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        char policy[256];

        for (size_t k = 0; k < i->n_processes; k++)
                if (memory_policy_read(&i->handles[k], policy, sizeof(policy)) == 0 &&
                    strcmp(policy, "default") != 0)
                        journal_log(&i->manager->host.journal, LOG_NOTICE, &fields,
                                    "%s: process %d has a memory policy of its own, %s (numactl?). "
                                    "The kernel fits it to the nodes that it is narrowed to, and "
                                    "not back: after a release, restart it to have that again",
                                    i->name, i->processes[k].id.pid, policy);
}

/* The record to be filled in. A scope of which none is left is taken over: where its processes came
 * from, nobody knows any more. */
static int get(Instance *i, UndoRecord **ret) {
        Undo *undo = &i->manager->undo.records;
        UndoRecord *record = record_of(i);
        int r = 0;

        if (!record)
                r = undo_get(undo, i->first_name, unit_of(i), &i->processes[0].id, &record);
        if (r >= 0 && scope_holds(i) && !record->scope)
                r = undo_record_set_scope(record, scope_of(i), i->processes[0].cgroup);
        if (r >= 0)
                *ret = record;
        return r;
}

static int note(Instance *i, const Step *step, BackendReply reply) {
        Backend *backend = &i->manager->host.backend;
        const BackendTarget target = scope_target(i);

        if (step->kind != STEP_SCOPE)
                return backend->ops->note(backend, &target, &i->undo.note, reply, i,
                                          &i->binding.call);
        return backend->ops->note_scope ? backend->ops->note_scope(backend, &target, &i->undo.note,
                                                                   reply, i, &i->binding.call)
                                        : -EOPNOTSUPP;
}

int record_before(Instance *i, const Step *step, BackendReply reply) {
        Undo *undo = &i->manager->undo.records;
        UndoRecord *record;
        int r;

        if (undo->dir_fd < 0)
                return -EBADF;
        r = get(i, &record);
        if (r < 0)
                return r;
        if (record->releasing)
                return -EAGAIN;
        i->undo.note.record = record;
        r = note(i, step, reply);
        if (r <= 0)
                return r;
        r = will_do(i, record, step);
        if (step->kind == STEP_NARROW && !i->binding.we_narrowed)
                tell_policies(i);
        if (r >= 0)
                r = undo_write(undo, record);
        return r < 0 ? r : 1;
}

void record_noted(Instance *i) {
        const UndoRecord *record = is_by_unit(i) ? record_of(i) : NULL;

        if (!record || !record->unit_noted ||
            (id_set_is_empty(&record->cpus.before) && id_set_is_empty(&record->mems.before)))
                return;
        host_mark(&i->manager->host, HOST_MARK_PLAN);
        if (i->manager->placing.timer) /* at once: it is about to be bound */
                place_refresh(i->manager);
}

void record_after(Instance *i, StepKind step) {
        UndoRecord *record = record_of(i);
        UndoValues *values = record ? values_of(i, record, step) : NULL;

        if (values)
                undo_values_confirm(values);
        if (!values || is_by_unit(i))
                return;
        for (size_t k = 0; k < i->n_processes; k++) {
                UndoProcess *entry = undo_record_find(record, &i->processes[k].id);

                if (entry && !entry->given)
                        entry->given = record->stale = true;
        }
        /* Where that fails, a restart of the daemon gives each thread its CPUs once more. */
        (void)undo_write(&i->manager->undo.records, record);
}

/* --- an earlier life --- */

void record_adopt(Instance *i) {
        UndoRecord *record = record_of(i);
        IdSet last;
        CpuSet given;
        char *name;

        if (!record)
                return;
        if (strcmp(record->instance, i->first_name) != 0 && (name = strdup(record->instance))) {
                free(i->first_name);
                i->first_name = name;
        }
        i->binding.we_narrowed |= record->mems.ours.n > 0;
        last = undo_values_last(&record->given);
        id_set_convert(&last, &given);
        if (!id_set_equal(&given, &i->binding.placement.cpus))
                return;
        for (size_t k = 0; k < i->n_processes; k++) {
                const UndoProcess *entry = undo_record_find(record, &i->processes[k].id);

                i->processes[k].cpus_given |= entry && entry->given;
        }
}

void record_left(Manager *m, UndoRecord *record, bool ended) {
        if (!record || record->releasing)
                return;
        if (undo_prune(&m->undo.records, record) && ended)
                record_forget(m, record);
        else if (record->scope && ended)
                release_begin(m, record, "its process has ended");
}

void record_forget(Manager *m, UndoRecord *record) {
        const uint64_t now = clock_monotonic_usec();

        for (size_t k = 0; k < m->roster.n_instances; k++) {
                Instance *i = m->roster.instances[k];

                if (record_of(i) != record)
                        continue;
                bind_begin_anew(i);
                i->binding.we_narrowed = i->binding.pulled = false;
                i->undo.note.record = NULL;
                instance_restart(i, now);
        }
        undo_forget(&m->undo.records, record);
}

/* --- units --- */

static void note_property(KnownProperty *property, IdView value, UndoProperty *record) {
        bool ours = record && undo_values_have(&record->ours, value);

        known_property_read(property, value, ours, record ? &record->before : NULL);
}

void record_note_unit(Unit *u, const BusUnit *read) {
        UndoRecord *record = record_of_unit(u);

        if (record && !record->unit_noted)
                record = NULL;
        note_property(&u->cpus, ID_VIEW(&read->cpus), record ? &record->cpus : NULL);
        note_property(&u->mems, ID_VIEW(&read->mems), record ? &record->mems : NULL);
}

static int will_set(UndoRecord *record, UndoProperty *property, const KnownProperty *next) {
        int r = next->ours ? undo_values_add(&property->ours, ID_VIEW(&next->value)) : 0;

        record->stale |= r > 0;
        return r;
}

/* An idle unit has no cgroup: its properties are all there is of it. */
static void note_idle(UndoRecord *record, const Unit *u) {
        BusUnit unit = { .group = "" };

        id_set_convert(known_property_own(&u->cpus), &unit.cpus);
        id_set_convert(known_property_own(&u->mems), &unit.mems);
        undo_note_unit(&u->manager->host.sysroot, record, &unit);
}

int record_before_unit(Unit *u) {
        Undo *undo = &u->manager->undo.records;
        UndoRecord *record;
        int r;

        if (undo->dir_fd < 0)
                return -EBADF;
        r = undo_get(undo, u->label, u->name, NULL, &record);
        if (r < 0)
                return r;
        if (!record->unit_noted)
                note_idle(record, u);
        r = will_set(record, &record->cpus, &u->next_cpus);
        if (r >= 0)
                r = will_set(record, &record->mems, &u->next_mems);
        return r < 0 ? r : undo_write(undo, record);
}

void record_after_unit(Unit *u) {
        UndoRecord *record = record_of_unit(u);

        if (!record)
                return;
        if (u->next_cpus.ours)
                undo_values_confirm(&record->cpus.ours);
        if (u->next_mems.ours)
                undo_values_confirm(&record->mems.ours);
}

/* --- what the admin has set --- */

static const char disjoint[] =
        "the AllowedCPUs= or AllowedMemoryNodes= that the unit itself sets leave nothing of its "
        "nodes: change these, or the nodes of the policy";

static const char *keep_own(Placement *p, const CpuSet *cpus, const NodeSet *mems) {
        Placement kept = *p;

        if (id_set_is_empty(&p->nodes))
                return NULL;
        if (!id_set_is_empty(cpus))
                id_set_intersect(&kept.cpus, cpus);
        if (!id_set_is_empty(mems) && p->memory == MEMORY_BIND)
                id_set_intersect(&kept.nodes, mems);
        if (id_set_is_empty(&kept.cpus) || id_set_is_empty(&kept.nodes))
                return disjoint;
        *p = kept;
        return NULL;
}

const char *record_keep_own(const Instance *i, Placement *placement) {
        const UndoRecord *record = is_by_unit(i) ? record_of(i) : NULL;
        CpuSet cpus;
        NodeSet mems;

        if (!record || !record->unit_noted)
                return NULL;
        id_set_convert(&record->cpus.before, &cpus);
        id_set_convert(&record->mems.before, &mems);
        return keep_own(placement, &cpus, &mems);
}

NodeSet record_open_nodes(const Instance *i) {
        const UndoRecord *record = is_by_unit(i) ? record_of(i) : NULL;
        NodeSet nodes = topology_memory_nodes(&i->manager->host.topology), own;

        if (record && record->unit_noted && !id_set_is_empty(&record->mems.before)) {
                id_set_convert(&record->mems.before, &own);
                id_set_intersect(&nodes, &own);
        }
        return nodes;
}

static void add_own(IdTarget allowed, const IdSet *own) {
        IdSet had, both = *own;

        if (id_set_is_empty(own))
                return;
        id_view_convert((IdView){ allowed.words, allowed.n_words }, ID_TARGET(&had));
        if (!id_set_is_empty(&had))
                id_set_intersect(&both, &had);
        id_view_convert(id_set_is_empty(&both) ? ID_VIEW(own) : ID_VIEW(&both), allowed);
}

void record_add_own(const Instance *i, CpuSet *cpus, NodeSet *nodes) {
        const UndoRecord *record = is_by_unit(i) ? record_of(i) : NULL;

        if (!record || !record->unit_noted)
                return;
        add_own(ID_TARGET(cpus), &record->cpus.before);
        add_own(ID_TARGET(nodes), &record->mems.before);
}
