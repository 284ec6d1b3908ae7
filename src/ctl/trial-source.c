/* A reading of an instance on trial. Servers with TLS at their status ports are left out: the trial
 * would need the cluster's certificates, and a password of nobody. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/ctl/ask.h"
#include "tidbnumad/ctl/trial-source.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"

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

const char *trial_port_find(const Sysroot *sysroot, const HostInstance *o, TrialPort *ret) {
        const PolicyMetrics *metrics = &o->policy->metrics;
        const Product product = product_of(o->members[0].process.exe, NULL, o->unit);

        *ret = metrics->port > 0
                       ? (TrialPort){ .count = metrics->count, .duration = metrics->duration }
                       : (TrialPort){ .count = queries[product].count,
                                      .duration = queries[product].duration };
        return ask_address_find(sysroot, o, metrics->port, &ret->address);
}

/* --- a reading --- */

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

static void explain_answer(TrialSource *source, int r, unsigned status, uint64_t n_malformed) {
        text_reset(&source->why);
        if (r < 0) {
                ask_append_failure(&source->why, &source->port.address, r, status);
                return;
        }
        text_appendf(&source->why, "its port %u does not report %s%s",
                     http_port(&source->port.address),
                     source->port.count ? source->port.count : source->port.duration,
                     n_malformed > 0 ? ", and other text than metrics" : "");
}

static void read_queries(TrialSource *source) {
        PromReader reader = { .handler = take_sample, .userdata = &source->now };
        unsigned status = 0;
        int r;

        source->now.count.name = source->port.count;
        source->now.duration.name = source->port.duration;
        r = http_get(&source->port.address, "/metrics", &limits, take_bytes, &reader, &status);
        source->now.has_queries = r == 0 && queries_of(&source->now)->found;
        if (!source->now.has_queries)
                explain_answer(source, r, status, reader.n_malformed);
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
                char text[512];

                if (path_read(fd, text, sizeof(text), "%s", files[i]) < 0 ||
                    pressure_parse(text, &pressure) < 0)
                        return;
                seconds[i] = (double)pressure.total_usec / 1e6;
        }
        ret->has_pressure = true;
        ret->cpu_pressure_seconds = seconds[0];
        ret->memory_pressure_seconds = seconds[1];
}

int trial_source_read(TrialSource *source, const Sysroot *sysroot, const InstanceInfo *published) {
        const HostInstance *o = source->observed;
        const double ticks = (double)sysconf(_SC_CLK_TCK);

        source->now = (TrialReading){ .seconds = (double)clock_monotonic_usec() / 1e6 };
        if (!published || published->pid != o->members[0].process.id.pid)
                return -ESRCH;
        for (size_t i = 0; i < o->n_members; i++) {
                ProcStat stat;
                const int r = proc_stat_read(o->members[i].handle, 0, &stat);

                if (r < 0 && i == 0)
                        return r;
                if (r >= 0)
                        source->now.cpu_seconds += (double)stat.cpu_ticks / ticks;
        }
        read_pressure(sysroot, o, &source->now);
        if (source->port.address.any.sa_family != AF_UNSPEC)
                read_queries(source);
        return 0;
}

static void add(TrialSeries *series, TrialHalf half, double value) {
        if (series->n[half] < TRIAL_SAMPLES_MAX)
                series->values[half][series->n[half]++] = value;
}

void trial_source_sample(TrialSource *source, TrialHalf half, const InstanceInfo *published,
                         TrialInstance *ret) {
        const TrialReading *last = &source->last, *now = &source->now;
        const double seconds = now->seconds - last->seconds;
        const double cpu = now->cpu_seconds - last->cpu_seconds;
        const bool pressure = now->has_pressure && last->has_pressure;
        double n = NAN, p50 = NAN, p99 = NAN;

        if (source->readable) {
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
                add(&ret->series[TRIAL_CPU_PER_QUERY], half, n > 0 && cpu >= 0 ? cpu / n : NAN);
                add(&ret->series[TRIAL_RATE], half, n / seconds);
                add(&ret->series[TRIAL_P50], half, p50);
                add(&ret->series[TRIAL_P99], half, p99);
                add(&ret->series[TRIAL_CPU], half, cpu >= 0 ? cpu / seconds : NAN);
                add(&ret->series[TRIAL_CPU_PRESSURE], half,
                    pressure ? (now->cpu_pressure_seconds - last->cpu_pressure_seconds) / seconds
                             : NAN);
                add(&ret->series[TRIAL_MEMORY_PRESSURE], half,
                    pressure ? (now->memory_pressure_seconds - last->memory_pressure_seconds) /
                                       seconds
                             : NAN);
                add(&ret->series[TRIAL_REMOTE], half, published->remote_ratio);
        }
        source->last = source->now;
        source->readable = true;
}

void trial_source_done(TrialSource *source) {
        text_done(&source->why);
}
