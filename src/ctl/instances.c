/* The instances of a command: those that run on a machine, observed, and for processes that this
 * user may not read, published; and imagined ones. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc.h"

/* Is it older than the published status? Otherwise its pid may have been reused. */
static bool is_older(const ProcHandle *handle, double time_seconds) {
        const double age = clock_boottime_seconds() -
                           (double)handle->start_ticks / (double)sysconf(_SC_CLK_TCK);

        return age > clock_realtime_seconds() - time_seconds;
}

static bool holds_published(const HostInstance *o, const InstanceInfo *published,
                            double time_seconds) {
        for (size_t i = 0; i < o->n_members; i++)
                if (o->members[i].process.id.pid == published->pid)
                        return is_older(o->members[i].handle, time_seconds);
        return false;
}

int instances_find(const Sysroot *sysroot, const PolicySet *policies, const Snapshot *status,
                   HostInstances *ret) {
        _cleanup_host_instances_ HostInstances list = { 0 };
        int r = host_instances_find(sysroot, policies, &list);

        if (r < 0)
                return r;
        /* Of processes that this user may not read, what every user may see; their program, unit
         * and data directory are those that the daemon published. Nothing is added if the process
         * is not the daemon's instance any more. */
        for (size_t i = 0; status && list.n_denied > 0 && i < status->n_instances; i++) {
                const InstanceInfo *published = &status->instances[i];
                _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
                _cleanup_process_ Process process = { 0 };
                const Policy *policy;
                ProcStatus of;
                HostInstance *o;

                if (host_instances_find_pid(&list, published->pid))
                        continue;
                r = proc_open(sysroot, published->pid, &handle);
                if (r >= 0 && !is_older(&handle, status->time_seconds))
                        r = -ESRCH;
                if (r >= 0)
                        r = proc_status_read(&handle, 0, &of);
                if (r >= 0)
                        r = proc_cgroup_read(&handle, &process.cgroup);
                if (must(r) < 0)
                        continue;
                process.id =
                        (ProcessId){ .pid = published->pid, .start_ticks = handle.start_ticks };
                process.uid = of.uid;
                process.exe = must_have(strdup(published->exe));
                process.unit = published->unit ? must_have(strdup(published->unit)) : NULL;
                /* The daemon has matched it with its command line, which only its owner may read.
                 * Policies other than the daemon's, as with --policy, are matched with what is
                 * visible. */
                policy = policy_set_find(policies, published->policy);
                if (!policy)
                        policy = match_process(policies, &process);
                if (!policy)
                        continue;
                must(host_instances_add(&list, policy, &process, &handle));
                list.n_reported++;
                o = host_instances_find_pid(&list, published->pid);
                if (!o->data_dir && published->data_dir)
                        o->data_dir = must_have(strdup(published->data_dir));
        }
        /* Keeps the daemon's name even if the ports would give another one: the first of two
         * instances on one port keeps the short name, and a server that shuts down keeps its last
         * port. */
        for (size_t i = 0; status && i < status->n_instances; i++) {
                const InstanceInfo *published = &status->instances[i];
                HostInstance *o = host_instances_find_pid(&list, published->pid);

                if (o && !o->name && holds_published(o, published, status->time_seconds))
                        o->name = must_have(strdup(published->name));
        }
        *ret = TAKE_STRUCT(list);
        return 0;
}

void instances_take_storage(const Snapshot *status, HostInstances *list) {
        for (size_t i = 0; i < status->n_instances; i++) {
                const InstanceInfo *published = &status->instances[i];
                HostInstance *o = host_instances_find_pid(list, published->pid);

                if (!o || o->storage || !published->storage ||
                    !holds_published(o, published, status->time_seconds))
                        continue;
                o->storage = must_have(strdup(published->storage));
                o->storage_nodes = published->storage_nodes;
        }
}

static bool is_published(const Snapshot *status, const HostInstance *o) {
        for (size_t i = 0; status && i < status->n_instances; i++)
                if (holds_published(o, &status->instances[i], status->time_seconds))
                        return true;
        return false;
}

