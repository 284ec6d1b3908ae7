/* One instance in status.json. Most of that file are numbers of instances, of each of their nodes
 * above all: these are written as text, and what is rare or intricate by jansson. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/publish/object.h"
#include "tidbnumad/publish/plan-words.h"
#include "tidbnumad/publish/status-instance.h"

/* --- fields --- */

#define INDENT "      "

typedef struct Fields {
        Text *text;
        bool any;
} Fields;

static void key(Fields *f, const char *name) {
        text_append(f->text, f->any ? ",\n" INDENT "\"" : "\n" INDENT "\"");
        text_append(f->text, name);
        text_append(f->text, "\": ");
        f->any = true;
}

static void append_count(Text *text, uint64_t value) {
        char digits[20], *at = digits + sizeof(digits);

        if (value > INT64_MAX)
                value = INT64_MAX;
        do
                *--at = (char)('0' + value % 10);
        while (value /= 10);
        text_append_bytes(text, at, (size_t)(digits + sizeof(digits) - at));
}

static void set_count(Fields *f, const char *name, uint64_t value) {
        key(f, name);
        append_count(f->text, value);
}

static void set_bool(Fields *f, const char *name, bool value) {
        key(f, name);
        text_append(f->text, value ? "true" : "false");
}

/* Anything else. Takes over `json`; its lines are indented as those around it. */
static void set_json(Fields *f, const char *name, json_t *json) {
        _cleanup_free_ char *rendered = NULL;
        const char *line;

        key(f, name);
        if (object_render(json, &rendered) < 0) {
                f->text->error = -ENOMEM;
                return;
        }
        line = rendered;
        for (;;) {
                const char *end = strchr(line, '\n');

                text_append_bytes(f->text, line, (size_t)(end - line));
                if (end[1] == '\0')
                        return;
                text_append(f->text, "\n" INDENT);
                line = end + 1;
        }
}

static bool needs_no_escape(const char *value) {
        for (; *value; value++)
                if (*value < 0x20 || *value > 0x7e || *value == '"' || *value == '\\')
                        return false;
        return true;
}

static void set_string(Fields *f, const char *name, const char *value) {
        if (value && !needs_no_escape(value)) {
                set_json(f, name, object_string(value));
                return;
        }
        key(f, name);
        text_append(f->text, value ? "\"" : "null");
        text_append(f->text, value ? value : "");
        text_append(f->text, value ? "\"" : "");
}

static void set_number(Fields *f, const char *name, double value) {
        if (isfinite(value))
                set_json(f, name, json_real(value));
        else
                set_string(f, name, NULL);
}

static void set_list(Fields *f, const char *name, IdView ids) {
        char list[ID_SET_LIST_ANY];

        set_string(f, name, id_view_render_list(ids, list, sizeof(list)) < 0 ? NULL : list);
}

/* --- the instance --- */

static void set_plan(Fields *f, const InstanceInfo *instance) {
        set_string(f, "name", instance->name);
        set_string(f, "policy", instance->policy);
        set_string(f, "unit", instance->unit);
        set_string(f, "exe", instance->exe);
        set_count(f, "pid", (uint64_t)instance->pid);
        set_count(f, "processes", instance->n_processes);
        set_json(f, "ports", OBJECT_ARRAY(i, instance->n_ports, json_integer(instance->ports[i])));
        set_string(f, "data_dir", instance->data_dir);
        if (instance->storage) {
                set_string(f, "storage", instance->storage);
                set_list(f, "storage_nodes", ID_VIEW(&instance->storage_nodes));
        }
        set_string(f, "backend", instance->backend);
        set_string(f, "bound_by", instance->bound_by);
        set_string(f, "bound_by_reason", instance->bound_by_reason);
        set_string(f, "bound_by_reason_code", reason_to_string(instance->bound_by_code));
        set_string(f, "start_cpus_by", instance->start_cpus_by);
        set_string(f, "start_memory_by", instance->start_memory_by);
        set_string(f, "state", instance_state_to_string(instance->state));
        set_string(f, "reason", instance->reason);
        set_string(f, "reason_code", reason_to_string(instance->reason_code));
        set_string(f, "remedy", reason_to_remedy(instance->reason_code));
        set_list(f, "nodes", ID_VIEW(&instance->nodes));
        set_list(f, "cpus", ID_VIEW(&instance->cpus));
        set_string(f, "memory_mode", memory_mode_to_string(instance->memory));
        set_string(f, "basis", placement_basis_to_string(instance->basis));
        set_json(f, "warnings", placement_json_warnings(instance->warnings));
}

