/* Reads the status that the daemon publishes. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/sys/sysroot.h"

/* Number of samples, and seconds, that may be late. */
enum { LATE_SAMPLES = 2, LATE_SECONDS = 10 };

static void instance_done(StatusInstance *i) {
        free(i->name);
        free(i->policy);
        free(i->exe);
        free(i->unit);
        free(i->data_dir);
        free(i->state);
        free(i->reason);
        free(i->ports);
        free(i->reason_code);
        free(i->remedy);
        free(i->bound_by);
        free(i->bound_by_reason);
        free(i->cpus);
        free(i->memory);
}

static void strings_done(char **strings, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(strings[i]);
        free(strings);
}

void status_file_done(StatusFile *status) {
        for (size_t i = 0; i < status->n_instances; i++)
                instance_done(&status->instances[i]);
        free(status->instances);
        for (size_t i = 0; i < status->n_releases; i++) {
                free(status->releases[i].name);
                free(status->releases[i].unit);
                free(status->releases[i].failure);
        }
        free(status->releases);
        for (size_t i = 0; i < status->n_devices; i++) {
                free(status->devices[i].name);
                free(status->devices[i].reason_code);
                free(status->devices[i].reason);
                free(status->devices[i].cpus);
        }
        free(status->devices);
        for (size_t i = 0; i < status->n_ignored; i++) {
                free(status->ignored[i].exe);
                free(status->ignored[i].policy);
                free(status->ignored[i].reason);
        }
        free(status->ignored);
        strings_done(status->errors, status->n_errors);
        strings_done(status->units, status->n_units);
        free(status->version);
        free(status->reserved_nodes);
        free(status->reserved_cpus);
        free(status->backend);
        free(status->uncounted);
        *status = (StatusFile){ 0 };
}

/* `optional`: null means none. */
static int take_string(const json_t *object, const char *key, bool optional, char **ret) {
        const json_t *value = json_object_get(object, key);

        if (optional && json_is_null(value))
                return 0;
        if (!json_is_string(value)) /* jansson rejects NUL in strings */
                return -EBADMSG;
        *ret = strdup(json_string_value(value));
        return *ret ? 0 : -ENOMEM;
}

static int take_strings(const json_t *object, StatusInstance *ret) {
        const struct {
                const char *key;
                bool optional;
                char **field;
        } fields[] = {
                { "name", false, &ret->name },        { "policy", false, &ret->policy },
                { "exe", false, &ret->exe },          { "unit", true, &ret->unit },
                { "data_dir", true, &ret->data_dir }, { "state", false, &ret->state },
                { "reason", false, &ret->reason },
        };

        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                int r = take_string(object, fields[i].key, fields[i].optional, fields[i].field);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_ports(const json_t *array, StatusInstance *ret) {
        if (!json_is_array(array))
                return -EBADMSG;
        ret->ports = calloc(json_array_size(array) + 1, sizeof(uint16_t));
        if (!ret->ports)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *value = json_array_get(array, i);
                json_int_t port = json_integer_value(value);

                if (!json_is_integer(value) || port < 1 || port > UINT16_MAX)
                        return -EBADMSG;
                ret->ports[ret->n_ports++] = (uint16_t)port;
        }
        return 0;
}

/* Reads a key that may be missing or of another type: NULL then. */
static int take_if_there(const json_t *object, const char *key, char **ret) {
        const char *value = json_string_value(json_object_get(object, key));

        if (value && !(*ret = strdup(value)))
                return -ENOMEM;
        return 0;
}

typedef struct OptionalString {
        const char *key;
        char **field;
} OptionalString;

static int take_all_if_there(const json_t *object, const OptionalString *strings, size_t n) {
        for (size_t i = 0; i < n; i++) {
                int r = take_if_there(object, strings[i].key, strings[i].field);

                if (r < 0)
                        return r;
        }
        return 0;
}

static uint64_t count_of(const json_t *object, const char *key) {
        const json_int_t value = json_integer_value(json_object_get(object, key));

        return value > 0 ? (uint64_t)value : 0;
}

