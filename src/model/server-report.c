#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/server-report.h"

void server_report_done(ServerReport *report) {
        for (size_t i = 0; i < report->n_settings; i++) {
                free(report->settings[i].name);
                free(report->settings[i].value);
        }
        free(report->settings);
        *report = (ServerReport){ 0 };
}

int server_report_add(ServerReport *report, const char *name, const char *value) {
        ServerSetting new = { 0 };

        if (report->n_settings == SERVER_SETTINGS_MAX)
                return -E2BIG;
        if (ARRAY_RESERVE(report->settings, report->allocated, report->n_settings + 1) < 0)
                return -ENOMEM;
        new.name = strdup(name);
        new.value = strdup(value);
        if (!new.name || !new.value) {
                free(new.name);
                free(new.value);
                return -ENOMEM;
        }
        report->settings[report->n_settings++] = new;
        return 0;
}

const char *server_report_find(const ServerReport *report, const char *name) {
        for (size_t i = 0; i < report->n_settings; i++)
                if (strcmp(report->settings[i].name, name) == 0)
                        return report->settings[i].value;
        return NULL;
}

uint32_t server_version_parse(const char *text) {
        const char *p = strstr(text, "-TiDB-");
        uint32_t part[3] = { 0 };

        p = p ? p + strlen("-TiDB-") : text;
        p += *p == 'v';
        for (unsigned i = 0; i < ELEMENTSOF(part); i++) {
                const size_t n = strspn(p, "0123456789");

                if (n == 0 || n > 3)
                        return 0;
                for (size_t k = 0; k < n; k++)
                        part[i] = part[i] * 10 + (uint32_t)(*p++ - '0');
                if (i < 2 && *p++ != '.')
                        return 0;
        }
        return SERVER_VERSION(part[0], part[1], part[2]);
}

int server_setting_parse(const char *value, uint64_t *ret) {
        static const char units[] = "KMGTP";
        const size_t n = strspn(value, "0123456789");
        const char *unit = value + n, *at;
        uint64_t number, scale = 1;
        char digits[24];
        int r;

        if (n == 0 || n >= sizeof(digits))
                return -EINVAL;
        memcpy(digits, value, n);
        digits[n] = '\0';
        r = parse_u64(digits, &number);
        if (r < 0)
                return r;
        at = *unit != '\0' ? strchr(units, *unit) : NULL;
        if (at) {
                scale <<= 10 * (at - units + 1);
                unit++;
                unit += *unit == 'i';
        }
        unit += *unit == 'B';
        if (*unit != '\0')
                return -EINVAL;
        return __builtin_mul_overflow(number, scale, ret) ? -ERANGE : 0;
}

bool server_report_tells_host(const ServerReport *tikv, const char *location_labels) {
        const char *last = location_labels ? strrchr(location_labels, ',') : NULL;
        char name[256];

        last = last ? last + 1 : location_labels;
        if (last && *last &&
            snprintf(name, sizeof(name), "server.labels.%s", last) < (int)sizeof(name) &&
            server_report_find(tikv, name))
                return true;
        return server_report_find(tikv, "server.labels.host");
}

uint32_t server_quota_cpus(const ServerInstance *instance, bool parts) {
        const uint32_t least = parts ? 2 : 1, n = (instance->cpu_quota + (parts ? 99 : 0)) / 100;

        return instance->cpu_quota == 0 ? UINT32_MAX : n > least ? n : least;
}
