#include <inttypes.h>
#include <stdio.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/binding/guard-log.h"

static void describe(const NodeSet *nodes, const GuardOutlook *o, char *text, size_t size) {
        const bool several = id_set_count(nodes) > 1;
        char list[ID_SET_LIST_MAX];

        (void)id_set_render_list(nodes, list, sizeof(list));
        if (o->room_bytes == 0)
                (void)snprintf(text, size,
                               "node%s %s %s nearly full (no more than the headroom of %.1f MiB is "
                               "left)",
                               several ? "s" : "", list, several ? "are" : "is",
                               (double)o->headroom_bytes / (1 << 20));
        else
                (void)snprintf(text, size,
                               "node%s %s will be full in %.1f s (%.1f MiB of room, %.1f MiB less "
                               "each second)",
                               several ? "s" : "", list, (double)o->gone_usec / 1e6,
                               (double)o->room_bytes / (1 << 20),
                               (double)o->fall_bytes_per_sec / (1 << 20));
}

void guard_log_danger(const Binder *b, Instance *i, const NodeSet *nodes, const GuardOutlook *o,
                      const char *what) {
        const JournalFields fields = { .message_id = JOURNAL_NODE_FULL,
                                       .instance = i->name,
                                       .policy = i->policy->name,
                                       .reason = REASON_NODE_FULL };
        char danger[ID_SET_LIST_MAX + 128];

        if (i->binding.guard.logged)
                return;
        i->binding.guard.logged = true;
        describe(nodes, o, danger, sizeof(danger));
        journal_log(&b->host->journal, LOG_WARNING, &fields, "%s: %s; %s", i->name, danger, what);
        binding_set_failure(i, REASON_NODE_FULL, "its memory nodes run full; %s", what);
        host_mark(b->host, HOST_MARK_PUBLISH);
}

void guard_log_safe(const Binder *b, Instance *i) {
        if (!i->binding.guard.logged)
                return;
        i->binding.guard.logged = false;
        binding_clear_failure(i);
        host_mark(b->host, HOST_MARK_PUBLISH);
}

void guard_log_widened(const Binder *b, const Instance *i, const NodeSet *before,
                       const GuardOutlook *o, uint32_t node) {
        const JournalFields fields = { .message_id = JOURNAL_WIDENED,
                                       .instance = i->name,
                                       .policy = i->policy->name,
                                       .reason = REASON_NODE_FULL };
        const Node *found = topology_find(&b->host->topology, node);
        const char *kind = found ? topology_why_no_home(found) : "";
        char danger[ID_SET_LIST_MAX + 128];

        describe(before, o, danger, sizeof(danger));
        journal_log(&b->host->journal, LOG_WARNING, &fields,
                    "%s: %s: it may use memory of node %" PRIu32 "%s%s%s as well, until %s",
                    i->name, danger, node, *kind ? " (" : "", kind, *kind ? ")" : "",
                    o->room_bytes > 0 ? "that has ended" : "there has been room for a minute");
}

static void describe_pool(const NodeSet *nodes, const HugeShortage *s, char *text, size_t size) {
        const bool several = id_set_count(nodes) > 1;
        char list[ID_SET_LIST_MAX];

        (void)id_set_render_list(nodes, list, sizeof(list));
        (void)snprintf(text, size,
                       "node%s %s %s %" PRIu64 " free huge pages of %" PRIu64 " KiB, and %" PRIu64
                       " are reserved and may be touched",
                       several ? "s" : "", list, several ? "have" : "has", s->n_free,
                       s->page_bytes >> 10, s->n_wanted);
}

void guard_log_pool_danger(const Binder *b, Instance *i, const NodeSet *nodes,
                           const HugeShortage *shortage, const char *what) {
        const JournalFields fields = { .message_id = JOURNAL_NODE_FULL,
                                       .instance = i->name,
                                       .policy = i->policy->name,
                                       .reason = REASON_HUGE_POOL };
        char danger[ID_SET_LIST_MAX + 160];

        if (i->binding.guard.logged)
                return;
        i->binding.guard.logged = true;
        describe_pool(nodes, shortage, danger, sizeof(danger));
        journal_log(&b->host->journal, LOG_WARNING, &fields, "%s: %s; %s", i->name, danger, what);
        binding_set_failure(i, REASON_HUGE_POOL, "%s; %s", danger, what);
        host_mark(b->host, HOST_MARK_PUBLISH);
}

void guard_log_pool_widened(const Binder *b, const Instance *i, const NodeSet *nodes,
                            const HugeShortage *shortage, const NodeSet *more) {
        const JournalFields fields = { .message_id = JOURNAL_WIDENED,
                                       .instance = i->name,
                                       .policy = i->policy->name,
                                       .reason = REASON_HUGE_POOL };
        char danger[ID_SET_LIST_MAX + 160], list[ID_SET_LIST_MAX];

        describe_pool(nodes, shortage, danger, sizeof(danger));
        (void)id_set_render_list(more, list, sizeof(list));
        journal_log(&b->host->journal, LOG_WARNING, &fields,
                    "%s: %s: it may use memory of node%s %s as well, until there have been enough "
                    "for a minute",
                    i->name, danger, id_set_count(more) > 1 ? "s" : "", list);
}