static int take_memory(const json_t *array, StatusInstance *ret) {
        ret->memory = calloc(json_array_size(array) + 1, sizeof(*ret->memory));
        if (!ret->memory)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *row = json_array_get(array, i);
                const json_int_t node = json_integer_value(json_object_get(row, "node"));
                const json_int_t bytes = json_integer_value(json_object_get(row, "anon_bytes"));

                if (node >= 0 && node < NODE_SET_MAX && bytes > 0)
                        ret->memory[ret->n_memory++] =
                                (StatusMemory){ (uint32_t)node, (uint64_t)bytes };
        }
        return 0;
}

static int take_state(const json_t *object, StatusInstance *ret) {
        const json_t *ratio = json_object_get(object, "remote_memory_ratio");
        const json_t *left = json_object_get(object, "migration_left_seconds");
        const OptionalString strings[] = { { "reason_code", &ret->reason_code },
                                           { "remedy", &ret->remedy },
                                           { "bound_by", &ret->bound_by },
                                           { "bound_by_reason", &ret->bound_by_reason },
                                           { "cpus", &ret->cpus } };
        int r;

        ret->cpu_bound = json_is_true(json_object_get(object, "cpu_bound"));
        ret->memory_bound = json_is_true(json_object_get(object, "memory_bound"));
        ret->remote_ratio = json_is_number(ratio) ? json_number_value(ratio) : (double)NAN;
        ret->left_seconds = json_is_number(left) ? json_number_value(left) : (double)NAN;
        ret->pending_bytes = count_of(object, "pending_bytes");
        ret->n_threads = count_of(object, "threads");
        r = take_all_if_there(object, strings, ELEMENTSOF(strings));
        return r < 0 ? r : take_memory(json_object_get(object, "memory_by_node"), ret);
}

static int take_instance(const json_t *object, StatusInstance *ret) {
        const json_t *pid = json_object_get(object, "pid");
        const char *nodes = json_string_value(json_object_get(object, "nodes"));
        int r = take_strings(object, ret);

        if (r < 0)
                return r;
        if (!json_is_integer(pid) || json_integer_value(pid) < 1 ||
            json_integer_value(pid) > INT_MAX || !nodes)
                return -EBADMSG;
        ret->pid = (pid_t)json_integer_value(pid);
        if (id_set_parse_list(nodes, &ret->nodes) < 0)
                return -EBADMSG;
        r = take_state(object, ret);
        return r < 0 ? r : take_ports(json_object_get(object, "ports"), ret);
}

static int take_instances(const json_t *array, StatusFile *ret) {
        if (!json_is_array(array))
                return -EBADMSG;
        ret->instances = calloc(json_array_size(array) + 1, sizeof(*ret->instances));
        if (!ret->instances)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                int r = take_instance(json_array_get(array, i),
                                      &ret->instances[ret->n_instances++]);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Reads the strings of the array or, with `key`, those of its objects. */
static int take_list(const json_t *array, const char *key, char ***ret, size_t *ret_n) {
        *ret = calloc(json_array_size(array) + 1, sizeof(char *));
        if (!*ret)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *value = json_array_get(array, i);
                const char *text = json_string_value(key ? json_object_get(value, key) : value);

                if (text && !((*ret)[(*ret_n)++] = strdup(text)))
                        return -ENOMEM;
        }
        return 0;
}

