/* Records: plain data, and their text. What they are read from and put back to is the business of
 * the kinds: threads.c, cgroup1.c, unit.c and scope.c. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/change/record.h"
#include "tidbnumad/change/setting.h"

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

static void property_done(UndoProperty *p) {
        undo_values_clear(&p->ours);
        free(p->before);
        free(p->file);
        *p = (UndoProperty){ 0 };
}

static void process_entry_done(UndoProcess *p) {
        free(p->cpuset);
        free(p->masks);
        free(p->threads);
        *p = (UndoProcess){ 0 };
}

static void setting_done(UndoSetting *s) {
        free((char *)s->key.device);
        free(s->before);
        free(s->pci);
        *s = (UndoSetting){ 0 };
}

void undo_record_done(UndoRecord *record) {
        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++)
                property_done(&record->properties[i]);
        undo_values_clear(&record->given);
        for (size_t i = 0; i < record->n_processes; i++)
                process_entry_done(&record->processes[i]);
        free(record->processes);
        for (size_t i = 0; i < record->n_settings; i++)
                setting_done(&record->settings[i]);
        free(record->settings);
        irqbalance_setup_done(&record->irqbalance.own);
        free(record->instance);
        free(record->unit);
        free(record->scope);
        free(record->home);
        free(record->file);
        *record = (UndoRecord){ 0 };
}

UndoRecord *undo_record_free(UndoRecord *record) {
        if (record)
                undo_record_done(record);
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

const CpuSet *undo_process_mask(const UndoProcess *p, pid_t tid, uint64_t start_ticks) {
        const size_t at = ARRAY_LOWER_BOUND(p->n_threads, i, p->threads[i].last < tid);
        /* The number of a later thread proves nothing: it may have been another's. */
        const bool noted =
                start_ticks <= p->noted_ticks && at < p->n_threads && p->threads[at].first <= tid;
        const uint32_t mask = noted ? p->threads[at].mask : p->leader;

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

/* --- properties --- */

IdView undo_property_before(const UndoProperty *p) {
        static const IdSet none = { 0 };

        return ID_VIEW(p->before ? p->before : &none);
}

int undo_property_set(UndoProperty *p, IdView before, UndoOrigin origin) {
        IdSet *set = NULL;

        if (id_view_next(before, 0) >= 0) {
                set = malloc(sizeof(*set));
                if (!set)
                        return -ENOMEM;
                id_view_convert(before, ID_TARGET(set));
        }
        free(p->before);
        p->before = set;
        p->origin = set ? origin : UNDO_UNSET;
        p->noted = true;
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

/* --- before and after a change --- */

int undo_record_will_change(UndoRecord *record, const UndoChange *change, uint64_t now_ticks) {
        int r;

        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++) {
                UndoProperty *p = &record->properties[i];

                if (change->properties[i].n_words == 0)
                        continue;
                r = undo_values_add(&p->ours, change->properties[i]);
                if (r < 0)
                        return r;
                if (i == UNIT_LIMIT && record->limit_unset && change->exclusive)
                        r = 1; /* known, but a start reads the property alone */
                record->limit_unset |= i == UNIT_LIMIT && r > 0 && !change->exclusive;
                record->stale |= r > 0;
                if (r > 0)
                        p->since_ticks = now_ticks;
        }
        if (change->given.n_words == 0)
                return 0;
        r = undo_values_add(&record->given, change->given);
        for (size_t i = 0; r > 0 && i < record->n_processes; i++)
                record->processes[i].given = false; /* others, that it has not got yet */
        record->stale |= r > 0;
        return r < 0 ? r : 0;
}

void undo_record_did_change(UndoRecord *record, const UndoChange *change) {
        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++)
                if (change->properties[i].n_words > 0)
                        undo_values_confirm(&record->properties[i].ours);
        if (change->exclusive && change->properties[UNIT_LIMIT].n_words == 0)
                undo_record_forget_limit(record);
        record->limit_unset &= !change->exclusive;
        if (change->given.n_words == 0)
                return;
        undo_values_confirm(&record->given);
        for (size_t k = 0; k < change->n_members; k++) {
                UndoProcess *entry = undo_record_find(record, &change->members[k].process.id);

                if (entry && !entry->given)
                        entry->given = record->stale = true;
        }
}

