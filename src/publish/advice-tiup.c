/* Sizing advice as a fragment of a TiUP topology file: the YAML. Each value has its reason in a
 * comment, and so has what TiUP has no key for. */
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/advice-text.h"
#include "tidbnumad/publish/advice.h"

#define COMMENT_WIDTH 90u

/* How a section of the file names things; tiup's pkg/cluster/spec. */
typedef struct Section {
        AdviceProduct product;
        const char *name;
        const char *port_key, *second_key;
        uint16_t port, second; /* the defaults */
        bool has_numa_cores;
} Section;

static const Section sections[] = {
        { PRODUCT_TIDB, "tidb_servers", "port", "status_port", 4000, 10080, true },
        { PRODUCT_TIKV, "tikv_servers", "port", "status_port", 20160, 20180, true },
        { PRODUCT_PD, "pd_servers", "client_port", "peer_port", 2379, 2380, false },
};

static void append_comment(Text *text, const char *indent, const char *comment) {
        _cleanup_text_ Text next = { 0 };

        text_appendf(&next, "%s# ", indent);
        if (next.error < 0) {
                text->error = next.error;
                return;
        }
        text_append(text, next.data);
        advice_text_append_wrapped(text, comment, COMMENT_WIDTH, next.data);
        text_append(text, "\n");
}

static void append_name(Text *text, const char *indent, const AdviceSubject *subject,
                        const char *more) {
        _cleanup_text_ Text line = { 0 };

        text_append_printable(&line, subject->name);
        text_append(&line, more);
        if (line.error < 0)
                text->error = line.error;
        else
                append_comment(text, indent, line.data);
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

/* 0: not known. */
static uint16_t main_port(const Section *section, const AdviceSubject *subject) {
        const uint16_t named = port_of_name(subject->name);

        if (named > 0 && (subject->n_ports == 0 || has_port(subject, named)))
                return named;
        if (subject->n_ports == 1)
                return subject->ports[0];
        return has_port(subject, section->port) ? section->port : 0;
}

static uint16_t second_port(const Section *section, const AdviceSubject *subject, uint16_t first) {
        if (first != 0 && subject->n_ports == 2)
                return subject->ports[0] == first ? subject->ports[1] : subject->ports[0];
        return first != section->second && has_port(subject, section->second) ? section->second : 0;
}

static void append_ports(Text *text, const Section *section, const AdviceSubject *subject) {
        const uint16_t first = main_port(section, subject);
        const uint16_t second = second_port(section, subject, first);

        if (first > 0)
                text_appendf(text, "    %s: %u\n", section->port_key, first);
        else
                text_appendf(text, "    # %s: not known here; %u where it is left out\n",
                             section->port_key, section->port);
        if (second > 0)
                text_appendf(text, "    %s: %u\n", section->second_key, second);
}

/* numactl would take ranges too; the list is the form of TiUP's own examples. */
static void append_node_list(Text *text, const NodeSet *nodes) {
        const char *separator = "";

        ID_SET_FOREACH(id, nodes) {
                text_appendf(text, "%s%d", separator, id);
                separator = ",";
        }
}

static void append_cores(Text *text, const Section *section, const AdviceSubject *subject) {
        char list[ID_SET_LIST_ANY];

        if (subject->whole_nodes || id_set_render_list(&subject->cpus, list, sizeof(list)) < 0)
                return;
        if (section->has_numa_cores)
                text_appendf(text, "    numa_cores: \"%s\"\n", list);
        else
                text_appendf(text,
                             "    # Its policy selects the CPUs %s; TiUP has no key for that.\n",
                             list);
}

/* TiUP binds with numactl --membind: what its policy does not bind strictly must not be so by TiUP.
 */
static void append_numa(Text *text, const Section *section, const AdviceSubject *subject,
                        bool daemon_binds) {
        _cleanup_text_ Text line = { 0 };

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
                append_cores(text, section, subject);
                return;
        }
        text_append(&line, "No numa_node: \"");
        append_node_list(&line, &subject->nodes);
        text_appendf(&line,
                     "\" here, because TiUP would bind its memory strictly, but its policy sets "
                     "memory: %s. tidbnumad binds it.",
                     memory_mode_to_string(subject->memory));
        if (line.error < 0)
                text->error = line.error;
        else
                append_comment(text, "    ", line.data);
}

