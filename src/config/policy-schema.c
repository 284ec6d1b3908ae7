/* The table of keys as a JSON Schema. */
#include <stdio.h>
#include <string.h>

#include "tidbnumad/config/policy-schema.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/config/policy-words.h"

#define ID_LIST "^\\s*[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*\\s*$"
#define NUMBER "^[0-9]+(\\.[0-9]+)?"

static void append_string(Text *text, const char *string) {
        text_append(text, "\"");
        for (const char *p = string; *p; p++)
                text_append(text, *p == '"' || *p == '\\' ? (const char[]){ '\\', *p, '\0' }
                                                          : (const char[]){ *p, '\0' });
        text_append(text, "\"");
}

static void append_line(Text *text, unsigned depth, const char *name) {
        text_appendf(text, "\n%*s", (int)(depth * 2), "");
        append_string(text, name);
        text_append(text, ": ");
}

static void append_strings(Text *text, const char *const *strings) {
        text_append(text, "[");
        for (size_t i = 0; strings[i]; i++) {
                text_append(text, i > 0 ? ", " : "");
                append_string(text, strings[i]);
        }
        text_append(text, "]");
}

static void render_enum(Text *text, const char *const *words) {
        text_append(text, "\"enum\": ");
        append_strings(text, words);
}

/* {"type": …, "pattern": …}, without the braces. */
static void append_pattern(Text *text, const char *type, const char *pattern) {
        text_appendf(text, "\"type\": %s, \"pattern\": ", type);
        append_string(text, pattern);
}

static void append_either(Text *text, const PolicyKey *key, const char *item) {
        text_appendf(text,
                     "%s, {\"type\": \"array\", \"minItems\": %d, \"items\": {\"anyOf\": [%s]}}",
                     item, key->empty_ok ? 0 : 1, item);
}

/* Numbers, or a word that stands for itself. */
static void render_ids(Text *text, const PolicyKey *key, const char *const *words) {
        _cleanup_text_ Text item = { 0 };

        text_append(&item, "{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 8191}, {");
        append_pattern(&item, "\"string\"", ID_LIST);
        text_append(&item, "}");
        text_append(text, "\"anyOf\": [");
        if (words) {
                text_append(text, "{");
                render_enum(text, words);
                text_append(text, "}, ");
        }
        append_either(text, key, item.data ? item.data : "");
        text_append(text, "]");
        if (item.error < 0)
                text->error = item.error;
}

static const char *word_pattern(PolicyKeyType type) {
        switch (type) {
        case POLICY_KEY_INTERFACES:
                return "^[^ /:*?\\[\\\\]{1,15}$";
        case POLICY_KEY_INSTANCE_GLOBS:
                return "^.+$";
        case POLICY_KEY_PCI_ADDRESSES:
                return "^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]$";
        default:
                return "^[^ /:]+$";
        }
}

static void render_words(Text *text, const PolicyKey *key) {
        _cleanup_text_ Text item = { 0 };

        text_append(&item, "{");
        append_pattern(&item, "\"string\"", word_pattern(key->type));
        text_append(&item, "}");
        text_append(text, "\"anyOf\": [");
        append_either(text, key, item.data ? item.data : "");
        text_append(text, "]");
        if (item.error < 0)
                text->error = item.error;
}

/* How a value of a type is written: what its string looks like, which is of type "string" if
 * `types` says no more; and the bounds of an integer, where one will do as well. */
typedef struct Scalar {
        const char *types, *pattern, *integer;
} Scalar;

