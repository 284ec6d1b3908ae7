/* Records to JSON. Reading them back is undo-text-parse.c's. */
#include <jansson.h>

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

/* json_pack() takes over what `o` stands for, and fails when one of them is NULL. */
static json_t *from_property(const UndoProperty *p) {
        return json_pack("{s:o, s:i, s:o}", "before", undo_json_from_set(ID_VIEW(&p->before)),
                         "origin", (int)p->origin, "ours", from_values(&p->ours));
}

static json_t *from_files(const UndoFiles *f) {
        if (!f->known)
                return json_null();
        return json_pack("{s:o, s:o, s:o, s:o}", "cpus", undo_json_from_set(ID_VIEW(&f->cpus)),
                         "cpus_effective", undo_json_from_set(ID_VIEW(&f->cpus_effective)), "mems",
                         undo_json_from_set(ID_VIEW(&f->mems)), "mems_effective",
                         undo_json_from_set(ID_VIEW(&f->mems_effective)));
}

static json_t *from_unit(const UndoRecord *r) {
        if (!r->unit_noted)
                return json_null();
        return json_pack("{s:o, s:o, s:o}", "cpus", from_property(&r->cpus), "mems",
                         from_property(&r->mems), "files", from_files(&r->files));
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

static json_t *from_record(const UndoRecord *r) {
        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "instance",
                         undo_json_from_bytes(r->instance), "service", from_name(r->unit), "scope",
                         from_name(r->scope), "home", from_name(r->home), "unit", from_unit(r),
                         "given", from_values(&r->given), "processes", from_processes(r));
}

int undo_text_render(const UndoRecord *record, char **ret, size_t *ret_size) {
        return undo_json_render(from_record(record), ret, ret_size);
}
