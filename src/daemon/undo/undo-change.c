/* Undo records of instances and units. change/record.h defines their content. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/unit-file.h"
#include "tidbnumad/worker/worker.h"

/* --- finding --- */

static const char *unit_of(const Instance *i) {
        return instance_is_service(i) ? i->unit : NULL;
}

void undo_adopt(const Undoing *undo, Instance *i) {
        const char *name;
        char *copy;

        i->undo.record = scope_of(i) ? undo_find_scope(&undo->records, scope_of(i)) : NULL;
        if (!i->undo.record && i->n_members > 0)
                i->undo.record = undo_find(&undo->records, unit_of(i), &i->members[0].process.id);
        name = i->undo.record ? i->undo.record->instance : i->undo.name ? i->undo.name : i->name;
        if (i->undo.name && strcmp(i->undo.name, name) == 0)
                return;
        copy = strdup(name);
        if (!copy)
                return; /* a record without a unit is found by the instance's present name */
        free(i->undo.name);
        i->undo.name = copy;
}

/* Has the property of the unit a limit that is not in force, and must not be? With any other
 * property systemd writes it to the kernel's file, and the kernel kills where more is held. */
static bool limit_is_lifted(const Instance *i) {
        const UndoRecord *noted = undo_limit_of(i);
        const InstanceMemoryLimit *l = &i->binding.limit;
        const uint64_t ours = noted ? undo_record_limit_last(noted) : 0;

        return ours > 0 && l->memory_known &&
               limit_is_of_before(&l->memory, undo_record_limit_before(noted)) &&
               (l->lifted || !limit_has_room(&l->memory, ours));
}

BackendTarget undo_target(const Instance *i) {
        return (BackendTarget){ .instance = i->undo.name ? i->undo.name : i->name,
                                .unit = scope_of(i) ? scope_of(i) : i->unit,
                                .members = i->members,
                                .n_members = i->n_members,
                                .unlimited = limit_is_lifted(i) ? i->undo.record : NULL };
}

UndoRecord *undo_of_unit(const Undoing *undo, const char *unit) {
        return undo_find(&undo->records, unit, NULL);
}

/* --- before and after --- */

/* The record, where it has what the admin has set on the unit; NULL: it has not. */
static const UndoRecord *admin_settings(const Undoing *undo, const Instance *i) {
        const UndoRecord *record = i->undo.record;

        if (!record || !record->cpus.noted ||
            instance_backend(i, &undo->host->backend) != BACKEND_SYSTEMD)
                return NULL;
        return record;
}

/* Finds or creates the record. The record of a scope without processes is reused, because the
 * former control groups of its processes are not recorded elsewhere. */
static int record_get(Undoing *undo, Instance *i) {
        int r = 0;

        if (undo->records.dir_fd < 0)
                return -EBADF;
        if (!i->undo.record)
                r = undo_get(&undo->records, undo_target(i).instance, unit_of(i),
                             &i->members[0].process.id, &i->undo.record);
        if (r >= 0 && facts_in_scope(&i->facts) && !i->undo.record->scope)
                r = undo_record_set_scope(i->undo.record, scope_of(i),
                                          i->members[0].process.cgroup);
        return r >= 0 && i->undo.record->releasing ? -EAGAIN : r;
}

int undo_note(Undoing *undo, Instance *i, const Step *step, BackendCall *call) {
        Backend *backend = &undo->host->backend;
        const BackendOps *ops = instance_ops(i, backend);
        int r = record_get(undo, i);
        BackendTarget target;

        if (r < 0)
                return r;
        target = undo_target(i);
        if (step->kind != STEP_SCOPE)
                r = ops->note(backend, &target, i->undo.record, call);
        else
                r = ops->note_scope ? ops->note_scope(backend, &target, i->undo.record, call)
                                    : -EOPNOTSUPP;
        /* The only property that cannot be restored. */
        if (r > 0 && step->kind == STEP_NARROW && !i->binding.we_narrowed && i->memory_policy)
                journal_log(&undo->host->journal, LOG_NOTICE, &INSTANCE_FIELDS(i),
                            "%s: it has its own memory policy, %s (numactl?). The kernel changes "
                            "this policy when memory is bound, and a release cannot restore it: "
                            "restart the instance after a release",
                            i->name, i->memory_policy);
        return r;
}

