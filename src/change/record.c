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
        free(record->cpus.before);
        free(record->mems.before);
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

int undo_limit_add(UndoLimit *limit, uint64_t bytes, uint64_t now_ticks) {
        if (undo_limit_last(limit) == bytes)
                return 0;
        if (limit->n_ours == UNDO_LIMITS_MAX) {
                memmove(&limit->ours[1], &limit->ours[2],
                        (UNDO_LIMITS_MAX - 2) * sizeof(limit->ours[0]));
                limit->n_ours--;
        }
        limit->ours[limit->n_ours++] = bytes;
        limit->since_ticks = now_ticks;
        return 1;
}

bool undo_limit_has(const UndoLimit *limit, uint64_t bytes) {
        for (size_t i = 0; i < limit->n_ours; i++)
                if (limit->ours[i] == bytes)
                        return true;
        return false;
}

uint64_t undo_limit_last(const UndoLimit *limit) {
        return limit->n_ours > 0 ? limit->ours[limit->n_ours - 1] : 0;
}

void undo_limit_confirm(UndoLimit *limit) {
        if (limit->n_ours <= 1)
                return;
        limit->ours[0] = limit->ours[limit->n_ours - 1];
        limit->n_ours = 1;
}

int undo_record_will_give(UndoRecord *record, const CpuSet *cpus) {
        int r = undo_values_add(&record->given, ID_VIEW(cpus));

        for (size_t i = 0; r > 0 && i < record->n_processes; i++)
                record->processes[i].given = false;
        record->stale |= r > 0;
        return r;
}

