/* tidbnumactl trial: measures, has the daemon bind, measures again, and judges. The daemon changes
 * everything, and takes it back by itself when the connection ends: so does a kill of this command.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tidbnumad/base/json.h"
#include "tidbnumad/base/prometheus.h"
#include "tidbnumad/ctl/ask.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/control-session.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/policies.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/plan/trial.h"
#include "tidbnumad/publish/table.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/http.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/world/instances.h"

#define SECOND UINT64_C(1000000)
#define DURATION_DEFAULT (600 * SECOND)
#define DURATION_MIN (60 * SECOND)
#define DURATION_MAX (24 * 3600 * SECOND)

/* A sample is as long as a scrape of Prometheus, 10 s, unless the trial would have too few of them,
 * or more than are of use. */
#define SAMPLE_MIN SECOND
#define SAMPLE_MAX (10 * SECOND)
enum { SAMPLES_WANTED = 30 };

#define BINDING_POLL (SECOND / 2)

/* Binding moves gigabytes, which takes as long as it takes; it is given up where nothing moves. */
#define BINDING_STALL (600 * SECOND)

/* Any; it is in the answer of --json. */
#define SEED UINT64_C(1)

/* --- what an instance on trial shows: its queries, by its status port, and what the kernel counts.
 * Servers with TLS at their status ports are left out: the trial would need the cluster's
 * certificates, and a password of nobody --- */

typedef struct TrialReading {
        bool has_queries;
        double seconds; /* monotonic */
        double cpu_seconds;
        bool has_pressure;
        double cpu_pressure_seconds, memory_pressure_seconds;
        PromMetric count, duration;
} TrialReading;

typedef struct TrialSource {
        const HostInstance *observed; /* borrowed */
        HttpAddress address;          /* where it reports its queries; AF_UNSPEC: nowhere */
        const char *count;            /* by which metrics; NULL: what `duration` counts; borrowed */
        const char *duration;         /* NULL: it has none; borrowed */
        bool was_bound;               /* its CPUs were, before the trial; its memory was not */
        CpuSet cpus;                  /* of its place, when the second half began */
        Error why;                    /* why its queries are not known; none: they are */
        size_t n_missed;
        TrialReading last, now;
} TrialSource;

/* A sample takes a second at least. A body of TiDB or TiKV has some 500 kB. */
static const HttpLimits limits = { .timeout_msec = 800, .body_max_bytes = 16 << 20 };

/* By which metrics a product reports its queries. `count` NULL: the histogram counts them. */
static const struct {
        const char *count, *duration;
} queries[N_PRODUCTS] = {
        [PRODUCT_TIDB] = { "tidb_server_query_total", "tidb_server_handle_query_duration_seconds" },
        [PRODUCT_TIKV] = { NULL, "tikv_grpc_msg_duration_seconds" },
        [PRODUCT_PD] = { NULL, "pd_server_handle_tso_duration_seconds" },
};

static void take_sample(const PromSample *sample, void *userdata) {
        TrialReading *reading = userdata;

        if (reading->count.name)
                prom_metric_add(&reading->count, sample);
        if (reading->duration.name)
                prom_metric_add(&reading->duration, sample);
}

static int take_bytes(const char *bytes, size_t size, void *userdata) {
        prom_reader_add(userdata, bytes, size);
        return 0;
}

static const PromMetric *queries_of(const TrialReading *reading) {
        return reading->count.name ? &reading->count : &reading->duration;
}

/* Of the unit's own group: a session's pressure is that of all who are in it. */
static void read_pressure(const Sysroot *sysroot, const HostInstance *o, TrialReading *ret) {
        static const char *const files[] = { "cpu.pressure", "memory.pressure" };
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        double seconds[ELEMENTSOF(files)];

        if (!unit_is_service(o->unit) || o->shared ||
            proc_cgroup_read(o->members[0].handle, &path) < 0 ||
            cgroup_open(sysroot, path, &fd) < 0)
                return;
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                Pressure pressure;

                if (pressure_read_file(fd, files[i], &pressure) < 0)
                        return;
                seconds[i] = (double)pressure.total_usec / 1e6;
        }
        ret->has_pressure = true;
        ret->cpu_pressure_seconds = seconds[0];
        ret->memory_pressure_seconds = seconds[1];
}

