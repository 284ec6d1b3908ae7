/* The lists of the module: instances and their processes, ignored processes, and the processes that
 * a scan goes through. watch.c and identify.c decide what is in them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/change/undo.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/sys/clock.h"

/* Delay before a process that could not be read is read again. */
#define SOON_USEC (UINT64_C(1000) * 1000)

/* More instances than a host has whose servers all run as one user. */
enum { CROWD_INSTANCES = 64 };

void registry_init(Registry *registry, Host *host, const Undo *records) {
        *registry = (Registry){ .host = host,
                                .records = records,
                                .connector_fd = -EBADF,
                                .since_ticks = clock_boottime_ticks(),
                                .connector_events.source = "connector",
                                .scan_events.source = "scan" };
}

void registry_done(Registry *registry) {
        sd_event_source_unref(registry->connector_source);
        sd_event_source_unref(registry->rescan_timer);
        sd_event_source_unref(registry->scan_timer);
        sd_event_source_unref(registry->describe_timer);
        sd_event_source_unref(registry->ends_timer);
        closep(&registry->connector_fd);
        instance_counts_done(&registry->counts);
        ignored_done(&registry->ignored);
        scan_list_done(&registry->scan);
        free(registry->instances);
        free(registry->entries);
        free(registry->start_cpus);
}

/* --- finding --- */

/* The index of the entry, or where it would be. */
static size_t entry_find(const Registry *registry, pid_t pid) {
        return ARRAY_LOWER_BOUND(registry->n_entries, k, registry->entries[k].pid < pid);
}

static bool entry_is_of(const Registry *registry, size_t at, pid_t pid) {
        return at < registry->n_entries && registry->entries[at].pid == pid;
}

int registry_enter(Registry *registry, Instance *instance, const Member *member) {
        const RegistryEntry entry = { member->process.id.pid, member->handle->pidfd, instance };
        int r = ARRAY_INSERT(registry->entries, registry->n_entries, registry->entries_allocated,
                             entry_find(registry, entry.pid), &entry);

        if (r >= 0)
                instance_counts_join(&registry->counts, instance->policy_index, instance->uid, 1);
        return r;
}

static void entry_remove(Registry *registry, pid_t pid) {
        const size_t at = entry_find(registry, pid);

        if (!entry_is_of(registry, at, pid))
                return;
        instance_counts_leave(&registry->counts, registry->entries[at].instance->policy_index,
                              registry->entries[at].instance->uid);
        ARRAY_REMOVE(registry->entries, registry->n_entries, at);
}

Instance *registry_find_owner(const Registry *registry, const Process *process) {
        if (!process->scope && !unit_is_service(process->unit))
                return registry_find_pid(registry, process->id.pid, NULL);
        REGISTRY_FOREACH(i, registry)
        if (facts_own(&i->facts, process))
                return i;
        return NULL;
}

Instance *registry_find_pid(const Registry *registry, pid_t pid, size_t *ret_index) {
        const size_t at = entry_find(registry, pid);

        if (!entry_is_of(registry, at, pid))
                return NULL;
        if (ret_index)
                *ret_index = (size_t)facts_find(&registry->entries[at].instance->facts, pid);
        return registry->entries[at].instance;
}

/* The first instance that is not before the name. */
static size_t name_find(const Registry *registry, const char *name) {
        return ARRAY_LOWER_BOUND(registry->n_instances, k,
                                 strcmp(registry->instances[k]->name, name) < 0);
}

const Instance *registry_find_name(const Registry *registry, const char *name) {
        const size_t i = name_find(registry, name);

        return i < registry->n_instances && strcmp(registry->instances[i]->name, name) == 0
                       ? registry->instances[i]
                       : NULL;
}

bool registry_has_unit(const Registry *registry, const char *unit) {
        REGISTRY_FOREACH(i, registry)
        if (i->unit && strcmp(i->unit, unit) == 0)
                return true;
        return false;
}

