#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/sys/clock.h"

/* Delay before a process that could not be read is read again. */
#define SOON_USEC (UINT64_C(1000) * 1000)

/* More instances than a host has whose servers all run as one user. */
enum { CROWD_INSTANCES = 64 };

/* --- finding --- */

/* The index of the entry, or where it would be. */
static size_t find_entry(const Roster *roster, pid_t pid) {
        return ARRAY_LOWER_BOUND(roster->n_entries, k, roster->entries[k].pid < pid);
}

static bool has_entry(const Roster *roster, size_t at, pid_t pid) {
        return at < roster->n_entries && roster->entries[at].pid == pid;
}

int roster_enter(Roster *roster, Instance *instance, const Member *member) {
        const RosterEntry entry = { member->process.id.pid, member->handle->pidfd, instance };
        int r = ARRAY_INSERT(roster->entries, roster->n_entries, roster->entries_allocated,
                             find_entry(roster, entry.pid), &entry);

        if (r >= 0)
                instance_counts_join(&roster->counts, instance->policy_index, instance->uid, 1);
        return r;
}

static void strike(Roster *roster, pid_t pid) {
        const size_t at = find_entry(roster, pid);

        if (!has_entry(roster, at, pid))
                return;
        instance_counts_leave(&roster->counts, roster->entries[at].instance->policy_index,
                              roster->entries[at].instance->uid);
        ARRAY_REMOVE(roster->entries, roster->n_entries, at);
}

Instance *roster_find_owner(const Roster *roster, const Process *process) {
        size_t unused;

        if (!process->scope && !unit_is_service(process->unit))
                return roster_find_pid(roster, process->id.pid, &unused);
        ROSTER_FOREACH(i, roster)
                if (instance_owns(i, process))
                        return i;
        return NULL;
}

Instance *roster_find_pid(const Roster *roster, pid_t pid, size_t *ret_index) {
        const size_t at = find_entry(roster, pid);

        if (!has_entry(roster, at, pid))
                return NULL;
        *ret_index = (size_t)instance_find(roster->entries[at].instance, pid);
        return roster->entries[at].instance;
}

Instance *roster_find_pidfd(const Roster *roster, int pidfd, size_t *ret_index) {
        for (size_t i = 0; i < roster->n_entries; i++)
                if (roster->entries[i].pidfd == pidfd)
                        return roster_find_pid(roster, roster->entries[i].pid, ret_index);
        return NULL;
}

/* The first instance that is not before the name. */
static size_t find_place(const Roster *roster, const char *name) {
        return ARRAY_LOWER_BOUND(roster->n_instances, k,
                                 strcmp(roster->instances[k]->name, name) < 0);
}

const Instance *roster_find_name(const Roster *roster, const char *name) {
        const size_t i = find_place(roster, name);

        return i < roster->n_instances && strcmp(roster->instances[i]->name, name) == 0
                       ? roster->instances[i]
                       : NULL;
}

bool roster_has_unit(const Roster *roster, const char *unit) {
        ROSTER_FOREACH(i, roster)
                if (i->unit && strcmp(i->unit, unit) == 0)
                        return true;
        return false;
}

bool roster_is_crowd(const Roster *roster, const Instance *i) {
        return instance_counts_of(&roster->counts, i->policy_index, i->uid) > CROWD_INSTANCES;
}

/* --- names --- */

static void log_collision(const Roster *roster, const Instance *instance, const Instance *other,
                          const char *name) {
        const JournalFields fields = { .instance = name, .policy = instance->policy->name };

        journal_log(&roster->host->journal, LOG_NOTICE, &fields,
                    "process %d is named %s, because %s is already the name of process %d",
                    instance->members[0].process.id.pid, name, other->name,
                    other->members[0].process.id.pid);
}

typedef struct NameSearch {
        const Roster *roster;
        const Instance *instance;
        const Instance *holder; /* the instance that has the best name already */
} NameSearch;

static bool is_taken(const char *name, void *userdata) {
        NameSearch *search = userdata;
        const Instance *holder = roster_find_name(search->roster, name);

        if (!holder || holder == search->instance)
                return false;
        search->holder = search->holder ? search->holder : holder;
        return true;
}