static void series_add(TrialSeries *series, TrialHalf half, double value) {
        if (series->n[half] < TRIAL_SAMPLES_MAX)
                series->values[half][series->n[half]++] = value;
}

/* Of each measure, by the last two readings. */
static void trial_source_sample(TrialSource *source, TrialHalf half, double remote_ratio,
                                TrialInstance *ret) {
        const TrialReading *last = &source->last, *now = &source->now;
        const double seconds = now->seconds - last->seconds;
        const double cpu = now->cpu_seconds - last->cpu_seconds;
        const bool pressure = now->has_pressure && last->has_pressure;
        const double cpu_pressure = now->cpu_pressure_seconds - last->cpu_pressure_seconds;
        const double memory_pressure = now->memory_pressure_seconds - last->memory_pressure_seconds;
        double n = NAN, p50 = NAN, p99 = NAN;

        if (!now->has_queries || !last->has_queries ||
            !prom_metric_increase(queries_of(last), queries_of(now), &n)) {
                n = NAN;
                source->n_missed++;
        } else if (now->duration.name) {
                if (!prom_metric_quantile(&last->duration, &now->duration, 0.5, &p50))
                        p50 = NAN;
                if (!prom_metric_quantile(&last->duration, &now->duration, 0.99, &p99))
                        p99 = NAN;
        }
        series_add(&ret->series[TRIAL_CPU_PER_QUERY], half, n > 0 && cpu >= 0 ? cpu / n : NAN);
        series_add(&ret->series[TRIAL_RATE], half, n / seconds);
        series_add(&ret->series[TRIAL_P50], half, p50);
        series_add(&ret->series[TRIAL_P99], half, p99);
        series_add(&ret->series[TRIAL_CPU], half, cpu >= 0 ? cpu / seconds : NAN);
        series_add(&ret->series[TRIAL_CPU_PRESSURE], half, pressure ? cpu_pressure / seconds : NAN);
        series_add(&ret->series[TRIAL_MEMORY_PRESSURE], half,
                   pressure ? memory_pressure / seconds : NAN);
        series_add(&ret->series[TRIAL_REMOTE], half, remote_ratio);
}

/* --- the trial --- */

typedef struct Trial {
        const Args *args;
        Error *error;
        uint64_t half_usec, sample_usec;
        size_t n_samples; /* of each half */
        int signals;      /* signalfd */
        sd_bus *bus;
        Machine machine;
        Policies policies;
        HostInstances observed;
        Snapshot status;
        WordList names;     /* of the instances on trial */
        TrialInstance *all; /* as long as `names`, as the sources */
        TrialSource *sources;
        CpuSet cpus; /* of their places */
        uint64_t softirq_ticks, all_ticks;
        TrialSeries softirq; /* share of these CPUs' time */
        TrialDifference softirq_difference;
        TrialJudgement judgement;
        WordList outcome; /* what the daemon answered at the end */
        bool shows_progress;
} Trial;

static void trial_done(Trial *t) {
        for (size_t i = 0; i < t->names.n_words && t->sources; i++)
                error_done(&t->sources[i].why);
        free(t->sources);
        free(t->all);
        control_close(t->bus);
        word_list_done(&t->names);
        word_list_done(&t->outcome);
        status_done(&t->status);
        host_instances_done(&t->observed);
        policies_done(&t->policies);
        machine_close(&t->machine);
        text_done(&t->judgement.sentence);
        closep(&t->signals);
}

/* --- waiting --- */

static void end_progress(Trial *t) {
        if (t->shows_progress)
                (void)fputs("\r\x1b[K", stderr);
        t->shows_progress = false;
}