bool registry_is_crowd(const Registry *registry, const Instance *i) {
        return instance_counts_of(&registry->counts, i->policy_index, i->uid) > CROWD_INSTANCES;
}

/* --- names --- */

typedef struct NameSearch {
        const Registry *registry;
        const Instance *instance;
        const Instance *holder; /* the instance that has the best name already */
} NameSearch;

static bool name_is_taken(const char *name, void *userdata) {
        NameSearch *search = userdata;
        const Instance *holder = registry_find_name(search->registry, name);

        if (!holder || holder == search->instance)
                return false;
        search->holder = search->holder ? search->holder : holder;
        return true;
}

static int instance_choose_name(const Registry *registry, const Instance *instance, char **ret) {
        NameSearch search = { .registry = registry, .instance = instance };
        JournalFields fields = { .policy = instance->policy->name };
        int r = facts_choose_name(&instance->facts, name_is_taken, &search, ret);

        if (r < 0 || !search.holder || registry_find_name(registry, *ret))
                return r;
        fields.instance = *ret;
        journal_log(&registry->host->journal, LOG_NOTICE, &fields,
                    "process %d is named %s, because %s is already the name of process %d",
                    instance->members[0].process.id.pid, *ret, search.holder->name,
                    search.holder->members[0].process.id.pid);
        return r;
}

/* The caller has reserved room for it. */
static void instances_insert(Registry *registry, Instance *instance) {
        (void)ARRAY_INSERT(registry->instances, registry->n_instances,
                           registry->instances_allocated, name_find(registry, instance->name),
                           &instance);
}

int registry_add(Registry *registry, Instance *instance) {
        int r;

        if (ARRAY_RESERVE(registry->instances, registry->instances_allocated,
                          registry->n_instances + 1) < 0)
                return -ENOMEM;
        r = instance_choose_name(registry, instance, &instance->name);
        if (r < 0)
                return r;
        r = instance_counts_add(&registry->counts, instance->policy_index, instance->uid);
        for (size_t i = 0; r >= 0 && i < instance->n_members; i++)
                r = registry_enter(registry, instance, &instance->members[i]);
        if (r < 0) {
                for (size_t i = 0; i < instance->n_members; i++)
                        entry_remove(registry, instance->members[i].process.id.pid);
                return r;
        }
        instances_insert(registry, instance);
        host_queue(registry->host, HOST_WORK_PLAN);
        return 0;
}

int registry_rename(Registry *registry, Instance *instance) {
        JournalFields fields = { .policy = instance->policy->name };
        char *name;
        int r = instance_choose_name(registry, instance, &name);

        if (r < 0)
                return r;
        if (strcmp(name, instance->name) == 0) {
                free(name);
                return 0;
        }
        fields.instance = name;
        /* Of interest where something may have been logged under the former name. */
        journal_log(&registry->host->journal,
                    instance->binding.state == INSTANCE_WAITING ? LOG_DEBUG : LOG_INFO, &fields,
                    "%s is now named %s", instance->name, name);
        ARRAY_DROP(registry->instances, registry->n_instances, instance);
        free(instance->name);
        instance->name = name;
        instance_queue(instance, WORK_RENAMED);
        instances_insert(registry, instance);
        return 0;
}

void registry_remove_process(Registry *registry, Instance *instance, size_t index) {
        const JournalFields fields = { .instance = instance->name };

        /* What it forked is nobody's child now. */
        if (!instance->members[index].forks_reported)
                registry_scan_soon(registry, false);
        entry_remove(registry, instance->members[index].process.id.pid);
        instance_remove_process(instance, index);
        if (instance->n_members > 0)
                return;
        journal_log(&registry->host->journal, LOG_DEBUG, &fields, "%s has ended", instance->name);
        instance_counts_remove(&registry->counts, instance->policy_index, instance->uid);
        ARRAY_DROP(registry->instances, registry->n_instances, instance);
        instance->next_ended = registry->ended;
        registry->ended = instance;
        host_queue(registry->host, HOST_WORK_PLAN);
        host_queue(registry->host, HOST_WORK_TIDY);
        host_queue(registry->host, HOST_WORK_PUBLISH);
}

