#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/sys/sysroot.h"

/* Number of samples, and seconds, that may be late. */
enum { LATE_SAMPLES = 2, LATE_SECONDS = 10 };

void status_file_done(StatusFile *status) {
        for (size_t i = 0; i < status->n_instances; i++)
                free(status->instances[i].memory);
        free(status->instances);
        free(status->releases);
        free(status->devices);
        free(status->ignored);
        free(status->errors);
        free(status->units);
        json_decref(status->root);
        *status = (StatusFile){ 0 };
}

/* NULL: the key is missing, or null, or of another type. */
static const char *string_of(const json_t *object, const char *key) {
        return json_string_value(json_object_get(object, key));
}

static const char *word_of(const json_t *object, const char *key) {
        const char *text = string_of(object, key);

        return text ? text : "";
}

static uint64_t count_of(const json_t *object, const char *key) {
        const json_int_t value = json_integer_value(json_object_get(object, key));

        return value > 0 ? (uint64_t)value : 0;
}

static double number_of(const json_t *object, const char *key) {
        const json_t *value = json_object_get(object, key);

        return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* 0: it is missing, or no process can have that number. */
static pid_t pid_of(const json_t *object) {
        const uint64_t pid = count_of(object, "pid");

        return pid <= INT_MAX ? (pid_t)pid : 0;
}

/* Room for what an array of JSON contains; NULL: no memory. */
#define ALLOCATE_FOR(json, pointer)                                                                \
        ((pointer) = calloc(json_array_size(json) + 1, sizeof(*(pointer))))

/* --- instances --- */

static int take_memory(const json_t *array, StatusInstance *ret) {
        if (!ALLOCATE_FOR(array, ret->memory))
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *row = json_array_get(array, i);
                const uint64_t node = count_of(row, "node"), bytes = count_of(row, "anon_bytes");

                if (node < NODE_SET_MAX && bytes > 0)
                        ret->memory[ret->n_memory++] = (StatusMemory){ (uint32_t)node, bytes };
        }
        return 0;
}

static StartSource source_of(const json_t *object, const char *key) {
        const char *name = string_of(object, key);
        const StartSource source = name ? start_source_from_string(name) : START_NOTHING;

        return source < N_START_SOURCES ? source : START_NOTHING;
}

static PlacementBasis basis_of(const json_t *object) {
        PlacementBasis basis = BASIS_REFUSED;

        while (basis < BASIS_CHOSEN &&
               strcmp(placement_basis_to_string(basis), word_of(object, "basis")) != 0)
                basis++;
        return basis;
}

static MemoryMode memory_mode_of(const json_t *object) {
        MemoryMode mode = MEMORY_BIND;

        while (mode < MEMORY_NONE &&
               strcmp(memory_mode_to_string(mode), word_of(object, "memory_mode")) != 0)
                mode++;
        return mode;
}

static uint32_t warnings_of(const json_t *object) {
        const json_t *array = json_object_get(object, "warnings");
        uint32_t warnings = 0;

        for (size_t i = 0; i < json_array_size(array); i++)
                for (unsigned bit = 0; bit < N_PLACEMENT_WARNINGS; bit++)
                        if (strcmp(word_of(json_array_get(array, i), "text"),
                                   placement_warning_to_string(1u << bit)) == 0)
                                warnings |= 1u << bit;
        return warnings;
}

static int take_instance(const json_t *o, StatusInstance *ret) {
        const char *nodes = string_of(o, "nodes");

        *ret = (StatusInstance){
                .name = string_of(o, "name"),
                .policy = string_of(o, "policy"),
                .exe = string_of(o, "exe"),
                .unit = string_of(o, "unit"),
                .data_dir = string_of(o, "data_dir"),
                .storage = string_of(o, "storage"),
                .state = string_of(o, "state"),
                .reason = string_of(o, "reason"),
                .reason_code = string_of(o, "reason_code"),
                .remedy = string_of(o, "remedy"),
                .bound_by = string_of(o, "bound_by"),
                .bound_by_reason = string_of(o, "bound_by_reason"),
                .bound_by_reason_code = string_of(o, "bound_by_reason_code"),
                .start_known = string_of(o, "start_cpus_by") != NULL,
                .start_cpus_by = source_of(o, "start_cpus_by"),
                .start_memory_by = source_of(o, "start_memory_by"),
                .cpus = string_of(o, "cpus"),
                .cpu_bound = json_is_true(json_object_get(o, "cpu_bound")),
                .memory_bound = json_is_true(json_object_get(o, "memory_bound")),
                .bound_after_start = json_is_true(json_object_get(o, "bound_after_start")),
                .memory_mode = memory_mode_of(o),
                .basis = basis_of(o),
                .warnings = warnings_of(o),
                .pid = pid_of(o),
                .n_threads = count_of(o, "threads"),
                .remote_ratio = number_of(o, "remote_memory_ratio"),
                .pending_bytes = count_of(o, "pending_bytes"),
                .left_seconds = number_of(o, "migration_left_seconds"),
        };
        if (!ret->name || !ret->policy || !ret->exe || !ret->state || !ret->reason ||
            ret->pid == 0 || !nodes || id_set_parse_list(nodes, &ret->nodes) < 0 ||
            id_set_parse_list(word_of(o, "cpus"), &ret->cpu_set) < 0)
                return -EBADMSG;
        if (ret->storage && id_set_parse_list(word_of(o, "storage_nodes"), &ret->storage_nodes) < 0)
                return -EBADMSG;
        return take_memory(json_object_get(o, "memory_by_node"), ret);
}

