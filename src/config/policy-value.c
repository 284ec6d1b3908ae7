/* Single values of the policy language. Whether a node exists is not checked here. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-loader.h"
#include "tidbnumad/model/policy.h"

#define POLICY_COUNT_MAX 1024u /* CONFIG_NODES_SHIFT=10 */
#define RATE_LENGTH_MAX 64u    /* the longest number with a unit that can be meant */

/* --- what is wrong with a name, a path, a glob --- */

#define POLICY_NAME_MAX 64u
#define UNIT_NAME_MAX 255u /* systemd.unit(5) */
#define USER_NAME_MAX 255u /* LOGIN_NAME_MAX less its NUL */
#define ARGS_MAX 4096u     /* length of a command line that is compared */
#define METRIC_NAME_MAX 255u
#define INTERFACE_NAME_MAX 15u  /* IFNAMSIZ less its NUL */
#define CONTROLLER_NAME_MAX 32u /* "nvme" and a number are far below */

/* The end of the bracket expression that begins at `p`, or NULL when it is not closed. A "]" at
 * the beginning belongs to the set, see glob(7). */
static const char *bracket_end(const char *p) {
        p++;
        if (*p == '!' || *p == '^')
                p++;
        return *p ? strchr(p + 1, ']') : NULL;
}

/* What fnmatch(3) would quietly never match. */
static const char *glob_fault(const char *glob) {
        for (const char *p = glob; *p; p++) {
                if (*p == '\\' && *++p == '\0')
                        return "it ends with a backslash";
                if (*p == '[') {
                        p = bracket_end(p);
                        if (!p)
                                return "a [ is not closed";
                }
        }
        return NULL;
}

static const char *exe_fault(const char *exe) {
        if (*exe == ' ' || exe[strlen(exe) - 1] == ' ')
                return "a blank at an end; remove it";
        /* A blank before a dash or a slash starts an argument. In a base name any blank does: a
         * program whose name has one can still be given as a path. */
        if (*exe == '/' ? strstr(exe, " -") || strstr(exe, " /") : strchr(exe, ' ') != NULL)
                return "arguments belong to `args`; write ? for a blank in a path";
        if (utf8_has_control(exe))
                return "it contains a control character";
        if (strlen(exe) >= PATH_MAX)
                return "it is too long";
        if (*exe != '/') {
                if (strchr(exe, '/'))
                        return "a relative path";
                return strpbrk(exe, "*?[\\") ? "a glob has to be an absolute path" : NULL;
        }
        if (text_ends_with(exe, "/") || strcmp(exe, "/") == 0)
                return "it names a folder";
        if (strstr(exe, "//") || strstr(exe, "/./") || strstr(exe, "/../"))
                return "paths from the kernel contain no //, /./ or /../";
        return glob_fault(exe);
}

static const char *unit_fault(const char *unit) {
        const char *fault;

        if (utf8_has_control(unit) || strpbrk(unit, " /"))
                return "a unit name contains no spaces, slashes or control characters";
        if (strlen(unit) > UNIT_NAME_MAX)
                return "it is too long";
        if (!text_ends_with(unit, ".service") && !text_ends_with(unit, ".scope") &&
            !strchr("*?]", unit[strlen(unit) - 1]))
                return "it does not end with .service or .scope";
        fault = glob_fault(unit);
        if (!fault && strpbrk(unit, "(|){}+"))
                return "no unit name contains ( ) | { } or +, and globs are * ? and [...]; write "
                       "an entry for each alternative";
        for (const char *p = unit; !fault && *p; p++) {
                if (*p == '[')
                        p = bracket_end(p);
                else if (!isalnum((unsigned char)*p) && !strchr(":-_.\\@*?", *p))
                        return "a character that no unit name contains";
        }
        return fault;
}

/* The kernel's rules for names of interfaces, and of devices in general. */
static const char *device_fault(const char *name, size_t max, bool glob) {
        if (utf8_has_control(name) || strpbrk(name, " /:"))
                return "no device has a name with spaces, slashes, colons or control characters";
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                return "no device has that name";
        if (!glob && strpbrk(name, "*?[\\"))
                return "a glob, but names are expected here";
        if (strlen(name) > (strpbrk(name, "*?[\\") ? PATH_MAX : max))
                return "it is too long";
        return glob ? glob_fault(name) : NULL;
}

