#include <errno.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/unit-file.h"
#include "tidbnumad/worker/worker.h"

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
static bool is_runtime(const char *path, const char *key) {
        static const char folder[] = "/run/systemd/";
        const char *name = strrchr(path, '/');
        const size_t n = strlen(key);

        return strncmp(path, folder, strlen(folder)) == 0 && name &&
               strncmp(name, "/50-", 4) == 0 && strncmp(name + 4, key, n) == 0 &&
               strcmp(name + 4 + n, ".conf") == 0;
}

static int read_file(const Undoing *undo, const char *path, Setting *cpus, Setting *mems) {
        Setting *const settings[] = { cpus, mems };
        _cleanup_free_ char *text = NULL;
        int r;

        if (*path == '\0')
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(settings); i++)
                if (is_runtime(path, settings[i]->key)) {
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

/* In the order in which systemd reads them. */
static int read_files(const Undoing *undo, const BusUnit *unit, Setting *cpus, Setting *mems) {
        int r = unit->n_drop_ins < FILES_MAX ? read_file(undo, unit->fragment, cpus, mems) : -E2BIG;

        for (size_t i = 0; i < unit->n_drop_ins && r >= 0; i++)
                r = read_file(undo, unit->drop_ins[i], cpus, mems);
        return r;
}

static void log_change(const Undoing *undo, const UndoRecord *record, const Setting *s) {
        const JournalFields fields = { .instance = record->instance };
        char list[ID_SET_LIST_MAX];

        (void)id_set_render_list(&s->set, list, sizeof(list));
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
                            record->instance, s->file, s->key, list, record->unit);
}

/* A value that was set at run time before ours stands before those of files, as long as there is
 * one: `systemctl revert` removes it. */
static bool take(const Undoing *undo, const UndoRecord *record, UndoProperty *property,
                 const Setting *s) {
        if (id_view_equal(undo_property_before(property), ID_VIEW(&s->set)) ||
            (property->origin == UNDO_RUNTIME && s->at_run_time))
                return false;
        if (undo_property_set(property, ID_VIEW(&s->set), UNDO_PERSISTENT) < 0)
                return false; /* at the next reload */
        log_change(undo, record, s);
        return true;
}

/* Of the limit systemd has the value that counts already: one that is not ours stays. */
static bool take_limit(UndoRecord *record, uint64_t memory_max) {
        if (!record->limit_noted ||
            (record->limit.ours.n > 0 ? undo_record_limit_is_ours(record, memory_max)
                                      : undo_record_limit_before(record) == memory_max))
                return false;
        undo_record_forget_limit(record);
        return true;
}

static void admin_note(Undoing *undo, UndoRecord *record, const BusUnit *unit) {
        Setting cpus = { .key = "AllowedCPUs" }, mems = { .key = "AllowedMemoryNodes" };
        bool changed;

        if (record->releasing || !record->unit_noted || strcmp(unit->load_state, "loaded") != 0 ||
            read_files(undo, unit, &cpus, &mems) < 0)
                return;
        changed = take_limit(record, unit->memory_max);
        changed |= take(undo, record, &record->cpus, &cpus);
        changed |= take(undo, record, &record->mems, &mems);
        if (!changed)
                return;
        record->stale = true;
        (void)undo_write(&undo->records, record); /* else with the next change */
        ROSTER_FOREACH(i, undo->roster)
                if (i->undo.record == record)
                        instance_queue(i, WORK_ADMIN);
        host_mark(undo->host, HOST_MARK_PLAN);
}

static void read_next(Undoing *undo);

static void on_read(int error, const BusUnit *unit, void *userdata) {
        Undoing *undo = userdata;
        UndoRecord *record = undo_of_unit(undo, undo->admin_unit);

        undo->admin_call = sd_bus_slot_unref(undo->admin_call);
        if (error == 0 && record)
                admin_note(undo, record, unit);
        read_next(undo);
}

static int ask(Undoing *undo, const char *unit) {
        int r = backend_systemd_ensure_bus(&undo->host->backend);

        free(undo->admin_unit);
        undo->admin_unit = strdup(unit);
        if (!undo->admin_unit)
                return -ENOMEM;
        return r < 0 ? r
                     : bus_manager_read_unit(undo->host->backend.bus, unit, on_read, undo,
                                             &undo->admin_call);
}

/* One after the other: a host has hundreds of them, and systemd is busy then. */
static void read_next(Undoing *undo) {
        for (size_t i = 0; i < undo->records.n_records && !undo->admin_call; i++) {
                UndoRecord *record = undo->records.records[i];

                if (!record->read_again)
                        continue;
                record->read_again = false;
                (void)ask(undo, record->unit); /* else at the next reload */
        }
}

static void want(UndoRecord *record) {
        record->read_again |= record->unit && !record->scope && record->unit_noted;
}

void undo_admin_read(Undoing *undo, UndoRecord *record) {
        want(record);
        read_next(undo);
}

void undo_admin_read_all(Undoing *undo) {
        for (size_t i = 0; i < undo->records.n_records; i++)
                want(undo->records.records[i]);
        read_next(undo);
}

void undo_admin_end(Undoing *undo) {
        undo->admin_call = sd_bus_slot_unref(undo->admin_call);
        free(undo->admin_unit);
        undo->admin_unit = NULL;
}