/* -EINTR: a signal asks to end; -ECONNRESET: the daemon has ended, or it has ended the trial. */
static int wait_until(Trial *t, uint64_t due_usec, const char *what, uint64_t end_usec) {
        for (;;) {
                struct pollfd fds[] = { { .fd = t->signals, .events = POLLIN },
                                        { .fd = sd_bus_get_fd(t->bus), .events = POLLIN } };
                const uint64_t now = clock_monotonic_usec();
                const uint64_t left = end_usec > now ? (end_usec - now + SECOND - 1) / SECOND : 0;
                uint64_t wait_usec = due_usec > now ? due_usec - now : 0;

                /* One line that is written over, at a terminal; elsewhere each phase once. */
                if (isatty(STDERR_FILENO)) {
                        t->shows_progress = true;
                        if (left > 0)
                                (void)fprintf(stderr,
                                              "\r\x1b[K%s; %" PRIu64 " min %02" PRIu64 " s left",
                                              what, left / 60, left % 60);
                        else
                                (void)fprintf(stderr, "\r\x1b[K%s", what);
                        (void)fflush(stderr);
                }
                if (wait_usec > SECOND)
                        wait_usec = SECOND;
                if (poll(fds, ELEMENTSOF(fds), (int)((wait_usec + 999) / 1000)) < 0 &&
                    errno != EINTR)
                        return -errno;
                if (fds[0].revents)
                        return -EINTR;
                if (fds[1].revents && control_session_process(t->bus) < 0)
                        return -ECONNRESET;
                if (clock_monotonic_usec() >= due_usec)
                        return 0;
        }
}

/* --- readings and samples --- */

static int read_status(Trial *t) {
        status_done(&t->status);
        return status_file_read(t->args->runtime_dir, &t->status);
}

static int report_ended(const Trial *t, const char *name) {
        return error_set(t->error, -ESRCH,
                         "%s has ended or was started again, so that the halves cannot be compared",
                         name);
}

/* Takes a reading of all instances and CPUs; each but the first of a half gives a sample of each
 * measure. An unreachable port is no error, and `why` of its source has what is wrong with it.
 * -ESRCH: an instance has ended, was started again or is in no policy any more, which was said. */
static int read_all(Trial *t, bool first, TrialHalf half) {
        const double ticks = (double)sysconf(_SC_CLK_TCK);
        CpuTimes times[CPU_SET_MAX];
        const int n_cpus = cpu_times_read(&t->machine.sysroot, times, CPU_SET_MAX);
        uint64_t softirq_ticks = 0, all_ticks = 0;
        int r = read_status(t);

        for (int i = 0; i < n_cpus; i++)
                if (id_set_has(&t->cpus, times[i].cpu)) {
                        softirq_ticks += times[i].softirq;
                        all_ticks += times[i].user + times[i].nice + times[i].system +
                                     times[i].idle + times[i].iowait + times[i].irq +
                                     times[i].softirq + times[i].steal;
                }
        if (!first && all_ticks > t->all_ticks)
                series_add(&t->softirq, half,
                           (double)(softirq_ticks - t->softirq_ticks) /
                                   (double)(all_ticks - t->all_ticks));
        t->softirq_ticks = softirq_ticks;
        t->all_ticks = all_ticks;
        for (size_t i = 0; i < t->names.n_words && r >= 0; i++) {
                const char *name = t->names.words[i];
                const InstanceInfo *published = status_file_find(&t->status, name);
                TrialSource *source = &t->sources[i];
                const HostInstance *o = source->observed;
                PromReader reader = { .handler = take_sample, .userdata = &source->now };

                source->now = (TrialReading){ .seconds = (double)clock_monotonic_usec() / 1e6,
                                              .count.name = source->count,
                                              .duration.name = source->duration };
                if (!published && proc_is_alive(o->members[0].handle))
                        return error_set(t->error, -ESRCH, "no policy takes %s any more", name);
                if (!published || published->pid != o->members[0].process.id.pid)
                        return report_ended(t, name);
                if (half == TRIAL_BEFORE && published->cpu_bound && !source->was_bound)
                        return error_set(t->error, -EBUSY,
                                         "%s was bound meanwhile, by policies that were loaded, so "
                                         "that the halves cannot be compared",
                                         name);
                if (first)
                        source->cpus = published->cpus;
                if (half == TRIAL_AFTER && !id_set_equal(&published->cpus, &source->cpus))
                        return error_set(t->error, -EBUSY,
                                         "%s was given another place meanwhile, CPUs %s, so that "
                                         "the halves cannot be compared",
                                         name, id_set_list(&published->cpus));
                for (size_t k = 0; k < o->n_members; k++) {
                        ProcStat stat;

                        r = proc_stat_read(o->members[k].handle, 0, &stat);
                        if (r < 0 && k == 0)
                                return r == -ESRCH ? report_ended(t, name) : r;
                        if (r >= 0)
                                source->now.cpu_seconds += (double)stat.cpu_ticks / ticks;
                }
                r = 0; /* another process of it may end */
                read_pressure(&t->machine.sysroot, o, &source->now);
                if (source->address.any.sa_family != AF_UNSPEC) {
                        const int got = http_get(&source->address, "/metrics", &limits, take_bytes,
                                                 &reader, &source->why);

                        source->now.has_queries = got == 0 && queries_of(&source->now)->found;
                        if (got >= 0 && !source->now.has_queries)
                                (void)error_set(
                                        &source->why, -ENODATA, "its port %u does not report %s%s",
                                        http_port(&source->address),
                                        source->count ? source->count : source->duration,
                                        reader.n_malformed > 0 ? ", and other text than metrics"
                                                               : "");
                }
                if (!first)
                        trial_source_sample(source, half, published->remote_ratio, &t->all[i]);
                source->last = source->now;
        }
        return r;
}

