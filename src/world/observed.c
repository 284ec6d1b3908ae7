/* The instances that run: found, grouped, read and named. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/world/observed.h"

static void observed_done(Observed *o) {
        for (size_t i = 0; i < o->n_members; i++)
                member_done(&o->members[i]);
        free(o->members);
        free(o->name);
        free(o->unit);
        listen_ports_done(&o->ports);
        free(o->data_dir);
        free(o->by_node);
        free(o->memory_policy);
        storage_devices_done(&o->storage);
}

void observed_list_done(ObservedList *list) {
        for (size_t i = 0; i < list->n_instances; i++)
                observed_done(&list->instances[i]);
        free(list->instances);
        *list = (ObservedList){ 0 };
}

/* --- finding --- */

static Observed *find_owner(const ObservedList *list, const Process *process) {
        for (size_t i = 0; i < list->n_instances; i++) {
                Observed *o = &list->instances[i];

                if (process_joins(process, o->members, o->n_members, o->unit))
                        return o;
        }
        return NULL;
}

static int add_instance(ObservedList *list, const Policy *policy, const char *unit,
                        Observed **ret) {
        Observed *new;

        if (ARRAY_RESERVE(list->instances, list->allocated, list->n_instances + 1) < 0)
                return -ENOMEM;
        new = &list->instances[list->n_instances];
        *new = (Observed){ .policy = policy, .unit = unit ? strdup(unit) : NULL };
        if (unit && !new->unit)
                return -ENOMEM;
        list->n_instances++;
        *ret = new;
        return 0;
}

int observed_list_add(ObservedList *list, const Policy *policy, Process *process,
                      ProcHandle *handle) {
        Observed *o = find_owner(list, process);
        int r = o ? 0 : add_instance(list, policy, process->unit, &o);

        if (r >= 0)
                r = ARRAY_RESERVE(o->members, o->members_allocated, o->n_members + 1);
        if (r >= 0)
                r = member_init(&o->members[o->n_members], process, handle);
        if (r >= 0)
                o->n_members++;
        return r;
}

static int consider(const Sysroot *sysroot, const ObservedRules *rules, pid_t pid,
                    ObservedList *list) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 };
        const Policy *policy;
        int r = process_identify(sysroot, pid, NULL, rules->wants_exe, rules->userdata, &handle,
                                 &process);

        if (r == -ENOMEM)
                return r;
        list->n_denied += r == -EACCES || r == -EPERM;
        if (r < 0 || process_is_vforked(&handle, &process) > 0) /* it is gone, or not wanted */
                return 0;
        if (rules->wants_args(process.exe, rules->userdata))
                (void)process_read_args(&handle, &process);
        if (process.foreign == FOREIGN_ROOT || rules->wants_path(process.exe, rules->userdata))
                (void)process_check_mounts(sysroot, &handle, &process);
        policy = rules->policy_of(&process, rules->userdata);
        return policy ? observed_list_add(list, policy, &process, &handle) : 0;
}

int observed_list_find(const Sysroot *sysroot, const ObservedRules *rules, ObservedList *ret) {
        _cleanup_observed_list_ ObservedList list = { 0 };
        _cleanup_pid_list_ PidList pids = { 0 };
        int r = pid_list_read(sysroot, &pids);

        for (size_t i = 0; r >= 0 && i < pids.n_pids; i++)
                r = consider(sysroot, rules, pids.pids[i], &list);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(list);
        return 0;
}

/* --- what the kernel shows --- */

static int read_data(const Members *m, Observed *o) {
        int r = 0;

        if (!o->data_dir && members_are_vouched_for(m, o->policy))
                r = members_read_data_dir(m, &o->data_dir);
        if (r != -ENOMEM && o->data_dir)
                r = members_read_storage(m, o->data_dir, &o->storage);
        return r == -ENOMEM ? r : 0;
}

static int read_memory(const Members *m, const Topology *topology, Observed *o) {
        _cleanup_free_ NodeMemory *by_node = calloc(topology->n_nodes + 1, sizeof(NodeMemory));
        int r = by_node ? members_read_memory(m, topology, by_node, &o->limit_bytes) : -ENOMEM;

        if (r >= 0)
                o->by_node = TAKE_PTR(by_node);
        o->shared = r == -EBUSY;
        return r == -ENOMEM ? r : 0;
}