Instance *registry_take_ended(Registry *registry) {
        Instance *instance = registry->ended;

        if (instance)
                registry->ended = instance->next_ended;
        return instance;
}

void registry_scan_soon(Registry *registry, bool whole) {
        registry->rescan_whole |= whole;
        if (registry->rescan_timer && !event_source_is_armed(registry->rescan_timer))
                (void)event_source_arm_after(registry->rescan_timer, SOON_USEC);
}

/* Life of instances and of the processes in them. */

void instance_queue(Instance *instance, uint32_t work) {
        instance->work |= work;
}

uint32_t instance_take(Instance *instance, uint32_t work) {
        const uint32_t taken = instance->work & work;

        instance->work &= ~work;
        return taken;
}

bool instance_is_service(const Instance *instance) {
        return unit_is_service(instance->unit);
}

/* Also before its means are chosen, if its policy wants no other, or on cgroup v1 its container
 * allows no other: it would be bound by the host's, and released again. */
static bool instance_is_by_affinity(const Instance *i, const Backend *host) {
        if (i->binding.means.method != METHOD_NONE || !i->policy)
                return i->binding.means.method == METHOD_AFFINITY;
        return i->policy->backend == POLICY_BACKEND_AFFINITY ||
               (backend_kind(host) == BACKEND_CGROUP1 && facts_in_container(&i->facts));
}

const BackendOps *instance_ops(const Instance *instance, const Backend *host) {
        return host->ops && instance_is_by_affinity(instance, host) ? host->all[BACKEND_AFFINITY]
                                                                    : host->ops;
}

BackendKind instance_backend(const Instance *instance, const Backend *host) {
        return instance_is_by_affinity(instance, host) ? BACKEND_AFFINITY : backend_kind(host);
}

int instance_new(const Process *first, uint64_t now_usec, Instance **ret) {
        Instance *i = calloc(1, sizeof(*i));

        if (!i)
                return -ENOMEM;
        i->binding = INSTANCE_BINDING_NONE;
        i->sampling = INSTANCE_SAMPLING_NONE;
        i->uid = first->uid;
        i->first_seen_usec = now_usec;
        i->describe_due_usec = INSTANCE_NEVER;
        if (instance_facts_init(&i->facts, NULL, first) < 0) {
                instance_free(i);
                return -ENOMEM;
        }
        *ret = i;
        return 0;
}

Instance *instance_free(Instance *instance) {
        if (!instance)
                return NULL;
        instance_facts_done(&instance->facts);
        free(instance);
        return NULL;
}

const NodeSet *instance_nodes(const Instance *instance) {
        return id_set_is_empty(&instance->binding.placement.nodes)
                       ? &instance->binding.observed.last_nodes
                       : &instance->binding.placement.nodes;
}

int instance_add_process(Instance *instance, Process *process, ProcHandle *handle) {
        int r = facts_add_member(&instance->facts, process, handle);

        if (r < 0)
                return r;
        instance->n_member_changes++;
        instance_queue(instance, WORK_JOINED);
        return 0;
}

void instance_remove_process(Instance *instance, size_t index) {
        instance->n_member_changes++;
        instance_queue(instance, WORK_LEFT);
        member_done(&instance->members[index]);
        ARRAY_REMOVE(instance->members, instance->n_members, index);
}

typedef struct Counted {
        pid_t pid;
        MatchVerdict verdict;
        uint64_t round; /* the last round that has seen it */
} Counted;

static void ignored_process_done(IgnoredProcess *process) {
        process_done(&process->process);
        proc_close(&process->handle);
        free(process->reason);
        *process = (IgnoredProcess){ .handle = PROC_HANDLE_NONE };
}

void ignored_done(IgnoredList *ignored) {
        for (size_t i = 0; i < ignored->n_processes; i++)
                ignored_process_done(&ignored->processes[i]);
        free(ignored->processes);
        free(ignored->counted);
        *ignored = (IgnoredList){ 0 };
}