static int measure_half(Trial *t, TrialHalf half) {
        const char *what =
                half == TRIAL_BEFORE ? "Measuring without binding" : "Measuring with binding";
        const uint64_t begin_usec = clock_monotonic_usec();
        int r = read_all(t, true, half);

        if (!isatty(STDERR_FILENO))
                output_line(stderr, "%s for %" PRIu64 " s", what, t->half_usec / SECOND);
        for (size_t k = 1; r >= 0 && k <= t->n_samples; k++) {
                r = wait_until(t, begin_usec + k * t->sample_usec, what, begin_usec + t->half_usec);
                if (r >= 0)
                        r = read_all(t, false, half);
        }
        return r;
}

/* --- binding --- */

/* Has the daemon bind all instances, and waits until they are. -EPERM, -ESRCH: one never will be,
 * which was said. */
static int bind_all(Trial *t) {
        WordList lines = { 0 };
        size_t n_before = SIZE_MAX;
        uint64_t pending_before = 0, moved_usec;
        int r;

        end_progress(t);
        r = control_session_call(t->args, t->bus, "TrialBind", &lines, t->error);
        word_list_done(&lines);
        if (r != 0)
                return r;
        moved_usec = clock_monotonic_usec();
        for (;;) {
                _cleanup_text_ Text what = { 0 };
                uint64_t pending = 0, now;
                size_t n = 0;

                r = read_status(t);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < t->names.n_words; i++) {
                        const char *name = t->names.words[i];
                        const InstanceInfo *p = status_file_find(&t->status, name);

                        if (!p || p->pid != t->sources[i].observed->members[0].process.id.pid)
                                return report_ended(t, name);
                        if (p->state == INSTANCE_REFUSED)
                                return error_set(t->error, -EPERM, "%s is not bound: %s", name,
                                                 p->reason);
                        n += p->state == INSTANCE_BOUND || p->state == INSTANCE_WIDENED ||
                             p->state == INSTANCE_PARTLY;
                        pending += p->pending_bytes;
                }
                if (n == t->names.n_words)
                        return 0;
                now = clock_monotonic_usec();
                if (n != n_before || pending != pending_before)
                        moved_usec = now;
                n_before = n;
                pending_before = pending;
                if (now > moved_usec + BINDING_STALL)
                        return error_set(t->error, -EPERM,
                                         "%zu of %zu instances are bound, and nothing has moved "
                                         "for 10 minutes: see tidbnumactl status",
                                         n, t->names.n_words);
                text_appendf(&what, "Binding: %zu of %zu bound, %" PRIu64 " MiB to move", n,
                             t->names.n_words, pending >> 20);
                r = wait_until(t, now + BINDING_POLL, text_string(&what), 0);
                if (r < 0)
                        return r;
        }
}

/* --- the report --- */

