/* Single values of the policy language. Whether a node is there is not asked here. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/config/policy-value.h"
#include "tidbnumad/model/policy.h"

#define POLICY_NAME_MAX 64u
#define UNIT_NAME_MAX 255u  /* systemd.unit(5) */
#define USER_NAME_MAX 255u  /* LOGIN_NAME_MAX less its NUL */
#define RATE_LENGTH_MAX 64u /* the longest number with a unit that can be meant */

static bool has_suffix(const char *text, const char *suffix) {
        size_t length = strlen(text), n = strlen(suffix);

        return length > n && strcmp(text + length - n, suffix) == 0;
}

static bool has_control(const char *text) {
        for (; *text; text++)
                if (iscntrl((unsigned char)*text))
                        return true;
        return false;
}

/* The end of the bracket expression that begins at `p`, or NULL when it is not closed. A "]" that
 * stands first belongs to the set, see glob(7). */
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
        if (*exe == '\0')
                return "it is empty";
        if (has_control(exe))
                return "it holds a control character";
        if (strlen(exe) >= PATH_MAX)
                return "it is too long";
        if (*exe != '/') {
                if (strchr(exe, '/'))
                        return "a relative path";
                return strpbrk(exe, "*?[\\") ? "a glob has to be an absolute path" : NULL;
        }
        if (has_suffix(exe, "/") || strcmp(exe, "/") == 0)
                return "it names a folder";
        if (strstr(exe, "//") || strstr(exe, "/./") || strstr(exe, "/../"))
                return "the kernel tells paths without //, /./ and /../";
        return glob_fault(exe);
}

static const char *unit_fault(const char *unit) {
        if (*unit == '\0')
                return "it is empty";
        if (has_control(unit) || strpbrk(unit, " /"))
                return "a unit name holds no spaces, slashes or control characters";
        if (strlen(unit) > UNIT_NAME_MAX)
                return "it is too long";
        if (!has_suffix(unit, ".service") && !has_suffix(unit, ".scope") &&
            !strchr("*?]", unit[strlen(unit) - 1]))
                return "it does not end with .service or .scope";
        return glob_fault(unit);
}

static const char *user_fault(const char *user) {
        if (*user == '\0')
                return "it is empty";
        if (has_control(user) || strpbrk(user, " :/*?[") || *user == '-')
                return "not the name of a user";
        return strlen(user) > USER_NAME_MAX ? "it is too long" : NULL;
}