static int read_memory_policy(Observed *o) {
        char policy[256];

        for (size_t p = 0; p < o->n_members && p < MEMBERS_ASKED_MAX; p++) {
                if (memory_policy_read(o->members[p].handle, policy, sizeof(policy)) < 0 ||
                    strcmp(policy, "default") == 0)
                        continue;
                o->memory_policy = strdup(policy);
                return o->memory_policy ? 0 : -ENOMEM;
        }
        return 0;
}

/* What this user may not read is not known; so is what a dump lacks. */
static void read_huge(const Members *m, const HugePools *pools, Observed *o) {
        HugeMaps maps;

        if (pools->n == 0 || o->policy->memory != MEMORY_BIND ||
            members_read_huge_maps(m, &(NodeSet){ 0 }, &maps) < 0 || maps.partial)
                return;
        o->huge = huge_maps_need(&maps, pools);
        o->huge_known = true;
}

static int read_facts(const Sysroot *sysroot, const Topology *topology, const HugePools *pools,
                      Observed *o) {
        const Members members = {
                .sysroot = sysroot, .list = o->members, .n = o->n_members, .unit = o->unit
        };
        const CpuSet all = topology_cpus(topology);
        int r = members_read_ports(&members, &o->ports);

        if (r >= 0)
                r = read_data(&members, o);
        if (r >= 0)
                r = read_memory(&members, topology, o);
        if (r >= 0)
                r = read_memory_policy(o);
        read_huge(&members, pools, o);
        members_read_allowed(&members, o->policy->backend == POLICY_BACKEND_AFFINITY, o->allowed_by,
                             &o->allowed_cpus, &o->allowed_nodes);
        (void)members_read_unit_cpus(&members, &o->unit_cpus);
        (void)members_read_cpus(&members, &o->cpus);
        (void)members_read_thread_cpus(
                &members, id_set_is_empty(&o->unit_cpus) ? &all : &o->unit_cpus, &o->thread_cpus);
        (void)members_read_mems(&members, &o->mems);
        o->cpus_used = members_read_cpus_used(&members);
        return r;
}

/* --- names --- */

static bool is_name(const char *name, void *userdata) {
        const ObservedList *list = userdata;

        for (size_t i = 0; i < list->n_instances; i++)
                if (list->instances[i].name && strcmp(list->instances[i].name, name) == 0)
                        return true;
        return false;
}

static int give_name(ObservedList *list, Observed *o) {
        const InstanceIdentity identity = { .unit = o->unit,
                                            .exe = o->members[0].process.exe,
                                            .ports = o->ports.ports,
                                            .n_ports = o->ports.n_ports,
                                            .first = o->members[0].process.id };

        return instance_name_choose(&identity, is_name, list, &o->name);
}

static int compare(const void *a, const void *b) {
        const Observed *x = a, *y = b;

        return device_name_compare(x->name, y->name);
}

int observed_list_describe(const Sysroot *sysroot, const Topology *topology, ObservedList *list) {
        _cleanup_huge_pools_ HugePools pools = { 0 };

        if (sysroot->live && huge_pools_load(sysroot, topology, &pools) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_instances; i++) {
                int r = read_facts(sysroot, topology, &pools, &list->instances[i]);

                if (r >= 0 && !list->instances[i].name)
                        r = give_name(list, &list->instances[i]);
                if (r < 0)
                        return r;
        }
        if (list->n_instances > 1)
                qsort(list->instances, list->n_instances, sizeof(*list->instances), compare);
        return 0;
}

Observed *observed_list_find_pid(const ObservedList *list, pid_t pid) {
        for (size_t i = 0; i < list->n_instances; i++)
                for (size_t k = 0; k < list->instances[i].n_members; k++)
                        if (list->instances[i].members[k].process.id.pid == pid)
                                return &list->instances[i];
        return NULL;
}

static bool is_unit(const Observed *o, const char *subject) {
        size_t n = strlen(subject);

        return o->unit && strncmp(o->unit, subject, n) == 0 &&
               (o->unit[n] == '\0' || strcmp(o->unit + n, ".service") == 0);
}

const Observed *observed_list_find_subject(const ObservedList *list, const char *subject) {
        uint64_t pid = 0;

        for (size_t i = 0; i < list->n_instances; i++)
                if (strcmp(list->instances[i].name, subject) == 0)
                        return &list->instances[i];
        for (size_t i = 0; i < list->n_instances; i++)
                if (is_unit(&list->instances[i], subject))
                        return &list->instances[i];
        return parse_u64(subject, &pid) == 0 && pid <= INT32_MAX
                       ? observed_list_find_pid(list, (pid_t)pid)
                       : NULL;
}