static void add_row(Table *table, const char *name, const char *what, TrialMeasure measure,
                    const TrialDifference *d) {
        const bool share = measure >= TRIAL_CPU_PRESSURE;

        if (isnan(d->median[TRIAL_BEFORE]) && isnan(d->median[TRIAL_AFTER]))
                return;
        table_add(table, name);
        table_add(table, what);
        for (TrialHalf half = 0; half < N_TRIAL_HALVES; half++) {
                const double value = d->median[half];

                if (isnan(value))
                        table_add(table, "-");
                else if (share)
                        table_addf(table, "%.1f %%", value * 100);
                else if (measure == TRIAL_CPU)
                        table_addf(table, "%.2f", value);
                else if (measure == TRIAL_RATE)
                        table_addf(table, "%.0f", value);
                else if (value < 0.001)
                        table_addf(table, "%.1f µs", value * 1e6);
                else
                        table_addf(table, value < 1 ? "%.2f ms" : "%.0f ms", value * 1e3);
        }
        if (!d->known) {
                table_add(table, "-");
                table_add(table, "-");
                return;
        }
        table_addf(table, share ? "%+.1f points" : "%+.1f %%", d->change * 100);
        table_addf(table, "%+.1f to %+.1f", d->low * 100, d->high * 100);
}

static void append_outcome(const Trial *t, Text *text) {
        for (size_t i = 0; i < t->outcome.n_words; i++)
                text_appendf(text, "%s\n", t->outcome.words[i]);
}

static int trial_print_text(const Trial *t) {
        static const char *const headings[] = { "INSTANCE", "MEASURE", "WITHOUT",
                                                "WITH",     "CHANGE",  "INTERVAL" };
        _cleanup_table_ Table table = { 0 };
        _cleanup_text_ Text text = { 0 };

        text_appendf(&text,
                     "%" PRIu64 " s without binding, %" PRIu64 " s with it; medians of %zu samples "
                     "each, intervals of %.3g %%\n\n",
                     t->half_usec / SECOND, t->half_usec / SECOND, t->n_samples,
                     t->judgement.level * 100);
        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < t->names.n_words; i++)
                for (TrialMeasure m = 0; m < N_TRIAL_MEASURES; m++)
                        add_row(&table, t->names.words[i], trial_measure_to_string(m), m,
                                &t->all[i].differences[m]);
        add_row(&table, "host", "soft interrupts", TRIAL_CPU_PRESSURE, &t->softirq_difference);
        table_render(&table, output_width(), &text);
        text_append(&text, "\n");
        for (size_t i = 0; i < t->names.n_words; i++) {
                const TrialSource *s = &t->sources[i];

                if (!t->all[i].judged || s->n_missed > 0) {
                        text_append_printable(&text, t->names.words[i]);
                        if (t->all[i].judged)
                                text_appendf(&text, " lacks %zu of %zu samples: ", s->n_missed,
                                             2 * t->n_samples);
                        else
                                text_append(&text, " is not judged: ");
                        text_appendf(&text, "%s\n",
                                     s->why.sentence ? s->why.sentence : "it had too few queries");
                }
        }
        for (size_t i = 0; i < t->names.n_words; i++) {
                const InstanceInfo *p = status_file_find(&t->status, t->names.words[i]);

                if (!p || p->state == INSTANCE_BOUND)
                        continue;
                text_append_printable(&text, p->name);
                text_appendf(&text, " was not bound as its policy wants (%s): ",
                             instance_state_to_string(p->state));
                text_append_printable(&text, p->reason);
                text_append(&text, "\n");
        }
        text_appendf(&text, "%s\n", t->judgement.sentence.data);
        append_outcome(t, &text);
        return output_text(&text);
}

static void put_difference(Json *json, const char *key, const TrialDifference *d) {
        JSON_OBJECT(json, key) {
                json_put_number(json, "without", d->median[TRIAL_BEFORE]);
                json_put_number(json, "with", d->median[TRIAL_AFTER]);
                json_put_number(json, "change", d->change);
                json_put_number(json, "low", d->low);
                json_put_number(json, "high", d->high);
                json_put_bool(json, "shown", d->shown);
        }
}

