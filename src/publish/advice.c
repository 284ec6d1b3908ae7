/* Sizing advice: the words that its renderings share, and these: a table, JSON, the fragment of a
 * TiUP topology file, and what is filled into one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/advice.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/publish/table.h"

/* Of lines that are not for a terminal. */
#define COMMENT_WIDTH 90u

/* --- words --- */

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

static bool has_text(const Advice *advice) {
        return advice->unit == ADVICE_TEXT || advice->unit == ADVICE_LIST;
}

void advice_text_append_value(Text *text, const Advice *advice) {
        if (advice->unit == ADVICE_BYTES || advice->unit == ADVICE_BYTES_PER_SEC)
                if (advice->value % GIB == 0)
                        text_appendf(text, "%" PRIu64 "GB", advice->value / GIB);
                else if (advice->value % MIB == 0)
                        text_appendf(text, "%" PRIu64 "MB", advice->value / MIB);
                else
                        text_appendf(text, "%" PRIu64 "KB", advice->value / KIB);
        else if (has_text(advice))
                text_append_printable(text, advice->text);
        else if (advice->unit == ADVICE_HUNDREDTHS)
                text_appendf(text, "%" PRIu64 ".%02" PRIu64, advice->value / 100,
                             advice->value % 100);
        else
                text_appendf(text, "%" PRIu64, advice->value);
}

/* For reading: one decimal where it matters. Integers only, as a locale may have a comma. */
static void append_size(Text *text, uint64_t bytes) {
        const uint64_t unit = bytes >= GIB ? GIB : MIB;
        const uint64_t tenths = bytes / unit * 10 + bytes % unit * 10 / unit;

        text_appendf(text, "%" PRIu64, tenths / 10);
        if (tenths % 10 > 0 && tenths < 1000)
                text_appendf(text, ".%" PRIu64, tenths % 10);
        text_append(text, unit == GIB ? " GiB" : " MiB");
}

void advice_text_append_quoted(Text *text, const char *string) {
        _cleanup_text_ Text clean = { 0 };
        size_t length;

        utf8_sanitize(&clean, string, strlen(string));
        if (clean.error < 0)
                text->error = clean.error;
        text_append(text, "\"");
        for (const char *p = clean.data; p && *p != '\0'; p += length) {
                uint32_t c = utf8_decode(p, &length);

                if (c == '"' || c == '\\')
                        text_appendf(text, "\\%c", (int)c);
                else if (c >= 0x20 && c < 0x7f)
                        text_appendf(text, "%c", (int)c);
                else if (c <= 0xffff)
                        text_appendf(text, "\\u%04x", c);
                else
                        text_appendf(text, "\\U%08x", c);
        }
        text_append(text, "\"");
}

void advice_text_append_wrapped(Text *text, const char *string, size_t width, const char *indent) {
        size_t column = 0;

        while (*(string += strspn(string, " ")) != '\0') {
                const size_t length = strcspn(string, " ");
                const size_t columns = utf8_count(string, string + length);

                if (column > 0 && width > 0 && column + 1 + columns > width) {
                        text_appendf(text, "\n%s", indent);
                        column = 0;
                } else if (column > 0) {
                        text_append(text, " ");
                        column++;
                }
                text_append_bytes(text, string, length);
                column += columns;
                string += length;
        }
}

static void append_nodes(Text *text, const AdviceSubject *subject) {
        text_appendf(text, "node%s %s", id_set_count(&subject->nodes) == 1 ? "" : "s",
                     id_set_list(&subject->nodes));
}

/* "a", "a and b", "a, b and c". */
static void append_names(Text *text, const AdviceReport *report, const size_t *indexes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        text_append(text, i + 1 < n ? ", " : " and ");
                text_append_printable(text, report->subjects[indexes[i]].name);
        }
}

static void append_shared(Text *text, const AdviceReport *report, const AdviceSubject *subject) {
        if (subject->n_sharers == 0)
                return;
        text_append(text, ", shared with ");
        append_names(text, report, subject->sharers, subject->n_sharers);
}

