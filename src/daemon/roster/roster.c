/* All instances there are, by name, and who is in them. */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/daemon/undo/record.h"
#include "tidbnumad/sys/clock.h"

Instance *roster_find_owner(const Manager *m, const Process *process) {
        for (size_t i = 0; i < m->roster.n_instances; i++)
                if (instance_owns(m->roster.instances[i], process))
                        return m->roster.instances[i];
        return NULL;
}

Instance *roster_find_pid(const Manager *m, pid_t pid, size_t *ret_index) {
        for (size_t i = 0; i < m->roster.n_instances; i++) {
                ssize_t index = instance_find(m->roster.instances[i], pid);

                if (index < 0)
                        continue;
                *ret_index = (size_t)index;
                return m->roster.instances[i];
        }
        return NULL;
}

static const Instance *find_name(const Manager *m, const char *name) {
        for (size_t i = 0; i < m->roster.n_instances; i++)
                if (m->roster.instances[i]->name && strcmp(m->roster.instances[i]->name, name) == 0)
                        return m->roster.instances[i];
        return NULL;
}

static void say_collision(const Manager *m, const Instance *instance, const Instance *other,
                          const char *name) {
        const JournalFields fields = { .instance = name, .policy = instance->policy->name };

        journal_log(&m->host.journal, LOG_NOTICE, &fields,
                    "process %d is called %s, for %s is the name of process %d already",
                    instance->processes[0].id.pid, name, other->name, other->processes[0].id.pid);
}

typedef struct NameSearch {
        const Manager *manager;
        const Instance *instance;
        const Instance *holder; /* of the best name, if another instance has it */
} NameSearch;

static bool is_taken(const char *name, void *userdata) {
        NameSearch *search = userdata;
        const Instance *holder = find_name(search->manager, name);

        if (!holder || holder == search->instance)
                return false;
        search->holder = search->holder ? search->holder : holder;
        return true;
}

static int choose_name(const Manager *m, const Instance *instance, char **ret) {
        const InstanceIdentity identity = instance_identity(instance);
        NameSearch search = { .manager = m, .instance = instance };
        int r = instance_name_choose(&identity, is_taken, &search, ret);

        if (r >= 0 && search.holder && !find_name(m, *ret))
                say_collision(m, instance, search.holder, *ret);
        return r;
}

static size_t find_index(const Manager *m, const Instance *instance) {
        size_t i = 0;

        while (m->roster.instances[i] != instance)
                i++;
        return i;
}

static void take_out(Manager *m, size_t index) {
        ARRAY_REMOVE(m->roster.instances, m->roster.n_instances, index);
}

/* There is room for it. */
static void put_in(Manager *m, Instance *instance) {
        size_t i = m->roster.n_instances;

        while (i > 0 && strcmp(m->roster.instances[i - 1]->name, instance->name) > 0)
                i--;
        (void)ARRAY_INSERT(m->roster.instances, m->roster.n_instances,
                           m->roster.instances_allocated, i, &instance);
}

int roster_add(Manager *m, Instance *instance) {
        int r;

        if (ARRAY_RESERVE(m->roster.instances, m->roster.instances_allocated,
                          m->roster.n_instances + 1) < 0)
                return -ENOMEM;
        r = choose_name(m, instance, &instance->name);
        if (r < 0)
                return r;
        instance->first_name = strdup(instance->name);
        if (!instance->first_name)
                return -ENOMEM;
        r = instance_counts_add(&m->roster.counts, instance->policy_index, instance->uid);
        if (r < 0)
                return r;
        record_adopt(instance);
        put_in(m, instance);
        host_mark(&m->host, HOST_MARK_PLAN);
        return 0;
}

/* Once anything may have been logged under the former name, whoever reads the log has to know. */
static void say_rename(const Manager *m, const Instance *instance, const char *name) {
        const JournalFields fields = { .instance = name, .policy = instance->policy->name };

        journal_log(&m->host.journal,
                    instance->binding.state == INSTANCE_WAITING ? LOG_DEBUG : LOG_INFO, &fields,
                    "%s is called %s from now on", instance->name, name);
}

int roster_rename(Manager *m, Instance *instance) {
        char *name;
        int r;

        r = choose_name(m, instance, &name);
        if (r < 0)
                return r;
        if (strcmp(name, instance->name) == 0) {
                free(name);
                return 0;
        }
        say_rename(m, instance, name);
        take_out(m, find_index(m, instance));
        free(instance->name);
        instance->name = name;
        put_in(m, instance);
        return 0;
}

void roster_remove_process(Manager *m, Instance *instance, size_t index) {
        const JournalFields fields = { .instance = instance->name };
        UndoRecord *record = record_of(instance);

        instance_remove_process(instance, index);
        if (instance->n_processes > 0) {
                instance_restart(instance, clock_monotonic_usec());
                record_left(m, record, false);
                return;
        }
        journal_log(&m->host.journal, LOG_DEBUG, &fields, "%s has ended", instance->name);
        instance_counts_remove(&m->roster.counts, instance->policy_index, instance->uid);
        take_out(m, find_index(m, instance));
        instance->next_ended = m->roster.ended;
        m->roster.ended = instance;
        record_left(m, record, true);
        host_mark(&m->host, HOST_MARK_PLAN);
        host_mark(&m->host, HOST_MARK_TIDY);
        host_mark(&m->host, HOST_MARK_PUBLISH);
}

Instance *roster_take_ended(Roster *roster) {
        Instance *instance = roster->ended;

        if (instance)
                roster->ended = instance->next_ended;
        return instance;
}