static const Scalar SCALARS[] = {
        [POLICY_KEY_NAME] = { .types = "[\"string\", \"integer\"]",
                              .pattern = "^[A-Za-z0-9._-]{1,64}$" },
        [POLICY_KEY_EXE] = { .pattern = "^([^ /*?\\[\\\\]+|/.*[^ /])$" },
        [POLICY_KEY_UNIT] = { .pattern = "^([^ /(|){}+]+\\.(service|scope)|[^ /(|){}+]*[*?\\]])$" },
        [POLICY_KEY_USER] = { .types = "[\"string\", \"integer\"]",
                              .pattern = "^[^- :/*?\\[][^ :/*?\\[]*$" },
        [POLICY_KEY_ARGS] = { .pattern = "." },
        [POLICY_KEY_PORT] = { .integer = "\"minimum\": 1, \"maximum\": 65535",
                              .pattern = "^[0-9]+$" },
        [POLICY_KEY_COUNT] = { .integer = "\"minimum\": 1, \"maximum\": 1024",
                               .pattern = "^(auto|[0-9]+)$" },
        [POLICY_KEY_NUMBER] = { .integer = "\"minimum\": 1, \"maximum\": 4096",
                                .pattern = "^[0-9]+$" },
        [POLICY_KEY_RATE] = { .pattern = NUMBER "(B|[KMGT]iB|[kMGT]B)/s$" },
        [POLICY_KEY_DURATION] = { .pattern = NUMBER "(us|ms|s|min|h)$" },
        [POLICY_KEY_PERCENT] = { .pattern = NUMBER "%$" },
        [POLICY_KEY_EVENT] = { .integer = "\"minimum\": 0",
                               .pattern =
                                       "^((raw|software|[0-9]+):)?(0x[0-9a-fA-F]{1,16}|[0-9]+)$" },
};

/* False: it is none of them. */
static bool render_scalar(Text *text, PolicyKeyType type) {
        const Scalar *s = type < sizeof(SCALARS) / sizeof(SCALARS[0]) ? &SCALARS[type] : NULL;

        if (!s || !s->pattern)
                return false;
        if (s->integer)
                text_appendf(text, "\"anyOf\": [{\"type\": \"integer\", %s}, {", s->integer);
        append_pattern(text, s->types ? s->types : "\"string\"", s->pattern);
        if (s->integer)
                text_append(text, "}]");
        return true;
}

static void render_type(Text *text, const PolicyKey *key) {
        static const char *const switches[] = { "off", "on", NULL };
        static const char *const cpus[] = { "all", "one-per-core", NULL };
        static const char *const reserve[] = { "none", "nic", NULL };
        static const char *const steer[] = { "auto", "reserved", "local", "away", "leave", NULL };

        if (render_scalar(text, key->type))
                return;
        switch (key->type) {
        case POLICY_KEY_VERSION:
                text_append(text, "\"enum\": [1, \"1\"]");
                break;
        case POLICY_KEY_CHOICE:
        case POLICY_KEY_SWITCH:
                render_enum(text, key->choices ? key->choices : switches);
                break;
        case POLICY_KEY_BOOL:
                text_append(text, "\"type\": \"boolean\"");
                break;
        case POLICY_KEY_NODES:
                render_ids(text, key, NULL);
                break;
        case POLICY_KEY_CPUS:
                render_ids(text, key, cpus);
                break;
        case POLICY_KEY_RESERVE:
                render_ids(text, key, reserve);
                break;
        case POLICY_KEY_STEER:
                render_ids(text, key, steer);
                break;
        default:
                render_words(text, key);
        }
}

/* As JSON has it: numbers, booleans and empty lists stand without quotes. */
static void render_default(Text *text, const PolicyKey *key) {
        bool plain = key->type == POLICY_KEY_BOOL || key->type == POLICY_KEY_COUNT ||
                     key->type == POLICY_KEY_NUMBER || strcmp(key->default_text, "[]") == 0;

        if (plain)
                text_append(text, key->default_text);
        else
                append_string(text, key->default_text);
}

static void render_description(Text *text, const PolicyKey *key) {
        char allowed[POLICY_KEY_ALLOWED_MAX];
        _cleanup_text_ Text description = { 0 };

        text_appendf(&description, "%s Value: %s.", key->help, policy_key_allowed(key, allowed));
        for (size_t i = 0; key->later && key->later[i]; i++) {
                bool any = strcmp(key->later[i], "*") == 0;

                text_appendf(&description,
                             " %s is checked, and not carried out by this version yet.",
                             any ? "It" : key->later[i]);
        }
        append_string(text, description.data ? description.data : "");
        if (description.error < 0)
                text->error = description.error;
}

