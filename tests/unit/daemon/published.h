/* What the daemon publishes, as its readers get it. */
#pragma once

#include "rooms.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/publish/status.h"

/* The tree is the runtime folder. */
static inline void rooms_publish(Rooms *r, const FakeTree *tree, Snapshot *ret) {
        struct Interrupts *none = NULL;
        _cleanup_(report_done) Report report = { .host = &r->host,
                                                 .registry = &r->registry,
                                                 .sampling = &r->sampling,
                                                 .undo = &r->undo,
                                                 .units = &r->units,
                                                 .binding = &r->binding,
                                                 .irq = &none };
        char text[1 << 16];

        assert_int_equal(publish_now(&report), 0);
        assert_true(path_read(tree->fd, text, sizeof(text), "status.json") > 0);
        assert_int_equal(status_parse(text, strlen(text), ret), 0);
}

/* Of the one instance: its numbers, and no text. */
static inline InstanceInfo rooms_published(Rooms *r, const FakeTree *tree, const Instance *i) {
        _cleanup_status_ Snapshot s = { 0 };

        rooms_publish(r, tree, &s);
        for (size_t k = 0; k < s.n_instances; k++)
                if (strcmp(s.instances[k].name, i->name) == 0)
                        return s.instances[k];
        fail_msg("%s is not published", i->name);
        return (InstanceInfo){ 0 };
}
