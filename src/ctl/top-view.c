/* One screen: problems, instances with a bar of their nodes, nodes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/status-page.h"
#include "tidbnumad/ctl/top-view.h"
#include "tidbnumad/publish/plan-text.h"

/* Maximum columns of a name, minimum columns of the bar, maximum lines of problems. */
enum { NAME_MAX_COLUMNS = 24, BAR_MIN = 8, PROBLEM_LINES = 6 };

#define REVERSE "\x1b[7m"
#define RED "\x1b[31m"
#define PLAIN "\x1b[0m"

/* Lines that are on the screen, and how many fit. */
typedef struct Screen {
        const TopView *view;
        Text *text;
        unsigned used;
} Screen;

static const char *const sorts[N_TOP_SORTS] = {
        [TOP_BY_REMOTE] = "remote bytes", [TOP_BY_NAME] = "name", [TOP_BY_STATE] = "state"
};

/* Memory of the instance on other nodes than its own. */
static uint64_t remote_bytes(const InstanceInfo *i) {
        uint64_t remote = 0, all = 0;

        for (size_t k = 0; k < i->n_memory; k++) {
                all += i->memory_by_node[k].anon_bytes;
                if (!id_set_has(&i->nodes, i->memory_by_node[k].node))
                        remote += i->memory_by_node[k].anon_bytes;
        }
        if (!id_set_is_empty(&i->nodes))
                return remote;
        return isnan(i->remote_ratio) ? 0 : (uint64_t)(i->remote_ratio * (double)all);
}

/* --- lines --- */

/* Puts one line, cut at the right edge. */
static void put(Screen *s, const char *line, const char *color) {
        unsigned column = 0;
        size_t n = 0;

        if (s->used == s->view->rows)
                return;
        text_append(s->text, s->used > 0 ? "\n" : "");
        text_append(s->text, s->view->colors && color ? color : "");
        while (line[n] && (((unsigned char)line[n] & 0xc0) == 0x80 || column < s->view->columns))
                column += ((unsigned char)line[n++] & 0xc0) != 0x80;
        text_append_bytes(s->text, line, n);
        text_append(s->text, s->view->colors && color ? PLAIN : "");
        s->used++;
}

static void put_text(Screen *s, Text *line, const char *color) {
        if (line->error < 0)
                s->text->error = line->error;
        put(s, line->data ? line->data : "", color);
        text_reset(line);
}

/* Puts at most `most` lines of a text. */
static void put_lines(Screen *s, const Text *lines, unsigned most) {
        const char *rest = lines->data ? lines->data : "";
        _cleanup_text_ Text line = { 0 };

        for (; *rest && most > 0; most--) {
                const size_t n = strcspn(rest, "\n");

                text_append(&line, "");
                text_append_bytes(&line, rest, n);
                put_text(s, &line, NULL);
                rest += n + (rest[n] == '\n');
        }
}

static void put_header(Screen *s) {
        const Snapshot *f = s->view->question->status;
        _cleanup_text_ Text line = { 0 };

        text_appendf(&line, "tidbnumad: %s, %zu instance%s, by %s | q, s sort, i %s",
                     !s->view->question->alive ? "not running"
                     : f->enforcing            ? "enforcing"
                                               : "changing nothing",
                     f->n_instances, f->n_instances == 1 ? "" : "s", sorts[s->view->sort],
                     s->view->detail ? "back" : "view");
        put_text(s, &line, REVERSE);
}

static void put_problems(Screen *s) {
        _cleanup_text_ Text problems = { 0 }, fitting = { 0 };

        status_problems_render(s->view->question, &problems);
        if (problems.length == 0)
                return;
        output_fit(&problems, s->view->columns, false, true, &fitting);
        put_lines(s, &(Text){ .data = fitting.data ? fitting.data + 1 : NULL }, PROBLEM_LINES);
        put(s, "", NULL);
}

/* --- instances --- */

static int compare(const void *a, const void *b, void *userdata) {
        const InstanceInfo *x = *(const InstanceInfo *const *)a,
                           *y = *(const InstanceInfo *const *)b;
        const TopSort sort = *(const TopSort *)userdata;
        const uint64_t rx = remote_bytes(x), ry = remote_bytes(y);
        int r = sort == TOP_BY_REMOTE  ? (rx < ry) - (rx > ry)
                : sort == TOP_BY_STATE ? status_is_at_rest(x) - status_is_at_rest(y)
                                                 ?: strcmp(instance_state_to_string(x->state),
                                                           instance_state_to_string(y->state))
                                       : 0;

        return r != 0 ? r : strcmp(x->name, y->name);
}

/* Appends the nodes by number, each as its digit or letter with a width for its share. */
static void append_bar(const InstanceInfo *i, unsigned width, Text *line) {
        static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
        uint64_t all = 0, so_far = 0;
        unsigned column = 0;

        for (size_t k = 0; k < i->n_memory; k++)
                all += i->memory_by_node[k].anon_bytes;
        for (size_t k = 0; k < i->n_memory && all > 0; k++) {
                const uint32_t node = i->memory_by_node[k].node;
                const char digit[] = { node < sizeof(digits) - 1 ? digits[node] : '+', '\0' };

                so_far += i->memory_by_node[k].anon_bytes;
                for (; column < (unsigned)((double)so_far / (double)all * width + 0.5); column++)
                        text_append(line, digit);
        }
}

