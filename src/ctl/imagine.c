#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/imagine.h"

void imagine_list_done(ImagineList *list) {
        for (size_t i = 0; i < list->n_entries; i++) {
                free(list->entries[i].policy);
                free(list->entries[i].disk);
        }
        free(list->entries);
        *list = (ImagineList){ 0 };
}

int host_instance_set_disk(HostInstance *imagined, const Device *disk) {
        Device copy = { 0 };
        int r;

        if (!disk)
                return 0;
        if (disk->node >= 0 && disk->node < (int32_t)NODE_SET_MAX)
                id_set_add(&imagined->storage_nodes, (uint32_t)disk->node);
        copy.kind = disk->kind;
        copy.name = strdup(disk->name);
        imagined->storage = strdup(disk->name);
        if (!copy.name || !imagined->storage)
                r = -ENOMEM;
        else
                r = device_list_add(&imagined->disks, &copy);
        if (r < 0)
                free(copy.name);
        return r;
}

_printf_(2, 3) static int refuse(char **ret_message, const char *format, ...) {
        va_list args;
        int n;

        va_start(args, format);
        n = vasprintf(ret_message, format, args);
        va_end(args);
        if (n >= 0)
                return -EINVAL;
        *ret_message = NULL;
        return -ENOMEM;
}

static char *strip(char *word) {
        size_t n;

        word += strspn(word, " \t");
        n = strlen(word);
        while (n > 0 && (word[n - 1] == ' ' || word[n - 1] == '\t'))
                word[--n] = '\0';
        return word;
}

static bool is_count(const char *word) {
        const size_t n = strspn(word, "0123456789");

        return n > 0 && word[n] == ':';
}

/* Parses the count before a colon, 1 if there is none. Leaves the rest in `*word`. */
static int parse_count(char **word, uint32_t *ret) {
        char *colon = strchr(*word, ':');
        uint64_t count = 1;

        if (colon) {
                *colon = '\0';
                if (parse_u64(*word, &count) < 0)
                        count = 0;
                *colon = ':';
                *word = colon + 1;
        }
        if (count == 0)
                return -EINVAL;
        *ret = count > IMAGINE_INSTANCES_MAX ? IMAGINE_INSTANCES_MAX + 1 : (uint32_t)count;
        return 0;
}

/* Cuts off the size after the last colon: "32GiB" of "4:tikv:32GiB". It begins with a digit. The
 * name of a policy may do so as well: after a count alone a name follows. */
static char *cut_size(char *word) {
        char *first = strchr(word, ':'), *last = strrchr(word, ':');

        if (!last || last[1] < '0' || last[1] > '9' || (first == last && is_count(word)))
                return NULL;
        *last = '\0';
        return last + 1;
}

static int parse_word(char *word, ImagineEntry *ret, char **ret_message) {
        char *size, *rest, *at;
        int r;

        word = strip(word);
        size = cut_size(word);
        if (size) {
                r = parse_size(size, &ret->need_bytes);
                if (r < 0 || ret->need_bytes == 0)
                        return refuse(ret_message,
                                      "'%s' is %s, expected the memory of one instance with its "
                                      "unit, such as 32GiB",
                                      size, r == -ERANGE ? "too large" : "not a size above zero");
        }
        rest = word;
        r = parse_count(&rest, &ret->count);
        at = strchr(rest, '@');
        if (r < 0 || *rest == '\0' || rest == at || (at && at[1] == '\0') || strchr(rest, ':') ||
            (at && strchr(at + 1, '@')))
                return refuse(ret_message,
                              "'%s' is not COUNT:POLICY, expected for example 4:tidb, 4:tikv:32GiB "
                              "or 2:tikv@nvme0n1",
                              word);
        if (at) {
                *at = '\0';
                ret->disk = strdup(at + 1);
        }
        ret->policy = strdup(rest);
        return ret->policy && (!at || ret->disk) ? 0 : -ENOMEM;
}

static int parse_words(char *text, ImagineList *list, char **ret_message) {
        uint64_t total = 0;
        char *word;

        while ((word = strsep(&text, ","))) {
                int r;

                if (ARRAY_RESERVE(list->entries, list->allocated, list->n_entries + 1) < 0)
                        return -ENOMEM;
                r = parse_word(word, &list->entries[list->n_entries++], ret_message);
                if (r < 0)
                        return r;
                total += list->entries[list->n_entries - 1].count;
                if (total > IMAGINE_INSTANCES_MAX)
                        return refuse(ret_message, "more than %u instances", IMAGINE_INSTANCES_MAX);
        }
        return 0;
}

int imagine_parse(const char *text, ImagineList *ret, char **ret_message) {
        _cleanup_imagine_list_ ImagineList list = { 0 };
        _cleanup_free_ char *copy = strdup(text);
        int r;

        if (!copy)
                return -ENOMEM;
        r = parse_words(copy, &list, ret_message);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(list);
        return 0;
}