int ignored_add(IgnoredList *ignored, Process *process, ProcHandle *handle, const Policy *policy,
                MatchVerdict verdict) {
        IgnoredProcess s = { .handle = PROC_HANDLE_NONE };
        int r;

        if (ignored->n_processes == IGNORED_MAX)
                ignored_prune(ignored);
        if (ignored->n_processes == IGNORED_MAX)
                return -ENOSPC;
        if (ARRAY_RESERVE(ignored->processes, ignored->allocated, ignored->n_processes + 1) < 0)
                return -ENOMEM;
        r = verdict == MATCH_OTHER_USER
                    ? asprintf(&s.reason, "it runs as user %u, and policy '%s' is for user %s",
                               process->uid, policy->name, policy->match.user)
                    : asprintf(&s.reason,
                               "it lives in another %s namespace, as a container does; `match: "
                               "{containers: true}` in policy '%s' would include it",
                               foreign_to_string(process->foreign), policy->name);
        if (r < 0)
                return -ENOMEM;
        s.policy = policy->name;
        s.verdict = verdict;
        s.process = *process;
        s.handle = *handle;
        *process = (Process){ 0 };
        *handle = PROC_HANDLE_NONE;
        ignored->processes[ignored->n_processes++] = s;
        return 0;
}

bool ignored_has(const IgnoredList *ignored, const Process *process) {
        for (size_t i = 0; i < ignored->n_processes; i++)
                if (process_is_same(&ignored->processes[i].process, process))
                        return true;
        return false;
}

bool ignored_has_unit(const IgnoredList *ignored, const char *unit) {
        for (size_t i = 0; i < ignored->n_processes; i++) {
                const Process *p = &ignored->processes[i].process;

                if (p->uid != 0 && p->unit && strcmp(p->unit, unit) == 0)
                        return true;
        }
        return false;
}

static void ignored_remove_at(IgnoredList *ignored, size_t index) {
        ignored_process_done(&ignored->processes[index]);
        ARRAY_REMOVE(ignored->processes, ignored->n_processes, index);
}

/* The index of the entry, or where it would be. */
static size_t find_counted(const IgnoredList *s, pid_t pid, bool *ret_found) {
        const size_t low = ARRAY_LOWER_BOUND(s->n_counted, k, s->counted[k].pid < pid);

        *ret_found = low < s->n_counted && s->counted[low].pid == pid;
        return low;
}

int ignored_add_counted(IgnoredList *s, pid_t pid, MatchVerdict verdict) {
        const Counted counted = { .pid = pid, .verdict = verdict, .round = s->round };
        bool found;
        const size_t i = find_counted(s, pid, &found);

        if (!found)
                return ARRAY_INSERT(s->counted, s->n_counted, s->counted_allocated, i, &counted);
        s->counted[i] = counted;
        return 0;
}

void ignored_begin_round(IgnoredList *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_counted; i++)
                if (s->counted[i].round == s->round)
                        s->counted[n++] = s->counted[i];
        s->n_counted = n;
        s->round++;
}

size_t ignored_count(const IgnoredList *s, MatchVerdict verdict) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_processes; i++)
                n += s->processes[i].verdict == verdict;
        for (size_t i = 0; i < s->n_counted; i++)
                n += s->counted[i].verdict == verdict;
        return n;
}

bool ignored_forget(IgnoredList *ignored, pid_t pid) {
        const size_t n_listed = ignored->n_processes;
        bool found;
        const size_t counted = find_counted(ignored, pid, &found);

        if (found)
                ARRAY_REMOVE(ignored->counted, ignored->n_counted, counted);
        for (size_t i = ignored->n_processes; i > 0; i--)
                if (ignored->processes[i - 1].process.id.pid == pid)
                        ignored_remove_at(ignored, i - 1);
        return found || ignored->n_processes < n_listed;
}