static int choose_name(const Roster *roster, const Instance *instance, char **ret) {
        const InstanceIdentity identity = instance_identity(instance);
        NameSearch search = { .roster = roster, .instance = instance };
        int r = instance_name_choose(&identity, is_taken, &search, ret);

        if (r >= 0 && search.holder && !roster_find_name(roster, *ret))
                log_collision(roster, instance, search.holder, *ret);
        return r;
}

static size_t find_index(const Roster *roster, const Instance *instance) {
        size_t i = find_place(roster, instance->name);

        while (roster->instances[i] != instance)
                i++;
        return i;
}

static void take_out(Roster *roster, size_t index) {
        ARRAY_REMOVE(roster->instances, roster->n_instances, index);
}

/* The caller has reserved room for it. */
static void put_in(Roster *roster, Instance *instance) {
        (void)ARRAY_INSERT(roster->instances, roster->n_instances, roster->instances_allocated,
                           find_place(roster, instance->name), &instance);
}

int roster_add(Roster *roster, Instance *instance) {
        int r;

        if (ARRAY_RESERVE(roster->instances, roster->instances_allocated, roster->n_instances + 1) <
            0)
                return -ENOMEM;
        r = choose_name(roster, instance, &instance->name);
        if (r < 0)
                return r;
        r = instance_counts_add(&roster->counts, instance->policy_index, instance->uid);
        for (size_t i = 0; r >= 0 && i < instance->n_members; i++)
                r = roster_enter(roster, instance, &instance->members[i]);
        if (r < 0) {
                for (size_t i = 0; i < instance->n_members; i++)
                        strike(roster, instance->members[i].process.id.pid);
                return r;
        }
        put_in(roster, instance);
        host_mark(roster->host, HOST_MARK_PLAN);
        return 0;
}

int roster_rename(Roster *roster, Instance *instance) {
        JournalFields fields = { .policy = instance->policy->name };
        char *name;
        int r = choose_name(roster, instance, &name);

        if (r < 0)
                return r;
        if (strcmp(name, instance->name) == 0) {
                free(name);
                return 0;
        }
        fields.instance = name;
        /* Of interest where something may have been logged under the former name. */
        journal_log(&roster->host->journal,
                    instance->binding.state == INSTANCE_WAITING ? LOG_DEBUG : LOG_INFO, &fields,
                    "%s is now named %s", instance->name, name);
        take_out(roster, find_index(roster, instance));
        free(instance->name);
        instance->name = name;
        instance->news |= NEWS_RENAMED;
        put_in(roster, instance);
        return 0;
}

void roster_remove_process(Roster *roster, Instance *instance, size_t index) {
        const JournalFields fields = { .instance = instance->name };

        strike(roster, instance->members[index].process.id.pid);
        instance_remove_process(instance, index);
        if (instance->n_members > 0)
                return;
        journal_log(&roster->host->journal, LOG_DEBUG, &fields, "%s has ended", instance->name);
        instance_counts_remove(&roster->counts, instance->policy_index, instance->uid);
        take_out(roster, find_index(roster, instance));
        instance->next_ended = roster->ended;
        roster->ended = instance;
        host_mark(roster->host, HOST_MARK_PLAN);
        host_mark(roster->host, HOST_MARK_TIDY);
        host_mark(roster->host, HOST_MARK_PUBLISH);
}

uint32_t roster_take_news(Instance *instance) {
        const uint32_t news = instance->news;

        instance->news = 0;
        return news;
}

Instance *roster_take_ended(Roster *roster) {
        Instance *instance = roster->ended;

        if (instance)
                roster->ended = instance->next_ended;
        return instance;
}

void roster_scan_soon(Roster *roster) {
        int pending = SD_EVENT_ON;

        if (roster->rescan_timer)
                (void)sd_event_source_get_enabled(roster->rescan_timer, &pending);
        if (pending == SD_EVENT_OFF)
                (void)event_source_arm_after(roster->rescan_timer, SOON_USEC);
}