static int take_releases(const json_t *array, StatusFile *ret) {
        ret->releases = calloc(json_array_size(array) + 1, sizeof(*ret->releases));
        if (!ret->releases)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                StatusRelease *release = &ret->releases[ret->n_releases++];
                const OptionalString strings[] = { { "name", &release->name },
                                                   { "unit", &release->unit },
                                                   { "failure", &release->failure } };
                int r = take_all_if_there(json_array_get(array, i), strings, ELEMENTSOF(strings));

                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_device(const json_t *object, StatusDevice *ret) {
        const json_t *node = json_object_get(object, "node");
        const OptionalString strings[] = { { "name", &ret->name },
                                           { "reason_code", &ret->reason_code },
                                           { "reason", &ret->reason },
                                           { "cpus", &ret->cpus } };

        ret->node = json_is_integer(node) && json_integer_value(node) < NODE_SET_MAX
                            ? (int32_t)json_integer_value(node)
                            : -1;
        for (IrqState state = 0; state < N_IRQ_STATES; state++)
                ret->vectors[state] = count_of(object, irq_state_to_string(state));
        return take_all_if_there(object, strings, ELEMENTSOF(strings));
}

/* An object without a name is ignored. */
static int take_devices(const json_t *array, StatusFile *ret) {
        ret->devices = calloc(json_array_size(array) + 1, sizeof(*ret->devices));
        if (!ret->devices)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *object = json_array_get(array, i);
                int r;

                if (!json_is_string(json_object_get(object, "name")))
                        continue;
                r = take_device(object, &ret->devices[ret->n_devices++]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_ignored(const json_t *array, StatusFile *ret) {
        ret->ignored = calloc(json_array_size(array) + 1, sizeof(*ret->ignored));
        if (!ret->ignored)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *object = json_array_get(array, i);
                StatusIgnored *one = &ret->ignored[ret->n_ignored++];
                const uint64_t pid = count_of(object, "pid");
                const OptionalString strings[] = { { "exe", &one->exe },
                                                   { "policy", &one->policy },
                                                   { "reason", &one->reason } };
                int r = take_all_if_there(object, strings, ELEMENTSOF(strings));

                if (r < 0)
                        return r;
                one->pid = pid <= INT_MAX ? (pid_t)pid : 0;
        }
        return 0;
}

static int take_daemon(const json_t *root, StatusFile *ret) {
        const OptionalString strings[] = { { "version", &ret->version },
                                           { "backend", &ret->backend },
                                           { "reserved_nodes", &ret->reserved_nodes },
                                           { "reserved_cpus", &ret->reserved_cpus } };
        const json_t *policy = json_object_get(root, "policy");
        const uint64_t pid = count_of(json_object_get(root, "process"), "pid");
        int r = take_all_if_there(root, strings, ELEMENTSOF(strings));

        ret->pid = pid <= INT_MAX ? (pid_t)pid : 0;
        ret->load_seconds = json_number_value(json_object_get(policy, "load_time_seconds"));
        ret->load_failed = json_is_false(json_object_get(policy, "load_success"));
        ret->n_policies = json_array_size(json_object_get(policy, "policies"));
        ret->n_warnings = json_array_size(json_object_get(policy, "warnings"));
        if (r >= 0)
                r = take_list(json_object_get(policy, "errors"), NULL, &ret->errors,
                              &ret->n_errors);
        if (r >= 0)
                r = take_list(json_object_get(root, "units"), "name", &ret->units, &ret->n_units);
        if (r >= 0)
                r = take_releases(json_object_get(root, "releases"), ret);
        return r < 0 ? r
                     : take_devices(json_object_get(json_object_get(root, "interrupts"), "devices"),
                                    ret);
}

static void count_ignored(const json_t *object, StatusFile *ret) {
        ret->n_full = count_of(object, "max_instances");
        ret->n_of_others = count_of(object, "user");
        ret->n_in_containers = count_of(object, "namespace");
}

static int take_status(const json_t *root, StatusFile *ret) {
        const json_t *time = json_object_get(root, "time_seconds");
        const json_t *interval = json_object_get(root, "sample_interval_seconds");
        const json_t *access = json_object_get(root, "access_sampling");
        int r;

        if (!json_is_number(time) || !json_is_number(interval))
                return -EBADMSG;
        ret->time_seconds = json_number_value(time);
        ret->sample_interval_seconds = json_number_value(interval);
        ret->enforcing = json_is_true(json_object_get(root, "enforcing"));
        count_ignored(json_object_get(root, "ignored"), ret);
        r = take_daemon(root, ret);
        if (r >= 0)
                r = take_ignored(json_object_get(root, "strangers"), ret);
        if (r >= 0 && json_is_false(json_object_get(access, "available")))
                r = take_if_there(access, "reason", &ret->uncounted);
        return r < 0 ? r : take_instances(json_object_get(root, "instances"), ret);
}

int status_file_parse(const char *text, size_t size, StatusFile *ret) {
        _cleanup_status_file_ StatusFile status = { 0 };
        json_error_t error;
        json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
        int r;

        if (!root)
                return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
        r = take_status(root, &status);
        json_decref(root);
        if (r < 0)
                return r;
        *ret = status;
        status = (StatusFile){ 0 };
        return 0;
}

int status_file_read(const char *runtime_dir, StatusFile *ret) {
        _cleanup_close_ int fd = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (fd < 0)
                return -errno;
        r = read_file_alloc_at(fd, "status.json", &text, &size);
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
