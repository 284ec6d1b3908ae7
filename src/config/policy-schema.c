/* Writes the table of keys as a JSON Schema, at build time. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-table.h"

#define ID_LIST "^\\s*[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*\\s*$"
#define DECIMAL "[0-9]+(\\.[0-9]+)?"
#define NUMBER "^" DECIMAL

/* Without memory, or with a mistake in the table, the build fails. */
static void must(int r) {
        if (r < 0)
                abort();
}

static json_t *choice_of(const char *const *words) {
        json_t *list = json_array();

        for (size_t i = 0; words[i]; i++)
                must(json_array_append_new(list, json_string(words[i])));
        return json_pack("{s:o}", "enum", list);
}

/* One of the alternatives, or a list of them; or a word in place of a list. */
static json_t *one_or_list(const PolicyKey *key, json_t *alternatives) {
        json_t *any = key->choices ? json_pack("[o]", choice_of(key->choices)) : json_array();

        must(json_array_extend(any, alternatives));
        must(json_array_append_new(any, json_pack("{s:s, s:i, s:{s:o}}", "type", "array",
                                                  "minItems", key->empty_ok ? 0 : 1, "items",
                                                  "anyOf", alternatives)));
        return json_pack("{s:o}", "anyOf", any);
}

static json_t *ids_of(const PolicyKey *key, unsigned n_ids) {
        return one_or_list(key, json_pack("[{s:s, s:i, s:i}, {s:s, s:s}]", "type", "integer",
                                          "minimum", 0, "maximum", (int)n_ids - 1, "type", "string",
                                          "pattern", ID_LIST));
}

/* The pattern of a value's text, and the integers that are also accepted. */
typedef struct Scalar {
        const char *pattern;
        enum { NO_INTEGER, INTEGER_AS_TEXT, INTEGER_FROM, INTEGER_BETWEEN } integer;
        int minimum, maximum;
} Scalar;

static const Scalar SCALARS[] = {
        [POLICY_KEY_NAME] = { .pattern = "^[A-Za-z0-9._-]{1,64}$", .integer = INTEGER_AS_TEXT },
        [POLICY_KEY_EXE] = { .pattern = "^([^ /*?\\[\\\\]+|/.*[^ /])$" },
        [POLICY_KEY_UNIT] = { .pattern = "^([^ /(|){}+]+\\.(service|scope)|[^ /(|){}+]*[*?\\]])$" },
        [POLICY_KEY_USER] = { .pattern = "^[^- :/*?\\[][^ :/*?\\[]*$", .integer = INTEGER_AS_TEXT },
        [POLICY_KEY_ARGS] = { .pattern = "." },
        [POLICY_KEY_METRIC] = { .pattern = "^[A-Za-z_:][A-Za-z0-9_:]{0,254}$" },
        [POLICY_KEY_PORT] = { .pattern = "^[0-9]+$",
                              .integer = INTEGER_BETWEEN,
                              .minimum = 1,
                              .maximum = 65535 },
        [POLICY_KEY_COUNT] = { .pattern = "^(auto|[0-9]+)$",
                               .integer = INTEGER_BETWEEN,
                               .minimum = 1,
                               .maximum = 1024 },
        [POLICY_KEY_NUMBER] = { .pattern = "^[0-9]+$",
                                .integer = INTEGER_BETWEEN,
                                .minimum = 1,
                                .maximum = 1024 },
        [POLICY_KEY_RATE] = { .pattern = NUMBER "(B|[KMGT]iB|[kMGT]B)/s$" },
        [POLICY_KEY_LIMIT] = { .pattern = "^(none|share|" DECIMAL "(B|[KMGT]iB|[kMGT]B))$" },
        [POLICY_KEY_DURATION] = { .pattern = NUMBER "(us|ms|s|min|h)$" },
        [POLICY_KEY_PERCENT] = { .pattern = NUMBER "%$" },
        [POLICY_KEY_EVENT] = { .pattern = "^((raw|software|[0-9]+):)?(0x[0-9a-fA-F]{1,16}|[0-9]+)$",
                               .integer = INTEGER_FROM },
};