/* As jansson writes a list of objects. */
static void append_node(Text *text, uint32_t node, const NodeMemory *memory) {
        const struct {
                const char *before;
                uint64_t value;
        } parts[] = {
                { "\n" INDENT "  {\n" INDENT "    \"node\": ", node },
                { ",\n" INDENT "    \"anon_bytes\": ", memory->anon_bytes },
                { ",\n" INDENT "    \"file_bytes\": ", memory->file_bytes },
                { ",\n" INDENT "    \"shmem_bytes\": ", memory->shmem_bytes },
        };

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                text_append(text, parts[i].before);
                append_count(text, parts[i].value);
        }
        text_append(text, "\n" INDENT "  }");
}

static void set_memory(Fields *f, const Topology *topology, const NodeMemory *by_node) {
        key(f, "memory_by_node");
        if (!topology || !by_node) {
                text_append(f->text, "null");
                return;
        }
        text_append(f->text, "[");
        for (size_t i = 0; i < topology->n_nodes; i++) {
                text_append(f->text, i > 0 ? "," : "");
                append_node(f->text, topology->nodes[i].id, &by_node[i]);
        }
        text_append(f->text, topology->n_nodes > 0 ? "\n" INDENT "]" : "]");
}

static void set_accesses(Fields *f, const InstanceInfo *instance) {
        if (!instance->access_known)
                return;
        set_json(f, "dram_accesses",
                 OBJECT_COUNTS(N_LOCALITIES, locality_to_string, instance->accesses));
        set_number(f, "remote_access_ratio", instance->remote_access_ratio);
        set_number(f, "access_coverage_ratio", instance->access_coverage);
}

static void set_migration(Fields *f, const InstanceInfo *instance) {
        set_count(f, "bind_attempts", instance->bind_attempts);
        set_count(f, "bind_failures", instance->bind_failures);
        set_count(f, "migrated_bytes", instance->migrated_bytes);
        set_count(f, "pending_bytes", instance->pending_bytes);
        set_count(f, "migration_bytes_per_second", instance->migration_bytes_per_sec);
        set_number(f, "migration_left_seconds", instance->migration_left_seconds);
        set_count(f, "failed_pages", instance->failed_pages);
        set_bool(f, "memory_widened", instance->memory_widened);
        set_list(f, "memory_extra_nodes", ID_VIEW(&instance->memory_extra_nodes));
        set_count(f, "memory_widenings", instance->memory_widenings);
        set_number(f, "bind_seconds", instance->bind_seconds);
        if (instance->bound_after_start)
                set_bool(f, "bound_after_start", true);
}

void status_instance_append(Text *text, const Topology *topology, const InstanceInfo *instance) {
        Fields f = { .text = text };

        text_append(text, "    {");
        set_plan(&f, instance);
        set_bool(&f, "cpu_bound", instance->cpu_bound);
        set_bool(&f, "memory_bound", instance->memory_bound);
        set_count(&f, "threads", instance->n_threads);
        set_count(&f, "threads_outside", instance->n_threads_outside);
        set_memory(&f, topology, instance->by_node);
        set_string(&f, "memory_method", instance->memory_method);
        set_number(&f, "remote_memory_ratio", instance->remote_ratio);
        set_number(&f, "remote_memory_ratio_halfwidth", instance->remote_ratio_halfwidth);
        set_accesses(&f, instance);
        set_migration(&f, instance);
        text_append(text, "\n    }");
}
