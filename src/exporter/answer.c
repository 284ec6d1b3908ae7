/* The published files, and answers by path. The exporter adds to the store's file only the age of
 * the snapshot, from the mtime that the kernel set when the daemon wrote it, and its own metrics.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/exporter/answer.h"

/* --- the published files, each read again when it was replaced. A body that is being sent
 * meanwhile lives until its last reader is done --- */

struct Store {
        pthread_mutex_t lock;
        const char *runtime_dir;
        StoreBody *bodies[_STORE_FILE_MAX];
        bool stale[_STORE_FILE_MAX]; /* a newer snapshot waits for memory that slow clients hold */
        size_t old_bytes;
};

static const char *const file_names[_STORE_FILE_MAX] = {
        [STORE_METRICS] = "metrics.prom",
        [STORE_STATUS] = "status.json",
};

int store_new(const char *runtime_dir, Store **ret) {
        Store *store = calloc(1, sizeof(*store));

        if (!store)
                return -ENOMEM;
        store->runtime_dir = runtime_dir;
        (void)pthread_mutex_init(&store->lock, NULL); /* never fails in glibc */
        *ret = store;
        return 0;
}

static void body_free(StoreBody *body) {
        free(body->data);
        free(body);
}
DEFINE_CLEANUP(StoreBody *, body_free)

/* Opens the file, whose directory may have been replaced as well. -ELOOP: a symbolic link; -EBADF:
 * not a regular file; -EFBIG: larger than SNAPSHOT_FILE_MAX. */
