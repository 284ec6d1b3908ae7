/* tidbnumactl status: the state of each instance. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/status-page.h"
#include "tidbnumad/sys/clock.h"

static int cannot_read(const char *runtime_dir, int error) {
        const pid_t pid = daemon_process_find(runtime_dir, NULL);

        if (error == -ENOENT && pid > 0)
                output_line(stderr,
                            "tidbnumactl: the daemon runs (process %d), but has published nothing "
                            "in %s%s; see journalctl -u tidbnumad",
                            pid, runtime_dir,
                            daemon_process_lacks_room(runtime_dir)
                                    ? ", whose file system is full: free space there"
                                    : " yet");
        else if (error == -ENOENT)
                output_line(stderr,
                            "tidbnumactl: no daemon has published in %s; run systemctl start "
                            "tidbnumad, or give its folder with --runtime-dir",
                            runtime_dir);
        else if (error == -EBADMSG)
                output_line(stderr,
                            "tidbnumactl: %s/status.json is from another version of the daemon; "
                            "run systemctl restart tidbnumad",
                            runtime_dir);
        else
                output_line(stderr, "tidbnumactl: %s/status.json cannot be read: %s", runtime_dir,
                            strerror(-error));
        return error == -ENOENT ? COMMAND_EXIT_NO_DAEMON : error;
}

static bool is_known(const Snapshot *status, const char *name) {
        const StatusQuestion q = { .names = &name, .n_names = 1 };

        for (size_t i = 0; i < status->n_instances; i++)
                if (status_is_asked(&q, &status->instances[i]))
                        return true;
        return status_file_find_unit(status, name);
}

/* -ENOENT: there is none; prints a similar name if there is one. */
static int check_name(const Snapshot *status, const char *name) {
        Suggestion similar = { .word = name };

        if (is_known(status, name))
                return 0;
        for (size_t i = 0; i < status->n_instances; i++)
                suggest(&similar, status->instances[i].name);
        for (size_t i = 0; i < status->n_units; i++)
                suggest(&similar, status->units[i].name);
        output_line(stderr,
                    "tidbnumactl: no instance or unit '%s'%s%s%s; tidbnumactl status lists all",
                    name, similar.nearest ? ", did you mean '" : "",
                    similar.nearest ? similar.nearest : "", similar.nearest ? "'?" : "");
        return -ENOENT;
}

/* Prints the published JSON without the instances and units that are not selected. */
static int print_json(const StatusQuestion *q) {
        const Snapshot *status = q->status;
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };
        const char *key;
        json_t *value;

        json_open_object(&json, NULL);
        json_object_foreach(status->read_from, key, value) {
                const bool instances = strcmp(key, "instances") == 0;

                if (!instances && strcmp(key, "units") != 0) {
                        status_put_json(&json, key, value);
                        continue;
                }
                json_open_array(&json, key);
                for (size_t i = 0; i < json_array_size(value); i++)
                        if (instances ? status_is_asked(q, &status->instances[i])
                                      : status_unit_is_asked(q, &status->units[i]))
                                status_put_json(&json, NULL, json_array_get(value, i));
                json_close(&json);
        }
        json_put_bool(&json, "alive", q->alive);
        status_problems_json(q, &json);
        json_put_number(&json, "age_seconds", q->now_seconds - status->time_seconds);
        json_close(&json);
        return output_json(&text);
}

static int print_text(const StatusQuestion *q) {
        _cleanup_text_ Text text = { 0 };

        status_page_render(q, &text);
        for (size_t i = 0; i < q->status->n_instances && q->n_names > 0; i++)
                if (status_is_asked(q, &q->status->instances[i]))
                        status_history_render(q->status->instances[i].name, &text);
        return output_text(&text);
}

static int exit_of(const StatusQuestion *q) {
        if (!q->alive || !status_file_is_fresh(q->status, q->now_seconds))
                return COMMAND_EXIT_NO_DAEMON;
        for (size_t i = 0; i < q->status->n_instances; i++)
                if (status_is_asked(q, &q->status->instances[i]) &&
                    !status_is_at_rest(&q->status->instances[i]))
                        return COMMAND_EXIT_REFUSED;
        for (size_t i = 0; i < q->status->n_units; i++)
                if (status_unit_is_asked(q, &q->status->units[i]) &&
                    status_unit_is_problem(&q->status->units[i]))
                        return COMMAND_EXIT_REFUSED;
        for (size_t i = 0; i < q->status->irq.n_devices && q->n_names == 0; i++)
                if (q->status->irq.devices[i].vectors[IRQ_STATE_CONTESTED] +
                            q->status->irq.devices[i].vectors[IRQ_STATE_FAILED] >
                    0)
                        return COMMAND_EXIT_REFUSED;
        return !q->status->policy_load_success || q->status->n_releases > 0 ? COMMAND_EXIT_REFUSED
                                                                            : EXIT_SUCCESS;
}

int command_status(const Args *args) {
        _cleanup_status_ Snapshot status = { 0 };
        StatusQuestion q = { .status = &status,
                             .runtime_dir = args->runtime_dir,
                             .names = args->names,
                             .n_names = args->n_names,
                             .all = args->all,
                             .now_seconds = clock_realtime_seconds(),
                             .width = output_width(),
                             .colors = output_colors() };
        int r;

        if (args->watch)
                return command_top(args);
        r = status_file_read(args->runtime_dir, &status);
        if (r < 0)
                return r == -ENOMEM ? r : cannot_read(args->runtime_dir, r);
        for (size_t i = 0; i < args->n_names && r >= 0; i++)
                r = check_name(&status, args->names[i]);
        if (r < 0)
                return r;
        q.alive = daemon_process_find(args->runtime_dir, &status) > 0;
        q.no_room = daemon_process_lacks_room(args->runtime_dir);
        r = args->quiet ? 0 : args->json ? print_json(&q) : print_text(&q);
        return r < 0 ? r : exit_of(&q);
}