int undo_note_for_limit(Undoing *undo, Instance *i, BusUnitReply reply, void *userdata,
                        sd_bus_slot **ret_slot) {
        Backend *backend = &undo->host->backend;
        int r = record_get(undo, i);

        if (r < 0)
                return r;
        if (i->undo.record->busy)
                return -EAGAIN;
        if (i->undo.record->limit.noted)
                return 1;
        r = backend_systemd_ensure_bus(backend);
        if (r >= 0)
                r = bus_manager_read_unit(backend->bus, i->unit, reply, userdata, ret_slot);
        return r < 0 ? r : 0;
}

int undo_note_idle(Undoing *undo, const char *unit, const char *label,
                   const IdSet now[N_UNIT_PROPERTIES], bool limit, UndoRecord **ret) {
        BusUnit idle = { .group = "" }; /* it has no cgroup: only its properties are recorded */
        int r;

        if (undo->records.dir_fd < 0)
                return -EBADF;
        r = undo_get(&undo->records, label, unit, NULL, ret);
        if (r < 0)
                return r;
        id_set_convert(&now[UNIT_CPUS], &idle.cpus);
        id_set_convert(&now[UNIT_MEMS], &idle.mems);
        if (!(*ret)->cpus.noted)
                r = undo_note_unit(&undo->host->sysroot, *ret, &idle);
        if (r >= 0 && limit)
                r = undo_note_limit(&undo->host->sysroot, *ret,
                                    unit_bytes(ID_VIEW(&now[UNIT_LIMIT])));
        return r;
}

int undo_before(Undoing *undo, UndoRecord *record, const UndoChange *change) {
        int r = undo_record_will_change(record, change, clock_boottime_ticks());

        if (r >= 0)
                r = undo_write(&undo->records, record);
        record->busy |= r >= 0 && change->exclusive;
        return r;
}

void undo_after(Undoing *undo, UndoRecord *record, const UndoChange *change, bool done) {
        if (!record)
                return;
        record->busy &= !change->exclusive;
        if (!done)
                return;
        undo_record_did_change(record, change);
        /* If the write fails, it is written with the next change; a daemon that is restarted before
         * that sets the CPUs of each thread once more. */
        (void)undo_write(&undo->records, record);
}

int undo_announce_starts(const Undoing *undo, const CpuSet *cpus, size_t n) {
        _cleanup_undo_starts_ UndoStarts starts = { 0 };

        for (size_t i = 0; cpus && i < n; i++)
                if (!id_set_is_empty(&cpus[i]) && undo_starts_add(&starts, &cpus[i]) < 0)
                        return -ENOMEM;
        return undo_starts_write(undo->records.dir_fd, &starts);
}

bool undo_admin_limits_plan(const Undoing *undo, const Instance *i) {
        const UndoRecord *record = admin_settings(undo, i);

        return record && (record->cpus.before || record->mems.before);
}

void undo_reset(Undoing *undo, UndoRecord *record) {
        REGISTRY_FOREACH(i, undo->registry) {
                if (i->undo.record != record)
                        continue;
                i->undo.record = NULL;
                instance_queue(i, WORK_RECORD);
        }
        undo_forget(&undo->records, record);
}

void undo_end(Instance *i) {
        free(i->undo.name);
        i->undo = (InstanceUndo){ .record = NULL };
}

/* --- properties of a unit --- */

const UndoRecord *undo_limit_of(const Instance *i) {
        return i->undo.record && i->undo.record->limit.noted ? i->undo.record : NULL;
}

/* --- what the admin has set --- */

static const char disjoint[] = "AllowedCPUs= or AllowedMemoryNodes= of its unit leaves nothing of "
                               "its nodes";

