/* Answers by path. The exporter adds to the store's file only the age of the snapshot, from the
 * mtime that the kernel set when the daemon wrote it, and its own metrics. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/exporter/answer.h"
#include "tidbnumad/exporter/snapshot-file.h"

typedef struct SelfNumbers {
        double snapshot_age_seconds;
        uint64_t n_scrapes; /* number of answers with metrics, including this one */
        uint64_t
                n_cut_off; /* number of clients that were disconnected because they were too slow */
} SelfNumbers;

/* --- the exporter's own metrics, from /proc/self, which a process may always read --- */

/* "12.345": seconds, to a thousandth. */
static void self_append_seconds(Text *text, double seconds) {
        uint64_t millis = (uint64_t)(seconds * 1000 + 0.5);

        text_appendf(text, "%" PRIu64 ".%03" PRIu64, millis / 1000, millis % 1000);
}

static void append_head(Text *text, const char *name, const char *type, const char *help) {
        text_appendf(text, "# HELP %s %s\n# TYPE %s %s\n%s ", name, help, name, type, name);
}

static void append_seconds(Text *text, const char *name, const char *type, const char *help,
                           double value) {
        append_head(text, name, type, help);
        self_append_seconds(text, value);
        text_append(text, "\n");
}

static void append_count(Text *text, const char *name, const char *type, const char *help,
                         uint64_t value) {
        append_head(text, name, type, help);
        text_appendf(text, "%" PRIu64 "\n", value);
}

static double cpu_seconds(void) {
        struct rusage used = { 0 };

        (void)getrusage(RUSAGE_SELF, &used);
        return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* The second number of statm, in pages (proc(5)); 0: not known. */
static uint64_t resident_bytes(void) {
        _cleanup_close_ int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
        char line[128], *second;
        ssize_t n;

        if (fd < 0)
                return 0;
        n = read(fd, line, sizeof(line) - 1);
        if (n <= 0)
                return 0;
        line[n] = '\0';
        second = strchr(line, ' ');
        return second ? strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Without the descriptor that is used for counting; 0: not known. */
static uint64_t open_fds(void) {
        _cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
        uint64_t n = 0;

        for (const struct dirent *entry; dir && (entry = readdir(dir));)
                n += entry->d_name[0] != '.';
        return n > 0 ? n - 1 : 0;
}

/* Appends the exporter's own process metrics. They are not named process_*, because those are the
 * daemon's. Values that cannot be read are omitted. text->error shows a failure. */
static void self_append_metrics(Text *text, const SelfNumbers *numbers) {
        const uint64_t resident = resident_bytes(), fds = open_fds();

        append_seconds(text, "tidbnumad_exporter_snapshot_age_seconds", "gauge",
                       "Time since the daemon wrote the snapshot of this response.",
                       numbers->snapshot_age_seconds);
        append_count(text, "tidbnumad_exporter_scrapes_total", "counter",
                     "Responses with metrics, including this one.", numbers->n_scrapes);
        append_count(text, "tidbnumad_exporter_clients_cut_off_total", "counter",
                     "Connections that were closed because the client was too slow.",
                     numbers->n_cut_off);
        append_seconds(text, "tidbnumad_exporter_cpu_seconds_total", "counter",
                       "User and system CPU time of the exporter.", cpu_seconds());
        if (resident > 0)
                append_count(text, "tidbnumad_exporter_resident_memory_bytes", "gauge",
                             "Resident memory of the exporter.", resident);
        if (fds > 0)
                append_count(text, "tidbnumad_exporter_open_fds", "gauge",
                             "Open file descriptors of the exporter.", fds);
}

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define PLAIN_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE "application/json"

#define INTERVAL_METRIC "tidbnumad_sample_interval_seconds "
#define INTERVAL_SECONDS_DEFAULT 10.0

/* The daemon publishes 0 until its first scan is complete, and at last when it stops. */
#define READY_METRIC "tidbnumad_ready "

void answer_done(Answer *answer) {
        if (answer->body)
                store_put_back(answer->store, answer->body);
        text_done(&answer->text);
        *answer = (Answer){ 0 };
}

static void set_plain(Answer *answer, unsigned status) {
        answer->status = status;
        answer->content_type = PLAIN_TYPE;
}

/* 503: the exporter works, but its source does not, or not yet. */
static void explain_file(Answer *answer, const Store *store, StoreFile file, int error) {
        const char *runtime_dir = store_runtime_dir(store), *name = store_file_name(file);
        char buffer[128];

        set_plain(answer, 503);
        if (error == -ENOENT)
                text_appendf(&answer->text,
                             "no snapshot: %s/%s does not exist. Is tidbnumad running? (systemctl "
                             "status tidbnumad)\n",
                             runtime_dir, name);
        else if (error == -ELOOP || error == -EBADF)
                text_appendf(&answer->text, "no snapshot: %s/%s is not a regular file\n",
                             runtime_dir, name);
        else if (error == -EFBIG)
                text_appendf(&answer->text, "no snapshot: %s/%s is larger than %zu bytes\n",
                             runtime_dir, name, SNAPSHOT_FILE_MAX);
        else
                text_appendf(&answer->text, "no snapshot: %s/%s: %s\n", runtime_dir, name,
                             strerror_r(-error, buffer, sizeof(buffer)));
}

/* 0 also if the answer is an error page. */
static int take_body(Store *store, StoreFile file, const char *content_type, Answer *answer) {
        int r = store_take(store, file, &answer->body);

        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                explain_file(answer, store, file, r);
                return 0;
        }
        answer->store = store;
        answer->status = 200;
        answer->content_type = content_type;
        return 0;
}

static int answer_metrics(Store *store, const AnswerRequest *request, Answer *answer) {
        int r = take_body(store, STORE_METRICS, METRICS_TYPE, answer);

        if (r < 0 || !answer->body)
                return r;
        answer->is_scrape = true;
        self_append_metrics(&answer->text,
                            &(SelfNumbers){
                                    snapshot_id_age(&answer->body->file.id, request->now_seconds),
                                    request->n_scrapes + 1,
                                    request->n_cut_off,
                            });
        return 0;
}

/* The value of a metric without labels in the text of the metrics. The program never calls
 * setlocale(), so strtod() expects a point. */
static double metric_of(const char *metrics, const char *name, double otherwise) {
        const size_t n = strlen(name);
        const char *line = metrics;
        double value;
        char *end;

        while (line && strncmp(line, name, n) != 0) {
                line = strchr(line, '\n');
                line = line ? line + 1 : NULL;
        }
        if (!line)
                return otherwise;
        value = strtod(line + n, &end);
        return end > line + n && value >= 0 && value < 1e6 ? value : otherwise;
}

static double interval_of(const char *metrics) {
        const double interval = metric_of(metrics, INTERVAL_METRIC, INTERVAL_SECONDS_DEFAULT);

        return interval > 0 ? interval : INTERVAL_SECONDS_DEFAULT;
}

static int answer_healthz(Store *store, double now_seconds, Answer *answer) {
        StoreBody *body;
        int r = store_take(store, STORE_METRICS, &body);
        double age, limit;
        bool ready;

        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                explain_file(answer, store, STORE_METRICS, r);
                return 0;
        }
        age = snapshot_id_age(&body->file.id, now_seconds);
        limit = 3 * interval_of(body->file.data);
        ready = metric_of(body->file.data, READY_METRIC, 1) > 0;
        store_put_back(store, body);
        if (limit < ANSWER_HEALTHY_SECONDS_MIN)
                limit = ANSWER_HEALTHY_SECONDS_MIN;
        if (!ready) {
                set_plain(answer, 503);
                text_append(&answer->text, "not ready: tidbnumad has stopped, or has not finished "
                                           "its start (systemctl status tidbnumad)\n");
                return 0;
        }
        if (age <= limit) {
                set_plain(answer, 200);
                text_append(&answer->text, "ok\n");
                return 0;
        }
        set_plain(answer, 503);
        text_append(&answer->text, "stale: the snapshot is ");
        self_append_seconds(&answer->text, age);
        text_append(&answer->text, " s old, more than ");
        self_append_seconds(&answer->text, limit);
        text_append(&answer->text, " s. Is tidbnumad running? (systemctl status tidbnumad)\n");
        return 0;
}

