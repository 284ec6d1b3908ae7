/* Single values of the policy language. Whether a node exists is not checked here. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-list.h"
#include "tidbnumad/config/policy-text.h"
#include "tidbnumad/config/policy-value.h"
#include "tidbnumad/model/policy.h"

#define POLICY_COUNT_MAX 1024u /* CONFIG_NODES_SHIFT=10 */
#define RATE_LENGTH_MAX 64u    /* the longest number with a unit that can be meant */

static int store_string(const PolicyKey *key, const char *text, char **target,
                        const char **ret_reason) {
        char *copy;

        *ret_reason = policy_text_fault(key->type, text);
        if (*ret_reason)
                return -EINVAL;
        copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        free(*target);
        *target = copy;
        return 0;
}

static int parse_port(const char *text, uint16_t *target) {
        uint64_t port;

        if (parse_u64(text, &port) < 0 || port == 0 || port > UINT16_MAX)
                return -EINVAL;
        *target = (uint16_t)port;
        return 0;
}

static int parse_count(const char *text, uint32_t *target, const char **ret_reason) {
        uint64_t count;
        int r;

        if (strcmp(text, "auto") == 0) {
                *target = PLACE_COUNT_AUTO;
                return 0;
        }
        r = parse_u64(text, &count);
        if (r == -ERANGE || (r == 0 && count > POLICY_COUNT_MAX))
                *ret_reason = "no machine has so many nodes";
        if (r < 0 || count == 0 || count > POLICY_COUNT_MAX)
                return -EINVAL;
        *target = (uint32_t)count;
        return 0;
}

static int parse_number(const PolicyKey *key, const char *text, uint32_t *target,
                        const char **ret_reason) {
        uint64_t number;
        int r;

        if (key->type == POLICY_KEY_AUTO_NUMBER && strcmp(text, "auto") == 0) {
                *target = (uint32_t)key->min - 1;
                return 0;
        }
        r = parse_u64(text, &number);
        if (r == -ERANGE || (r == 0 && number > key->max))
                *ret_reason = "it is too large";
        if (r < 0 || number < key->min || number > key->max)
                return -EINVAL;
        *target = (uint32_t)number;
        return 0;
}

static int parse_choice(const PolicyKey *key, const char *text, void *target) {
        /* An enum without negative values is an unsigned int to both compilers. */
        int i = policy_word_find(key->choices, text);

        if (i < 0)
                return -EINVAL;
        memcpy(target, &i, sizeof(i));
        return 0;
}

_Static_assert(sizeof(MemoryMode) == sizeof(int) && sizeof(MigrateMode) == sizeof(int) &&
                       sizeof(OnFull) == sizeof(int) && sizeof(EnforcementMode) == sizeof(int) &&
                       sizeof(OnStop) == sizeof(int) && sizeof(ContainerMode) == sizeof(int) &&
                       sizeof(BackendKind) == sizeof(int) && sizeof(PlaceNear) == sizeof(int) &&
                       sizeof(PlaceShare) == sizeof(int) && sizeof(NumaBalancing) == sizeof(int) &&
                       sizeof(IrqbalanceMode) == sizeof(int) && sizeof(RpsMode) == sizeof(int),
               "parse_choice() stores an int");

/* YAML 1.1 took these for booleans, and people still write them. */
static const char *bool_reason(const char *text) {
        static const char *const trues[] = { "yes", "on", "y", "1", "true", NULL };
        static const char *const falses[] = { "no", "off", "n", "0", "false", NULL };

        for (size_t i = 0; trues[i]; i++)
                if (strcasecmp(text, trues[i]) == 0)
                        return "write it as true";
        for (size_t i = 0; falses[i]; i++)
                if (strcasecmp(text, falses[i]) == 0)
                        return "write it as false";
        return NULL;
}