/* "required" of those that have to be there, "anyOf" of those of which one has to be. */
static void render_needs(Text *text, const char *parent, unsigned depth) {
        static const char *const starts[] = {
                [POLICY_KEY_REQUIRED] = "[", [POLICY_KEY_ONE_OF] = "[{\"required\": ["
        };
        static const char *const between[] = {
                [POLICY_KEY_REQUIRED] = ", ", [POLICY_KEY_ONE_OF] = "]}, {\"required\": ["
        };
        static const char *const ends[] = {
                [POLICY_KEY_REQUIRED] = "]", [POLICY_KEY_ONE_OF] = "]}]"
        };
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (PolicyKeyNeed need = POLICY_KEY_REQUIRED; need <= POLICY_KEY_ONE_OF; need++) {
                bool any = false;

                for (size_t i = 0; i < n; i++) {
                        if (keys[i].need != need || !policy_key_is_below(&keys[i], parent))
                                continue;
                        if (!any)
                                append_line(text, depth,
                                            need == POLICY_KEY_REQUIRED ? "required" : "anyOf");
                        text_append(text, any ? between[need] : starts[need]);
                        append_string(text, policy_key_leaf(&keys[i]));
                        any = true;
                }
                text_append(text, any ? ends[need] : "");
                text_append(text, any ? "," : "");
        }
}

static void render_keys(Text *text, const char *parent, unsigned depth);

static void render_key(Text *text, const PolicyKey *key, unsigned depth) {
        append_line(text, depth, policy_key_leaf(key));
        text_append(text, "{");
        append_line(text, depth + 1, "description");
        render_description(text, key);
        text_append(text, ",");
        if (key->default_text) {
                append_line(text, depth + 1, "default");
                render_default(text, key);
                text_append(text, ",");
        }
        if (key->type == POLICY_KEY_SECTION) {
                append_line(text, depth + 1, "type");
                text_append(text, "\"object\",");
                render_keys(text, key->path, depth + 1);
        } else if (key->type == POLICY_KEY_LIST) {
                char entry[POLICY_KEY_PATH_MAX];

                (void)snprintf(entry, sizeof(entry), "%s[]", key->path);
                append_line(text, depth + 1, "type");
                text_append(text, "\"array\",");
                append_line(text, depth + 1, "items");
                text_append(text, "{");
                append_line(text, depth + 2, "type");
                text_append(text, "\"object\",");
                render_keys(text, entry, depth + 2);
                text_appendf(text, "\n%*s}", (int)(depth + 1) * 2, "");
        } else {
                text_appendf(text, "\n%*s", (int)(depth + 1) * 2, "");
                render_type(text, key);
        }
        text_appendf(text, "\n%*s}", (int)depth * 2, "");
}

/* What stands inside of the braces of an object, as far as it depends on its keys. */
static void render_keys(Text *text, const char *parent, unsigned depth) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);
        bool any = false;

        render_needs(text, parent, depth);
        append_line(text, depth, "additionalProperties");
        text_append(text, "false,");
        append_line(text, depth, "properties");
        text_append(text, "{");
        for (size_t i = 0; i < n; i++) {
                if (!policy_key_is_below(&keys[i], parent))
                        continue;
                text_append(text, any ? "," : "");
                render_key(text, &keys[i], depth + 1);
                any = true;
        }
        text_appendf(text, "\n%*s}", (int)depth * 2, "");
}

void policy_schema_render(Text *text) {
        text_append(text,
                    "{\n"
                    "  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
                    "  \"title\": \"A policy file of tidbnumad\",\n"
                    "  \"description\": \"See tidbnumad.d(5). Without content it is fine.\",\n"
                    "  \"type\": [\"object\", \"null\"],");
        render_keys(text, "", 1);
        text_append(text, "\n}\n");
}