static int refuse_policy(const char *name, const PolicySet *policies, char **ret_message) {
        Suggestion similar = { .word = name };
        _cleanup_text_ Text names = { 0 };

        for (size_t i = 0; i < policies->n_policies; i++) {
                suggest(&similar, policies->policies[i].name);
                text_appendf(&names, "%s%s", i > 0 ? ", " : "", policies->policies[i].name);
        }
        if (names.error < 0)
                return names.error;
        if (policies->n_policies == 0)
                return refuse(ret_message,
                              "no policy '%s'; there are no policies: give them with --policy or "
                              "--policy-dir",
                              name);
        return refuse(ret_message, "no policy '%s'%s%s%s%s", name,
                      similar.nearest ? ", did you mean '" : ", expected one of: ",
                      similar.nearest ? similar.nearest : "",
                      similar.nearest ? "'? There are: " : "", names.data);
}

static int refuse_disk(const char *name, const DeviceList *devices, char **ret_message) {
        _cleanup_text_ Text names = { 0 };

        for (size_t i = 0; i < devices->n_devices; i++)
                if (devices->devices[i].kind == DEVICE_DISK)
                        text_appendf(&names, "%s%s", names.length > 0 ? ", " : "",
                                     devices->devices[i].name);
        if (names.error < 0)
                return names.error;
        if (!names.data)
                return refuse(ret_message,
                              "the machine has no disk '%s', nor any other; remove '@%s'", name,
                              name);
        return refuse(ret_message, "the machine has no disk '%s', expected one of: %s", name,
                      names.data);
}

static bool is_in_turn(const Device *device, bool nvme_alone) {
        return device->kind == DEVICE_DISK && (device->nvme || !nvme_alone);
}

/* The n-th disk of those that are assigned in turn; NULL: there is none. */
static const Device *disk_in_turn(const DeviceList *devices, size_t n) {
        bool nvme = false;
        size_t n_disks = 0;

        for (size_t i = 0; i < devices->n_devices; i++)
                nvme |= devices->devices[i].kind == DEVICE_DISK && devices->devices[i].nvme;
        for (size_t i = 0; i < devices->n_devices; i++)
                n_disks += is_in_turn(&devices->devices[i], nvme);
        n = n_disks > 0 ? n % n_disks : 0;
        for (size_t i = 0; i < devices->n_devices; i++)
                if (is_in_turn(&devices->devices[i], nvme) && n-- == 0)
                        return &devices->devices[i];
        return NULL;
}

/* Number of instances of this policy so far. */
static size_t count_of(const HostInstances *list, const Policy *policy) {
        size_t n = 0;

        for (size_t i = 0; i < list->n_instances; i++)
                n += list->instances[i].policy == policy;
        return n;
}

static size_t count_in_turn(const HostInstances *list) {
        size_t n = 0;

        for (size_t i = 0; i < list->n_instances; i++)
                n += list->instances[i].in_turn;
        return n;
}

static int imagine_entry(const ImagineEntry *entry, const Policy *policy, const Device *disk,
                         const DeviceList *devices, HostInstances *list) {
        for (uint32_t i = 0; i < entry->count; i++) {
                HostInstance *new = &list->instances[list->n_instances];
                const Device *turn = !disk && policy->place.near == NEAR_STORAGE
                                             ? disk_in_turn(devices, count_in_turn(list))
                                             : NULL;
                const size_t number = count_of(list, policy) + 1;

                *new = (HostInstance){ .policy = policy,
                                       .limit_bytes = entry->need_bytes,
                                       .in_turn = turn };
                list->n_instances++;
                if (host_instance_set_disk(new, turn ? turn : disk) < 0)
                        return -ENOMEM;
                if (asprintf(&new->name, "%s-%zu", policy->name, number) < 0) {
                        new->name = NULL;
                        return -ENOMEM;
                }
        }
        return 0;
}

int imagine_instances(const ImagineList *list, const PolicySet *policies, const DeviceList *devices,
                      HostInstances *ret, char **ret_message) {
        _cleanup_host_instances_ HostInstances all = { 0 };

        all.instances = calloc(IMAGINE_INSTANCES_MAX, sizeof(*all.instances));
        if (!all.instances)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_entries; i++) {
                const ImagineEntry *entry = &list->entries[i];
                const Policy *policy = policy_set_find(policies, entry->policy);
                const Device *disk = NULL;
                int r;

                if (!policy)
                        return refuse_policy(entry->policy, policies, ret_message);
                if (entry->disk) {
                        disk = device_list_find(devices, DEVICE_DISK, entry->disk);
                        if (!disk)
                                return refuse_disk(entry->disk, devices, ret_message);
                }
                r = imagine_entry(entry, policy, disk, devices, &all);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_STRUCT(all);
        return 0;
}
