/* Records to JSON. Reading them back is undo-text-parse.c's. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/enforce/undo-json.h"
#include "tidbnumad/enforce/undo-text.h"

/* Paths and names are bytes, JSON is UTF-8: what is not plain ASCII is written as %ff. */
json_t *undo_json_from_bytes(const char *bytes) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "");
        for (const unsigned char *p = (const unsigned char *)bytes; *p; p++)
                text_appendf(&text, *p <= 0x20 || *p >= 0x7f || *p == '%' ? "%%%02x" : "%c", *p);
        return text.error ? NULL : json_string(text.data);
}

static json_t *from_name(const char *name) {
        return name ? undo_json_from_bytes(name) : json_null();
}

/* Of any length: a list that cannot be written in full must not be written at all. */
json_t *undo_json_from_set(const IdSet *set) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "");
        for (int id = id_set_next(set, 0), end; id >= 0; id = id_set_next(set, (uint32_t)end)) {
                for (end = id + 1; id_set_has(set, (uint32_t)end);)
                        end++;
                text_appendf(&text, end == id + 1 ? "%s%d" : "%s%d-%d", text.length ? "," : "", id,
                             end - 1);
        }
        return text.error ? NULL : json_string(text.data);
}

static json_t *from_mask(uint32_t mask) {
        return mask == UNDO_FOLLOWS ? json_null() : json_integer((json_int_t)mask);
}

static json_t *from_values(const UndoValues *v) {
        json_t *list = json_array();

        for (size_t i = 0; i < v->n; i++)
                if (json_array_append_new(list, undo_json_from_set(&v->values[i])) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

/* json_pack() takes over what `o` stands for, and fails when one of them is NULL. */
static json_t *from_property(const UndoProperty *p) {
        return json_pack("{s:o, s:i, s:o}", "before", undo_json_from_set(&p->before), "origin",
                         (int)p->origin, "ours", from_values(&p->ours));
}

static json_t *from_files(const UndoFiles *f) {
        if (!f->known)
                return json_null();
        return json_pack("{s:o, s:o, s:o, s:o}", "cpus", undo_json_from_set(&f->cpus),
                         "cpus_effective", undo_json_from_set(&f->cpus_effective), "mems",
                         undo_json_from_set(&f->mems), "mems_effective",
                         undo_json_from_set(&f->mems_effective));
}

static json_t *from_unit(const UndoRecord *r) {
        if (!r->unit_noted)
                return json_null();
        return json_pack("{s:o, s:o, s:o}", "cpus", from_property(&r->cpus), "mems",
                         from_property(&r->mems), "files", from_files(&r->files));
}

static json_t *from_masks(const UndoProcess *p) {
        json_t *list = json_array();

        for (size_t i = 0; i < p->n_masks; i++)
                if (json_array_append_new(list, undo_json_from_set(&p->masks[i])) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

/* [first, last, mask] each: thousands of threads are mostly one. */
static json_t *from_threads(const UndoProcess *p) {
        json_t *list = json_array();

        for (size_t i = 0; i < p->n_threads; i++) {
                const UndoThreads *t = &p->threads[i];

                if (json_array_append_new(list, json_pack("[i, i, o]", t->first, t->last,
                                                          from_mask(t->mask))) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
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
                if (json_array_append_new(list, from_process(&r->processes[i])) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

static json_t *from_record(const UndoRecord *r, const char *boot_id) {
        return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "boot", boot_id, "instance",
                         undo_json_from_bytes(r->instance), "service", from_name(r->unit), "scope",
                         from_name(r->scope), "home", from_name(r->home), "unit", from_unit(r),
                         "given", from_values(&r->given), "processes", from_processes(r));
}

int undo_json_checksum(const json_t *record, char ret[static UNDO_CHECKSUM_SIZE]) {
        char *text = json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
        uint64_t sum = UINT64_C(14695981039346656037);

        if (!text)
                return -ENOMEM;
        for (const char *p = text; *p; p++)
                sum = (sum ^ (unsigned char)*p) * UINT64_C(1099511628211);
        free(text);
        (void)snprintf(ret, UNDO_CHECKSUM_SIZE, "%016" PRIx64, sum);
        return 0;
}

int undo_text_render(const UndoRecord *record, const char *boot_id, char **ret, size_t *ret_size) {
        _cleanup_(json_decrefp) json_t *root = NULL;
        json_t *inner = from_record(record, boot_id);
        char checksum[UNDO_CHECKSUM_SIZE], *text;
        int r = inner ? undo_json_checksum(inner, checksum) : -ENOMEM;

        if (r < 0) {
                json_decref(inner);
                return r;
        }
        root = json_pack("{s:i, s:s, s:o}", "version", UNDO_TEXT_VERSION, "checksum", checksum,
                         "record", inner);
        text = root ? json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII) : NULL;
        if (!text)
                return -ENOMEM;
        *ret = text;
        *ret_size = strlen(text);
        return 0;
}