/* Text with placeholders in braces. */
static void append_template(Text *text, const AdviceReport *report, const Advice *advice,
                            const char *template) {
        const AdviceSubject *subject = &report->subjects[advice->subject];

        while (*template != '\0') {
                size_t plain = strcspn(template, "{"), length;

                text_appendf(text, "%.*s", (int)plain, template);
                template += plain;
                if (*template == '\0')
                        return;
                length = strcspn(++template, "}");
#define IS(word) (length == strlen(word) && memcmp(template, word, length) == 0)
                if (IS("cpus") || IS("cpu_part")) {
                        const bool part = IS("cpu_part") && subject->cpu_share < subject->n_cpus;

                        if (part)
                                text_appendf(text, "%u of the ", subject->cpu_share);
                        text_appendf(text, "%u CPU%s of ", subject->n_cpus,
                                     subject->n_cpus == 1 ? "" : "s");
                        append_nodes(text, subject);
                        if (part)
                                append_shared(text, report, subject);
                } else if (IS("memory_part")) {
                        const bool part = subject->memory_share_bytes < subject->memory_bytes;

                        text_append(text, part ? "its " : "the ");
                        append_size(text, subject->memory_share_bytes);
                        if (part) {
                                text_append(text, " of the ");
                                append_size(text, subject->memory_bytes);
                        }
                        text_append(text, " of ");
                        append_nodes(text, subject);
                        append_shared(text, report, subject);
                } else if (IS("device"))
                        text_append_printable(text, subject->device ? subject->device : "");
                else if (IS("device_sharers"))
                        append_names(text, report, subject->device_sharers,
                                     subject->n_device_sharers);
                else if (IS("card"))
                        text_append_printable(text, subject->card ? subject->card : "");
                else if (IS("gomaxprocs"))
                        text_appendf(text, "GOMAXPROCS=%u", subject->gomaxprocs);
                else if (IS("base"))
                        append_size(text, advice->base_bytes);
                else if (IS("cost"))
                        append_size(text, advice->cost_bytes);
                else
                        text_appendf(text, "{%.*s}", (int)length, template);
#undef IS
                template += length + (template[length] == '}');
        }
}

void advice_text_append_reason(Text *text, const AdviceReport *report, const Advice *advice) {
        append_template(text, report, advice, advice->reason);
        if (advice->note[0] != '\0')
                text_append(text, " ");
        append_template(text, report, advice, advice->note);
        if (report->subjects[advice->subject].pid == 0)
                return;
        if (advice->effect == HOLDS_RESTART)
                text_append(text, " It takes effect after a restart.");
        else if (advice->effect == HOLDS_RELOAD)
                text_append(text, " It takes effect after a reload.");
}

/* --- a table --- */

static bool is_same_setting(const Advice *a, const Advice *b) {
        return a->rule == b->rule && strcmp(a->setting, b->setting) == 0 && a->unit == b->unit &&
               (has_text(a) ? strcmp(a->text, b->text) == 0 : a->value == b->value);
}

static bool is_same_reason(const Advice *a, const Advice *b) {
        return a->rule == b->rule && strcmp(a->reason, b->reason) == 0 &&
               strcmp(a->note, b->note) == 0;
}

/* The first item that is the same as item `index`, by `same`; itself: no earlier one is. */
static size_t first_of(const AdviceReport *report, size_t index,
                       bool (*same)(const Advice *, const Advice *)) {
        size_t first = 0;

        while (!same(&report->items[first], &report->items[index]))
                first++;
        return first;
}

/* A row for each setting and value, with the instances that should have it. */
static void append_rows(Text *text, const AdviceReport *report, unsigned width) {
        static const char *const headings[] = { "SETTING", "VALUE", "RULE", "INSTANCES" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < report->n_items; i++) {
                const Advice *advice = &report->items[i];

                if (first_of(report, i, is_same_setting) != i)
                        continue;
                table_add(&table, advice->setting);
                advice_text_append_value(&cell, advice);
                table_add_text(&table, &cell);
                table_add(&table, advice_rule_to_id(advice->rule));
                for (size_t k = i; k < report->n_items; k++) {
                        const Advice *same = &report->items[k];

                        if (!is_same_setting(advice, same))
                                continue;
                        text_appendf(&cell, "%s%s", k > i ? ", " : "",
                                     report->subjects[same->subject].name);
                        if (same->now)
                                text_append_names(&cell, " (now %s)",
                                                  same->now[0] != '\0' ? same->now : "empty");
                }
                table_add_text(&table, &cell);
        }
        table_render(&table, width, text);
}

