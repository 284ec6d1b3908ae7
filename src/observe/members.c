/* What the processes of one instance show. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/observe/data-dir.h"
#include "tidbnumad/observe/members.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/cgroup1.h"

int member_init(Member *member, Process *process, ProcHandle *handle) {
        ProcHandle *own = malloc(sizeof(*own));

        if (!own)
                return -ENOMEM;
        *own = *handle;
        *member = (Member){ .process = *process, .handle = own };
        *process = (Process){ 0 };
        *handle = PROC_HANDLE_NONE;
        return 0;
}

void member_done(Member *member) {
        process_done(&member->process);
        if (member->handle)
                proc_close(member->handle);
        free(member->handle);
        *member = (Member){ 0 };
}

static size_t n_asked(const Members *m) {
        return m->n < MEMBERS_ASKED_MAX ? m->n : MEMBERS_ASKED_MAX;
}

/* --- ports --- */

static int compare_ports(const void *a, const void *b) {
        const uint16_t *x = a, *y = b;

        return *x - *y;
}

static void remove_duplicates(ListenPorts *ports) {
        size_t n = 0;

        if (ports->n_ports == 0)
                return;
        qsort(ports->ports, ports->n_ports, sizeof(uint16_t), compare_ports);
        for (size_t i = 0; i < ports->n_ports; i++)
                if (n == 0 || ports->ports[n - 1] != ports->ports[i])
                        ports->ports[n++] = ports->ports[i];
        ports->n_ports = n;
}

int members_read_ports(const Members *m, ListenPorts *ret) {
        _cleanup_listen_ports_ ListenPorts all = { 0 };

        for (size_t p = 0; p < n_asked(m); p++) {
                _cleanup_listen_ports_ ListenPorts own = { 0 };
                uint16_t *grown;
                int r = listen_ports_read(m->sysroot, m->list[p].handle, &own);

                if (r == -ENOMEM)
                        return r;
                if (r < 0 || own.n_ports == 0)
                        continue;
                grown = reallocarray(all.ports, all.n_ports + own.n_ports, sizeof(uint16_t));
                if (!grown)
                        return -ENOMEM;
                memcpy(grown + all.n_ports, own.ports, own.n_ports * sizeof(uint16_t));
                all.ports = grown;
                all.n_ports += own.n_ports;
        }
        remove_duplicates(&all);
        *ret = all;
        all = (ListenPorts){ 0 };
        return 0;
}

/* --- data directory --- */

bool members_are_vouched_for(const Members *m, const Policy *policy) {
        return policy->match.user || unit_is_service(m->unit);
}

int members_read_data_dir(const Members *m, char **ret) {
        int r = -ENODATA;

        for (size_t p = 0; p < n_asked(m); p++) {
                r = data_dir_read(m->sysroot, m->list[p].handle, ret);
                if (r >= 0 || r == -ENOMEM)
                        break;
        }
        return r;
}

int members_read_storage(const Members *m, const char *data_dir, StorageDevices *ret) {
        int r = -ENODATA;

        for (size_t p = 0; p < n_asked(m); p++) {
                r = storage_find_process(m->sysroot, m->list[p].handle->dir_fd, data_dir, ret);
                if (r >= 0 || r == -ENOMEM)
                        break;
        }
        return r;
}

/* --- control group --- */

const char *members_scope(const Members *m) {
        for (size_t k = 0; k < m->n; k++)
                if (m->list[k].process.scope)
                        return m->list[k].process.scope;
        return NULL;
}

char *members_group_path(const Members *m) {
        const char *path = m->n > 0 ? m->list[0].process.cgroup : NULL, *scope = members_scope(m);
        const char *unit = scope ? scope : unit_is_service(m->unit) ? m->unit : NULL;
        const size_t length = path && unit ? unit_cgroup_length(path, unit) : 0;

        return !path ? NULL : length > 0 ? strndup(path, length) : strdup(path);
}

/* All of its processes must be in the same group of the memory controller, and not in the root. */
static int open_memory_group(const Members *m, int *ret_fd, char **ret_path) {
        _cleanup_close_ int root_fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        for (size_t k = 0; k < m->n; k++) {
                _cleanup_free_ char *other = NULL;

                r = proc_cgroup_path_read(m->list[k].handle, "memory", &other);
                if (r == -ESRCH)
                        continue;
                if (r < 0 || strcmp(other, "/") == 0 || (path && strcmp(path, other) != 0))
                        return r < 0 ? r : -ENXIO;
                free(path);
                path = TAKE_PTR(other);
        }
        r = path ? cgroup1_open(m->sysroot, "memory", &root_fd) : -ESRCH;
        if (r >= 0)
                r = cgroup_open_below(root_fd, path, ret_fd);
        if (r < 0)
                return r;
        *ret_path = TAKE_PTR(path);
        return 1;
}

int members_open_group(const Members *m, int *ret_fd, char **ret_path) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (m->n == 0)
                return -ESRCH;
        if (cgroup_version(m->sysroot) == CGROUP_V1)
                return open_memory_group(m, ret_fd, ret_path);
        if (!m->unit && !m->list[0].process.scope)
                return 0;
        path = members_group_path(m);
        if (!path)
                return -ENOMEM;
        r = cgroup_open(m->sysroot, path, ret_fd);
        if (r < 0)
                return r;
        *ret_path = TAKE_PTR(path);
        return 1;
}

/* --- CPU time --- */

enum { AGE_SECONDS_MIN = 60 };

uint32_t members_read_cpus_used(const Members *m) {
        const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
        uint64_t now, used = 0, start = UINT64_MAX;

        if (proc_uptime_read(m->sysroot, &now) < 0)
                return 0;
        for (size_t p = 0; p < n_asked(m); p++) {
                ProcStat stat;

                if (proc_stat_read(m->list[p].handle, 0, &stat) < 0)
                        continue;
                used += stat.cpu_ticks;
                start = stat.start_ticks < start ? stat.start_ticks : start;
        }
        if (start > now || now - start < AGE_SECONDS_MIN * hz)
                return 0;
        used = (used + now - start - 1) / (now - start);
        return used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
}
