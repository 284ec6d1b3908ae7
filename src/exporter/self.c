/* The exporter's own metrics. Its process is seen through /proc/self, which a process may always
 * read. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tidbnumad/exporter/self.h"

void self_append_seconds(Text *text, double seconds) {
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

/* Without the one that looks; 0: not known. */
static uint64_t open_fds(void) {
        _cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
        uint64_t n = 0;

        for (const struct dirent *entry; dir && (entry = readdir(dir));)
                n += entry->d_name[0] != '.';
        return n > 0 ? n - 1 : 0;
}

void self_append_metrics(Text *text, const SelfNumbers *numbers) {
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