/* How it is written where TiUP has no key for it. */
static void append_elsewhere(Text *text, const char *indent, const Advice *advice) {
        const bool sql = advice->where == IN_SQL, environment = advice->where == IN_ENVIRONMENT;
        const char *quote = environment && advice->unit == ADVICE_TEXT ? "\"" : "";

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

static void append_reason(Text *text, const char *indent, const AdviceReport *report,
                          const Advice *advice) {
        _cleanup_text_ Text line = { 0 };

        text_appendf(&line, "%s: ", advice_rule_to_id(advice->rule));
        advice_text_append_reason(&line, report, advice);
        if (line.error < 0)
                text->error = line.error;
        else
                append_comment(text, indent, line.data);
        if (advice->where != IN_CONFIG)
                append_elsewhere(text, indent, advice);
}

static void append_config(Text *text, const AdviceReport *report, size_t index) {
        bool open = false;

        for (size_t i = 0; i < report->n_items; i++) {
                const Advice *advice = &report->items[i];

                if (advice->subject != index || advice->where != IN_CONFIG)
                        continue;
                if (!open)
                        text_append(text, "    config:\n");
                open = true;
                append_reason(text, "      ", report, advice);
                text_appendf(text, "      %s: ", advice->setting);
                text_append(text, advice->unit == ADVICE_INTEGER ? "" : "\"");
                advice_text_append_value(text, advice);
                text_append(text, advice->unit == ADVICE_INTEGER ? "\n" : "\"\n");
        }
}

static void append_others(Text *text, const char *indent, const AdviceReport *report,
                          size_t index) {
        for (size_t i = 0; i < report->n_items; i++)
                if (report->items[i].subject == index && report->items[i].where != IN_CONFIG)
                        append_reason(text, indent, report, &report->items[i]);
}

/* TiUP has each server announce the host of its entry. */
static const char *announced(const AdviceSubject *subject, const char *host) {
        return subject->card && subject->address ? subject->address : host;
}

static void append_entry(Text *text, const Section *section, const AdviceReport *report,
                         size_t index, const char *host) {
        const AdviceSubject *subject = &report->subjects[index];

        text_append(text, "  - host: ");
        advice_text_append_quoted(text, announced(subject, host));
        text_append(text, "\n");
        append_name(text, "    ", subject, "");
        append_ports(text, section, subject);
        append_numa(text, section, subject, report->daemon_binds);
        append_config(text, report, index);
        append_others(text, "    ", report, index);
}

/* Returns whether there was any entry. */
static bool append_section(Text *text, const Section *section, const AdviceReport *report,
                           const char *host) {
        bool open = false;

        for (size_t i = 0; i < report->n_subjects; i++) {
                if (report->subjects[i].product != section->product ||
                    report->subjects[i].unplaced[0] != '\0')
                        continue;
                if (!open)
                        text_appendf(text, "%s:\n", section->name);
                open = true;
                append_entry(text, section, report, i, host);
        }
        return open;
}

static bool would_have_entry(const AdviceSubject *subject) {
        for (size_t i = 0; i < ELEMENTSOF(sections); i++)
                if (sections[i].product == subject->product)
                        return true;
        return subject->product == PRODUCT_HAPROXY || subject->product == PRODUCT_JAVA;
}

/* What has no section: HAProxy and JVMs, which TiUP does not know, and what has no nodes. */
static void append_rest(Text *text, const AdviceReport *report) {
        for (size_t i = 0; i < report->n_subjects; i++) {
                const AdviceSubject *subject = &report->subjects[i];

                if (subject->unplaced[0] != '\0' && would_have_entry(subject)) {
                        append_name(text, "", subject, " is left out:");
                        append_comment(text, "", subject->unplaced);
                } else if (subject->product == PRODUCT_HAPROXY) {
                        append_name(text, "", subject,
                                    " is not managed by TiUP. For the section global of its "
                                    "haproxy.cfg:");
                        append_others(text, "", report, i);
                } else if (subject->product == PRODUCT_JAVA) {
                        append_name(text, "", subject, " is not managed by TiUP. For its unit:");
                        append_others(text, "", report, i);
                }
        }
}

int advice_render_tiup(const AdviceReport *report, const char *host, Text *text) {
        bool any = false;

        text_reset(text);
        append_comment(text, "",
                       "Sizing advice of tidbnumad for one host. Merge each entry into the entry "
                       "with the same host and port (tiup cluster edit-config), then reload the "
                       "cluster (tiup cluster reload), which restarts its servers one by one.");
        for (size_t i = 0; i < ELEMENTSOF(sections); i++)
                any |= append_section(text, &sections[i], report, host);
        append_rest(text, report);
        if (!any)
                text_append(text, "{}\n");
        return text->error;
}
