/* What the daemon publishes of its instances, read back. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/sys/sysroot.h"

/* So many samples may be late. */
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
}

void status_file_done(StatusFile *status) {
        for (size_t i = 0; i < status->n_instances; i++)
                instance_done(&status->instances[i]);
        free(status->instances);
        *status = (StatusFile){ 0 };
}

/* `optional`: null stands for none. */
static int take_string(const json_t *object, const char *key, bool optional, char **ret) {
        const json_t *value = json_object_get(object, key);

        if (optional && json_is_null(value))
                return 0;
        if (!json_is_string(value)) /* jansson lets no NUL in */
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
        return take_ports(json_object_get(object, "ports"), ret);
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

static int take_status(const json_t *root, StatusFile *ret) {
        const json_t *time = json_object_get(root, "time_seconds");
        const json_t *interval = json_object_get(root, "sample_interval_seconds");

        if (!json_is_number(time) || !json_is_number(interval))
                return -EBADMSG;
        ret->time_seconds = json_number_value(time);
        ret->sample_interval_seconds = json_number_value(interval);
        ret->enforcing = json_is_true(json_object_get(root, "enforcing"));
        return take_instances(json_object_get(root, "instances"), ret);
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