int advice_render_table(const AdviceReport *report, unsigned width, Text *text) {
        _cleanup_text_ Text unknown = { 0 };

        text_reset(text);
        if (report->n_items > 0)
                append_rows(text, report, width);
        text_append(text, report->n_items > 0
                                  ? "\nWhy:\n"
                                  : "No advice: no instance that has a place needs any.\n");
        /* Each reason once, with the figures of the first instance that has it. */
        for (size_t i = 0; i < report->n_items; i++) {
                const Advice *advice = &report->items[i];
                _cleanup_text_ Text line = { 0 };

                if (first_of(report, i, is_same_reason) != i)
                        continue;
                text_append_names(&line, "%s, %s: ", advice_rule_to_id(advice->rule),
                                  report->subjects[advice->subject].name);
                advice_text_append_reason(&line, report, advice);
                if (line.error < 0)
                        text->error = line.error;
                text_append(text, "  ");
                advice_text_append_wrapped(text, text_string(&line),
                                           (width > 0 ? width : COMMENT_WIDTH) - 4, "    ");
                text_append(text, "\n");
        }
        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *subject = &report->subjects[i];

                /* The others would get none either way. */
                if (subject->unplaced[0] == '\0' ||
                    !(product_info(subject->product)->heavy || subject->product == PRODUCT_HAPROXY))
                        continue;
                text_append_names(text, "%s: no advice: ", subject->name);
                text_appendf(text, "%s\n", subject->unplaced);
        }
        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *subject = &report->subjects[i];

                if (subject->unplaced[0] != '\0' || subject->memory_bytes > 0 ||
                    !product_info(subject->product)->heavy)
                        continue;
                text_append_names(&unknown, unknown.length > 0 ? ", %s" : "%s", subject->name);
        }
        if (unknown.error < 0)
                text->error = unknown.error;
        else if (unknown.length > 0)
                text_appendf(text,
                             "%s: no advice on memory: the size of the nodes' memory is unknown\n",
                             unknown.data);
        return text->error;
}

/* --- JSON --- */

/* Of what is not known where it is 0. */
static void put_known(Json *json, const char *key, uint64_t value) {
        json_put_count_if(json, key, value > 0, value);
}

static void put_names(Json *json, const char *key, const AdviceReport *report,
                      const size_t *indexes, size_t n) {
        JSON_ARRAY(json, key, i, n)
                json_put_string(json, NULL, report->subjects[indexes[i]].name);
}

static void put_item(Json *json, const AdviceReport *report, const Advice *advice) {
        _cleanup_text_ Text value = { 0 }, reason = { 0 };

        advice_text_append_value(&value, advice);
        advice_text_append_reason(&reason, report, advice);
        JSON_OBJECT(json, NULL) {
                json_put_string(json, "rule", advice_rule_to_id(advice->rule));
                json_put_string(json, "setting", advice->setting);
                json_put_string(json, "where", advice_where_to_string(advice->where));
                json_put_string(json, "unit", advice_unit_to_string(advice->unit));
                json_put_count_if(json, "value", !has_text(advice), advice->value);
                json_put_text(json, "text", &value);
                json_put_string(json, "now", advice->now);
                json_put_string(json, "takes_effect", advice_effect_to_string(advice->effect));
                put_known(json, "cost_bytes", advice->cost_bytes);
                json_put_text(json, "reason", &reason);
        }
}

