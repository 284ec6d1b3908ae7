/* Files of /proc/PID with any content, as a process may name itself or a dump may hold: no crash,
 * no leak, outputs untouched on failure, and what is answered is possible. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/proc.h"

static void check_stat(const char *text) {
        ProcStat stat, untouched;
        int r;

        memset(&stat, 0xa5, sizeof(stat));
        memset(&untouched, 0xa5, sizeof(untouched));
        r = proc_stat_parse(text, &stat);
        check(r == 0 || (r == -EBADMSG && memcmp(&stat, &untouched, sizeof(stat)) == 0));
}

static void check_memory_policy(const char *text) {
        char policy[16] = "untouched";
        int r = memory_policy_parse(text, policy, sizeof(policy));

        if (r == 0)
                check(strlen(policy) > 0 && strstr(text, policy) && !strchr(policy, ' '));
        else
                check((r == -EBADMSG || r == -ENOSPC) && strcmp(policy, "untouched") == 0);
}

static void check_status(const char *text) {
        ProcStatus status, untouched;
        int r;

        memset(&status, 0xa5, sizeof(status));
        memset(&untouched, 0xa5, sizeof(untouched));
        r = proc_status_parse(text, &status);
        if (r == 0)
                check(id_set_count(&status.cpus_allowed) <= CPU_SET_MAX);
        else
                check(memcmp(&status, &untouched, sizeof(status)) == 0);
}

static void check_cgroup(const char *text) {
        char *path = NULL;
        int r = proc_cgroup_parse(text, &path);

        if (r == 0) {
                check(path && !strchr(path, '\n') && strstr(text, path));
                free(path);
        } else
                check((r == -ENXIO || r == -ENOMEM) && !path);
}

static void check_maps(char *text) {
        const ShmemDevices shmem = { .kernel = 1, .dev_shm = 0x19, .huge = 0x0f };
        char *save = NULL;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                Mapping m = { .start = 7, .end = 7 };
                int r = maps_parse_line(line, &shmem, &m);

                if (r == 0)
                        check(m.start < m.end && m.kind <= MAPPING_FILE);
                else
                        check(r == -EBADMSG && m.start == 7 && m.end == 7);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = fuzz_text(data, size);

        if (!text)
                return 0;
        check_stat(text);
        check_memory_policy(text);
        check_status(text);
        check_cgroup(text);
        check_maps(text);
        free(text);
        return 0;
}
