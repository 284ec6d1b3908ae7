/* Records as JSON, and back. */
#include <jansson.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/enforce/undo-json.h"
#include "tidbnumad/enforce/undo-text.h"

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

/* --- the whole --- */

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