int advice_render_json(const AdviceReport *report, Text *text) {
        Json json = { .text = text };

        text_reset(text);
        JSON_OBJECT(&json, NULL)
                JSON_ARRAY(&json, "instances", i, report->n_subjects)
                        JSON_OBJECT(&json, NULL) {
                                const AdviceSubject *s = &report->subjects[i];

                                json_put_string(&json, "name", s->name);
                                json_put_string(&json, "product", product_to_string(s->product));
                                JSON_ARRAY(&json, "ports", k, s->n_ports)
                                        json_put_count(&json, NULL, s->ports[k]);
                                json_put_string(&json, "unplaced", s->unplaced);
                                JSON_OBJECT(&json, "inputs") {
                                        json_put_ids(&json, "nodes", ID_VIEW(&s->nodes));
                                        json_put_ids(&json, "cpus", ID_VIEW(&s->cpus));
                                        json_put_string(&json, "memory_mode",
                                                        memory_mode_to_string(s->memory));
                                        json_put_count(&json, "cpu_count", s->n_cpus);
                                        json_put_count(&json, "cpu_share", s->cpu_share);
                                        put_known(&json, "memory_bytes", s->memory_bytes);
                                        put_known(&json, "memory_share_bytes",
                                                  s->memory_share_bytes);
                                        put_names(&json, "shares_nodes_with", report, s->sharers,
                                                  s->n_sharers);
                                        json_put_string(&json, "device", s->device);
                                        put_names(&json, "shares_device_with", report,
                                                  s->device_sharers, s->n_device_sharers);
                                        put_known(&json, "resident_bytes", s->need_bytes);
                                        json_put_bool(&json, "running", s->pid > 0);
                                        put_known(&json, "gomaxprocs", s->gomaxprocs);
                                        json_put_string(&json, "card", s->card);
                                }
                                JSON_ARRAY(&json, "advice", k, report->n_items)
                                        if (report->items[k].subject == i)
                                                put_item(&json, report, &report->items[k]);
                        }
        return text->error;
}

/* --- a fragment of a TiUP topology: YAML ---
 *
 * Each value has its reason in a comment, and so has what TiUP has no key for. */

static void append_comment(Text *text, const char *indent, const char *comment) {
        char next[16];

        (void)snprintf(next, sizeof(next), "%s# ", indent);
        text_append(text, next);
        advice_text_append_wrapped(text, comment, COMMENT_WIDTH, next);
        text_append(text, "\n");
}

static void append_comment_text(Text *text, const char *indent, const Text *comment) {
        if (comment->error < 0)
                text->error = comment->error;
        else
                append_comment(text, indent, comment->data);
}

static void append_name(Text *text, const char *indent, const AdviceSubject *subject,
                        const char *more) {
        _cleanup_text_ Text line = { 0 };

        text_append_printable(&line, subject->name);
        text_append(&line, more);
        append_comment_text(text, indent, &line);
}

static bool has_port(const AdviceSubject *subject, uint16_t port) {
        for (size_t i = 0; i < subject->n_ports; i++)
                if (subject->ports[i] == port)
                        return true;
        return false;
}

/* "tidb-4000" and "tidb-4000.service" contain a port; "tidb-2", the second one imagined,
 * contains none: no component listens below 1024. 0: none. */