static const char *name_fault(const char *name) {
        static const char allowed[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                "._-";

        if (*name == '\0')
                return "it is empty";
        if (strlen(name) > POLICY_NAME_MAX)
                return "it is too long";
        return name[strspn(name, allowed)] ? "a character that is not allowed" : NULL;
}

static int store_string(const char *text, const char *fault, void *target,
                        const char **ret_reason) {
        char *copy;

        if (fault) {
                *ret_reason = fault;
                return -EINVAL;
        }
        copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        free(*(char **)target);
        *(char **)target = copy;
        return 0;
}

static int parse_ids(const char *text, const char *too_high, IdSet *target,
                     const char **ret_reason) {
        IdSet set;
        int r;

        r = id_set_parse_list(text, &set);
        if (r == -ERANGE)
                *ret_reason = too_high;
        if (r < 0)
                return -EINVAL;
        if (id_set_is_empty(&set)) {
                *ret_reason = "it is empty";
                return -EINVAL;
        }
        *target = set;
        return 0;
}

static int parse_port(const char *text, uint16_t *target) {
        uint64_t port;

        if (parse_u64(text, &port) < 0 || port == 0 || port > UINT16_MAX)
                return -EINVAL;
        *target = (uint16_t)port;
        return 0;
}

static int parse_cpus(const char *text, CpuSet *target, const char **ret_reason) {
        if (strcmp(text, "all") == 0) {
                *target = (CpuSet){ 0 };
                return 0;
        }
        if (strcmp(text, "one-per-core") == 0) {
                *ret_reason = "known but not carried out by this version";
                return -EINVAL;
        }
        return parse_ids(text, "no machine has a CPU of that number", target, ret_reason);
}

static int parse_choice(const PolicyKey *key, const char *text, void *target) {
        /* An enum without negative values is an unsigned int to both compilers. */
        for (unsigned i = 0; key->choices[i]; i++)
                if (strcmp(text, key->choices[i]) == 0) {
                        memcpy(target, &i, sizeof(i));
                        return 0;
                }
        return -EINVAL;
}

_Static_assert(sizeof(MemoryMode) == sizeof(unsigned) && sizeof(MigrateMode) == sizeof(unsigned) &&
                       sizeof(EnforcementMode) == sizeof(unsigned) &&
                       sizeof(ContainerMode) == sizeof(unsigned) &&
                       sizeof(BackendKind) == sizeof(unsigned),
               "parse_choice() stores an unsigned int");

static int parse_rate(const char *text, uint64_t *target, const char **ret_reason) {
        char size[RATE_LENGTH_MAX] = "";
        uint64_t bytes;
        int r;

        if (!has_suffix(text, "/s")) {
                *ret_reason = "without /s";
                return -EINVAL;
        }
        if (strlen(text) - 2 >= sizeof(size))
                return -EINVAL;
        memcpy(size, text, strlen(text) - 2);
        r = parse_size(size, &bytes);
        if (r == -ERANGE)
                *ret_reason = "it is too large";
        else if (r < 0 && size[strspn(size, "0123456789.")] == '\0')
                *ret_reason = "without a unit";
        if (r < 0 || bytes == 0)
                return -EINVAL;
        *target = bytes;
        return 0;
}

static int parse_interval(const PolicyKey *key, const char *text, uint64_t *target,
                          const char **ret_reason) {
        uint64_t usec;
        int r;

        r = parse_duration(text, &usec);
        if (r == -ERANGE || (r == 0 && usec > key->max))
                *ret_reason = "it is too long";
        else if (r == 0 && usec < key->min)
                *ret_reason = "it is too short";
        else if (*text == '\0')
                *ret_reason = "it is empty";
        else if (r < 0 && text[strspn(text, "0123456789.")] == '\0')
                *ret_reason = "without a unit";
        if (r < 0 || usec < key->min || usec > key->max)
                return -EINVAL;
        *target = usec;
        return 0;
}

int policy_value_parse(const PolicyKey *key, const char *text, void *target,
                       const char **ret_reason) {
        *ret_reason = NULL;
        switch (key->type) {
        case POLICY_KEY_VERSION:
                return strcmp(text, "1") == 0 ? 0 : -EINVAL;
        case POLICY_KEY_NAME:
                return store_string(text, name_fault(text), target, ret_reason);
        case POLICY_KEY_EXE:
                return store_string(text, exe_fault(text), target, ret_reason);
        case POLICY_KEY_UNIT:
                return store_string(text, unit_fault(text), target, ret_reason);
        case POLICY_KEY_USER:
                return store_string(text, user_fault(text), target, ret_reason);
        case POLICY_KEY_NODES:
                return parse_ids(text, "no machine has a node of that number", target, ret_reason);
        case POLICY_KEY_CPUS:
                return parse_cpus(text, target, ret_reason);
        case POLICY_KEY_PORT:
                return parse_port(text, target);
        case POLICY_KEY_CHOICE:
                return parse_choice(key, text, target);
        case POLICY_KEY_RATE:
                return parse_rate(text, target, ret_reason);
        case POLICY_KEY_DURATION:
                return parse_interval(key, text, target, ret_reason);
        case POLICY_KEY_SECTION:
        case POLICY_KEY_LIST:
        case POLICY_KEY_TEXT:
                break;
        }
        return -EINVAL;
}