static int take_instances(const json_t *array, StatusFile *ret) {
        int r = 0;

        if (!json_is_array(array))
                return -EBADMSG;
        if (!ALLOCATE_FOR(array, ret->instances))
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array) && r >= 0; i++)
                r = take_instance(json_array_get(array, i), &ret->instances[ret->n_instances++]);
        return r;
}

/* --- lists that an older daemon may leave out --- */

static int take_strings(const json_t *array, const char ***ret, size_t *ret_n) {
        if (!ALLOCATE_FOR(array, *ret))
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const char *text = json_string_value(json_array_get(array, i));

                if (text)
                        (*ret)[(*ret_n)++] = text;
        }
        return 0;
}

static int take_units(const json_t *array, StatusFile *ret) {
        if (!ALLOCATE_FOR(array, ret->units))
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                json_t *o = json_array_get(array, i);
                StatusUnit *unit = &ret->units[ret->n_units];

                *unit = (StatusUnit){ .published = o,
                                      .name = string_of(o, "name"),
                                      .policy = string_of(o, "policy"),
                                      .state = word_of(o, "state"),
                                      .reason = word_of(o, "reason"),
                                      .reason_code = word_of(o, "reason_code"),
                                      .remedy = word_of(o, "remedy"),
                                      .cpus = word_of(o, "cpus"),
                                      .mems = word_of(o, "memory_nodes") };
                if (!unit->name || id_set_parse_list(word_of(o, "nodes"), &unit->nodes) < 0)
                        return -EBADMSG;
                for (size_t k = 0; k < ret->n_instances && !unit->runs; k++)
                        unit->runs = ret->instances[k].unit &&
                                     strcmp(ret->instances[k].unit, unit->name) == 0;
                ret->n_units++;
        }
        return 0;
}

static int take_releases(const json_t *array, StatusFile *ret) {
        if (!ALLOCATE_FOR(array, ret->releases))
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *o = json_array_get(array, i);

                ret->releases[ret->n_releases++] =
                        (StatusRelease){ .name = string_of(o, "name"),
                                         .unit = string_of(o, "unit"),
                                         .failure = string_of(o, "failure") };
        }
        return 0;
}

/* An object without a name is ignored. */
static int take_devices(const json_t *array, StatusFile *ret) {
        if (!ALLOCATE_FOR(array, ret->devices))
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *o = json_array_get(array, i), *node = json_object_get(o, "node");
                StatusDevice *device = &ret->devices[ret->n_devices];
                const uint64_t number = count_of(o, "node");

                *device = (StatusDevice){ .name = string_of(o, "name"),
                                          .reason_code = string_of(o, "reason_code"),
                                          .reason = string_of(o, "reason"),
                                          .cpus = string_of(o, "cpus"),
                                          .node = json_is_integer(node) && number < NODE_SET_MAX
                                                          ? (int32_t)number
                                                          : -1 };
                for (IrqState state = 0; state < N_IRQ_STATES; state++)
                        device->vectors[state] = count_of(o, irq_state_to_string(state));
                ret->n_devices += device->name != NULL;
        }
        return 0;
}

static int take_ignored(const json_t *array, StatusFile *ret) {
        if (!ALLOCATE_FOR(array, ret->ignored))
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *o = json_array_get(array, i);

                ret->ignored[ret->n_ignored++] = (StatusIgnored){ .exe = string_of(o, "exe"),
                                                                  .policy = string_of(o, "policy"),
                                                                  .reason = string_of(o, "reason"),
                                                                  .pid = pid_of(o) };
        }
        return 0;
}