bool undo_record_is_ours(const UndoRecord *record, UnitProperty property, IdView value) {
        return record && record->properties[property].noted &&
               undo_values_have(&record->properties[property].ours, value);
}

IdView undo_record_own(const UndoRecord *record, UnitProperty property, IdView value) {
        return undo_record_is_ours(record, property, value)
                       ? undo_property_before(&record->properties[property])
                       : value;
}

uint64_t unit_bytes(IdView value) {
        return id_view_next(value, 0) < 0 ? UINT64_MAX : value.words[0];
}

uint64_t undo_record_limit_before(const UndoRecord *record) {
        return unit_bytes(undo_property_before(&record->limit));
}

uint64_t undo_record_limit_last(const UndoRecord *record) {
        return undo_values_last(&record->limit.ours).words[0];
}

void undo_record_forget_limit(UndoRecord *record) {
        record->stale |= record->limit.noted;
        property_done(&record->limit);
}

bool undo_record_has_unit(const UndoRecord *record) {
        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++)
                if (record->properties[i].noted && record->properties[i].ours.n > 0)
                        return true;
        return false;
}

bool undo_record_has_changes(const UndoRecord *record) {
        return undo_record_has_unit(record) || record->given.n > 0 || record->scope;
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
        record->cpus.noted = record->mems.noted = false;
        record->stale = true;
        return 0;
}

const char *undo_record_unit(const UndoRecord *record) {
        return record->scope ? record->scope : record->unit;
}

/* All processes in a scope must be moved back to their control group, also a helper that outlives
 * its server. */
bool undo_record_is_empty(const UndoRecord *record) {
        return record->n_processes == 0 && !undo_record_has_unit(record) && !record->scope &&
               record->n_settings == 0 && !record->irqbalance.known;
}

/* --- settings of the host --- */

UndoSetting *undo_record_find_setting(const UndoRecord *record, const SettingKey *key) {
        for (size_t i = 0; i < record->n_settings; i++)
                if (setting_key_equal(&record->settings[i].key, key))
                        return &record->settings[i];
        return NULL;
}

int undo_record_add_setting(UndoRecord *record, const SettingKey *key, const char *pci,
                            const char *before) {
        UndoSetting s = { .key = *key };

        if (ARRAY_RESERVE(record->settings, record->settings_allocated, record->n_settings + 1) < 0)
                return -ENOMEM;
        s.key.device = strdup(key->device);
        s.before = strdup(before);
        s.pci = pci ? strdup(pci) : NULL;
        if (!s.key.device || !s.before || (pci && !s.pci)) {
                setting_done(&s);
                return -ENOMEM;
        }
        record->settings[record->n_settings++] = s;
        record->stale = true;
        return 0;
}

void undo_record_remove_setting(UndoRecord *record, size_t index) {
        setting_done(&record->settings[index]);
        ARRAY_REMOVE(record->settings, record->n_settings, index);
        record->stale = true;
}

void undo_record_set_irqbalance(UndoRecord *record, UndoBalance *balance) {
        irqbalance_setup_done(&record->irqbalance.own);
        record->irqbalance = TAKE_STRUCT(*balance);
        record->irqbalance.known = true;
        record->stale = true;
}

void undo_record_forget_irqbalance(UndoRecord *record) {
        record->stale |= record->irqbalance.known;
        irqbalance_setup_done(&record->irqbalance.own);
        record->irqbalance = (UndoBalance){ 0 };
}

/* --- values as JSON --- */

/* A list that cannot be had in full is none: NULL, and stays so. */
static void list_append(json_t **list, json_t *item) {
        if (json_array_append_new(*list, item) < 0) {
                json_decref(*list);
                *list = NULL;
        }
}

/* Paths and names are bytes, JSON is UTF-8: what is not plain ASCII is written as %ff. NULL is
 * null.
 */
static json_t *record_from_bytes(const char *bytes) {
        _cleanup_text_ Text text = { 0 };

        if (!bytes)
                return json_null();
        text_append(&text, "");
        for (const unsigned char *p = (const unsigned char *)bytes; *p; p++)
                text_appendf(&text, *p <= 0x20 || *p >= 0x7f || *p == '%' ? "%%%02x" : "%c", *p);
        return text.error ? NULL : json_string(text.data);
}