static int trial_print_json(const Trial *t, bool reverted, bool kept) {
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };

        JSON_OBJECT(&json, NULL) {
                json_put_string(&json, "verdict", trial_verdict_to_string(t->judgement.verdict));
                json_put_string(&json, "sentence", t->judgement.sentence.data);
                json_put_bool(&json, "reverted", reverted);
                json_put_bool(&json, "kept", kept);
                json_put_strings(&json, "outcome", (const char *const *)t->outcome.words,
                                 t->outcome.n_words);
                json_put_number(&json, "half_seconds", (double)t->half_usec / 1e6);
                json_put_number(&json, "sample_seconds", (double)t->sample_usec / 1e6);
                json_put_number(&json, "interval_level", t->judgement.level);
                json_put_count(&json, "seed", SEED);
                JSON_ARRAY(&json, "instances", i, t->names.n_words)
                        JSON_OBJECT(&json, NULL) {
                                const InstanceInfo *p =
                                        status_file_find(&t->status, t->names.words[i]);

                                json_put_string(&json, "name", t->names.words[i]);
                                json_put_string(&json, "state",
                                                p ? instance_state_to_string(p->state) : NULL);
                                json_put_string(&json, "state_reason", p ? p->reason : NULL);
                                json_put_bool(&json, "judged", t->all[i].judged);
                                json_put_bool(&json, "load_changed", t->all[i].load_changed);
                                json_put_count(&json, "missed_samples", t->sources[i].n_missed);
                                json_put_string(&json, "reason", t->sources[i].why.sentence);
                                for (TrialMeasure m = 0; m < N_TRIAL_MEASURES; m++)
                                        put_difference(&json, trial_measure_key(m),
                                                       &t->all[i].differences[m]);
                        }
                put_difference(&json, "softirq", &t->softirq_difference);
        }
        return output_json(&text);
}

/* --- the command --- */

/* The instances that the daemon would bind, as processes that this command reads itself. Without
 * one that it can judge by it ends here, before anything is changed. */
static int find_instances(Trial *t) {
        size_t n_readable = 0;
        int r = machine_open(t->args, &t->machine, t->error);

        if (r >= 0)
                r = policies_load_in_force(t->args, &t->machine, &t->policies);
        if (r == -EINVAL)
                r = policies_refuse(&t->policies, NULL, t->error);
        if (r >= 0)
                r = read_status(t);
        if (r >= 0)
                r = instances_find(&t->machine.sysroot, &t->policies.set, &t->status, &t->observed);
        if (r >= 0)
                r = host_instances_describe(&t->machine.sysroot, &t->machine.topology,
                                            &t->observed);
        for (size_t i = 0; r >= 0 && i < t->status.n_instances; i++) {
                const InstanceInfo *p = &t->status.instances[i];

                if (!id_set_is_empty(&p->nodes) && !word_list_has(&t->names, p->name))
                        output_line(stderr, "note: %s is not on trial, because it is %s%s", p->name,
                                    instance_state_to_string(p->state),
                                    p->state == INSTANCE_BOUND ? " to its place already" : "");
        }
        t->all = calloc(t->names.n_words + 1, sizeof(*t->all));
        t->sources = calloc(t->names.n_words + 1, sizeof(*t->sources));
        if (!t->all || !t->sources)
                return -ENOMEM;
        for (size_t i = 0; r >= 0 && i < t->names.n_words; i++) {
                const char *name = t->names.words[i];
                const InstanceInfo *published = status_file_find(&t->status, name);
                TrialSource *s = &t->sources[i];
                const PolicyMetrics *metrics;
                Product product;

                s->observed = host_instances_find_subject(&t->observed, name);
                if (!s->observed || !published)
                        return report_ended(t, name);
                t->all[i].name = name;
                s->was_bound = published->cpu_bound;
                id_set_union(&t->cpus, &published->cpus);
                /* By the policy, else see ask_address_find(). */
                metrics = &s->observed->policy->metrics;
                product = product_of(s->observed->members[0].process.exe, NULL, s->observed->unit);
                s->count = metrics->port > 0 ? metrics->count : queries[product].count;
                s->duration = metrics->port > 0 ? metrics->duration : queries[product].duration;
                s->why.sentence = ask_address_find(&t->machine.sysroot, s->observed, metrics->port,
                                                   &s->address);
                if (s->why.sentence)
                        s->address = (HttpAddress){ .any.sa_family = AF_UNSPEC };
        }
        if (r >= 0)
                r = read_all(t, true, TRIAL_BEFORE);
        for (size_t i = 0; r >= 0 && i < t->names.n_words; i++) {
                TrialSource *s = &t->sources[i];

                n_readable += s->last.has_queries;
                if (s->last.has_queries)
                        continue;
                output_line(stderr, "note: %s cannot be judged: %s", t->names.words[i],
                            error_sentence(&s->why));
                s->address.any.sa_family = AF_UNSPEC; /* it would delay the others' samples */
        }
        if (r >= 0 && n_readable == 0)
                return error_set(t->error, COMMAND_EXIT_REFUSED,
                                 "no instance reports its queries, so nothing can be judged: see "
                                 "THE TRIAL in tidbnumactl(8)");
        return r;
}