static bool is_hex(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!isxdigit((unsigned char)text[i]))
                        return false;
        return true;
}

/* [domain:]bus:device.function, as lspci(8) shows it. */
static const char *pci_fault(const char *address) {
        const char *p = address;

        if (strlen(p) == POLICY_PCI_ADDRESS_LENGTH) {
                if (!is_hex(p, 4) || p[4] != ':')
                        return "not an address";
                p += 5;
        }
        if (strlen(p) != strlen("00:00.0") || !is_hex(p, 2) || p[2] != ':' || !is_hex(p + 3, 2) ||
            p[5] != '.' || p[6] < '0' || p[6] > '7')
                return "not an address";
        return NULL;
}

const char *policy_text_fault(PolicyKeyType type, const char *text) {
        static const char allowed[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
        static const char in_metric[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:0123456789";

        if (*text == '\0' && type != POLICY_KEY_PCI_ADDRESSES)
                return "it is empty";
        switch (type) {
        case POLICY_KEY_NAME:
                if (strlen(text) > POLICY_NAME_MAX)
                        return "it is too long";
                return text[strspn(text, allowed)] ? "a character that is not allowed" : NULL;
        case POLICY_KEY_EXE:
                return exe_fault(text);
        case POLICY_KEY_UNIT:
                return unit_fault(text);
        case POLICY_KEY_USER:
                if (utf8_has_control(text) || strpbrk(text, " :/*?[") || *text == '-')
                        return "not the name of a user";
                return strlen(text) > USER_NAME_MAX ? "it is too long" : NULL;
        case POLICY_KEY_ARGS:
                /* A pattern with a blank at either end would match no command line of the kernel.
                 */
                if (utf8_has_control(text))
                        return "it contains a control character";
                return strlen(text) > ARGS_MAX ? "it is too long" : glob_fault(text);
        case POLICY_KEY_METRIC:
                if (strlen(text) > METRIC_NAME_MAX)
                        return "it is too long";
                if (text[strspn(text, in_metric)] == '{')
                        return "labels; all label sets are added up";
                return text[strspn(text, in_metric)] || isdigit((unsigned char)*text)
                               ? "no metric has such a name"
                               : NULL;
        case POLICY_KEY_INTERFACES:
                return device_fault(text, INTERFACE_NAME_MAX, false);
        case POLICY_KEY_NET_GLOBS:
                return device_fault(text, INTERFACE_NAME_MAX, true);
        case POLICY_KEY_NVME_GLOBS:
                return device_fault(text, CONTROLLER_NAME_MAX, true);
        case POLICY_KEY_PCI_ADDRESSES:
                return pci_fault(text);
        default:
                return NULL;
        }
}

/* The index of `text` in `words`, which end with NULL, or -EINVAL. */
static int word_find(const char *const *words, const char *text) {
        for (unsigned i = 0; words[i]; i++)
                if (strcmp(text, words[i]) == 0)
                        return (int)i;
        return -EINVAL;
}

/* --- values of which there may be several: numbers of nodes and CPUs, names of devices --- */

/* The numbers in the field; without words: it has none. */
static IdTarget list_target(const PolicyKey *key, void *target) {
        switch (key->type) {
        case POLICY_KEY_NODES:
                return ID_TARGET((NodeSet *)target);
        case POLICY_KEY_CPUS:
                return ID_TARGET(&((PolicyCpus *)target)->list);
        case POLICY_KEY_RESERVE:
                return ID_TARGET(&((Reserve *)target)->nodes);
        case POLICY_KEY_STEER:
                return ID_TARGET(&((IrqPolicy *)target)->cpus);
        default:
                return (IdTarget){ NULL, 0 };
        }
}

IdView policy_list_ids(const PolicyKey *key, const void *target, bool *ret_cpus) {
        const IdTarget ids = list_target(key, (void *)target);

        *ret_cpus = key->type == POLICY_KEY_CPUS || key->type == POLICY_KEY_STEER;
        return (IdView){ ids.words, ids.n_words };
}

bool policy_list_is(const PolicyKey *key) {
        return key->type >= POLICY_KEY_NODES && key->type <= POLICY_KEY_PCI_ADDRESSES;
}

void policy_list_clear(const PolicyKey *key, void *target) {
        const IdTarget ids = list_target(key, target);

        if (ids.n_words == 0)
                word_list_done(target);
        for (size_t i = 0; i < ids.n_words; i++)
                ids.words[i] = 0;
        if (key->type == POLICY_KEY_CPUS)
                ((PolicyCpus *)target)->choice = CPUS_LIST;
        else if (key->type == POLICY_KEY_RESERVE)
                ((Reserve *)target)->kind = RESERVE_LIST;
        else if (key->type == POLICY_KEY_STEER)
                ((IrqPolicy *)target)->steer = STEER_CPUS;
}

int policy_list_add(const PolicyKey *key, const char *text, bool replaces, void *target,
                    const char **ret_reason) {
        const bool cpus = key->type == POLICY_KEY_CPUS || key->type == POLICY_KEY_STEER;
        const IdTarget ids = list_target(key, target);
        char address[POLICY_PCI_ADDRESS_LENGTH + 1];
        IdSet set = { 0 };
        int r = 0;

        *ret_reason = ids.n_words > 0 ? NULL : policy_text_fault(key->type, text);
        if (ids.n_words > 0)
                r = id_target_parse_list(text, (IdTarget){ set.words, ids.n_words });
        if (r == -ERANGE)
                *ret_reason = cpus ? "no machine has a CPU of that number"
                                   : "no machine has a node of that number";
        else if (r == 0 && ids.n_words > 0 && id_set_is_empty(&set))
                *ret_reason = "it is empty";
        if (r < 0 || *ret_reason)
                return -EINVAL;
        if (replaces)
                policy_list_clear(key, target);
        if (ids.n_words > 0) {
                id_target_union(ids, ID_VIEW(&set));
                return 0;
        }
        if (key->type != POLICY_KEY_PCI_ADDRESSES)
                return word_list_add(target, text);
        /* The kernel's form: with the domain, in small letters. */
        (void)snprintf(address, sizeof(address), "%s%s",
                       strlen(text) < POLICY_PCI_ADDRESS_LENGTH ? "0000:" : "", text);
        for (char *p = address; *p; p++)
                *p = (char)tolower((unsigned char)*p);
        return word_list_add(target, address);
}

/* One value where a list is allowed. */
static int parse_list(const PolicyKey *key, const char *text, void *target,
                      const char **ret_reason) {
        const int word = key->choices ? word_find(key->choices, text) : -EINVAL;

        if (word >= 0) { /* in place of a list of this type */
                policy_list_clear(key, target);
                if (key->type == POLICY_KEY_CPUS)
                        ((PolicyCpus *)target)->choice = (CpuChoice)word;
                else if (key->type == POLICY_KEY_RESERVE)
                        ((Reserve *)target)->kind = (ReserveKind)word;
                else
                        ((IrqPolicy *)target)->steer = (IrqSteer)word;
                return 0;
        }
        return policy_list_add(key, text, true, target, ret_reason);
}

/* --- single values --- */

static int parse_integer(const PolicyKey *key, const char *text, void *target,
                         const char **ret_reason) {
        const bool port = key->type == POLICY_KEY_PORT, count = key->type == POLICY_KEY_COUNT;
        const uint64_t min = port || count ? 1 : key->min;
        const uint64_t max = port ? UINT16_MAX : count ? POLICY_COUNT_MAX : key->max;
        uint64_t number;
        int r;

        if ((count || key->type == POLICY_KEY_AUTO_NUMBER) && strcmp(text, "auto") == 0) {
                *(uint32_t *)target = count ? PLACE_COUNT_AUTO : (uint32_t)key->min - 1;
                return 0;
        }
        r = parse_u64(text, &number);
        if (!port && (r == -ERANGE || (r == 0 && number > max)))
                *ret_reason = count ? "no machine has so many nodes" : "it is too large";
        if (r < 0 || number < min || number > max)
                return -EINVAL;
        if (port)
                *(uint16_t *)target = (uint16_t)number;
        else
                *(uint32_t *)target = (uint32_t)number;
        return 0;
}

_Static_assert(sizeof(MemoryMode) == sizeof(int) && sizeof(MigrateMode) == sizeof(int) &&
                       sizeof(OnFull) == sizeof(int) && sizeof(EnforcementMode) == sizeof(int) &&
                       sizeof(OnStop) == sizeof(int) && sizeof(ContainerMode) == sizeof(int) &&
                       sizeof(BackendKind) == sizeof(int) && sizeof(PlaceNear) == sizeof(int) &&
                       sizeof(PlaceShare) == sizeof(int) && sizeof(NumaBalancing) == sizeof(int) &&
                       sizeof(IrqbalanceMode) == sizeof(int) && sizeof(RpsMode) == sizeof(int),
               "policy_value_parse() stores an int");

static int parse_bool(const PolicyKey *key, const char *text, void *target,
                      const char **ret_reason) {
        static const char *const bools[] = { "false", "true", NULL };
        static const char *const switches[] = { "off", "on", NULL };
        /* YAML 1.1 took these for booleans, and people still write them. */
        static const char *const falses_trues[] = { "no", "yes", "off", "on",    "n",
                                                    "y",  "0",   "1",   "false", "true" };
        const bool is_switch = key->type == POLICY_KEY_SWITCH;
        const int i = word_find(is_switch ? switches : bools, text);

        for (size_t k = 0; i < 0 && !is_switch && k < ELEMENTSOF(falses_trues); k++)
                if (strcasecmp(text, falses_trues[k]) == 0)
                        *ret_reason = k % 2 ? "write it as true" : "write it as false";
        if (i < 0)
                return -EINVAL;
        if (key->choices)
                memcpy(target, &i, sizeof(i));
        else
                *(bool *)target = i == 1;
        return 0;
}

/* All that is wrong with a rate at once: the unit and the /s. NULL: neither. */
static const char *rate_reason(const char *size, int parsed, bool per_second) {
        if (parsed == -ERANGE)
                return "it is too large";
        if (parsed < 0 && *size != '\0' && size[strspn(size, "0123456789.")] == '\0')
                return per_second ? "without a unit" : "without a unit and /s";
        if (parsed < 0 && isalpha((unsigned char)size[strspn(size, "0123456789.")]))
                return per_second ? "units are KiB, MiB, GiB, kB, MB, GB"
                                  : "without /s; units are KiB, MiB, GiB, kB, MB, GB";
        return per_second ? NULL : "without /s";
}

static int parse_rate(const char *text, uint64_t *target, const char **ret_reason) {
        size_t length = strlen(text);
        bool per_second = text_ends_with(text, "/s");
        char size[RATE_LENGTH_MAX] = "";
        uint64_t bytes;
        int r;

        length -= per_second ? 2 : 0;
        if (length >= sizeof(size))
                return -EINVAL;
        memcpy(size, text, length);
        r = parse_size(size, &bytes);
        *ret_reason = rate_reason(size, r, per_second);
        if (r < 0 || bytes == 0 || !per_second)
                return -EINVAL;
        *target = bytes;
        return 0;
}

static int parse_limit(const char *text, uint64_t *target, const char **ret_reason) {
        uint64_t bytes = MEMORY_LIMIT_NONE;
        int r;

        if (strcmp(text, "none") == 0 || strcmp(text, "share") == 0) {
                *target = *text == 'n' ? MEMORY_LIMIT_NONE : MEMORY_LIMIT_SHARE;
                return 0;
        }
        r = parse_size(text, &bytes);
        if (isdigit((unsigned char)*text))
                *ret_reason = rate_reason(text, r, true);
        if (r == 0 && bytes < MEMORY_LIMIT_MIN)
                *ret_reason = "it is too small";
        if (r == 0 && bytes == MEMORY_LIMIT_SHARE)
                *ret_reason = "it is too large";
        if (r < 0 || bytes < MEMORY_LIMIT_MIN || bytes == MEMORY_LIMIT_SHARE)
                return -EINVAL;
        *target = bytes;
        return 0;
}

/* A number with a unit, from `min` to `max`. */
static int parse_measure(const PolicyKey *key, const char *text, void *target,
                         const char **ret_reason) {
        const bool percent = key->type == POLICY_KEY_PERCENT;
        uint64_t value = 0;
        int r = percent ? parse_percent(text, &value) : parse_duration(text, &value);

        if (r == -ERANGE || (r == 0 && value > key->max))
                *ret_reason = percent ? "it is too much" : "it is too long";
        else if (r == 0 && value < key->min)
                *ret_reason = percent ? "it is too little" : "it is too short";
        else if (*text == '\0')
                *ret_reason = "it is empty";
        else if (r < 0 && text[strspn(text, "0123456789.")] == '\0')
                *ret_reason = "without a unit";
        if (r < 0 || value < key->min || value > key->max)
                return -EINVAL;
        if (percent)
                *(uint32_t *)target = (uint32_t)value;
        else
                *(uint64_t *)target = value;
        return 0;
}

#define HEX "0123456789abcdefABCDEF"

/* [type:]config, as perf_event_open(2) calls them. */
static int parse_event(const char *text, AccessEvent *target, const char **ret_reason) {
        static const struct {
                const char *prefix;
                uint32_t type;
        } kinds[] = { { "raw:", ACCESS_EVENT_RAW }, { "software:", ACCESS_EVENT_SOFTWARE } };
        AccessEvent event = { .given = true, .type = ACCESS_EVENT_RAW };
        const char *colon = strchr(text, ':'), *code = colon ? colon + 1 : text;
        const size_t n_hex = strncmp(code, "0x", 2) == 0 ? strspn(code + 2, HEX) : 0;
        bool known = !colon;

        for (size_t i = 0; i < ELEMENTSOF(kinds) && !known; i++) {
                known = strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)) == 0;
                event.type = kinds[i].type;
        }
        if (!known) {
                char number[16] = "";
                uint64_t type = 0;

                if ((size_t)(colon - text) < sizeof(number))
                        memcpy(number, text, (size_t)(colon - text));
                known = parse_u64(number, &type) == 0 && type <= UINT32_MAX;
                event.type = (uint32_t)type;
        }
        if (!known)
                *ret_reason = "not a kind of events";
        /* 0x and up to sixteen digits, or decimal; strtoull() alone would take a sign and blanks.
         */
        if (n_hex > 0 && n_hex <= 16 && code[2 + n_hex] == '\0')
                event.config = strtoull(code + 2, NULL, 16);
        else if (parse_u64(code, &event.config) < 0)
                known = false;
        if (!known)
                return -EINVAL;
        *target = event;
        return 0;
}