static void answer_index(Answer *answer) {
        set_plain(answer, 200);
        text_append(&answer->text, "tidbnumad-exporter\n"
                                   "/metrics  Prometheus metrics\n"
                                   "/status   the whole state as JSON\n"
                                   "/healthz  whether the state is recent\n");
}

/* Moves the answer to the caller, unless building it failed. */
static int finish(int r, Answer *answer, Answer *ret) {
        if (r >= 0)
                r = answer->text.error;
        if (r < 0)
                return r;
        *ret = *answer;
        *answer = (Answer){ 0 };
        return 0;
}

/* A client that is told of a proxy writes the whole URI, which each server has to take (RFC 9112,
 * 3.2.2). */
static const char *path_of(const char *target) {
        static const char scheme[] = "http://";

        if (strncasecmp(target, scheme, strlen(scheme)) != 0)
                return target;
        target = strchr(target + strlen(scheme), '/');
        return target ? target : "/";
}

int answer_build(Store *store, const AnswerRequest *request, Answer *ret) {
        const char *path = path_of(request->path);
        _cleanup_answer_ Answer answer = { 0 };
        int r = 0;

        if (strcmp(path, "/metrics") == 0)
                r = answer_metrics(store, request, &answer);
        else if (strcmp(path, "/status") == 0)
                r = take_body(store, STORE_STATUS, JSON_TYPE, &answer);
        else if (strcmp(path, "/healthz") == 0)
                r = answer_healthz(store, request->now_seconds, &answer);
        else if (strcmp(path, "/") == 0)
                answer_index(&answer);
        else {
                set_plain(&answer, 404);
                text_append(&answer.text, "not found; there is /metrics, /status and /healthz\n");
        }
        return finish(r, &answer, ret);
}

int answer_build_method_not_allowed(Answer *ret) {
        _cleanup_answer_ Answer answer = { 0 };

        set_plain(&answer, 405);
        text_append(&answer.text, "only GET and HEAD are answered\n");
        return finish(0, &answer, ret);
}