void ignored_prune(IgnoredList *ignored) {
        for (size_t i = ignored->n_processes; i > 0; i--)
                if (!proc_is_alive(&ignored->processes[i - 1].handle))
                        ignored_remove_at(ignored, i - 1);
}

/* Processes in scopes of tidbnumad. */

void scope_resolve(const Registry *registry, Process *process) {
        const UndoRecord *record =
                process->scope ? undo_find_scope(registry->records, process->scope) : NULL;

        /* Without memory for the name it has no unit now; the next scan finds another process then.
         */
        if (record && !process->unit)
                (void)unit_from_cgroup(record->home, &process->unit);
        if (unit_is_own_scope(process->unit)) {
                free(process->unit);
                process->unit = NULL;
        }
}

void scope_follow(const Registry *registry, Instance *i) {
        if (instance_is_service(i) || backend_kind(&registry->host->backend) != BACKEND_SYSTEMD)
                return;
        for (size_t k = 0; k < i->n_members; k++) {
                Process *p = &i->members[k].process;
                char *cgroup, *unit = NULL;

                if (proc_cgroup_read(i->members[k].handle, &cgroup) < 0)
                        continue;
                if (p->cgroup && strcmp(p->cgroup, cgroup) == 0) {
                        free(cgroup);
                        continue;
                }
                free(p->cgroup);
                free(p->scope);
                p->cgroup = cgroup;
                p->scope = NULL;
                if (unit_from_cgroup(cgroup, &unit) < 0)
                        continue;
                if (unit_is_own_scope(unit))
                        p->scope = unit;
                else
                        free(unit);
        }
}

const char *scope_of(const Instance *i) {
        const Members members = facts_members(&i->facts, NULL);

        return members_scope(&members);
}

/* The processes that a scan goes through. */

#define _cleanup_scan_list_ _cleanup_(scan_list_done)

void scan_list_done(ScanList *list) {
        free(list->entries);
        *list = (ScanList){ 0 };
}

static int scan_entry_compare(const void *a, const void *b) {
        const ScanEntry *x = a, *y = b;

        return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int scan_list_read(ScanList *list, const Sysroot *sysroot) {
        _cleanup_scan_list_ ScanList now = { 0 };
        _cleanup_numbers_ Numbers pids;
        size_t k = 0;
        pid_t pid;
        int r;

        proc_pids(sysroot, &pids);
        while ((r = numbers_next(&pids, &pid)) > 0) {
                if (ARRAY_RESERVE(now.entries, now.allocated, now.n_entries + 1) < 0)
                        return -ENOMEM;
                now.entries[now.n_entries++] = (ScanEntry){ .pid = pid, .inode = pids.inode };
        }
        if (r < 0)
                return r;
        if (now.n_entries > 1)
                qsort(now.entries, now.n_entries, sizeof(now.entries[0]), scan_entry_compare);
        /* Takes over what is known of processes that are still there. Both lists are in the same
         * order, so one walk over the two is enough. */
        for (size_t i = 0; i < now.n_entries; i++) {
                ScanEntry *entry = &now.entries[i];

                while (k < list->n_entries && list->entries[k].pid < entry->pid)
                        k++;
                if (k < list->n_entries && list->entries[k].pid == entry->pid &&
                    list->entries[k].inode == entry->inode)
                        *entry = list->entries[k];
                now.n_unread += !entry->passed;
        }
        scan_list_done(list);
        *list = TAKE_STRUCT(now);
        return 0;
}

void scan_entry_note(ScanEntry *entry, int may_match) {
        entry->passed = may_match == 0 || (may_match < 0 && entry->failed);
        entry->failed = may_match < 0;
}

void scan_list_forget(ScanList *list, pid_t pid) {
        const size_t at = ARRAY_LOWER_BOUND(list->n_entries, k, list->entries[k].pid < pid);

        if (at < list->n_entries && list->entries[at].pid == pid)
                list->entries[at].passed = list->entries[at].failed = false;
}

void scan_list_forget_all(ScanList *list) {
        for (size_t i = 0; i < list->n_entries; i++)
                list->entries[i].passed = false;
}