static void append_progress(const InstanceInfo *i, Text *cell) {
        if (i->pending_bytes == 0) {
                text_append(cell, "-");
                return;
        }
        plan_words_bytes(i->pending_bytes, cell);
        if (!isnan(i->migration_left_seconds))
                text_appendf(cell, " %.0f s", i->migration_left_seconds);
}

static void put_instance(Screen *s, const InstanceInfo *i, unsigned name, bool selected) {
        _cleanup_text_ Text line = { 0 }, remote = { 0 }, move = { 0 }, nodes = { 0 },
                            shown = { 0 };
        const unsigned fixed = name + 48;

        text_append_printable(&shown, i->name);
        plan_words_set(ID_VIEW(&i->nodes), &nodes);
        plan_words_bytes(remote_bytes(i), &remote);
        append_progress(i, &move);
        text_appendf(&line, "%c%-*.*s %-8.8s %-7.7s %10s %-17.17s ", selected ? '>' : ' ', name,
                     name, shown.data ? shown.data : "", instance_state_to_string(i->state),
                     nodes.data ? nodes.data : "", remote.data ? remote.data : "",
                     move.data ? move.data : "");
        append_bar(i, s->view->columns > fixed + BAR_MIN ? s->view->columns - fixed : BAR_MIN,
                   &line);
        put_text(s, &line, status_is_problem(i) ? RED : NULL);
}

static unsigned name_columns(const Snapshot *f) {
        size_t longest = strlen("INSTANCE");

        for (size_t i = 0; i < f->n_instances; i++)
                longest = strlen(f->instances[i].name) > longest ? strlen(f->instances[i].name)
                                                                 : longest;
        return (unsigned)(longest < NAME_MAX_COLUMNS ? longest : NAME_MAX_COLUMNS);
}

/* If there is no room for all, those around the selected one are shown. */
static void put_instances(Screen *s, const InstanceInfo **sorted, size_t n, unsigned room) {
        const unsigned name = name_columns(s->view->question->status);
        const size_t selected = s->view->selected < n ? s->view->selected : n > 0 ? n - 1 : 0;
        const size_t first = selected >= room ? selected - room + 1 : 0;
        _cleanup_text_ Text line = { 0 };

        text_appendf(&line, " %-*s %-8s %-7s %10s %-17s %s", name, "INSTANCE", "STATE", "NODES",
                     "REMOTE", "TO MOVE", "MEMORY BY NODE");
        put_text(s, &line, NULL);
        for (size_t i = first; i < n && i < first + room; i++)
                put_instance(s, sorted[i], name, i == selected);
        if (n == 0)
                put(s, status_no_instances(s->view->question->status), NULL);
}

/* --- nodes --- */

static void put_nodes(Screen *s) {
        _cleanup_text_ Text line = { 0 };

        put(s, "", NULL);
        put(s, " NODE       FREE      TOTAL  SOFTIRQ", NULL);
        for (size_t i = 0; i < s->view->n_nodes; i++) {
                const TopNode *n = &s->view->nodes[i];
                _cleanup_text_ Text free_text = { 0 }, total = { 0 };

                plan_words_bytes(n->free_bytes, &free_text);
                plan_words_bytes(n->total_bytes, &total);
                text_appendf(&line, " %4" PRIu32 " %10s %10s", n->id,
                             free_text.data ? free_text.data : "", total.data ? total.data : "");
                if (!isnan(n->softirq_ratio))
                        text_appendf(&line, " %6.1f %%", n->softirq_ratio * 100);
                put_text(s, &line, NULL);
        }
}

static void put_detail(Screen *s, const InstanceInfo *i) {
        _cleanup_text_ Text table = { 0 }, fitting = { 0 };
        StatusQuestion q = *s->view->question;

        q.names = &i->name;
        q.n_names = 1;
        q.width = s->view->columns;
        q.colors = false;
        status_page_render(&q, &table);
        output_fit(&table, s->view->columns, false, true, &fitting);
        put_lines(s, &fitting, s->view->rows);
}

void top_view_render(const TopView *view, Text *text) {
        const Snapshot *f = view->question->status;
        _cleanup_free_ const InstanceInfo **sorted = calloc(f->n_instances + 1, sizeof(*sorted));
        Screen s = { .view = view, .text = text };
        TopSort sort = view->sort;
        unsigned below;
        size_t n = 0;

        if (!sorted) {
                text->error = -ENOMEM;
                return;
        }
        for (size_t i = 0; i < f->n_instances; i++)
                if (status_is_asked(view->question, &f->instances[i]))
                        sorted[n++] = &f->instances[i];
        qsort_r(sorted, n, sizeof(*sorted), compare, &sort);
        put_header(&s);
        if (view->detail && n > 0) {
                put_detail(&s, sorted[view->selected < n ? view->selected : n - 1]);
                return;
        }
        put_problems(&s);
        /* Nodes get their lines if both fit, but instances at least half of the screen. */
        below = (unsigned)(view->n_nodes > 0 ? view->n_nodes + 2 : 0);
        if (below > (view->rows - s.used) / 2)
                below = (view->rows - s.used) / 2;
        put_instances(&s, sorted, n,
                      view->rows > s.used + below + 1 ? view->rows - s.used - below - 1 : 1);
        if (view->n_nodes > 0)
                put_nodes(&s);
}