static int parse_bool(const PolicyKey *key, const char *text, void *target,
                      const char **ret_reason) {
        static const char *const bools[] = { "false", "true", NULL };
        static const char *const switches[] = { "off", "on", NULL };
        bool is_switch = key->type == POLICY_KEY_SWITCH;
        int i = policy_word_find(is_switch ? switches : bools, text);

        if (i < 0) {
                *ret_reason = is_switch ? NULL : bool_reason(text);
                return -EINVAL;
        }
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

/* A number with a unit, from `min` to `max`. */
static int parse_bounded(const PolicyKey *key, const char *text,
                         const char *const reasons[static 2], uint64_t *ret,
                         const char **ret_reason) {
        uint64_t value = 0;
        int r;

        r = key->type == POLICY_KEY_PERCENT ? parse_percent(text, &value)
                                            : parse_duration(text, &value);
        if (r == -ERANGE || (r == 0 && value > key->max))
                *ret_reason = reasons[1];
        else if (r == 0 && value < key->min)
                *ret_reason = reasons[0];
        else if (*text == '\0')
                *ret_reason = "it is empty";
        else if (r < 0 && text[strspn(text, "0123456789.")] == '\0')
                *ret_reason = "without a unit";
        if (r < 0 || value < key->min || value > key->max)
                return -EINVAL;
        *ret = value;
        return 0;
}

static int parse_interval(const PolicyKey *key, const char *text, uint64_t *target,
                          const char **ret_reason) {
        static const char *const reasons[] = { "it is too short", "it is too long" };

        return parse_bounded(key, text, reasons, target, ret_reason);
}

static int parse_share(const PolicyKey *key, const char *text, uint32_t *target,
                       const char **ret_reason) {
        static const char *const reasons[] = { "it is too little", "it is too much" };
        uint64_t ppm;
        int r;

        r = parse_bounded(key, text, reasons, &ppm, ret_reason);
        if (r == 0)
                *target = (uint32_t)ppm;
        return r;
}

/* 0x and up to sixteen digits, or decimal; strtoull() would take a sign and blanks as well. */
static int parse_code(const char *text, uint64_t *ret) {
        size_t n;

        if (strncmp(text, "0x", 2) != 0)
                return parse_u64(text, ret);
        n = strspn(text + 2, "0123456789abcdefABCDEF");
        if (n == 0 || n > 16 || text[2 + n] != '\0')
                return -EINVAL;
        *ret = strtoull(text + 2, NULL, 16);
        return 0;
}

/* [type:]config, as perf_event_open(2) calls them. */
static int parse_event(const char *text, AccessEvent *target, const char **ret_reason) {
        static const struct {
                const char *prefix;
                uint32_t type;
        } kinds[] = { { "raw:", ACCESS_EVENT_RAW }, { "software:", ACCESS_EVENT_SOFTWARE } };
        AccessEvent event = { .given = true, .type = ACCESS_EVENT_RAW };
        const char *colon = strchr(text, ':'), *code = colon ? colon + 1 : text;
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
        if (!known || parse_code(code, &event.config) < 0)
                return -EINVAL;
        *target = event;
        return 0;
}

int policy_value_parse(const PolicyKey *key, const char *text, void *target,
                       const char **ret_reason) {
        *ret_reason = NULL;
        if (policy_list_is(key))
                return policy_list_parse(key, text, target, ret_reason);
        switch (key->type) {
        case POLICY_KEY_VERSION:
                return strcmp(text, "1") == 0 ? 0 : -EINVAL;
        case POLICY_KEY_NAME:
        case POLICY_KEY_EXE:
        case POLICY_KEY_UNIT:
        case POLICY_KEY_USER:
        case POLICY_KEY_ARGS:
                return store_string(key, text, target, ret_reason);
        case POLICY_KEY_PORT:
                return parse_port(text, target);
        case POLICY_KEY_COUNT:
                return parse_count(text, target, ret_reason);
        case POLICY_KEY_NUMBER:
        case POLICY_KEY_AUTO_NUMBER:
                return parse_number(key, text, target, ret_reason);
        case POLICY_KEY_CHOICE:
                return parse_choice(key, text, target);
        case POLICY_KEY_SWITCH:
        case POLICY_KEY_BOOL:
                return parse_bool(key, text, target, ret_reason);
        case POLICY_KEY_RATE:
                return parse_rate(text, target, ret_reason);
        case POLICY_KEY_DURATION:
                return parse_interval(key, text, target, ret_reason);
        case POLICY_KEY_PERCENT:
                return parse_share(key, text, target, ret_reason);
        case POLICY_KEY_EVENT:
                return parse_event(text, target, ret_reason);
        default:
                return -EINVAL;
        }
}
