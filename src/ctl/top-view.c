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

/* An empty line, the heading, a node, and how many are left. */
enum { NODE_LINES_MIN = 4 };

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

static unsigned count_lines(const Text *lines) {
        unsigned n = 0;

        for (const char *p = lines->data; p && *p; p++)
                n += *p == '\n';
        return n;
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

/* `first` and `n_shown` of `n` instances are on the screen. */
static void put_header(Screen *s, size_t first, size_t n_shown, size_t n) {
        const Snapshot *f = s->view->question->status;
        _cleanup_text_ Text line = { 0 };

        text_appendf(&line, "tidbnumad: %s, ",
                     s->view->question->alive ? daemon_mode_to_string(f->mode) : "not running");
        if (n_shown < n)
                text_appendf(&line, "instances %zu-%zu of %zu", first + 1, first + n_shown, n);
        else
                text_appendf(&line, "%zu instance%s", n, n == 1 ? "" : "s");
        text_appendf(&line, ", by %s | q, s sort, i %s", sorts[s->view->sort],
                     s->view->detail ? "back" : "view");
        put_text(s, &line, REVERSE);
}

/* What does not fit is counted in the last line. */
static void put_problems(Screen *s, const Text *lines) {
        const unsigned n = count_lines(lines);
        _cleanup_text_ Text more = { 0 };

        if (n == 0)
                return;
        put_lines(s, lines, n > PROBLEM_LINES ? PROBLEM_LINES - 1 : n);
        if (n > PROBLEM_LINES) {
                text_appendf(&more, "  … %u more lines: tidbnumactl status", n - PROBLEM_LINES + 1);
                put_text(s, &more, NULL);
        }
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

/* From `first` on, `n_shown` of them. */
static void put_instances(Screen *s, const InstanceInfo **sorted, size_t n, size_t first,
                          size_t n_shown) {
        const unsigned name = name_columns(s->view->question->status);
        _cleanup_text_ Text line = { 0 };

        text_appendf(&line, " %-*s %-8s %-7s %10s %-17s %s", name, "INSTANCE", "STATE", "NODES",
                     "REMOTE", "TO MOVE", "MEMORY BY NODE");
        put_text(s, &line, NULL);
        for (size_t i = first; i < first + n_shown; i++)
                put_instance(s, sorted[i], name,
                             i == (s->view->selected < n ? s->view->selected : n - 1));
        if (n == 0)
                put(s, status_no_instances(s->view->question->status), NULL);
}

/* --- nodes --- */

static void put_nodes(Screen *s) {
        _cleanup_text_ Text line = { 0 };

        if (s->view->rows < s->used + NODE_LINES_MIN && s->view->n_nodes > 1) {
                text_appendf(&line, " … %zu nodes: a higher terminal shows them", s->view->n_nodes);
                put_text(s, &line, NULL);
                return;
        }

        put(s, "", NULL);
        put(s, " NODE       FREE      TOTAL  SOFTIRQ", NULL);
        for (size_t i = 0; i < s->view->n_nodes; i++) {
                const size_t n_left = s->view->n_nodes - i, room = s->view->rows - s->used;
                const TopNode *n = &s->view->nodes[i];
                _cleanup_text_ Text free_text = { 0 }, total = { 0 };

                if (room == 1 && n_left > 1) {
                        text_appendf(&line, "    … %zu more nodes", n_left);
                        put_text(s, &line, NULL);
                        return;
                }
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

        q.names = (const char *const[]){ i->name };
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
        _cleanup_text_ Text problems = { 0 }, lines = { 0 };
        Screen s = { .view = view, .text = text };
        size_t n = 0, first, n_shown, room, selected, left, nodes;
        TopSort sort = view->sort;

        if (!sorted) {
                text->error = -ENOMEM;
                return;
        }
        for (size_t i = 0; i < f->n_instances; i++)
                if (status_is_asked(view->question, &f->instances[i]))
                        sorted[n++] = &f->instances[i];
        qsort_r(sorted, n, sizeof(*sorted), compare, &sort);
        selected = view->selected < n ? view->selected : n > 0 ? n - 1 : 0;
        if (view->detail && n > 0) {
                put_header(&s, 0, n, n);
                put_detail(&s, sorted[selected]);
                return;
        }
        status_problems_render(view->question, &problems);
        if (problems.length > 0) /* without the empty line before them */
                output_fit(&(Text){ .data = problems.data + 1, .length = problems.length - 1 },
                           view->columns, false, true, &lines);
        /* Instances get half of the lines at least, nodes the rest, or one that counts them. */
        left = count_lines(&lines) > PROBLEM_LINES ? PROBLEM_LINES : count_lines(&lines);
        left = view->rows > left + 2 ? view->rows - left - 1 - (left > 0) : 1;
        nodes = view->n_nodes > 0 ? view->n_nodes + 2 : 0;
        if (n + 1 + nodes > left) {
                const size_t rest = left > n + 1 ? left - n - 1 : 0;

                nodes = rest > left / 2 ? rest : left / 2;
                nodes = nodes < NODE_LINES_MIN ? 1 : nodes;
                nodes = view->n_nodes > 0 ? nodes : 0;
        }
        room = left > nodes + 1 ? left - nodes - 1 : 1;
        n_shown = n < room ? n : room;
        first = selected >= room ? selected - room + 1 : 0;
        put_header(&s, first, n_shown, n);
        put_problems(&s, &lines);
        put_instances(&s, sorted, n, first, n_shown);
        if (view->n_nodes > 0)
                put_nodes(&s);
}