const char *undo_apply_admin_limits(const Undoing *undo, const Instance *i, Placement *p) {
        const UndoRecord *record = admin_settings(undo, i);
        Placement kept = *p;
        CpuSet cpus;
        NodeSet mems;

        if (!record || id_set_is_empty(&p->nodes))
                return NULL;
        id_view_convert(undo_property_before(&record->cpus), ID_TARGET(&cpus));
        id_view_convert(undo_property_before(&record->mems), ID_TARGET(&mems));
        id_set_limit(&kept.cpus, &cpus);
        if (p->memory == MEMORY_BIND)
                id_set_limit(&kept.nodes, &mems);
        if (id_set_is_empty(&kept.cpus) || id_set_is_empty(&kept.nodes))
                return disjoint;
        *p = kept;
        return NULL;
}

NodeSet undo_open_nodes(const Undoing *undo, const Instance *i) {
        const UndoRecord *record = admin_settings(undo, i);
        NodeSet nodes = topology_memory_nodes(&undo->host->topology), own;

        if (record && record->mems.before) {
                id_set_convert(record->mems.before, &own);
                id_set_intersect(&nodes, &own);
        }
        return nodes;
}

static void add_own(IdTarget allowed, const IdSet *own) {
        IdSet had, both;

        if (!own)
                return;
        both = *own;
        id_view_convert((IdView){ allowed.words, allowed.n_words }, ID_TARGET(&had));
        id_set_limit(&both, &had);
        id_view_convert(id_set_is_empty(&both) ? ID_VIEW(own) : ID_VIEW(&both), allowed);
}

void undo_add_admin_limits(const Undoing *undo, const Instance *i, CpuSet *cpus, NodeSet *nodes) {
        const UndoRecord *record = admin_settings(undo, i);

        if (!record)
                return;
        add_own(ID_TARGET(cpus), record->cpus.before);
        add_own(ID_TARGET(nodes), record->mems.before);
}

/* --- and read again, when systemd has read its unit files --- */

/* Files of one unit that are read; one with more of them keeps what is known. */
enum { FILES_MAX = 16 };

/* What files set. Borrowed. */
typedef struct Setting {
        const char *key;
        IdSet set;
        const char *file; /* the last one that changed it; NULL: none */
        bool at_run_time; /* there is a value of run time beside */
} Setting;

/* What was set at run time, by `systemctl set-property --runtime` or by us. A transient unit has it
 * beside its own file. */
static bool admin_file_is_runtime(const char *path, const char *key) {
        static const char folder[] = "/run/systemd/";
        const char *name = strrchr(path, '/');
        const size_t n = strlen(key);

        return strncmp(path, folder, strlen(folder)) == 0 && name &&
               strncmp(name, "/50-", 4) == 0 && strncmp(name + 4, key, n) == 0 &&
               strcmp(name + 4 + n, ".conf") == 0;
}

static int admin_read_file(const Undoing *undo, const char *path, Setting *cpus, Setting *mems) {
        Setting *const settings[] = { cpus, mems };
        _cleanup_free_ char *text = NULL;
        int r;

        if (*path == '\0')
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(settings); i++)
                if (admin_file_is_runtime(path, settings[i]->key)) {
                        settings[i]->at_run_time = true;
                        return 0;
                }
        r = worker_read_script(undo->host->workers, &undo->host->sysroot, path, true, &text);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        for (size_t i = 0; i < ELEMENTSOF(settings); i++)
                if (unit_file_add(text, settings[i]->key, &settings[i]->set))
                        settings[i]->file = path;
        return 0;
}

/* Logs a change. A value that was set at run time before ours takes precedence over those of files
 * while it exists: `systemctl revert` removes it. */