static uint16_t port_of_name(const char *name) {
        const char *dash = strrchr(name, '-');
        uint32_t port = 0;
        size_t n = dash ? strspn(dash + 1, "0123456789") : 0;

        if (n == 0 || n > 5 || (dash[1 + n] != '\0' && strcmp(dash + 1 + n, ".service") != 0))
                return 0;
        for (size_t i = 1; i <= n; i++)
                port = port * 10 + (uint32_t)(dash[i] - '0');
        return port >= 1024 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

static void append_ports(Text *text, const ProductTiup *tiup, const AdviceSubject *subject) {
        const uint16_t named = port_of_name(subject->name);
        uint16_t first = 0, second = 0; /* 0: not known */

        if (named > 0 && (subject->n_ports == 0 || has_port(subject, named)))
                first = named;
        else if (subject->n_ports == 1 || has_port(subject, tiup->ports[0]))
                first = subject->n_ports == 1 ? subject->ports[0] : tiup->ports[0];
        if (first != 0 && subject->n_ports == 2)
                second = subject->ports[subject->ports[0] == first];
        else if (first != tiup->ports[1] && has_port(subject, tiup->ports[1]))
                second = tiup->ports[1];
        if (first > 0)
                text_appendf(text, "    %s: %u\n", tiup->port_keys[0], first);
        else
                text_appendf(text, "    # %s: not known here; %u where it is left out\n",
                             tiup->port_keys[0], tiup->ports[0]);
        if (second > 0)
                text_appendf(text, "    %s: %u\n", tiup->port_keys[1], second);
}

/* numactl would take ranges too; the list is the form of TiUP's own examples. */
static void append_node_list(Text *text, const NodeSet *nodes) {
        const char *separator = "";

        ID_SET_FOREACH(id, nodes) {
                text_appendf(text, "%s%d", separator, id);
                separator = ",";
        }
}

/* TiUP binds with numactl --membind: what its policy does not bind strictly must not be so by TiUP.
 */
static void append_numa(Text *text, const ProductTiup *tiup, const AdviceSubject *subject,
                        bool daemon_binds) {
        _cleanup_text_ Text line = { 0 };
        char cpus[ID_SET_LIST_ANY];

        if (daemon_binds) {
                append_comment(
                        text, "    ",
                        "No numa_node and numa_cores: tidbnumad binds it, and a process that "
                        "numactl has bound as well does not follow a change of its policy.");
                return;
        }
        if (subject->memory == MEMORY_BIND) {
                text_append(text, "    numa_node: \"");
                append_node_list(text, &subject->nodes);
                text_append(text, "\"\n");
                if (!subject->whole_nodes &&
                    id_set_render_list(&subject->cpus, cpus, sizeof(cpus)) >= 0)
                        text_appendf(text,
                                     tiup->has_numa_cores
                                             ? "    numa_cores: \"%s\"\n"
                                             : "    # Its policy selects the CPUs %s; TiUP has no "
                                               "key for that.\n",
                                     cpus);
                return;
        }
        text_append(&line, "No numa_node: \"");
        append_node_list(&line, &subject->nodes);
        text_appendf(&line,
                     "\" here, because TiUP would bind its memory strictly, but its policy sets "
                     "memory: %s. tidbnumad binds it.",
                     memory_mode_to_string(subject->memory));
        append_comment_text(text, "    ", &line);
}

/* What `memory_limit` of its policy sets. The daemon lifts its own limit before that kills, and
 * leaves another one alone. */
static void append_limit(Text *text, const AdviceSubject *subject, bool daemon_binds) {
        if (subject->asked_limit_bytes == 0 || !product_info(subject->product)->heavy)
                return;
        if (daemon_binds)
                append_comment(text, "    ",
                               "No resource_control.memory_limit: tidbnumad sets MemoryMax= of its "
                               "unit, and lifts it before it kills.");
        else
                text_appendf(text, "    resource_control:\n      memory_limit: \"%" PRIu64 "M\"\n",
                             subject->asked_limit_bytes / MIB);
}

/* The reason and, where TiUP has no key for it, how the value is written. */
static void append_reason(Text *text, const char *indent, const AdviceReport *report,
                          const Advice *advice) {
        const bool sql = advice->where == IN_SQL, environment = advice->where == IN_ENVIRONMENT;
        const char *quote = environment && advice->unit == ADVICE_TEXT ? "\"" : "";
        _cleanup_text_ Text line = { 0 };

        text_appendf(&line, "%s: ", advice_rule_to_id(advice->rule));
        advice_text_append_reason(&line, report, advice);
        append_comment_text(text, indent, &line);
        if (advice->where == IN_CONFIG)
                return;
        text_appendf(text, "%s#   ", indent);
        if (advice->where == IN_ARGUMENTS) { /* TiUP makes them of the entry's host */
                text_append(text, "host: ");
                advice_text_append_value(text, advice);
                text_append(text, "\n");
                return;
        }
        if (environment)
                text_append(text, "by `systemctl edit` of its unit, [Service]: Environment=");
        text_appendf(text, "%s%s%s%s", sql ? "in SQL: SET GLOBAL " : quote, advice->setting,
                     environment ? "=" : " ", sql ? "= \"" : "");
        advice_text_append_value(text, advice);
        text_append(text, sql ? "\";\n" : quote);
        text_append(text, sql ? "" : "\n");
}

static void append_config(Text *text, const AdviceReport *report, size_t index) {
        bool open = false;

        for (size_t i = 0; i < report->n_items; i++) {
                const Advice *advice = &report->items[i];
                bool is_number;

                if (advice->subject != index || advice->where != IN_CONFIG)
                        continue;
                if (!open)
                        text_append(text, "    config:\n");
                open = true;
                append_reason(text, "      ", report, advice);
                text_appendf(text, "      %s: ", advice->setting);
                is_number = advice->unit == ADVICE_INTEGER || advice->unit == ADVICE_HUNDREDTHS;
                if (advice->unit == ADVICE_TEXT)
                        advice_text_append_quoted(text, advice->text);
                else if (advice->unit == ADVICE_LIST) {
                        const char *words = advice->text;
                        const char *separator = "";

                        text_append(text, "[");
                        while (*words != '\0') {
                                const size_t n = strcspn(words, ",");
                                char word[ADVICE_TEXT_MAX];

                                (void)snprintf(word, sizeof(word), "%.*s", (int)n, words);
                                text_append(text, separator);
                                advice_text_append_quoted(text, word);
                                separator = ", ";
                                words += n + (words[n] == ',');
                        }
                        text_append(text, "]");
                } else {
                        text_append(text, is_number ? "" : "\"");
                        advice_text_append_value(text, advice);
                        text_append(text, is_number ? "" : "\"");
                }
                text_append(text, "\n");
        }
}

static void append_others(Text *text, const char *indent, const AdviceReport *report,
                          size_t index) {
        for (size_t i = 0; i < report->n_items; i++)
                if (report->items[i].subject == index && report->items[i].where != IN_CONFIG)
                        append_reason(text, indent, report, &report->items[i]);
}

/* With an entry of its own, which can name nodes: the exporters have one for all hosts. */
static bool is_in_topology(Product product) {
        const ProductTiup *tiup = &product_info(product)->tiup;

        return text_ends_with(tiup->section, "_servers") && tiup->has_numa_node;
}

int advice_render_tiup(const AdviceReport *report, const char *host, Text *text) {
        bool any = false;

        text_reset(text);
        append_comment(text, "",
                       "Sizing advice of tidbnumad for one host. Merge each entry into the entry "
                       "with the same host and port (tiup cluster edit-config), then reload the "
                       "cluster (tiup cluster reload), which restarts its servers one by one.");
        for (Product product = PRODUCT_OTHER + 1; product < N_PRODUCTS; product++) {
                const ProductTiup *tiup = &product_info(product)->tiup;
                bool open = false;

                for (size_t i = 0; is_in_topology(product) && i < report->n_subjects; i++) {
                        const AdviceSubject *subject = &report->subjects[i];

                        if (subject->product != product || subject->unplaced[0] != '\0')
                                continue;
                        if (!open)
                                text_appendf(text, "%s:\n", tiup->section);
                        open = any = true;
                        /* TiUP has each server announce the host of its entry. */
                        text_append(text, "  - host: ");
                        advice_text_append_quoted(
                                text, subject->card && subject->address ? subject->address : host);
                        text_append(text, "\n");
                        append_name(text, "    ", subject, "");
                        append_ports(text, tiup, subject);
                        append_numa(text, tiup, subject, report->daemon_binds);
                        append_limit(text, subject, report->daemon_binds);
                        append_config(text, report, i);
                        append_others(text, "    ", report, i);
                }
        }
        /* What has no section: HAProxy and JVMs, which TiUP does not know, and what has no nodes.
         */
        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *subject = &report->subjects[i];
                const bool outside =
                        subject->product == PRODUCT_HAPROXY || subject->product == PRODUCT_JAVA;

                if (subject->unplaced[0] != '\0' && (outside || is_in_topology(subject->product))) {
                        append_name(text, "", subject, " is left out:");
                        append_comment(text, "", subject->unplaced);
                } else if (outside) {
                        append_name(text, "", subject,
                                    subject->product == PRODUCT_JAVA
                                            ? " is not managed by TiUP. For its unit:"
                                            : " is not managed by TiUP. For the section global of "
                                              "its haproxy.cfg:");
                        append_others(text, "", report, i);
                }
        }
        if (!any)
                text_append(text, "{}\n");
        return text->error;
}

