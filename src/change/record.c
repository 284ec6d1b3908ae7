/* Records: plain data, and their text. What they are read from and put back to is the business of
 * the kinds: threads.c, cgroup1.c, unit.c and scope.c. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/change/record.h"

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

/* --- values as JSON --- */

void undo_json_append(json_t **list, json_t *item) {
        if (json_array_append_new(*list, item) < 0) {
                json_decref(*list);
                *list = NULL;
        }
}

/* Paths and names are bytes, JSON is UTF-8: what is not plain ASCII is written as %ff. */
json_t *undo_json_from_bytes(const char *bytes) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "");
        for (const unsigned char *p = (const unsigned char *)bytes; *p; p++)
                text_appendf(&text, *p <= 0x20 || *p >= 0x7f || *p == '%' ? "%%%02x" : "%c", *p);
        return text.error ? NULL : json_string(text.data);
}

/* Of any length: a list that cannot be written in full must not be written at all. */
json_t *undo_json_from_set(IdView set) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "");
        for (int id = id_view_next(set, 0), end; id >= 0; id = id_view_next(set, (uint32_t)end)) {
                for (end = id + 1; id_view_has(set, (uint32_t)end);)
                        end++;
                text_appendf(&text, end == id + 1 ? "%s%d" : "%s%d-%d", text.length ? "," : "", id,
                             end - 1);
        }
        return text.error ? NULL : json_string(text.data);
}

/* --- and back --- */