static int body_open(const char *directory, const char *name, int *ret_fd, struct stat *ret_stat) {
        _cleanup_close_ int dir_fd = -EBADF, fd = -EBADF;
        struct stat st;

        dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;
        /* O_NONBLOCK: a FIFO in its place must not block. */
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADF;
        if (st.st_size < 0 || (size_t)st.st_size > SNAPSHOT_FILE_MAX)
                return -EFBIG;
        *ret_stat = st;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* The daemon renames a new file into place, so this is always one complete snapshot. */
static int body_read(StoreFile file, int fd, const struct stat *st, StoreBody **ret) {
        _cleanup_(body_freep) StoreBody *body = calloc(1, sizeof(*body));
        const size_t size = (size_t)st->st_size;

        if (!body)
                return -ENOMEM;
        *body = (StoreBody){ .stat = *st, .n_users = 1, .data = malloc(size + 2) };
        if (!body->data)
                return -ENOMEM;
        while (body->size < size) {
                ssize_t n = read(fd, body->data + body->size, size - body->size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                body->size += (size_t)n;
        }
        /* What is appended to the metrics starts on a new line. */
        if (file == STORE_METRICS && body->size > 0 && body->data[body->size - 1] != '\n')
                body->data[body->size++] = '\n';
        body->data[body->size] = '\0';
        *ret = TAKE_PTR(body);
        return 0;
}

/* The daemon writes each snapshot into a new file. */
static bool body_is_of(const StoreBody *body, const struct stat *st) {
        return body->stat.st_dev == st->st_dev && body->stat.st_ino == st->st_ino &&
               body->stat.st_size == st->st_size &&
               body->stat.st_mtim.tv_sec == st->st_mtim.tv_sec &&
               body->stat.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

/* 0 if the clock was set back to before the snapshot. */
static double body_age(const StoreBody *body, double now_seconds) {
        const double age = now_seconds - (double)body->stat.st_mtim.tv_sec -
                           (double)body->stat.st_mtim.tv_nsec / 1e9;

        return age > 0 ? age : 0;
}

static void body_drop(Store *store, StoreBody *body) {
        if (--body->n_users > 0)
                return;
        if (body->old)
                store->old_bytes -= body->size;
        body_free(body);
}

static void body_retire(Store *store, StoreBody **slot) {
        StoreBody *body = TAKE_PTR(*slot);

        if (!body)
                return;
        body->old = true;
        store->old_bytes += body->size;
        body_drop(store, body);
}

/* The memory of a body without readers is freed before the next one is read. */
static bool body_may_retire(const Store *store, const StoreBody *body) {
        return body->n_users == 1 || store->old_bytes + body->size <= STORE_OLD_BYTES_MAX;
}

int store_take(Store *store, StoreFile file, StoreBody **ret) {
        StoreBody **slot = &store->bodies[file];
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        bool changed;
        int r;

        /* Open the file under the lock: otherwise a delayed thread could bring an older snapshot
         * back. */
        (void)pthread_mutex_lock(&store->lock);
        r = body_open(store->runtime_dir, file_names[file], &fd, &st);
        if (r >= 0) {
                changed = *slot && !body_is_of(*slot, &st);
                store->stale[file] = changed && !body_may_retire(store, *slot);
                if (changed && !store->stale[file])
                        body_retire(store, slot);
                if (!*slot)
                        r = body_read(file, fd, &st, slot);
        }
        if (r >= 0) {
                (*slot)->n_users++;
                *ret = *slot;
        }
        (void)pthread_mutex_unlock(&store->lock);
        return r;
}

void store_put_back(Store *store, StoreBody *body) {
        (void)pthread_mutex_lock(&store->lock);
        body_drop(store, body);
        for (StoreFile f = 0; f < _STORE_FILE_MAX; f++)
                if (store->bodies[f] && store->bodies[f]->n_users == 1 &&
                    store->bodies[f]->size > STORE_KEPT_BYTES_MAX)
                        body_retire(store, &store->bodies[f]);
        (void)pthread_mutex_unlock(&store->lock);
}

bool store_is_crowded(Store *store) {
        bool crowded = false;

        (void)pthread_mutex_lock(&store->lock);
        for (StoreFile f = 0; f < _STORE_FILE_MAX; f++)
                crowded |= store->stale[f] && !body_may_retire(store, store->bodies[f]);
        (void)pthread_mutex_unlock(&store->lock);
        return crowded;
}

void store_free(Store *store) {
        if (!store)
                return;
        for (StoreFile f = 0; f < _STORE_FILE_MAX; f++)
                body_retire(store, &store->bodies[f]);
        (void)pthread_mutex_destroy(&store->lock);
        free(store);
}

/* --- the exporter's own metrics, from /proc/self, which a process may always read --- */

static void append_metric(Text *text, const char *name, const char *type, const char *help,
                          int decimals, double value) {
        text_appendf(text, "# HELP %s %s\n# TYPE %s %s\n%s %.*f\n", name, help, name, type, name,
                     decimals, value);
}

/* Appends the exporter's own process metrics. They are not named process_*, because those are the
 * daemon's. Values that cannot be read are omitted. text->error shows a failure. */
static void self_append_metrics(Text *text, double age_seconds, uint64_t n_scrapes,
                                uint64_t n_cut_off) {
        _cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
        _cleanup_close_ int statm_fd = -EBADF;
        char statm[128], *resident_pages = NULL;
        struct rusage used = { 0 };
        uint64_t n_fds = 0;
        ssize_t n;

        (void)getrusage(RUSAGE_SELF, &used);
        for (const struct dirent *entry; dir && (entry = readdir(dir));)
                n_fds += entry->d_name[0] != '.';
        /* Its second number, in pages (proc(5)). */
        statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
        n = statm_fd < 0 ? -1 : read(statm_fd, statm, sizeof(statm) - 1);
        if (n > 0) {
                statm[n] = '\0';
                resident_pages = strchr(statm, ' ');
        }
        append_metric(text, "tidbnumad_exporter_snapshot_age_seconds", "gauge",
                      "Time since the daemon wrote the snapshot of this response.", 3, age_seconds);
        append_metric(text, "tidbnumad_exporter_scrapes_total", "counter",
                      "Responses with metrics, including this one.", 0, (double)n_scrapes);
        append_metric(text, "tidbnumad_exporter_clients_cut_off_total", "counter",
                      "Connections that were closed because the client was too slow.", 0,
                      (double)n_cut_off);
        append_metric(text, "tidbnumad_exporter_cpu_seconds_total", "counter",
                      "User and system CPU time of the exporter.", 3,
                      (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                              (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
        if (resident_pages)
                append_metric(text, "tidbnumad_exporter_resident_memory_bytes", "gauge",
                              "Resident memory of the exporter.", 0,
                              strtod(resident_pages, NULL) * (double)sysconf(_SC_PAGESIZE));
        if (n_fds > 1) /* without the descriptor that is used for counting */
                append_metric(text, "tidbnumad_exporter_open_fds", "gauge",
                              "Open file descriptors of the exporter.", 0, (double)(n_fds - 1));
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

static void answer_set_plain(Answer *answer, unsigned status, const char *text) {
        answer->status = status;
        answer->content_type = PLAIN_TYPE;
        text_append(&answer->text, text);
}

/* 0 also if the answer is an error page, without a body. */
static int answer_take_body(Store *store, StoreFile file, const char *content_type,
                            Answer *answer) {
        char buffer[128];
        int r = store_take(store, file, &answer->body);

        if (r == -ENOMEM)
                return r;
        if (r >= 0) {
                answer->store = store;
                answer->status = 200;
                answer->content_type = content_type;
                return 0;
        }
        /* The exporter works, but its source does not, or not yet. */
        answer_set_plain(answer, 503, "no snapshot: ");
        text_appendf(&answer->text, "%s/%s", store->runtime_dir, file_names[file]);
        if (r == -ENOENT)
                text_append(&answer->text, " does not exist. Is tidbnumad running? (systemctl "
                                           "status tidbnumad)\n");
        else if (r == -ELOOP || r == -EBADF)
                text_append(&answer->text, " is not a regular file\n");
        else if (r == -EFBIG)
                text_appendf(&answer->text, " is larger than %zu bytes\n", SNAPSHOT_FILE_MAX);
        else
                text_appendf(&answer->text, ": %s\n", strerror_r(-r, buffer, sizeof(buffer)));
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

static int answer_healthz(Store *store, double now_seconds, Answer *answer) {
        int r = answer_take_body(store, STORE_METRICS, PLAIN_TYPE, answer);
        const StoreBody *body = answer->body;
        double age, interval, limit;
        bool ready;

        if (r < 0 || !body)
                return r;
        age = body_age(body, now_seconds);
        interval = metric_of(body->data, INTERVAL_METRIC, INTERVAL_SECONDS_DEFAULT);
        limit = 3 * (interval > 0 ? interval : INTERVAL_SECONDS_DEFAULT);
        ready = metric_of(body->data, READY_METRIC, 1) > 0;
        store_put_back(store, TAKE_PTR(answer->body));
        if (limit < ANSWER_HEALTHY_SECONDS_MIN)
                limit = ANSWER_HEALTHY_SECONDS_MIN;
        if (!ready)
                answer_set_plain(answer, 503,
                                 "not ready: tidbnumad has stopped, or has not finished its start "
                                 "(systemctl status tidbnumad)\n");
        else if (age <= limit)
                answer_set_plain(answer, 200, "ok\n");
        else {
                answer_set_plain(answer, 503, "stale: ");
                text_appendf(&answer->text,
                             "the snapshot is %.3f s old, more than %.3f s. Is tidbnumad running? "
                             "(systemctl status tidbnumad)\n",
                             age, limit);
        }
        return 0;
}

int answer_build(Store *store, const AnswerRequest *request, Answer *ret) {
        static const char scheme[] = "http://";
        const char *path = request->path;
        _cleanup_answer_ Answer answer = { 0 };
        int r = 0;

        /* A client that is told of a proxy writes the whole URI, which each server has to take (RFC
         * 9112, 3.2.2). */
        if (path && strncasecmp(path, scheme, strlen(scheme)) == 0) {
                path = strchr(path + strlen(scheme), '/');
                path = path ? path : "/";
        }
        if (!path)
                answer_set_plain(&answer, 405, "only GET and HEAD are answered\n");
        else if (strcmp(path, "/metrics") == 0)
                r = answer_take_body(store, STORE_METRICS, METRICS_TYPE, &answer);
        else if (strcmp(path, "/status") == 0)
                r = answer_take_body(store, STORE_STATUS, JSON_TYPE, &answer);
        else if (strcmp(path, "/healthz") == 0)
                r = answer_healthz(store, request->now_seconds, &answer);
        else if (strcmp(path, "/") == 0)
                answer_set_plain(&answer, 200,
                                 "tidbnumad-exporter\n"
                                 "/metrics  Prometheus metrics\n"
                                 "/status   the whole state as JSON\n"
                                 "/healthz  whether the state is recent\n");
        else
                answer_set_plain(&answer, 404,
                                 "not found; there is /metrics, /status and /healthz\n");
        if (r >= 0 && answer.body && strcmp(path, "/metrics") == 0) {
                answer.is_scrape = true;
                self_append_metrics(&answer.text, body_age(answer.body, request->now_seconds),
                                    request->n_scrapes + 1, request->n_cut_off);
        }
        if (r >= 0)
                r = answer.text.error;
        if (r >= 0)
                *ret = TAKE_STRUCT(answer);
        return r;
}