static json_t *value_of(const PolicyKey *key) {
        static const char *const switches[] = { "off", "on", NULL };
        const Scalar *s = key->type < ELEMENTSOF(SCALARS) ? &SCALARS[key->type] : NULL;
        const char *pattern = "^[^ /:]+$";
        json_t *text, *integer;

        if (s && s->pattern) {
                text = json_pack("{s:s, s:s}", "type", "string", "pattern", s->pattern);
                if (s->integer == INTEGER_AS_TEXT)
                        must(json_object_set_new(text, "type",
                                                 json_pack("[s, s]", "string", "integer")));
                if (s->integer == NO_INTEGER || s->integer == INTEGER_AS_TEXT)
                        return text;
                integer = json_pack("{s:s, s:i}", "type", "integer", "minimum", s->minimum);
                if (s->integer == INTEGER_BETWEEN)
                        must(json_object_set_new(integer, "maximum", json_integer(s->maximum)));
                return json_pack("{s:[o, o]}", "anyOf", integer, text);
        }
        switch (key->type) {
        case POLICY_KEY_VERSION:
                return json_pack("{s:[i, s]}", "enum", 1, "1");
        case POLICY_KEY_CHOICE:
        case POLICY_KEY_SWITCH:
                return choice_of(key->choices ? key->choices : switches);
        case POLICY_KEY_BOOL:
                return json_pack("{s:s}", "type", "boolean");
        case POLICY_KEY_NODES:
        case POLICY_KEY_RESERVE:
                return ids_of(key, NODE_SET_MAX);
        case POLICY_KEY_AUTO_NUMBER:
                return json_pack("{s:[{s:s, s:I, s:I}, {s:s, s:s}]}", "anyOf", "type", "integer",
                                 "minimum", (json_int_t)key->min, "maximum", (json_int_t)key->max,
                                 "type", "string", "pattern", "^(auto|[0-9]+)$");
        case POLICY_KEY_CPUS:
        case POLICY_KEY_STEER:
                return ids_of(key, CPU_SET_MAX);
        case POLICY_KEY_INTERFACES:
                pattern = "^[^ /:*?\\[\\\\]{1,15}$";
                break;
        case POLICY_KEY_PCI_ADDRESSES:
                pattern = "^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]$";
                break;
        default:
                break;
        }
        return one_or_list(key, json_pack("[{s:s, s:s}]", "type", "string", "pattern", pattern));
}

/* Takes over `members`. jansson has a function for it since 2.12. */
static int add_members(json_t *schema, json_t *members) {
        int r = json_object_update(schema, members);

        json_decref(members);
        return r;
}

/* "required": keys that have to be there; "anyOf": keys of which one has to be. */
static json_t *object_of(const char *parent) {
        json_t *required = json_array(), *any = json_array(), *properties = json_object();
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);
        json_t *object;

        for (size_t i = 0; i < n; i++) {
                const PolicyKey *key = &keys[i];
                const char *name = policy_key_leaf(key), *text = key->default_text;
                char entry[POLICY_KEY_PATH_MAX], allowed[POLICY_KEY_ALLOWED_MAX];
                _cleanup_text_ Text description = { 0 };
                json_t *schema;

                if (!policy_key_is_below(key, parent))
                        continue;
                text_appendf(&description, "%s Value: %s.", key->help,
                             policy_key_allowed(key, allowed));
                must(description.error);
                schema = json_pack("{s:s}", "description", description.data);
                if (text) {
                        /* In JSON syntax: numbers, booleans and empty lists are written without
                         * quotes. */
                        bool plain = key->type == POLICY_KEY_BOOL ||
                                     key->type == POLICY_KEY_COUNT ||
                                     key->type == POLICY_KEY_NUMBER ||
                                     (key->type == POLICY_KEY_AUTO_NUMBER &&
                                      strcmp(text, "auto") != 0) ||
                                     strcmp(text, "[]") == 0;

                        must(json_object_set_new(schema, "default",
                                                 plain ? json_loads(text, JSON_DECODE_ANY, NULL)
                                                       : json_string(text)));
                }
                (void)snprintf(entry, sizeof(entry), "%s[]", key->path);
                if (key->type == POLICY_KEY_SECTION)
                        must(add_members(schema, object_of(key->path)));
                else if (key->type == POLICY_KEY_LIST)
                        must(add_members(schema, json_pack("{s:s, s:o}", "type", "array", "items",
                                                           object_of(entry))));
                else
                        must(add_members(schema, value_of(key)));
                must(json_object_set_new(properties, name, schema));
                if (key->need == POLICY_KEY_REQUIRED)
                        must(json_array_append_new(required, json_string(name)));
                else if (key->need == POLICY_KEY_ONE_OF)
                        must(json_array_append_new(any, json_pack("{s:[s]}", "required", name)));
        }
        object = json_pack("{s:s}", "type", "object");
        if (json_array_size(required) > 0)
                must(json_object_set(object, "required", required));
        if (json_array_size(any) > 0)
                must(json_object_set(object, "anyOf", any));
        json_decref(required);
        json_decref(any);
        must(json_object_set_new(object, "additionalProperties", json_false()));
        must(json_object_set_new(object, "properties", properties));
        return object;
}

int main(void) {
        json_t *schema = json_pack(
                "{s:s, s:s, s:s}", "$schema", "http://json-schema.org/draft-07/schema#", "title",
                "A policy file of tidbnumad", "description", "See tidbnumad.d(5).");
        bool ok = add_members(schema, object_of("")) == 0 &&
                  json_dumpf(schema, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF &&
                  fflush(stdout) == 0;

        json_decref(schema);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