/* --- filled into a topology file that exists --- */

/* On a line of its own, below the one that it follows. */
static void append_line(Text *text, uint32_t column) {
        text_appendf(text, "\n%*s", (int)column - 1, "");
}

/* The value in the place of that which the entry has, or on a line below its host. */
static int fill_list(SourceSpan at, uint32_t column, const char *key, const Text *list,
                     SourceEditList *edits, Text *lines) {
        _cleanup_text_ Text value = { 0 };

        if (at.line == 0) {
                append_line(lines, column);
                text_appendf(lines, "%s: \"%s\"", key, text_string(list));
                return list->error;
        }
        /* An empty value begins right behind its colon. */
        text_appendf(&value, "%s\"%s\"", at.length > 0 ? "" : " ", text_string(list));
        return list->error < 0 ? list->error : source_edit_add(edits, at, &value);
}

/* `numa_cores` where that is not all CPUs of its nodes; one that the file has is meant for the
 * `numa_node` there. */
static int fill_numa(const TiupServer *server, const AdviceSubject *subject, bool afresh,
                     SourceEditList *edits, Text *lines) {
        const bool is_kept = id_set_equal(&server->nodes, &subject->nodes);
        const bool in_words = server->has_cores && id_set_is_empty(&server->cores);
        _cleanup_text_ Text nodes = { 0 }, cores = { 0 };
        char cpus[ID_SET_LIST_ANY];
        int r = 0;

        append_node_list(&nodes, &subject->nodes);
        if (!is_kept)
                r = fill_list(server->numa_at, server->at.column, "numa_node", &nodes, edits,
                              lines);
        if (r < 0 || !product_info(server->product)->tiup.has_numa_cores ||
            (subject->whole_nodes && !server->has_cores) || (is_kept && in_words && !afresh) ||
            id_set_equal(&server->cores, &subject->cpus))
                return r;
        r = id_set_render_list(&subject->cpus, cpus, sizeof(cpus));
        text_append(&cores, cpus);
        return r < 0 ? r
                     : fill_list(server->cores_at, server->at.column, "numa_cores", &cores, edits,
                                 lines);
}