json_t *record_from_set(IdView set) {
        char list[ID_SET_LIST_ANY];

        return id_view_render_list(set, list, sizeof(list)) < 0 ? NULL : json_string(list);
}

/* --- and back --- */

static int hex_digit(char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In memory that the caller owns. Null, none, and NUL bytes are refused. */
static int record_to_bytes(const json_t *json, char **ret) {
        const char *text = json_string_value(json);
        _cleanup_free_ char *bytes = text ? malloc(strlen(text) + 1) : NULL;
        char *out = bytes;

        if (!bytes)
                return text ? -ENOMEM : -EBADMSG;
        for (const char *p = text; *p; p++) {
                int high = *p == '%' ? hex_digit(p[1]) : -1, low = high >= 0 ? hex_digit(p[2]) : -1;

                if (*p == '%' && (low < 0 || (high == 0 && low == 0)))
                        return -EBADMSG;
                *out++ = *p == '%' ? (char)(high << 4 | low) : *p;
                p += *p == '%' ? 2 : 0;
        }
        *out = '\0';
        if (*bytes == '\0')
                return -EBADMSG;
        *ret = TAKE_PTR(bytes);
        return 0;
}

int record_to_set(const json_t *json, IdTarget ret) {
        const char *text = json_string_value(json);

        return text && id_target_parse_list(text, ret) == 0 ? 0 : -EBADMSG;
}

/* Not negative. */
static int record_to_number(const json_t *json, uint64_t *ret) {
        if (!json_is_integer(json) || json_integer_value(json) < 0)
                return -EBADMSG;
        *ret = (uint64_t)json_integer_value(json);
        return 0;
}

/* PID_MAX_LIMIT of 64-bit kernels, proc(5). */
#define PID_MAX ((uint64_t)4 << 20)

static int record_to_pid(const json_t *json, pid_t *ret) {
        uint64_t pid;

        if (record_to_number(json, &pid) < 0 || pid == 0 || pid > PID_MAX)
                return -EBADMSG;
        *ret = (pid_t)pid;
        return 0;
}

static json_t *record_from_process(const ProcessId *id) {
        return json_pack("{s:i, s:I}", "pid", id->pid, "start", (json_int_t)id->start_ticks);
}

static int record_to_process(const json_t *json, ProcessId *ret) {
        ProcessId id;

        if (record_to_pid(json_object_get(json, "pid"), &id.pid) < 0 ||
            record_to_number(json_object_get(json, "start"), &id.start_ticks) < 0)
                return -EBADMSG;
        *ret = id;
        return 0;
}

/* --- the form of all files --- */

/* json_pack() takes over each `o`, and fails when one of them is NULL. */
void record_append(json_t **list, const char *kind, json_t *target, json_t *before, json_t *ours) {
        list_append(list, json_pack("{s:s, s:o, s:o, s:o}", "kind", kind, "target", target,
                                    "before", before, "ours", ours));
}

int record_render(const char *instance, const char *unit, json_t *settings, char **ret,
                  size_t *ret_size) {
        _cleanup_(json_decrefp) json_t *root =
                json_pack("{s:i, s:o}", "version", RECORD_VERSION, "settings", settings);
        char *text;

        if (!root ||
            (instance && (json_object_set_new(root, "instance", record_from_bytes(instance)) < 0 ||
                          json_object_set_new(root, "unit", record_from_bytes(unit)) < 0)))
                return -ENOMEM;
        text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
        if (!text)
                return -ENOMEM;
        *ret = text;
        *ret_size = strlen(text);
        return 0;
}

int record_parse(const char *text, size_t size, json_t **ret) {
        _cleanup_(json_decrefp) json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        const json_t *version = json_object_get(root, "version");

        if (!json_is_integer(version) || json_integer_value(version) < 1)
                return -EBADMSG;
        if (json_integer_value(version) > RECORD_VERSION)
                return -ENOTSUP;
        *ret = TAKE_PTR(root);
        return 0;
}

int record_read(const json_t *root, RecordReader reader, void *userdata) {
        const json_t *list = json_object_get(root, "settings");
        json_t *json;
        size_t i;

        if (!json_is_array(list))
                return -EBADMSG;
        json_array_foreach(list, i, json) {
                RecordEntry entry;
                int r = json_unpack(json, "{s:s, s:o, s:o, s:o}", "kind", &entry.kind, "target",
                                    &entry.target, "before", &entry.before, "ours", &entry.ours);

                r = r < 0 ? -EBADMSG : reader(&entry, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- the settings of an instance --- */

/* Of each kind: its entries, from the record and back. */
typedef struct Kind {
        const char *name;
        void (*append)(json_t **list, const struct Kind *kind, const UndoRecord *r);
        int (*read)(const RecordEntry *e, const struct Kind *kind, UndoRecord *r);

        /* Of a property of a unit: what its value of before is called, and its form. */
        const char *key;
        UnitProperty property;
        json_t *(*from_value)(IdView value);
        int (*to_value)(const json_t *json, IdTarget ret);
} Kind;

#define KIND_CGROUP1 "cgroup1"

static json_t *from_limit(IdView bytes) {
        return id_view_next(bytes, 0) < 0 ? json_null() : json_integer((json_int_t)bytes.words[0]);
}

static int to_limit(const json_t *json, IdTarget ret) {
        uint64_t bytes = UINT64_MAX;

        if (!json || (!json_is_null(json) && record_to_number(json, &bytes) < 0))
                return -EBADMSG;
        id_view_convert(UNIT_BYTES(&bytes), ret);
        return 0;
}

static json_t *from_values(const UndoValues *v, json_t *(*from_value)(IdView value)) {
        json_t *list = json_array();

        for (size_t i = 0; i < v->n; i++)
                list_append(&list, from_value(ID_VIEW(&v->values[i])));
        return list;
}

/* No value is the empty set. */
static int to_values(const json_t *json, int (*to_value)(const json_t *json, IdTarget ret),
                     UndoValues *ret) {
        const size_t n = json_array_size(json);

        if (!json_is_array(json) || n > UNDO_VALUES_MAX || ret->n > 0)
                return -EBADMSG;
        if (ARRAY_RESERVE(ret->values, ret->allocated, n) < 0)
                return -ENOMEM;
        for (; ret->n < n; ret->n++) {
                IdSet *value = &ret->values[ret->n];

                if (to_value(json_array_get(json, ret->n), ID_TARGET(value)) < 0 ||
                    id_set_is_empty(value))
                        return -EBADMSG;
        }
        return 0;
}

/* --- a scope --- */

static void append_scope(json_t **list, const Kind *kind, const UndoRecord *r) {
        if (r->scope)
                record_append(list, kind->name, record_from_bytes(r->scope),
                              record_from_bytes(r->home), json_null());
}

static int read_scope(const RecordEntry *e, _unused_ const Kind *kind, UndoRecord *r) {
        int error = r->scope || r->unit ? -EBADMSG : record_to_bytes(e->target, &r->scope);

        if (error >= 0)
                error = record_to_bytes(e->before, &r->home);
        if (error < 0)
                return error;
        return unit_is_own_scope(r->scope) && !strchr(r->scope, '/') && r->home[0] == '/'
                       ? 0
                       : -EBADMSG;
}

/* --- properties of the unit --- */

static void append_property(json_t **list, const Kind *kind, const UndoRecord *r) {
        const UndoProperty *p = &r->properties[kind->property];
        const bool is_limit = kind->property == UNIT_LIMIT;

        if (p->noted)
                record_append(list, kind->name, record_from_bytes(undo_record_unit(r)),
                              json_pack("{s:o, s:i, s:o, s:o*}", kind->key,
                                        kind->from_value(undo_property_before(p)), "origin",
                                        (int)p->origin, is_limit ? "since" : "file",
                                        is_limit  ? json_integer((json_int_t)p->since_ticks)
                                        : p->file ? record_from_set(ID_VIEW(p->file))
                                                  : json_null(),
                                        "high",
                                        p->brake_before > 0
                                                ? json_integer((json_int_t)p->brake_before)
                                                : NULL),
                              from_values(&p->ours, kind->from_value));
}

static int read_property(const RecordEntry *e, const Kind *kind, UndoRecord *r) {
        const json_t *origin = json_object_get(e->before, "origin"), *file, *high;
        const json_int_t value = json_is_integer(origin) ? json_integer_value(origin) : -1;
        const char *unit = undo_record_unit(r);
        UndoProperty *p = &r->properties[kind->property];
        _cleanup_free_ char *target = NULL;
        IdSet before;
        int error = record_to_bytes(e->target, &target);

        if (error < 0)
                return error;
        if (!unit || strcmp(target, unit) != 0 || p->noted || value < UNDO_UNSET ||
            value > UNDO_PERSISTENT ||
            kind->to_value(json_object_get(e->before, kind->key), ID_TARGET(&before)) < 0 ||
            id_set_is_empty(&before) != (value == UNDO_UNSET))
                return -EBADMSG;
        file = json_object_get(e->before, "file");
        high = json_object_get(e->before, "high"); /* where there was one */
        if (kind->property == UNIT_LIMIT)
                error = record_to_number(json_object_get(e->before, "since"), &p->since_ticks);
        else if (!json_is_null(file)) {
                p->file = calloc(1, sizeof(*p->file));
                error = p->file ? record_to_set(file, ID_TARGET(p->file)) : -ENOMEM;
        }
        if (error >= 0 && high)
                error = record_to_number(high, &p->brake_before);
        if (error >= 0)
                error = undo_property_set(p, ID_VIEW(&before), (UndoOrigin)value);
        return error < 0 ? error : to_values(e->ours, kind->to_value, &p->ours);
}

/* --- threads, and their groups --- */

static void append_given(json_t **list, const Kind *kind, const UndoRecord *r) {
        if (r->given.n > 0)
                record_append(list, kind->name, json_null(), json_null(),
                              from_values(&r->given, record_from_set));
}

static int read_given(const RecordEntry *e, _unused_ const Kind *kind, UndoRecord *r) {
        return to_values(e->ours, record_to_set, &r->given);
}

static json_t *from_mask(uint32_t mask) {
        return mask == UNDO_FOLLOWS ? json_null() : json_integer((json_int_t)mask);
}

static void append_threads(json_t **list, const Kind *kind, const UndoRecord *r) {
        for (size_t i = 0; i < r->n_processes; i++) {
                const UndoProcess *p = &r->processes[i];
                json_t *masks = json_array(), *threads = json_array();

                for (size_t k = 0; k < p->n_masks; k++)
                        list_append(&masks, record_from_set(ID_VIEW(&p->masks[k])));
                /* [first, last, mask] each: thousands of threads are mostly one. */
                for (size_t k = 0; k < p->n_threads; k++)
                        list_append(&threads,
                                    json_pack("[i, i, o]", p->threads[k].first, p->threads[k].last,
                                              from_mask(p->threads[k].mask)));
                record_append(list, kind->name, record_from_process(&p->id),
                              json_pack("{s:I, s:b, s:b, s:o, s:o, s:o}", "noted",
                                        (json_int_t)p->noted_ticks, "masks_set", p->masks_set,
                                        "given", p->given, "leader", from_mask(p->leader), "masks",
                                        masks, "threads", threads),
                              json_null());
                if (p->cpuset)
                        record_append(list, KIND_CGROUP1, record_from_process(&p->id),
                                      record_from_bytes(p->cpuset), json_null());
        }
}

static int to_mask(const UndoProcess *p, const json_t *json, uint32_t *ret) {
        json_int_t value = json_is_integer(json) ? json_integer_value(json) : -1;

        if (!json_is_null(json) && (value < 0 || (size_t)value >= p->n_masks))
                return -EBADMSG;
        *ret = json_is_null(json) ? UNDO_FOLLOWS : (uint32_t)value;
        return 0;
}

static int read_threads(const RecordEntry *e, _unused_ const Kind *kind, UndoRecord *r) {
        const json_t *noted, *leader, *masks, *threads;
        size_t n_masks, n_threads;
        int masks_set, given;
        UndoProcess *p;
        ProcessId id;

        if (json_unpack((json_t *)e->before, "{s:o, s:b, s:b, s:o, s:o, s:o}", "noted", &noted,
                        "masks_set", &masks_set, "given", &given, "leader", &leader, "masks",
                        &masks, "threads", &threads) < 0 ||
            !json_is_array(masks) || !json_is_array(threads) ||
            record_to_process(e->target, &id) < 0 || undo_record_find(r, &id))
                return -EBADMSG;
        if (undo_record_add(r, &id, &p) < 0)
                return -ENOMEM;
        if (record_to_number(noted, &p->noted_ticks) < 0)
                return -EBADMSG;
        p->masks_set = masks_set;
        p->given = given;
        n_masks = json_array_size(masks);
        n_threads = json_array_size(threads);
        if (ARRAY_RESERVE(p->masks, p->masks_allocated, n_masks) < 0 ||
            ARRAY_RESERVE(p->threads, p->threads_allocated, n_threads) < 0)
                return -ENOMEM;
        for (; p->n_masks < n_masks; p->n_masks++) {
                CpuSet *mask = &p->masks[p->n_masks];

                if (record_to_set(json_array_get(masks, p->n_masks), ID_TARGET(mask)) < 0 ||
                    id_set_is_empty(mask))
                        return -EBADMSG;
        }
        for (pid_t before = 0; p->n_threads < n_threads; p->n_threads++) {
                const json_t *entry = json_array_get(threads, p->n_threads);
                UndoThreads *t = &p->threads[p->n_threads];

                if (json_array_size(entry) != 3 ||
                    record_to_pid(json_array_get(entry, 0), &t->first) < 0 ||
                    record_to_pid(json_array_get(entry, 1), &t->last) < 0 ||
                    to_mask(p, json_array_get(entry, 2), &t->mask) < 0 || t->first <= before ||
                    t->last < t->first)
                        return -EBADMSG;
                before = t->last;
        }
        return to_mask(p, leader, &p->leader);
}

static int read_cgroup1(const RecordEntry *e, _unused_ const Kind *kind, UndoRecord *r) {
        UndoProcess *p;
        ProcessId id;

        if (record_to_process(e->target, &id) < 0 || !(p = undo_record_find(r, &id)) || p->cpuset)
                return -EBADMSG;
        return record_to_bytes(e->before, &p->cpuset);
}

/* --- settings of the host. The text is not trusted --- */

#define KIND_IRQBALANCE "irqbalance"

static int to_bytes_or_none(const json_t *json, char **ret) {
        return json_is_null(json) ? 0 : record_to_bytes(json, ret);
}

static int to_u32(const json_t *json, uint32_t *ret) {
        uint64_t value;

        if (record_to_number(json, &value) < 0 || value > INT_MAX)
                return -EBADMSG;
        *ret = (uint32_t)value;
        return 0;
}

static int read_setting(const RecordEntry *e, UndoRecord *r) {
        _cleanup_free_ char *device = NULL, *before = NULL, *pci = NULL;
        char path[SETTING_TEXT_MAX];
        SettingKey key = { 0 };
        SettingValue value;
        const char *text;
        int error;

        if (setting_kind_from_string(e->kind, &key.kind) < 0 ||
            to_u32(json_object_get(e->target, "number"), &key.number) < 0 ||
            to_u32(json_object_get(e->target, "ifindex"), &key.ifindex) < 0)
                return -EBADMSG;
        error = to_bytes_or_none(json_object_get(e->target, "device"), &device);
        if (error >= 0)
                error = to_bytes_or_none(json_object_get(e->target, "pci"), &pci);
        if (error >= 0)
                error = to_bytes_or_none(e->before, &before);
        if (error < 0)
                return error;
        key.device = device ? device : "";
        text = before ? before : "";
        /* Only what could have been written by us is ever written to the kernel. */
        if (undo_record_find_setting(r, &key) || setting_path(&key, path) < 0 ||
            setting_is_queue(key.kind) != (key.ifindex > 0) || strlen(text) >= SETTING_TEXT_MAX ||
            setting_parse(key.kind, text, &value) < 0)
                return -EBADMSG;
        return undo_record_add_setting(r, &key, pci, text);
}

static int read_irqbalance(const RecordEntry *e, UndoRecord *r) {
        const json_t *irqs = json_object_get(e->before, "irqs");
        const size_t n = json_array_size(irqs);
        IrqbalanceSetup *own = &r->irqbalance.own;

        if (r->irqbalance.known || !json_is_array(irqs) ||
            record_to_process(e->target, &r->irqbalance.id) < 0 ||
            record_to_set(json_object_get(e->before, "cpus"), ID_TARGET(&own->banned_cpus)) < 0)
                return -EBADMSG;
        r->irqbalance.known = true;
        own->banned_irqs = calloc(n + 1, sizeof(*own->banned_irqs));
        if (!own->banned_irqs)
                return -ENOMEM;
        for (; own->n_banned_irqs < n; own->n_banned_irqs++)
                if (to_u32(json_array_get(irqs, own->n_banned_irqs),
                           &own->banned_irqs[own->n_banned_irqs]) < 0)
                        return -EBADMSG;
        return 0;
}

/* --- all of them; one invalid value makes the whole text invalid --- */

/* In the order of a text: a scope is the unit of what follows, and a process has an entry of its
 * threads before one of its group, which append_threads() adds. */
static const Kind KINDS[] = {
        { "scope", append_scope, read_scope },
        { "unit-cpus", append_property, read_property, "set", UNIT_CPUS, record_from_set,
          record_to_set },
        { "unit-mems", append_property, read_property, "set", UNIT_MEMS, record_from_set,
          record_to_set },
        /* The CPUs that threads were given, of all processes together. */
        { "cpus", append_given, read_given },
        { "threads", append_threads, read_threads },
        { KIND_CGROUP1, NULL, read_cgroup1 },
        { "unit-memory-max", append_property, read_property, "bytes", UNIT_LIMIT, from_limit,
          to_limit },
};

int undo_text_render(const UndoRecord *r, char **ret, size_t *ret_size) {
        const IrqbalanceSetup *own = &r->irqbalance.own;
        json_t *list = json_array(), *irqs;

        /* No text is null. */
        for (size_t i = 0; !r->instance && i < r->n_settings; i++) {
                const UndoSetting *s = &r->settings[i];

                record_append(&list, setting_kind_to_string(s->key.kind),
                              json_pack("{s:o, s:I, s:I, s:o}", "device",
                                        record_from_bytes(*s->key.device ? s->key.device : NULL),
                                        "number", (json_int_t)s->key.number, "ifindex",
                                        (json_int_t)s->key.ifindex, "pci",
                                        record_from_bytes(s->pci)),
                              record_from_bytes(*s->before ? s->before : NULL), json_null());
        }
        if (!r->instance && r->irqbalance.known) {
                irqs = json_array();
                for (size_t i = 0; i < own->n_banned_irqs; i++)
                        list_append(&irqs, json_integer(own->banned_irqs[i]));
                record_append(&list, KIND_IRQBALANCE, record_from_process(&r->irqbalance.id),
                              json_pack("{s:o, s:o}", "cpus",
                                        record_from_set(ID_VIEW(&own->banned_cpus)), "irqs", irqs),
                              json_null());
        }
        for (size_t i = 0; r->instance && i < ELEMENTSOF(KINDS); i++)
                if (KINDS[i].append)
                        KINDS[i].append(&list, &KINDS[i], r);
        return record_render(r->instance, r->unit, list, ret, ret_size);
}

static int read_entry(const RecordEntry *e, void *userdata) {
        const UndoRecord *r = userdata;

        if (!r->instance)
                return strcmp(e->kind, KIND_IRQBALANCE) == 0 ? read_irqbalance(e, userdata)
                                                             : read_setting(e, userdata);
        for (size_t i = 0; i < ELEMENTSOF(KINDS); i++)
                if (strcmp(KINDS[i].name, e->kind) == 0)
                        return KINDS[i].read(e, &KINDS[i], userdata);
        return -EBADMSG;
}

int undo_text_parse(const char *text, size_t size, UndoRecord **ret) {
        _cleanup_(undo_record_freep) UndoRecord *r = calloc(1, sizeof(*r));
        _cleanup_(json_decrefp) json_t *root = NULL;
        int error = r ? record_parse(text, size, &root) : -ENOMEM;

        if (error >= 0 && json_object_get(root, "instance"))
                error = record_to_bytes(json_object_get(root, "instance"), &r->instance);
        if (error >= 0 && r->instance && !json_is_null(json_object_get(root, "unit")))
                error = record_to_bytes(json_object_get(root, "unit"), &r->unit);
        if (error >= 0)
                error = record_read(root, read_entry, r);
        if (error < 0)
                return error;
        /* Half of a unit is nothing. */
        if (r->cpus.noted != r->mems.noted || !r->cpus.file != !r->mems.file)
                return -EBADMSG;
        r->stale = false;
        *ret = TAKE_PTR(r);
        return 0;
}
