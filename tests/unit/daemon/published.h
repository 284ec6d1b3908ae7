/* What the daemon publishes, as its readers get it. */
#pragma once

#include <math.h>

#include "rooms.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/publish/status.h"

enum { PUBLISHED_MAX = 1 << 16 };

/* A file of the tree, which is the runtime folder. */
static inline void rooms_publish_file(Rooms *r, const FakeTree *tree, const char *file,
                                      char text[static PUBLISHED_MAX]) {
        struct Interrupts *none = NULL;
        _cleanup_(report_done) Report report = { .host = &r->host,
                                                 .registry = &r->registry,
                                                 .sampling = &r->sampling,
                                                 .undo = &r->undo,
                                                 .units = &r->units,
                                                 .binding = &r->binding,
                                                 .irq = &none };

        assert_int_equal(publish_now(&report), 0);
        assert_true(path_read(tree->fd, text, PUBLISHED_MAX, "%s", file) > 0);
}

static inline void rooms_publish(Rooms *r, const FakeTree *tree, Snapshot *ret) {
        char text[PUBLISHED_MAX];

        rooms_publish_file(r, tree, "status.json", text);
        assert_int_equal(status_parse(text, strlen(text), ret), 0);
}

/* NAN: it is not there. */
static inline double rooms_metric(Rooms *r, const FakeTree *tree, const char *series) {
        char text[PUBLISHED_MAX];
        const char *line;

        rooms_publish_file(r, tree, "metrics.prom", text);
        line = strstr(text, fmt("\n%s ", series));
        return line ? strtod(line + strlen(series) + 2, NULL) : (double)NAN;
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