/* The first max_instances of a policy and user stay, those that the daemon has before others. */
void instances_limit(const PolicySet *policies, const Snapshot *status, HostInstances *list,
                     HostInstances *ret_ignored) {
        _cleanup_free_ bool *keep = must_have(calloc(list->n_instances + 1, sizeof(*keep)));
        const size_t n = list->n_instances;
        InstanceCounts counts = { 0 };

        ret_ignored->instances = must_have(calloc(n + 1, sizeof(*ret_ignored->instances)));
        for (unsigned pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < n; i++) {
                        const HostInstance *o = &list->instances[i];
                        const size_t policy = (size_t)(o->policy - policies->policies);
                        const uid_t uid = o->members[0].process.uid;

                        if (is_published(status, o) != (pass == 0) ||
                            instance_counts_of(&counts, policy, uid) >= o->policy->max_instances)
                                continue;
                        keep[i] = true;
                        must(instance_counts_add(&counts, policy, uid));
                }
        instance_counts_done(&counts);
        list->n_instances = 0;
        for (size_t i = 0; i < n; i++) {
                HostInstances *to = keep[i] ? list : ret_ignored;

                to->instances[to->n_instances++] = list->instances[i];
        }
}

uint32_t instances_gomaxprocs(const HostInstance *o) {
        char value[16];
        uint64_t n;

        if (environment_read(o->members[0].handle, "GOMAXPROCS", value, sizeof(value)) < 0 ||
            parse_u64(value, &n) < 0 || n > UINT32_MAX)
                return 0;
        return (uint32_t)n;
}

/* --- imagined ones --- */

void host_instance_set_disk(HostInstance *imagined, const Device *disk) {
        Device copy = { 0 };

        if (!disk)
                return;
        if (disk->node >= 0 && disk->node < (int32_t)NODE_SET_MAX)
                id_set_add(&imagined->storage_nodes, (uint32_t)disk->node);
        copy.kind = disk->kind;
        copy.size_bytes = disk->size_bytes;
        copy.name = must_have(strdup(disk->name));
        imagined->storage = must_have(strdup(disk->name));
        must(device_list_add(&imagined->disks, &copy));
}

/* One word of the list, "2:tikv@nvme0n1:32GiB". */
typedef struct Imagined {
        uint32_t count;
        const char *policy, *disk; /* `disk` NULL: none was named */
        uint64_t need_bytes;       /* memory of each of them; 0: not given */
} Imagined;

static int parse_word(char *word, Imagined *ret, Error *error) {
        char *size, *rest, *colon, *at;
        uint64_t count = 1;
        size_t n_digits;

        word += strspn(word, " \t");
        for (size_t n = strlen(word); n > 0 && (word[n - 1] == ' ' || word[n - 1] == '\t'); n--)
                word[n - 1] = '\0';
        /* The size after the last colon begins with a digit: "32GiB" of "4:tikv:32GiB". The name of
         * a policy may do so as well: after a count alone a name follows. */
        n_digits = strspn(word, "0123456789");
        size = strrchr(word, ':');
        if (size && size[1] >= '0' && size[1] <= '9' &&
            (n_digits == 0 || size != word + n_digits)) {
                int r;

                *size++ = '\0';
                r = parse_size(size, &ret->need_bytes);
                if (r < 0 || ret->need_bytes == 0)
                        return error_set(error, -EINVAL,
                                         "'%s' is %s, expected the memory of one instance with its "
                                         "unit, such as 32GiB",
                                         size,
                                         r == -ERANGE ? "too large" : "not a size above zero");
        }
        rest = word;
        colon = strchr(word, ':');
        if (colon) {
                *colon = '\0';
                if (parse_u64(word, &count) < 0)
                        count = 0;
                *colon = ':';
                rest = colon + 1;
        }
        at = strchr(rest, '@');
        if (count == 0 || *rest == '\0' || rest == at || (at && at[1] == '\0') ||
            strchr(rest, ':') || (at && strchr(at + 1, '@')))
                return error_set(error, -EINVAL,
                                 "'%s' is not COUNT:POLICY, expected for example 4:tidb, "
                                 "4:tikv:32GiB or 2:tikv@nvme0n1",
                                 word);
        if (at)
                *at = '\0';
        ret->disk = at ? at + 1 : NULL;
        ret->policy = rest;
        ret->count = count > IMAGINE_INSTANCES_MAX ? IMAGINE_INSTANCES_MAX + 1 : (uint32_t)count;
        return 0;
}

/* Returns the number of words. The names are parts of `list`, which is cut up. */
static int parse_list(char *list, Imagined ret[static IMAGINE_INSTANCES_MAX], Error *error) {
        size_t total = 0;
        char *word;
        int n = 0;

        while ((word = strsep(&list, ","))) {
                Imagined parsed = { 0 };
                int r = parse_word(word, &parsed, error);

                if (r < 0)
                        return r;
                total += parsed.count;
                if (total > IMAGINE_INSTANCES_MAX)
                        return error_set(error, -EINVAL, "more than %u instances",
                                         IMAGINE_INSTANCES_MAX);
                ret[n++] = parsed;
        }
        return n;
}