static bool property_take(const Undoing *undo, const UndoRecord *record, UndoProperty *property,
                          const Setting *s) {
        const JournalFields fields = { .instance = record->instance };

        if (id_view_equal(undo_property_before(property), ID_VIEW(&s->set)) ||
            (property->origin == UNDO_RUNTIME && s->at_run_time))
                return false;
        if (undo_property_set(property, ID_VIEW(&s->set), UNDO_PERSISTENT) < 0)
                return false; /* at the next reload */
        if (id_set_is_empty(&s->set))
                journal_log(&undo->host->journal, LOG_NOTICE, &fields,
                            "%s: no file of %s sets %s= any more: it is not bound within that any "
                            "longer",
                            record->instance, record->unit, s->key);
        else
                journal_log(&undo->host->journal, LOG_NOTICE, &fields,
                            "%s: %s sets %s=%s, which systemd puts in force at each daemon-reload: "
                            "it is bound within that; systemctl revert %s removes what "
                            "set-property has set",
                            record->instance, s->file, s->key, id_set_list(&s->set), record->unit);
        return true;
}

static void admin_note(Undoing *undo, UndoRecord *record, const BusUnit *unit) {
        Setting cpus = { .key = "AllowedCPUs" }, mems = { .key = "AllowedMemoryNodes" };
        bool changed = false, writing, unset;
        int r = 0;

        if (record->restoring || strcmp(unit->load_state, "loaded") != 0 ||
            unit->n_drop_ins >= FILES_MAX)
                return;
        /* In the order in which systemd reads them. On v1 there is the limit alone. */
        if (record->cpus.noted) {
                r = admin_read_file(undo, unit->fragment, &cpus, &mems);
                for (size_t i = 0; i < unit->n_drop_ins && r >= 0; i++)
                        r = admin_read_file(undo, unit->drop_ins[i], &cpus, &mems);
        }
        /* What was read may be older than a limit that is being written. */
        writing = record->busy && record->limit.noted;
        record->read_late = r == -ETIME || writing;
        if (r < 0)
                return;
        /* Of the limit systemd has the value that counts already: one that is not ours stays. The
         * one before ours may be there since a daemon ended within the change. */
        if (record->limit.noted && !writing &&
            undo_record_limit_before(record) != unit->memory_max &&
            !undo_record_is_ours(record, UNIT_LIMIT, UNIT_BYTES(&unit->memory_max))) {
                undo_record_forget_limit(record);
                changed = true;
        } else if (record->limit.noted && !writing) {
                unset = record->limit.ours.n > 0 &&
                        undo_record_limit_last(record) != unit->memory_max;
                changed = unset != record->limit_unset;
                record->limit_unset = unset;
        }
        changed |= property_take(undo, record, &record->cpus, &cpus);
        changed |= property_take(undo, record, &record->mems, &mems);
        if (!changed)
                return;
        record->stale = true;
        (void)undo_write(&undo->records, record); /* else with the next change */
        REGISTRY_FOREACH(i, undo->registry)
        if (i->undo.record == record)
                instance_queue(i, WORK_ADMIN);
        host_queue(undo->host, HOST_WORK_PLAN);
}

static void admin_read_next(Undoing *undo);

static void on_read(int error, const BusUnit *unit, void *userdata) {
        Undoing *undo = userdata;
        UndoRecord *record = undo_of_unit(undo, undo->admin_unit);

        undo->admin_call = sd_bus_slot_unref(undo->admin_call);
        if (error == 0 && record)
                admin_note(undo, record, unit);
        admin_read_next(undo);
}

/* One after the other: a host has hundreds of them, and systemd is busy then. What fails is read at
 * the next reload. */
static void admin_read_next(Undoing *undo) {
        for (size_t i = 0; i < undo->records.n_records && !undo->admin_call; i++) {
                UndoRecord *record = undo->records.records[i];

                if (!record->read_again)
                        continue;
                record->read_again = false;
                free(undo->admin_unit);
                undo->admin_unit = strdup(record->unit);
                if (undo->admin_unit && backend_systemd_ensure_bus(&undo->host->backend) >= 0)
                        (void)bus_manager_read_unit(undo->host->backend.bus, undo->admin_unit,
                                                    on_read, undo, &undo->admin_call);
        }
}