static int hex(char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int undo_json_to_bytes(const json_t *json, char **ret) {
        const char *text = json_string_value(json);
        _cleanup_free_ char *bytes = text ? malloc(strlen(text) + 1) : NULL;
        char *out = bytes;

        if (!bytes)
                return text ? -ENOMEM : -EBADMSG;
        for (const char *p = text; *p; p++) {
                int high = *p == '%' ? hex(p[1]) : -1, low = high >= 0 ? hex(p[2]) : -1;

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

int undo_json_to_set(const json_t *json, IdTarget ret) {
        const char *text = json_string_value(json);

        return text && id_target_parse_list(text, ret) == 0 ? 0 : -EBADMSG;
}

int undo_json_to_ticks(const json_t *json, uint64_t *ret) {
        if (!json_is_integer(json) || json_integer_value(json) < 0)
                return -EBADMSG;
        *ret = (uint64_t)json_integer_value(json);
        return 0;
}

/* --- any record as text --- */

int undo_json_render(json_t *record, char **ret, size_t *ret_size) {
        _cleanup_(json_decrefp) json_t *owned = record;
        char *text;

        if (!owned || json_object_set_new(owned, "version", json_integer(UNDO_VERSION)) < 0)
                return -ENOMEM;
        text = json_dumps(owned, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
        if (!text)
                return -ENOMEM;
        *ret = text;
        *ret_size = strlen(text);
        return 0;
}

int undo_json_parse(const char *text, size_t size, json_t **ret) {
        _cleanup_(json_decrefp) json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        const json_t *version = json_object_get(root, "version");
        json_t *record = root;

        if (!json_is_integer(version) || json_integer_value(version) < 1)
                return -EBADMSG;
        if (json_integer_value(version) > UNDO_VERSION)
                return -ENOTSUP;
        if (json_integer_value(version) == 1) /* the daemon before an upgrade wrote it */
                record = json_object_get(root, "record");
        if (!json_is_object(record))
                return -EBADMSG;
        *ret = json_incref(record);
        return 0;
}

/* --- a record as JSON --- */

static json_t *from_name(const char *name) {
        return name ? undo_json_from_bytes(name) : json_null();
}

static json_t *from_mask(uint32_t mask) {
        return mask == UNDO_FOLLOWS ? json_null() : json_integer((json_int_t)mask);
}

static json_t *from_values(const UndoValues *v) {
        json_t *list = json_array();

        for (size_t i = 0; i < v->n; i++)
                undo_json_append(&list, undo_json_from_set(ID_VIEW(&v->values[i])));
        return list;
}

/* json_pack() takes over each `o`, and fails when one of them is NULL. */
static json_t *from_property(const UndoProperty *p) {
        return json_pack("{s:o, s:i, s:o}", "before", undo_json_from_set(ID_VIEW(&p->before)),
                         "origin", (int)p->origin, "ours", from_values(&p->ours));
}

static json_t *from_files(const UndoFiles *f) {
        if (!f)
                return json_null();
        return json_pack("{s:o, s:o}", "cpus", undo_json_from_set(ID_VIEW(&f->cpus)), "mems",
                         undo_json_from_set(ID_VIEW(&f->mems)));
}

static json_t *from_unit(const UndoRecord *r) {
        if (!r->unit_noted)
                return json_null();
        return json_pack("{s:o, s:o, s:o}", "cpus", from_property(&r->cpus), "mems",
                         from_property(&r->mems), "files", from_files(r->files));
}

/* [first, last, mask] each: thousands of threads are mostly one. */
static json_t *from_threads(const UndoProcess *p) {
        json_t *list = json_array();

        for (size_t i = 0; i < p->n_threads; i++) {
                const UndoThreads *t = &p->threads[i];

                undo_json_append(&list,
                                 json_pack("[i, i, o]", t->first, t->last, from_mask(t->mask)));
        }
        return list;
}

static json_t *from_masks(const UndoProcess *p) {
        json_t *list = json_array();

        for (size_t i = 0; i < p->n_masks; i++)
                undo_json_append(&list, undo_json_from_set(ID_VIEW(&p->masks[i])));
        return list;
}

static json_t *from_process(const UndoProcess *p) {
        return json_pack("{s:i, s:I, s:I, s:o, s:b, s:b, s:o, s:o, s:o}", "pid", p->id.pid, "start",
                         (json_int_t)p->id.start_ticks, "noted", (json_int_t)p->noted_ticks,
                         "cpuset", from_name(p->cpuset), "masks_set", p->masks_set, "given",
                         p->given, "leader", from_mask(p->leader), "masks", from_masks(p),
                         "threads", from_threads(p));
}

static json_t *from_processes(const UndoRecord *r) {
        json_t *list = json_array();

        for (size_t i = 0; i < r->n_processes; i++)
                undo_json_append(&list, from_process(&r->processes[i]));
        return list;
}

int undo_text_render(const UndoRecord *r, char **ret, size_t *ret_size) {
        json_t *record =
                json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "instance",
                          undo_json_from_bytes(r->instance), "service", from_name(r->unit), "scope",
                          from_name(r->scope), "home", from_name(r->home), "unit", from_unit(r),
                          "given", from_values(&r->given), "processes", from_processes(r));

        return undo_json_render(record, ret, ret_size);
}

/* --- from JSON; one invalid value makes the whole text invalid --- */

/* PID_MAX_LIMIT of 64-bit kernels, proc(5). */
#define PID_MAX ((json_int_t)4 << 20)

static int to_bytes_or_none(const json_t *json, char **ret) {
        return json_is_null(json) ? 0 : undo_json_to_bytes(json, ret);
}

/* No value is the empty set. */
static int to_values(const json_t *json, UndoValues *ret) {
        const size_t n = json_array_size(json);

        if (!json_is_array(json) || n > UNDO_VALUES_MAX)
                return -EBADMSG;
        if (ARRAY_RESERVE(ret->values, ret->allocated, n) < 0)
                return -ENOMEM;
        for (; ret->n < n; ret->n++) {
                IdSet *value = &ret->values[ret->n];

                if (undo_json_to_set(json_array_get(json, ret->n), ID_TARGET(value)) < 0 ||
                    id_set_is_empty(value))
                        return -EBADMSG;
        }
        return 0;
}

static int to_pid(const json_t *json, pid_t *ret) {
        json_int_t value = json_is_integer(json) ? json_integer_value(json) : 0;

        if (value <= 0 || value > PID_MAX)
                return -EBADMSG;
        *ret = (pid_t)value;
        return 0;
}

static int to_bool(const json_t *json, bool *ret) {
        if (!json_is_boolean(json))
                return -EBADMSG;
        *ret = json_is_true(json);
        return 0;
}

/* --- the scope --- */

/* Records of versions before scopes have neither key. One of the two keys alone is invalid. */
static int to_scope(const json_t *json, UndoRecord *r) {
        const json_t *scope = json_object_get(json, "scope"), *home = json_object_get(json, "home");
        int error = scope ? to_bytes_or_none(scope, &r->scope) : 0;

        if (error >= 0 && home)
                error = to_bytes_or_none(home, &r->home);
        if (error < 0)
                return error;
        if (!r->scope && !r->home)
                return 0;
        return r->scope && r->home && !r->unit && unit_is_own_scope(r->scope) &&
                               !strchr(r->scope, '/') && r->home[0] == '/'
                       ? 0
                       : -EBADMSG;
}

/* --- the unit --- */

static int to_property(const json_t *json, UndoProperty *ret) {
        const json_t *origin = json_object_get(json, "origin");
        json_int_t value = json_is_integer(origin) ? json_integer_value(origin) : -1;

        if (value < UNDO_UNSET || value > UNDO_PERSISTENT ||
            undo_json_to_set(json_object_get(json, "before"), ID_TARGET(&ret->before)) < 0)
                return -EBADMSG;
        ret->origin = (UndoOrigin)value;
        return to_values(json_object_get(json, "ours"), &ret->ours);
}

static int to_files(const json_t *json, UndoFiles **ret) {
        _cleanup_free_ UndoFiles *f = NULL;

        if (json_is_null(json))
                return 0;
        f = calloc(1, sizeof(*f));
        if (!f)
                return -ENOMEM;
        if (undo_json_to_set(json_object_get(json, "cpus"), ID_TARGET(&f->cpus)) < 0 ||
            undo_json_to_set(json_object_get(json, "mems"), ID_TARGET(&f->mems)) < 0)
                return -EBADMSG;
        *ret = TAKE_PTR(f);
        return 0;
}

static int to_unit(const json_t *json, UndoRecord *r) {
        int error;

        if (json_is_null(json))
                return 0;
        if (!undo_record_unit(r))
                return -EBADMSG;
        error = to_files(json_object_get(json, "files"), &r->files);
        if (error >= 0)
                error = to_property(json_object_get(json, "cpus"), &r->cpus);
        if (error >= 0)
                error = to_property(json_object_get(json, "mems"), &r->mems);
        r->unit_noted = error >= 0;
        return error;
}

/* --- processes --- */

static int to_masks(const json_t *json, UndoProcess *p) {
        const size_t n = json_array_size(json);

        if (!json_is_array(json))
                return -EBADMSG;
        if (ARRAY_RESERVE(p->masks, p->masks_allocated, n) < 0)
                return -ENOMEM;
        for (; p->n_masks < n; p->n_masks++) {
                CpuSet *mask = &p->masks[p->n_masks];

                if (undo_json_to_set(json_array_get(json, p->n_masks), ID_TARGET(mask)) < 0 ||
                    id_set_is_empty(mask))
                        return -EBADMSG;
        }
        return 0;
}

static int to_mask(const UndoProcess *p, const json_t *json, uint32_t *ret) {
        json_int_t value = json_is_integer(json) ? json_integer_value(json) : -1;

        if (!json_is_null(json) && (value < 0 || (size_t)value >= p->n_masks))
                return -EBADMSG;
        *ret = json_is_null(json) ? UNDO_FOLLOWS : (uint32_t)value;
        return 0;
}

static int to_threads(const json_t *json, UndoProcess *p) {
        const size_t n = json_array_size(json);

        if (!json_is_array(json))
                return -EBADMSG;
        if (ARRAY_RESERVE(p->threads, p->threads_allocated, n) < 0)
                return -ENOMEM;
        for (pid_t before = 0; p->n_threads < n; p->n_threads++) {
                const json_t *entry = json_array_get(json, p->n_threads);
                UndoThreads *t = &p->threads[p->n_threads];

                if (json_array_size(entry) != 3 ||
                    to_pid(json_array_get(entry, 0), &t->first) < 0 ||
                    to_pid(json_array_get(entry, 1), &t->last) < 0 ||
                    to_mask(p, json_array_get(entry, 2), &t->mask) < 0 || t->first <= before ||
                    t->last < t->first)
                        return -EBADMSG;
                before = t->last;
        }
        return 0;
}

static int to_process(const json_t *json, UndoRecord *r) {
        UndoProcess *p;
        ProcessId id;
        int error;

        if (to_pid(json_object_get(json, "pid"), &id.pid) < 0 ||
            undo_json_to_ticks(json_object_get(json, "start"), &id.start_ticks) < 0 ||
            undo_record_find(r, &id))
                return -EBADMSG;
        error = undo_record_add(r, &id, &p);
        if (error < 0)
                return error;
        if (undo_json_to_ticks(json_object_get(json, "noted"), &p->noted_ticks) < 0 ||
            to_bool(json_object_get(json, "masks_set"), &p->masks_set) < 0 ||
            to_bool(json_object_get(json, "given"), &p->given) < 0)
                return -EBADMSG;
        error = to_bytes_or_none(json_object_get(json, "cpuset"), &p->cpuset);
        if (error < 0)
                return error;
        error = to_masks(json_object_get(json, "masks"), p);
        if (error < 0)
                return error;
        error = to_threads(json_object_get(json, "threads"), p);
        return error < 0 ? error : to_mask(p, json_object_get(json, "leader"), &p->leader);
}

static int to_processes(const json_t *json, UndoRecord *r) {
        if (!json_is_array(json))
                return -EBADMSG;
        for (size_t i = 0; i < json_array_size(json); i++) {
                int error = to_process(json_array_get(json, i), r);

                if (error < 0)
                        return error;
        }
        return 0;
}

/* --- a whole record --- */

static int to_record(const json_t *json, UndoRecord **ret) {
        _cleanup_(undo_record_freep) UndoRecord *r = calloc(1, sizeof(*r));
        int error;

        if (!r)
                return -ENOMEM;
        error = undo_json_to_bytes(json_object_get(json, "instance"), &r->instance);
        if (error >= 0)
                error = to_bytes_or_none(json_object_get(json, "service"), &r->unit);
        if (error >= 0)
                error = to_scope(json, r);
        if (error >= 0)
                error = to_unit(json_object_get(json, "unit"), r);
        if (error >= 0)
                error = to_values(json_object_get(json, "given"), &r->given);
        if (error >= 0)
                error = to_processes(json_object_get(json, "processes"), r);
        if (error < 0)
                return error;
        r->stale = false;
        *ret = TAKE_PTR(r);
        return 0;
}

int undo_text_parse(const char *text, size_t size, UndoRecord **ret) {
        _cleanup_(json_decrefp) json_t *record = NULL;
        int r = undo_json_parse(text, size, &record);

        return r < 0 ? r : to_record(record, ret);
}