int imagine_check(const char *text, Error *error) {
        _cleanup_free_ char *copy = must_have(strdup(text));
        Imagined words[IMAGINE_INSTANCES_MAX];

        return parse_list(copy, words, error);
}

static int refuse_policy(const char *name, const PolicySet *policies, Error *error) {
        Suggestion similar = { .word = name };
        _cleanup_text_ Text names = { 0 };

        for (size_t i = 0; i < policies->n_policies; i++) {
                suggest(&similar, policies->policies[i].name);
                text_appendf(&names, "%s%s", i > 0 ? ", " : "", policies->policies[i].name);
        }
        if (policies->n_policies == 0)
                return error_set(
                        error, -EINVAL,
                        "no policy '%s'; there are no policies: give them with --policy or "
                        "--policy-dir",
                        name);
        return error_set(error, -EINVAL, "no policy '%s'%s%s%s%s", name,
                         similar.nearest ? ", did you mean '" : ", expected one of: ",
                         similar.nearest ? similar.nearest : "",
                         similar.nearest ? "'? There are: " : "", must_text(&names));
}

static int refuse_disk(const char *name, const DeviceList *devices, Error *error) {
        _cleanup_text_ Text names = { 0 };

        for (size_t i = 0; i < devices->n_devices; i++)
                if (devices->devices[i].kind == DEVICE_DISK)
                        text_appendf(&names, "%s%s", names.length > 0 ? ", " : "",
                                     devices->devices[i].name);
        if (names.length == 0)
                return error_set(error, -EINVAL,
                                 "the machine has no disk '%s', nor any other; remove '@%s'", name,
                                 name);
        return error_set(error, -EINVAL, "the machine has no disk '%s', expected one of: %s", name,
                         must_text(&names));
}

/* The disk of the n-th instance: NVMe disks are assigned in turn, or else all disks. NULL: there is
 * none. */
static const Device *disk_in_turn(const DeviceList *devices, size_t n) {
        size_t n_disks = 0, n_nvme = 0, n_used;

        for (size_t i = 0; i < devices->n_devices; i++) {
                n_disks += devices->devices[i].kind == DEVICE_DISK;
                n_nvme += devices->devices[i].kind == DEVICE_DISK && devices->devices[i].nvme;
        }
        n_used = n_nvme > 0 ? n_nvme : n_disks;
        n = n_used > 0 ? n % n_used : 0;
        for (size_t i = 0; i < devices->n_devices; i++)
                if (devices->devices[i].kind == DEVICE_DISK &&
                    (devices->devices[i].nvme || n_nvme == 0) && n-- == 0)
                        return &devices->devices[i];
        return NULL;
}

int imagine_instances(const char *text, const PolicySet *policies, const DeviceList *devices,
                      HostInstances *ret, Error *error) {
        _cleanup_host_instances_ HostInstances all = { 0 };
        _cleanup_free_ char *copy = must_have(strdup(text));
        Imagined words[IMAGINE_INSTANCES_MAX];
        const int n_words = parse_list(copy, words, error);
        size_t n_in_turn = 0;

        if (n_words < 0)
                return n_words;
        all.instances = must_have(calloc(IMAGINE_INSTANCES_MAX, sizeof(*all.instances)));
        for (int i = 0; i < n_words; i++) {
                const Imagined *entry = &words[i];
                const Policy *policy = policy_set_find(policies, entry->policy);
                const Device *disk = NULL;

                if (!policy)
                        return refuse_policy(entry->policy, policies, error);
                if (entry->disk) {
                        disk = device_list_find(devices, DEVICE_DISK, entry->disk);
                        if (!disk)
                                return refuse_disk(entry->disk, devices, error);
                }
                for (uint32_t k = 0; k < entry->count; k++) {
                        HostInstance *new = &all.instances[all.n_instances];
                        const Device *turn = !disk && policy->place.near == NEAR_STORAGE
                                                     ? disk_in_turn(devices, n_in_turn)
                                                     : NULL;
                        const size_t number = host_instances_count(&all, policy) + 1;

                        *new = (HostInstance){ .policy = policy,
                                               .limit_bytes = entry->need_bytes,
                                               .in_turn = turn };
                        all.n_instances++;
                        n_in_turn += turn ? 1 : 0;
                        new->name = must_have(text_new("%s-%zu", policy->name, number));
                        host_instance_set_disk(new, turn ? turn : disk);
                }
        }
        *ret = TAKE_STRUCT(all);
        return 0;
}
