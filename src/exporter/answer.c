/* Paths to answers. The files are passed on as they are; all that is added is their age, which is
 * taken from the file's mtime: set by the kernel when the daemon wrote, readable without parsing,
 * and there for status.json as well. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/exporter/answer.h"
#include "tidbnumad/exporter/snapshot-file.h"

#define METRICS_FILE "metrics.prom"
#define STATUS_FILE "status.json"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define PLAIN_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE "application/json"

#define INTERVAL_METRIC "tidbnumad_sample_interval_seconds "
#define INTERVAL_SECONDS_DEFAULT 10.0

void answer_done(Answer *answer) {
        text_done(&answer->body);
}

static void append_age(Text *text, double age_seconds) {
        uint64_t millis = (uint64_t)(age_seconds * 1000);

        text_appendf(text, "%" PRIu64 ".%03" PRIu64, millis / 1000, millis % 1000);
}

/* A clock that was set back does not make a snapshot of the future. */
static double age_of(const SnapshotFile *file, double now_seconds) {
        double age = now_seconds - file->mtime_seconds;

        return age > 0 ? age : 0;
}

static void set_plain(Answer *answer, unsigned status) {
        answer->status = status;
        answer->content_type = PLAIN_TYPE;
}

/* 503: the exporter works, what it serves from does not (yet). */
static void explain_file(Answer *answer, const char *runtime_dir, const char *name, int error) {
        set_plain(answer, 503);
        if (error == -ENOENT)
                text_appendf(&answer->body,
                             "no snapshot: %s/%s does not exist. Is tidbnumad running? "
                             "(systemctl status tidbnumad)\n",
                             runtime_dir, name);
        else if (error == -ELOOP || error == -EBADF)
                text_appendf(&answer->body, "no snapshot: %s/%s is not a regular file\n",
                             runtime_dir, name);
        else if (error == -EFBIG)
                text_appendf(&answer->body, "no snapshot: %s/%s is larger than %zu bytes\n",
                             runtime_dir, name, SNAPSHOT_FILE_MAX);
        else
                text_appendf(&answer->body, "no snapshot: %s/%s: %s\n", runtime_dir, name,
                             strerrordesc_np(-error));
}

static void answer_metrics(const char *runtime_dir, double now_seconds, Answer *answer) {
        _cleanup_snapshot_file_ SnapshotFile file = { 0 };
        int r = snapshot_file_read(runtime_dir, METRICS_FILE, &file);

        if (r < 0) {
                explain_file(answer, runtime_dir, METRICS_FILE, r);
                return;
        }
        answer->status = 200;
        answer->content_type = METRICS_TYPE;
        text_append(&answer->body, file.data);
        if (file.size > 0 && file.data[file.size - 1] != '\n')
                text_append(&answer->body, "\n");
        text_append(
                &answer->body,
                "# HELP tidbnumad_exporter_snapshot_age_seconds Time since the daemon wrote the "
                "snapshot that this answer is made of.\n"
                "# TYPE tidbnumad_exporter_snapshot_age_seconds gauge\n"
                "tidbnumad_exporter_snapshot_age_seconds ");
        append_age(&answer->body, age_of(&file, now_seconds));
        text_append(&answer->body, "\n");
}

static void answer_status(const char *runtime_dir, Answer *answer) {
        _cleanup_snapshot_file_ SnapshotFile file = { 0 };
        int r = snapshot_file_read(runtime_dir, STATUS_FILE, &file);

        if (r < 0) {
                explain_file(answer, runtime_dir, STATUS_FILE, r);
                return;
        }
        answer->status = 200;
        answer->content_type = JSON_TYPE;
        text_append(&answer->body, file.data);
}

/* The value of the sampling interval in metrics text. The program never calls setlocale(), so
 * strtod() wants a point. */
static double interval_of(const char *metrics) {
        const char *line = metrics;
        double value;
        char *end;

        while (line && strncmp(line, INTERVAL_METRIC, sizeof(INTERVAL_METRIC) - 1) != 0) {
                line = strchr(line, '\n');
                line = line ? line + 1 : NULL;
        }
        if (!line)
                return INTERVAL_SECONDS_DEFAULT;
        line += sizeof(INTERVAL_METRIC) - 1;
        value = strtod(line, &end);
        return end > line && value > 0 && value < 1e6 ? value : INTERVAL_SECONDS_DEFAULT;
}

static void answer_healthz(const char *runtime_dir, double now_seconds, Answer *answer) {
        _cleanup_snapshot_file_ SnapshotFile file = { 0 };
        int r = snapshot_file_read(runtime_dir, METRICS_FILE, &file);
        double age, limit;

        if (r < 0) {
                explain_file(answer, runtime_dir, METRICS_FILE, r);
                return;
        }
        age = age_of(&file, now_seconds);
        limit = 3 * interval_of(file.data);
        if (limit < ANSWER_HEALTHY_SECONDS_MIN)
                limit = ANSWER_HEALTHY_SECONDS_MIN;
        if (age <= limit) {
                set_plain(answer, 200);
                text_append(&answer->body, "ok\n");
                return;
        }
        set_plain(answer, 503);
        text_append(&answer->body, "stale: the snapshot is ");
        append_age(&answer->body, age);
        text_append(&answer->body, " s old, more than ");
        append_age(&answer->body, limit);
        text_append(&answer->body, " s. Is tidbnumad running? (systemctl status tidbnumad)\n");
}

static void answer_index(Answer *answer) {
        set_plain(answer, 200);
        text_append(&answer->body, "tidbnumad-exporter\n"
                                   "/metrics  Prometheus metrics\n"
                                   "/status   the whole state as JSON\n"
                                   "/healthz  whether the state is fresh\n");
}

int answer_build(const char *runtime_dir, const char *path, double now_seconds, Answer *ret) {
        _cleanup_answer_ Answer answer = { 0 };

        if (strcmp(path, "/metrics") == 0)
                answer_metrics(runtime_dir, now_seconds, &answer);
        else if (strcmp(path, "/status") == 0)
                answer_status(runtime_dir, &answer);
        else if (strcmp(path, "/healthz") == 0)
                answer_healthz(runtime_dir, now_seconds, &answer);
        else if (strcmp(path, "/") == 0)
                answer_index(&answer);
        else {
                set_plain(&answer, 404);
                text_append(&answer.body, "not found; there is /metrics, /status and /healthz\n");
        }
        if (answer.body.error < 0)
                return answer.body.error;
        *ret = answer;
        answer.body = (Text){ 0 };
        return 0;
}

int answer_build_method_not_allowed(Answer *ret) {
        _cleanup_answer_ Answer answer = { 0 };

        set_plain(&answer, 405);
        text_append(&answer.body, "only GET and HEAD are answered\n");
        if (answer.body.error < 0)
                return answer.body.error;
        *ret = answer;
        answer.body = (Text){ 0 };
        return 0;
}