static void admin_want_read(UndoRecord *record) {
        record->read_again |=
                record->unit && !record->scope && (record->cpus.noted || record->limit.noted);
}

void undo_admin_read(Undoing *undo, UndoRecord *record) {
        admin_want_read(record);
        admin_read_next(undo);
}

void undo_admin_read_all(Undoing *undo) {
        for (size_t i = 0; i < undo->records.n_records; i++)
                admin_want_read(undo->records.records[i]);
        admin_read_next(undo);
}

bool undo_admin_is_reading(const Undoing *undo, const UndoRecord *record) {
        return record->read_again ||
               (undo->admin_call && record == undo_of_unit(undo, undo->admin_unit));
}

void undo_admin_read_late(Undoing *undo) {
        for (size_t i = 0; i < undo->records.n_records; i++)
                if (undo->records.records[i]->read_late)
                        admin_want_read(undo->records.records[i]);
        admin_read_next(undo);
}

void undo_admin_end(Undoing *undo) {
        undo->admin_call = sd_bus_slot_unref(undo->admin_call);
        free(undo->admin_unit);
        undo->admin_unit = NULL;
}

/* --- as policies, where none are in force --- */

#define RATE_BYTES_PER_SEC (UINT64_C(256) << 20)

/* A name as a glob that matches it alone. */
static char *glob_escape(const char *name) {
        _cleanup_text_ Text text = { 0 };

        for (; *name; name++) {
                if (strchr("\\*?[", *name))
                        text_append(&text, "\\");
                text_append_bytes(&text, name, 1);
        }
        return text.error < 0 ? NULL : TAKE_PTR(text.data);
}

int undo_make_policies(const Undoing *undo, PolicySet *ret) {
        const Topology *topology = &undo->host->topology;
        const CpuSet online = topology_cpus(topology);
        _cleanup_policy_set_ PolicySet set = { 0 };

        policy_set_init(&set);
        set.policies = calloc(undo->records.n_records + 1, sizeof(*set.policies));
        if (!set.policies)
                return -ENOMEM;
        for (size_t i = 0; i < undo->records.n_records; i++) {
                const UndoRecord *record = undo->records.records[i];
                const IdSet last = undo_values_last(record->cpus.ours.n > 0 ? &record->cpus.ours
                                                                            : &record->given);
                Policy *p = &set.policies[set.n_policies];
                bool by_affinity = record->cpus.ours.n == 0;
                CpuSet cpus;
                NodeSet nodes;

                id_set_convert(&last, &cpus);
                id_set_intersect(&cpus, &online);
                nodes = topology_nodes_of(topology, &cpus);
                if (id_set_is_empty(&nodes) || (!record->unit && record->n_processes == 0))
                        continue;
                for (size_t k = 0; k < record->n_processes; k++)
                        by_affinity &= !record->processes[k].cpuset;
                set.n_policies++;
                *p = (Policy){
                        .max_instances = UINT32_MAX,
                        .place = { .count = 1, .nodes = nodes, .share = SHARE_SHARED },
                        .cpus = { .choice = CPUS_LIST, .list = cpus },
                        /* Without memory nodes it may have been `none`, `preferred`, or not yet
                         * bound. */
                        .memory = record->mems.ours.n > 0 ? MEMORY_BIND : MEMORY_NONE,
                        .memory_limit = undo_record_limit_last(record),
                        .migrate = MIGRATE_NONE,
                        .rate_bytes_per_sec = RATE_BYTES_PER_SEC,
                        .backend = by_affinity ? POLICY_BACKEND_AFFINITY : POLICY_BACKEND_AUTO,
                        .adopted = true,
                        .name = strdup(record->instance),
                        .file = strdup(""),
                        .match = { .containers = CONTAINERS_INCLUDED }, /* it was bound */
                };
                if (record->unit)
                        p->match.unit = glob_escape(record->unit);
                else
                        p->match.ids = calloc(record->n_processes, sizeof(*p->match.ids));
                if (!p->name || !p->file || (!p->match.unit && !p->match.ids))
                        return -ENOMEM;
                for (size_t k = 0; !record->unit && k < record->n_processes; k++)
                        p->match.ids[p->match.n_ids++] = record->processes[k].id;
        }
        *ret = TAKE_STRUCT(set);
        return 0;
}