int tiup_fill(const TiupServer *server, const AdviceReport *report, size_t index, bool afresh,
              SourceEditList *edits, TiupFilled *ret) {
        const AdviceSubject *subject = &report->subjects[index];
        const bool again = server->note_at.line > 0;
        const SourceSpan below =
                again ? server->note_at
                      : (SourceSpan){ server->host_at.line, SOURCE_EDIT_LINE_END, 0 };
        const bool binds = !report->daemon_binds && subject->memory == MEMORY_BIND &&
                           product_info(server->product)->tiup.has_numa_node;
        /* Before the first key of a `config` that is there, or each on a line of its own below one
         * that is added. */
        const SourceSpan config = { server->config_at.line, server->config_at.column, 0 };
        _cleanup_text_ Text text = { 0 }, keys = { 0 };
        int r = 0;

        *ret = (TiupFilled){ 0 };
        if (server->on_each_host)
                return 0;
        ret->skipped = !server->in_lines || !server->config_fits;
        for (size_t i = 0; i < report->n_items; i++) {
                const Advice *advice = &report->items[i];
                const char *quote = advice->unit == ADVICE_INTEGER ? "" : "\"";

                if (advice->subject != index || advice->where != IN_CONFIG)
                        continue;
                if (tiup_server_sets(server, advice->setting)) {
                        ret->n_kept++;
                        continue;
                }
                if (config.line == 0)
                        append_line(&keys, server->at.column + 2);
                text_appendf(&keys, "%s: %s", advice->setting, quote);
                advice_text_append_value(&keys, advice);
                text_append(&keys, quote);
                if (config.line > 0)
                        append_line(&keys, config.column);
        }
        if (!server->in_lines || subject->unplaced[0] != '\0')
                return 0;
        if (!again)
                append_line(&text, server->at.column);
        text_append(&text, TIUP_NOTE);
        plan_words_nodes(&subject->nodes, &text);
        text_appendf(&text, ", %u CPUs", subject->n_cpus);
        if (subject->memory_bytes > 0) {
                text_append(&text, ", ");
                plan_words_bytes(subject->memory_bytes, &text);
        }
        if (server->nodes_unknown && !afresh)
                text_append(&text, ", if numa_node did not say otherwise");
        else if (binds)
                r = fill_numa(server, subject, afresh, edits, &text);
        if (server->config_fits && (keys.length > 0 || keys.error < 0)) {
                if (config.line > 0)
                        r = r < 0 ? r : source_edit_add(edits, config, &keys);
                else {
                        append_line(&text, server->at.column);
                        text_append(&text, "config:");
                        text_append_text(&text, &keys);
                }
        }
        return r < 0 ? r : source_edit_add(edits, below, &text);
}