int policy_value_parse(const PolicyKey *key, const char *text, void *target,
                       const char **ret_reason) {
        char *copy;
        int i;

        *ret_reason = NULL;
        if (policy_list_is(key))
                return parse_list(key, text, target, ret_reason);
        switch (key->type) {
        case POLICY_KEY_VERSION:
                return strcmp(text, "1") == 0 ? 0 : -EINVAL;
        case POLICY_KEY_NAME:
        case POLICY_KEY_EXE:
        case POLICY_KEY_UNIT:
        case POLICY_KEY_USER:
        case POLICY_KEY_ARGS:
        case POLICY_KEY_METRIC:
                *ret_reason = policy_text_fault(key->type, text);
                if (*ret_reason)
                        return -EINVAL;
                copy = strdup(text);
                if (!copy)
                        return -ENOMEM;
                free(*(char **)target);
                *(char **)target = copy;
                return 0;
        case POLICY_KEY_PORT:
        case POLICY_KEY_COUNT:
        case POLICY_KEY_NUMBER:
        case POLICY_KEY_AUTO_NUMBER:
                return parse_integer(key, text, target, ret_reason);
        case POLICY_KEY_CHOICE:
                /* An enum without negative values is an unsigned int to both compilers. */
                i = word_find(key->choices, text);
                if (i >= 0)
                        memcpy(target, &i, sizeof(i));
                return i < 0 ? i : 0;
        case POLICY_KEY_SWITCH:
        case POLICY_KEY_BOOL:
                return parse_bool(key, text, target, ret_reason);
        case POLICY_KEY_RATE:
                return parse_rate(text, target, ret_reason);
        case POLICY_KEY_LIMIT:
                return parse_limit(text, target, ret_reason);
        case POLICY_KEY_DURATION:
        case POLICY_KEY_PERCENT:
                return parse_measure(key, text, target, ret_reason);
        case POLICY_KEY_EVENT:
                return parse_event(text, target, ret_reason);
        default:
                return -EINVAL;
        }
}