static int take_lists(const json_t *root, StatusFile *ret) {
        const json_t *policy = json_object_get(root, "policy");
        int r = take_strings(json_object_get(policy, "errors"), &ret->errors, &ret->n_errors);

        if (r >= 0)
                r = take_instances(json_object_get(root, "instances"), ret);
        if (r >= 0)
                r = take_units(json_object_get(root, "units"), ret);
        if (r >= 0)
                r = take_releases(json_object_get(root, "releases"), ret);
        if (r >= 0)
                r = take_devices(json_object_get(json_object_get(root, "interrupts"), "devices"),
                                 ret);
        if (r >= 0)
                r = take_ignored(json_object_get(root, "ignored_processes"), ret);
        return r;
}

/* An older daemon does not report it. */
static bool is_word(const json_t *object, const char *key, const char *word) {
        const char *text = string_of(object, key);

        return text && strcmp(text, word) == 0;
}

static int take_status(json_t *root, StatusFile *ret) {
        const json_t *access = json_object_get(root, "access_sampling");
        const json_t *ignored = json_object_get(root, "ignored");
        const json_t *policy = json_object_get(root, "policy");
        const bool uncounted = json_is_false(json_object_get(access, "available"));

        *ret = (StatusFile){
                .root = root,
                .time_seconds = number_of(root, "time_seconds"),
                .sample_interval_seconds = number_of(root, "sample_interval_seconds"),
                .enforcing = json_is_true(json_object_get(root, "enforcing")),
                .version = string_of(root, "version"),
                .backend = string_of(root, "backend"),
                .backend_reason = string_of(root, "backend_reason"),
                .pid = pid_of(json_object_get(root, "process")),
                .load_seconds = json_number_value(json_object_get(policy, "load_time_seconds")),
                .load_failed = json_is_false(json_object_get(policy, "load_success")),
                .none_in_force = is_word(policy, "in_force", "none"),
                .kept_in_force = is_word(policy, "in_force", "kept"),
                .n_adopted = count_of(policy, "adopted"),
                .n_policies = json_array_size(json_object_get(policy, "policies")),
                .n_warnings = json_array_size(json_object_get(policy, "warnings")),
                .n_full = count_of(ignored, "max_instances"),
                .n_crowded = count_of(ignored, "process_limit"),
                .n_of_others = count_of(ignored, "user"),
                .n_in_containers = count_of(ignored, "namespace"),
                .reserved_nodes = string_of(root, "reserved_nodes"),
                .reserved_cpus = string_of(root, "reserved_cpus"),
                .uncounted = uncounted ? string_of(access, "reason") : NULL,
        };
        if (isnan(ret->time_seconds) || isnan(ret->sample_interval_seconds))
                return -EBADMSG;
        return take_lists(root, ret);
}

int status_file_parse(const char *text, size_t size, StatusFile *ret) {
        _cleanup_status_file_ StatusFile status = { 0 };
        json_error_t error;
        json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
        int r;

        if (!root)
                return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
        r = take_status(root, &status);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(status);
        return 0;
}

int status_file_read(const char *runtime_dir, StatusFile *ret) {
        _cleanup_close_ int fd = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (fd < 0)
                return -errno;
        r = path_read_alloc(fd, &text, &size, "status.json");
        return r < 0 ? r : status_file_parse(text, size, ret);
}

bool status_file_is_fresh(const StatusFile *status, double now_seconds) {
        const double age = now_seconds - status->time_seconds;

        return age > -LATE_SECONDS &&
               age < LATE_SAMPLES * status->sample_interval_seconds + LATE_SECONDS;
}

const StatusInstance *status_file_find(const StatusFile *status, const char *name) {
        for (size_t i = 0; i < status->n_instances; i++)
                if (strcmp(status->instances[i].name, name) == 0)
                        return &status->instances[i];
        return NULL;
}

void status_unit_label(const StatusUnit *unit, char ret[static NAME_MAX]) {
        const size_t n = strlen(unit->name), suffix = strlen(".service");

        (void)snprintf(ret, NAME_MAX, "%.*s", (int)(n > suffix ? n - suffix : n), unit->name);
}

bool status_unit_is_named(const StatusUnit *unit, const char *name) {
        char label[NAME_MAX];

        status_unit_label(unit, label);
        return fnmatch(name, unit->name, 0) == 0 || fnmatch(name, label, 0) == 0;
}

const StatusUnit *status_file_find_unit(const StatusFile *status, const char *name) {
        for (size_t i = 0; i < status->n_units; i++)
                if (status_unit_is_named(&status->units[i], name))
                        return &status->units[i];
        return NULL;
}