bool undo_record_has_unit(const UndoRecord *record) {
        return record->limit.n_ours > 0 ||
               (record->unit_noted && (record->cpus.ours.n > 0 || record->mems.ours.n > 0));
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

/* A list that cannot be had in full is none: NULL, and stays so. */
static void list_append(json_t **list, json_t *item) {
        if (json_array_append_new(*list, item) < 0) {
                json_decref(*list);
                *list = NULL;
        }
}

/* Paths and names are bytes, JSON is UTF-8: what is not plain ASCII is written as %ff. */
json_t *record_from_bytes(const char *bytes) {
        _cleanup_text_ Text text = { 0 };

        if (!bytes)
                return json_null();
        text_append(&text, "");
        for (const unsigned char *p = (const unsigned char *)bytes; *p; p++)
                text_appendf(&text, *p <= 0x20 || *p >= 0x7f || *p == '%' ? "%%%02x" : "%c", *p);
        return text.error ? NULL : json_string(text.data);
}

/* Of any length: a list that cannot be written in full must not be written at all. */
json_t *record_from_set(IdView set) {
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

int record_to_bytes(const json_t *json, char **ret) {
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

int record_to_set(const json_t *json, IdTarget ret) {
        const char *text = json_string_value(json);

        return text && id_target_parse_list(text, ret) == 0 ? 0 : -EBADMSG;
}

int record_to_number(const json_t *json, uint64_t *ret) {
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

json_t *record_from_process(const ProcessId *id) {
        return json_pack("{s:i, s:I}", "pid", id->pid, "start", (json_int_t)id->start_ticks);
}

int record_to_process(const json_t *json, ProcessId *ret) {
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
        const json_t *list = json_object_get(root, "settings"), *json;
        size_t i;

        if (!json_is_array(list))
                return -EBADMSG;
        json_array_foreach(list, i, json) {
                const RecordEntry entry = { .kind = json_string_value(
                                                    json_object_get(json, "kind")),
                                            .target = json_object_get(json, "target"),
                                            .before = json_object_get(json, "before"),
                                            .ours = json_object_get(json, "ours") };
                int r = entry.kind && entry.target && entry.before && entry.ours
                                ? reader(&entry, userdata)
                                : -EBADMSG;

                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- the settings of an instance --- */

/* The CPUs that threads were given, of all processes together. */
#define KIND_CPUS "cpus"
#define KIND_SCOPE "scope"
#define KIND_UNIT_CPUS "unit-cpus"
#define KIND_UNIT_MEMS "unit-mems"
#define KIND_UNIT_LIMIT "unit-memory-max"
#define KIND_THREADS "threads"
#define KIND_CGROUP1 "cgroup1"

static json_t *from_mask(uint32_t mask) {
        return mask == UNDO_FOLLOWS ? json_null() : json_integer((json_int_t)mask);
}

static json_t *from_values(const UndoValues *v) {
        json_t *list = json_array();

        for (size_t i = 0; i < v->n; i++)
                list_append(&list, record_from_set(ID_VIEW(&v->values[i])));
        return list;
}

/* `file`: what the file of the unit's cgroup had; NULL: it had none. */
static void append_property(json_t **list, const char *kind, const UndoRecord *r,
                            const UndoProperty *p, const IdView *file) {
        json_t *before = json_pack(
                "{s:o, s:i, s:o}", "set", record_from_set(undo_property_before(p)), "origin",
                (int)p->origin, "file", file ? record_from_set(*file) : json_null());

        record_append(list, kind, record_from_bytes(undo_record_unit(r)), before,
                      from_values(&p->ours));
}

static void append_limit(json_t **list, const UndoRecord *r) {
        const UndoLimit *l = &r->limit;
        json_t *ours = json_array();

        for (size_t i = 0; i < l->n_ours; i++)
                list_append(&ours, json_integer((json_int_t)l->ours[i]));
        record_append(list, KIND_UNIT_LIMIT, record_from_bytes(undo_record_unit(r)),
                      json_pack("{s:o, s:i, s:I}", "bytes",
                                l->before == UINT64_MAX ? json_null()
                                                        : json_integer((json_int_t)l->before),
                                "origin", (int)l->origin, "since", (json_int_t)l->since_ticks),
                      ours);
}

/* [first, last, mask] each: thousands of threads are mostly one. */
static json_t *from_threads(const UndoProcess *p) {
        json_t *list = json_array();

        for (size_t i = 0; i < p->n_threads; i++) {
                const UndoThreads *t = &p->threads[i];

                list_append(&list, json_pack("[i, i, o]", t->first, t->last, from_mask(t->mask)));
        }
        return list;
}

static json_t *from_masks(const UndoProcess *p) {
        json_t *list = json_array();

        for (size_t i = 0; i < p->n_masks; i++)
                list_append(&list, record_from_set(ID_VIEW(&p->masks[i])));
        return list;
}

static void append_process(json_t **list, const UndoProcess *p) {
        record_append(list, KIND_THREADS, record_from_process(&p->id),
                      json_pack("{s:I, s:b, s:b, s:o, s:o, s:o}", "noted",
                                (json_int_t)p->noted_ticks, "masks_set", p->masks_set, "given",
                                p->given, "leader", from_mask(p->leader), "masks", from_masks(p),
                                "threads", from_threads(p)),
                      json_null());
        if (p->cpuset)
                record_append(list, KIND_CGROUP1, record_from_process(&p->id),
                              record_from_bytes(p->cpuset), json_null());
}

int undo_text_render(const UndoRecord *r, char **ret, size_t *ret_size) {
        const IdView cpus = r->files ? ID_VIEW(&r->files->cpus) : (IdView){ 0 };
        const IdView mems = r->files ? ID_VIEW(&r->files->mems) : (IdView){ 0 };
        json_t *list = json_array();

        if (r->scope)
                record_append(&list, KIND_SCOPE, record_from_bytes(r->scope),
                              record_from_bytes(r->home), json_null());
        if (r->unit_noted) {
                append_property(&list, KIND_UNIT_CPUS, r, &r->cpus, r->files ? &cpus : NULL);
                append_property(&list, KIND_UNIT_MEMS, r, &r->mems, r->files ? &mems : NULL);
        }
        if (r->given.n > 0)
                record_append(&list, KIND_CPUS, json_null(), json_null(), from_values(&r->given));
        for (size_t i = 0; i < r->n_processes; i++)
                append_process(&list, &r->processes[i]);
        if (r->limit.noted)
                append_limit(&list, r);
        return record_render(r->instance, r->unit, list, ret, ret_size);
}

/* --- and back; one invalid value makes the whole text invalid --- */

/* No value is the empty set. */
static int to_values(const json_t *json, UndoValues *ret) {
        const size_t n = json_array_size(json);

        if (!json_is_array(json) || n > UNDO_VALUES_MAX || ret->n > 0)
                return -EBADMSG;
        if (ARRAY_RESERVE(ret->values, ret->allocated, n) < 0)
                return -ENOMEM;
        for (; ret->n < n; ret->n++) {
                IdSet *value = &ret->values[ret->n];

                if (record_to_set(json_array_get(json, ret->n), ID_TARGET(value)) < 0 ||
                    id_set_is_empty(value))
                        return -EBADMSG;
        }
        return 0;
}

static int to_bool(const json_t *json, bool *ret) {
        if (!json_is_boolean(json))
                return -EBADMSG;
        *ret = json_is_true(json);
        return 0;
}

static int read_cpus(const RecordEntry *e, UndoRecord *r) {
        return to_values(e->ours, &r->given);
}

static int read_scope(const RecordEntry *e, UndoRecord *r) {
        int error = r->scope || r->unit || r->unit_noted ? -EBADMSG
                                                         : record_to_bytes(e->target, &r->scope);

        if (error >= 0)
                error = record_to_bytes(e->before, &r->home);
        if (error < 0)
                return error;
        return unit_is_own_scope(r->scope) && !strchr(r->scope, '/') && r->home[0] == '/'
                       ? 0
                       : -EBADMSG;
}

static int read_property(const RecordEntry *e, UndoProperty *ret, IdTarget ret_file) {
        const json_t *origin = json_object_get(e->before, "origin"),
                     *file = json_object_get(e->before, "file");
        const json_int_t value = json_is_integer(origin) ? json_integer_value(origin) : -1;
        IdSet set;
        int r;

        if (value < UNDO_UNSET || value > UNDO_PERSISTENT ||
            record_to_set(json_object_get(e->before, "set"), ID_TARGET(&set)) < 0 ||
            id_set_is_empty(&set) != (value == UNDO_UNSET) || !file ||
            (!json_is_null(file) && record_to_set(file, ret_file) < 0))
                return -EBADMSG;
        r = undo_property_set(ret, ID_VIEW(&set), (UndoOrigin)value);
        return r < 0 ? r : to_values(e->ours, &ret->ours);
}

/* The two of a unit, in this order, and whether its cgroup had files. */
static int read_unit(const RecordEntry *e, UndoRecord *r) {
        const bool is_cpus = strcmp(e->kind, KIND_UNIT_CPUS) == 0;
        const bool has_file = !json_is_null(json_object_get(e->before, "file"));
        const char *unit = undo_record_unit(r);
        _cleanup_free_ char *target = NULL;
        UndoFiles none, *files;
        int error = record_to_bytes(e->target, &target);

        if (error < 0)
                return error;
        if (!unit || strcmp(target, unit) != 0 || r->unit_noted)
                return -EBADMSG;
        if (is_cpus && has_file && !r->files && !(r->files = calloc(1, sizeof(*r->files))))
                return -ENOMEM;
        if (has_file != (r->files != NULL))
                return -EBADMSG;
        files = r->files ? r->files : &none;
        if (is_cpus)
                return read_property(e, &r->cpus, ID_TARGET(&files->cpus));
        r->unit_noted = true;
        return read_property(e, &r->mems, ID_TARGET(&files->mems));
}

static int read_unit_limit(const RecordEntry *e, UndoRecord *r) {
        const json_t *bytes = json_object_get(e->before, "bytes"),
                     *origin = json_object_get(e->before, "origin");
        const json_int_t value = json_is_integer(origin) ? json_integer_value(origin) : -1;
        const char *unit = undo_record_unit(r);
        UndoLimit l = { .noted = true, .before = UINT64_MAX };
        _cleanup_free_ char *target = NULL;
        int error = record_to_bytes(e->target, &target);

        if (error < 0)
                return error;
        if (!unit || strcmp(target, unit) != 0 || r->limit.noted || value < UNDO_UNSET ||
            value > UNDO_PERSISTENT || !bytes ||
            (!json_is_null(bytes) && record_to_number(bytes, &l.before) < 0) ||
            (l.before == UINT64_MAX) != (value == UNDO_UNSET) ||
            record_to_number(json_object_get(e->before, "since"), &l.since_ticks) < 0 ||
            !json_is_array(e->ours) || json_array_size(e->ours) > UNDO_LIMITS_MAX)
                return -EBADMSG;
        l.origin = (UndoOrigin)value;
        for (; l.n_ours < json_array_size(e->ours); l.n_ours++)
                if (record_to_number(json_array_get(e->ours, l.n_ours), &l.ours[l.n_ours]) < 0 ||
                    l.ours[l.n_ours] == 0)
                        return -EBADMSG;
        r->limit = l;
        return 0;
}

static int to_masks(const json_t *json, UndoProcess *p) {
        const size_t n = json_array_size(json);

        if (!json_is_array(json))
                return -EBADMSG;
        if (ARRAY_RESERVE(p->masks, p->masks_allocated, n) < 0)
                return -ENOMEM;
        for (; p->n_masks < n; p->n_masks++) {
                CpuSet *mask = &p->masks[p->n_masks];

                if (record_to_set(json_array_get(json, p->n_masks), ID_TARGET(mask)) < 0 ||
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
                    record_to_pid(json_array_get(entry, 0), &t->first) < 0 ||
                    record_to_pid(json_array_get(entry, 1), &t->last) < 0 ||
                    to_mask(p, json_array_get(entry, 2), &t->mask) < 0 || t->first <= before ||
                    t->last < t->first)
                        return -EBADMSG;
                before = t->last;
        }
        return 0;
}

static int read_threads(const RecordEntry *e, UndoRecord *r) {
        UndoProcess *p;
        ProcessId id;
        int error;

        if (record_to_process(e->target, &id) < 0 || undo_record_find(r, &id))
                return -EBADMSG;
        error = undo_record_add(r, &id, &p);
        if (error < 0)
                return error;
        if (record_to_number(json_object_get(e->before, "noted"), &p->noted_ticks) < 0 ||
            to_bool(json_object_get(e->before, "masks_set"), &p->masks_set) < 0 ||
            to_bool(json_object_get(e->before, "given"), &p->given) < 0)
                return -EBADMSG;
        error = to_masks(json_object_get(e->before, "masks"), p);
        if (error >= 0)
                error = to_threads(json_object_get(e->before, "threads"), p);
        return error < 0 ? error : to_mask(p, json_object_get(e->before, "leader"), &p->leader);
}

static int read_cgroup1(const RecordEntry *e, UndoRecord *r) {
        UndoProcess *p;
        ProcessId id;

        if (record_to_process(e->target, &id) < 0 || !(p = undo_record_find(r, &id)) || p->cpuset)
                return -EBADMSG;
        return record_to_bytes(e->before, &p->cpuset);
}

static int read_entry(const RecordEntry *e, void *userdata) {
        static const struct {
                const char *kind;
                int (*read)(const RecordEntry *e, UndoRecord *r);
        } kinds[] = {
                { KIND_SCOPE, read_scope },           { KIND_UNIT_CPUS, read_unit },
                { KIND_UNIT_MEMS, read_unit },        { KIND_CPUS, read_cpus },
                { KIND_THREADS, read_threads },       { KIND_CGROUP1, read_cgroup1 },
                { KIND_UNIT_LIMIT, read_unit_limit },
        };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (strcmp(kinds[i].kind, e->kind) == 0)
                        return kinds[i].read(e, userdata);
        return -EBADMSG;
}

int undo_text_parse(const char *text, size_t size, UndoRecord **ret) {
        _cleanup_(undo_record_freep) UndoRecord *r = calloc(1, sizeof(*r));
        _cleanup_(json_decrefp) json_t *root = NULL;
        int error = r ? record_parse(text, size, &root) : -ENOMEM;

        if (error >= 0)
                error = record_to_bytes(json_object_get(root, "instance"), &r->instance);
        if (error >= 0 && !json_is_null(json_object_get(root, "unit")))
                error = record_to_bytes(json_object_get(root, "unit"), &r->unit);
        if (error >= 0)
                error = record_read(root, read_entry, r);
        if (error < 0)
                return error;
        /* Half of a unit is nothing. */
        if (!r->unit_noted && (r->files || r->cpus.ours.n > 0 || r->cpus.before))
                return -EBADMSG;
        r->stale = false;
        *ret = TAKE_PTR(r);
        return 0;
}