/* Without a judgement: has the daemon restore everything, and prints what it answers. */
static int break_off(Trial *t, int r) {
        const bool no_memory = r == -ENOMEM;
        WordList lines = { 0 };

        if (r == -ECONNRESET)
                return error_set(t->error, COMMAND_EXIT_REFUSED,
                                 "the daemon has ended, or somebody's pause or release has ended "
                                 "the trial: what it had bound is released, by the daemon that "
                                 "starts next if this one has ended; see tidbnumactl status");
        if (r == -EINTR)
                (void)error_set(t->error, r, "interrupted");
        output_error(t->error);
        r = control_session_call(t->args, t->bus, "TrialEnd", &lines, t->error);
        for (size_t i = 0; i < lines.n_words; i++)
                output_line(stderr, "%s", lines.words[i]);
        word_list_done(&lines);
        return r == 0 && no_memory ? -ENOMEM : COMMAND_EXIT_REFUSED;
}

int command_trial(const Args *args, Error *error) {
        _cleanup_(trial_done) Trial t = {
                .args = args, .error = error, .signals = -EBADF, .machine = MACHINE_NONE
        };
        uint64_t usec = DURATION_DEFAULT;
        sigset_t signals;
        bool worse, reverts;
        int ended, r;

        if (args->duration && (parse_duration(args->duration, &usec) < 0 || usec < DURATION_MIN ||
                               usec > DURATION_MAX))
                return error_set(error, COMMAND_EXIT_USAGE,
                                 "--for '%s', expected a time from 1min to 24h with its unit, such "
                                 "as 10min",
                                 args->duration);
        t.half_usec = usec / 2;
        t.sample_usec = t.half_usec / SAMPLES_WANTED;
        t.sample_usec = t.sample_usec < SAMPLE_MIN   ? SAMPLE_MIN
                        : t.sample_usec > SAMPLE_MAX ? SAMPLE_MAX
                                                     : t.sample_usec;
        if (t.half_usec / t.sample_usec > TRIAL_SAMPLES_MAX)
                t.sample_usec = t.half_usec / TRIAL_SAMPLES_MAX;
        t.n_samples = (size_t)(t.half_usec / t.sample_usec);

        /* What asks to end is read when it is convenient: it ends a wait. */
        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGHUP);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return -errno;
        t.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        if (t.signals < 0)
                return -errno;

        r = control_session_open(args, &t.bus, error);
        if (r == 0)
                r = control_session_call(args, t.bus, "TrialBegin", &t.names, error);
        if (r != 0)
                return r == EXIT_FAILURE ? COMMAND_EXIT_REFUSED : r;
        r = find_instances(&t);
        if (r == 0)
                r = measure_half(&t, TRIAL_BEFORE);
        if (r == 0)
                r = bind_all(&t);
        if (r == 0)
                r = measure_half(&t, TRIAL_AFTER);
        end_progress(&t);
        if (r == 0)
                r = trial_judge(t.all, t.names.n_words, SEED, &t.judgement);
        if (r == 0)
                r = trial_compare(&t.softirq, false, t.judgement.level, SEED,
                                  &t.softirq_difference);
        if (r != 0)
                return break_off(&t, r);
        worse = t.judgement.verdict == TRIAL_WORSE;
        reverts = worse && args->revert_if_worse;
        ended = control_session_call(args, t.bus, reverts ? "TrialEnd" : "TrialKeep", &t.outcome,
                                     error);
        r = args->json ? trial_print_json(&t, reverts && ended == 0, !reverts && ended == 0)
                       : trial_print_text(&t);
        if (r < 0) {
                _cleanup_text_ Text outcome = { 0 };

                /* Nobody has read what is bound now. */
                append_outcome(&t, &outcome);
                output_lines(stderr, &outcome);
        }
        if (r < 0 || ended != 0)
                return r < 0 ? r : ended;
        return worse                                  ? COMMAND_EXIT_WORSE
               : t.judgement.verdict == TRIAL_UNKNOWN ? COMMAND_EXIT_REFUSED
                                                      : EXIT_SUCCESS;
}
