#include <inttypes.h>
#include <stdarg.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/plan/audit-rules.h"

void audit_find(AuditReport *report, AuditRule rule, AuditState state, char *where, char *remedy,
                const char *format, ...) {
        AuditFinding finding = { .rule = rule, .state = state, .where = where, .remedy = remedy };
        va_list arguments;
        int r;

        va_start(arguments, format);
        finding.found = text_newv(format, arguments);
        va_end(arguments);
        r = audit_report_add(report, &finding);
        if (r < 0)
                report->error = r;
}

enum { SIZE_SLACK_PERCENT = 10, SIZE_SLACK_MIB = 128 };

static void hidden_nodes(const AuditInput *input, AuditReport *report) {
        const uint32_t sockets = input->facts ? input->facts->n_packages : 0;
        const size_t nodes = input->topology->n_nodes;

        if (sockets == 0)
                return;
        audit_report_hold(report, AUDIT_HIDDEN_NODES);
        if (nodes >= sockets)
                return;
        audit_find(report, AUDIT_HIDDEN_NODES, AUDIT_WARNING,
                   text_new("/sys/devices/system/node/online"),
                   text_new("in the firmware enable NUMA (AMD: NPS4 or NPS2; Intel: no "
                            "node interleaving), and boot without numa=off"),
                   "the machine has %" PRIu32 " sockets and shows %zu node%s: remote memory "
                   "is there, and nothing can be bound to avoid it",
                   sockets, nodes, nodes == 1 ? "" : "s");
}

static const Node *extreme_home(const Topology *topology, bool largest) {
        const Node *found = NULL;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                if (!topology_is_home(node) || node->memory_unknown || node->memory_bytes == 0)
                        continue;
                if (!found || (largest ? node->memory_bytes > found->memory_bytes
                                       : node->memory_bytes < found->memory_bytes))
                        found = node;
        }
        return found;
}

static void node_sizes(const AuditInput *input, AuditReport *report) {
        const Node *large = extreme_home(input->topology, true);
        const Node *small = extreme_home(input->topology, false);
        uint64_t slack_bytes;

        if (!large || input->topology->n_nodes < 2)
                return;
        audit_report_hold(report, AUDIT_NODE_SIZES);
        slack_bytes = large->memory_bytes / 100 * SIZE_SLACK_PERCENT;
        if (slack_bytes < (uint64_t)SIZE_SLACK_MIB << 20)
                slack_bytes = (uint64_t)SIZE_SLACK_MIB << 20;
        if (large->memory_bytes - small->memory_bytes <= slack_bytes)
                return;
        audit_find(report, AUDIT_NODE_SIZES, AUDIT_WARNING,
                   text_new("/sys/devices/system/node/node%" PRIu32 "/meminfo", small->id),
                   text_new("equip the nodes equally; until then place.avoid: [%" PRIu32
                            "] or memory: preferred for what needs more",
                            small->id),
                   "node %" PRIu32 " has %" PRIu64 " MiB of memory, node %" PRIu32 " %" PRIu64
                   " MiB",
                   small->id, small->memory_bytes >> 20, large->id, large->memory_bytes >> 20);
}

/* Also nodes with CPUs and no memory at all. */
static void nodes_without_memory(const AuditInput *input, AuditReport *report) {
        _cleanup_text_ Text found = { 0 };
        NodeSet used = { 0 };

        for (size_t i = 0; i < input->n_instances; i++)
                if (input->instances[i].placed)
                        id_set_union(&used, &input->instances[i].nodes);
        topology_append_unused(input->topology, &used, &found);
        if (found.error < 0)
                report->error = found.error;
        else if (found.length > 0)
                audit_find(report, AUDIT_NODE_SIZES, AUDIT_WARNING,
                           text_new("/sys/devices/system/node/node*/meminfo"),
                           text_new("put memory into the slots of each node"), "%s", found.data);
}

static void trust(const AuditInput *input, AuditReport *report) {
        audit_report_hold(report, AUDIT_TOPOLOGY);
        for (unsigned i = 0; i < TOPOLOGY_NOTES; i++) {
                _cleanup_text_ Text note = { 0 };

                topology_append_note(input->topology, i, &note);
                if (note.error < 0)
                        report->error = note.error;
                else if (note.length > 0)
                        audit_find(report, AUDIT_TOPOLOGY, AUDIT_WARNING,
                                   text_new("/sys/devices/system/node"),
                                   text_new("ask the vendor for a firmware that describes the "
                                            "machine"),
                                   "%s", note.data);
        }
}

static void audit_machine(const AuditInput *input, AuditReport *report) {
        hidden_nodes(input, report);
        node_sizes(input, report);
        nodes_without_memory(input, report);
        trust(input, report);
}

int audit_build(const AuditInput *input, AuditReport *ret) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        audit_host(input, &report);
        audit_machine(input, &report);
        audit_devices(input, &report);
        audit_instances(input, &report);
        if (report.error < 0)
                return report.error;
        *ret = TAKE_STRUCT(report);
        return 0;
}