/* --- the folder of undo records: opened at the start, or as soon as that is possible --- */

static void on_bad_file(const char *name, int error, void *userdata) {
        const Undoing *undo = userdata;
        const char *wrong = strerror(-error);

        switch (error) {
        case -EPERM:
                wrong = "it is not root's alone";
                break;
        case -ENOTSUP:
                wrong = "a newer version wrote it; it is kept, and what it describes is not "
                        "changed";
                break;
        case -EEXIST:
                wrong = "another record is for the same unit";
                break;
        case -EBADMSG:
        case -EFBIG:
                wrong = "it is not a record";
                break;
        }
        journal_log(&undo->host->journal, LOG_WARNING, NULL,
                    "The undo record %s/%s/%s is ignored: %s. This daemon cannot restore %s",
                    undo->host->args->runtime_dir, UNDO_FOLDER, name, wrong,
                    strcmp(name, UNDO_HOST_FILE) == 0 ? "the original settings of interrupts"
                                                      : "what it describes");
}

static bool may_be_needed(const Host *host) {
        return host->sysroot.live && !host->args->dry_run;
}

bool undo_repair_records(Undoing *undo) {
        int r = may_be_needed(undo->host) ? undo_repair(&undo->records, undo->host->runtime_fd) : 0;

        if (r != 0 && r != undo->repair_told)
                journal_log(&undo->host->journal, LOG_WARNING, NULL,
                            "Something else has removed or changed undo records in %s/%s: %s",
                            undo->host->args->runtime_dir, UNDO_FOLDER,
                            r > 0 ? "they are written again" : strerror(-r));
        undo->repair_told = r < 0 ? r : 0;
        return r > 0;
}

bool undo_is_open(const Undoing *undo) {
        return undo->records.dir_fd >= 0 || !may_be_needed(undo->host);
}

/* All or nothing: a part of the records would be taken for all that there are. */
static int undo_open_folder(Undoing *undo) {
        int r = undo_open(&undo->records, undo->host->runtime_fd);

        if (r >= 0)
                r = undo_load(&undo->records, on_bad_file, undo);
        if (r < 0) {
                undo_done(&undo->records);
                undo_init(&undo->records, &undo->host->sysroot);
                return r;
        }
        if (undo->records.n_records > 0)
                journal_log(&undo->host->journal, LOG_INFO, NULL,
                            "%zu undo records of an earlier start of the daemon are used",
                            undo->records.n_records);
        return 0;
}

int undo_start(Undoing *undo) {
        int r = may_be_needed(undo->host) ? undo_open_folder(undo) : 0;

        if (r == -ENOMEM)
                return r;
        if (r < 0)
                journal_log(&undo->host->journal, LOG_ERR, NULL,
                            "The undo records in %s/%s cannot be used: %s. Nothing is changed "
                            "until the original values can be saved there; correct the folder. It "
                            "is tried again at each reload and scan",
                            undo->host->args->runtime_dir, UNDO_FOLDER, strerror(-r));
        return 0;
}

/* Without the folder no record is made, so none is lost here. */
bool undo_start_late(Undoing *undo) {
        if (undo_is_open(undo) || undo_open_folder(undo) < 0)
                return false;
        journal_log(&undo->host->journal, LOG_NOTICE, NULL,
                    "The undo records in %s/%s can be used now", undo->host->args->runtime_dir,
                    UNDO_FOLDER);
        REGISTRY_FOREACH(i, undo->registry) {
                undo_adopt(undo, i);
                instance_queue(i, WORK_RECORD);
        }
        return true;
}
