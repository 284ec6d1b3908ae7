/* tidbnumactl top: the status, live. Each screen is one write to the alternate screen, which is
 * restored at the end and on signals. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/status-page.h"
#include "tidbnumad/ctl/top-view.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/memory.h"

/* --- one screen --- */

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
static void put_line(Screen *s, const char *line, const char *color) {
        unsigned column = 0;
        size_t n = 0;

        if (s->used == s->view->rows)
                return;
        text_append(s->text, s->used > 0 ? "\n" : "");
        text_append(s->text, s->view->colors && color ? color : "");
        while (line[n] && (utf8_continues(line[n]) || column < s->view->columns))
                column += !utf8_continues(line[n++]);
        text_append_bytes(s->text, line, n);
        text_append(s->text, s->view->colors && color ? PLAIN : "");
        s->used++;
}

static void put_text(Screen *s, Text *line, const char *color) {
        if (line->error < 0)
                s->text->error = line->error;
        put_line(s, text_string(line), color);
        text_reset(line);
}

/* Puts at most `most` lines of a text. */
static void put_lines(Screen *s, const Text *lines, unsigned most) {
        const char *rest = text_string(lines);
        _cleanup_text_ Text line = { 0 };

        for (; *rest && most > 0; most--) {
                const size_t n = strcspn(rest, "\n");

                text_append_bytes(&line, rest, n);
                put_text(s, &line, NULL);
                rest += n + (rest[n] == '\n');
        }
}

/* `first` and `n_shown` of `n` instances are on the screen. */
static void put_header(Screen *s, size_t first, size_t n_shown, size_t n) {
        _cleanup_text_ Text line = { 0 };

        text_appendf(&line, "tidbnumad: %s, ", status_mode(s->view->question));
        if (n_shown > 0 && n_shown < n)
                text_appendf(&line, "instances %zu-%zu of %zu", first + 1, first + n_shown, n);
        else
                text_appendf(&line, "%zu instance%s", n, n == 1 ? "" : "s");
        text_appendf(&line, ", by %s | q, s sort, i %s", sorts[s->view->sort],
                     s->view->detail ? "back" : "view");
        put_text(s, &line, REVERSE);
}

/* --- instances --- */

static int compare_instances(const void *a, const void *b, void *userdata) {
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

/* Left-aligned in so many columns; one that is too long ends with a mark. */
static void append_column(const char *word, unsigned columns, Text *line) {
        const size_t n = utf8_count(word, word + strlen(word));
        const char *end = word;

        if (n <= columns) {
                text_appendf(line, "%s%*s", word, (int)(columns - n), "");
                return;
        }
        for (unsigned i = 0; i + 1 < columns; i++)
                do
                        end++;
                while (utf8_continues(*end));
        text_append_bytes(line, word, (size_t)(end - word));
        text_append(line, "…");
}

/* `n_shown` of `n` instances from `first` on. The bar of one is its nodes by number, each as its
 * digit or letter with a width for its share. */
static void put_instances(Screen *s, const InstanceInfo **sorted, size_t n, size_t first,
                          size_t n_shown, size_t selected) {
        static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
        const Snapshot *status = s->view->question->status;
        size_t longest = strlen("INSTANCE");
        _cleanup_text_ Text line = { 0 };
        unsigned name, fixed, width;

        for (size_t i = 0; i < status->n_instances; i++) {
                _cleanup_text_ Text shown = { 0 };
                const char *word;
                size_t length;

                text_append_printable(&shown, status->instances[i].name);
                word = text_string(&shown);
                length = utf8_count(word, word + strlen(word));
                longest = length > longest ? length : longest;
        }
        name = longest < NAME_MAX_COLUMNS ? (unsigned)longest : NAME_MAX_COLUMNS;
        fixed = name + 48;
        width = s->view->columns > fixed + BAR_MIN ? s->view->columns - fixed : BAR_MIN;
        text_appendf(&line, " %-*s %-8s %-7s %10s %-17s %s", name, "INSTANCE", "STATE", "NODES",
                     "REMOTE", "TO MOVE", "MEMORY BY NODE");
        put_text(s, &line, NULL);
        for (size_t row = first; row < first + n_shown; row++) {
                const InstanceInfo *i = sorted[row];
                _cleanup_text_ Text remote = { 0 }, move = { 0 }, place = { 0 }, shown = { 0 };
                uint64_t all = 0, so_far = 0;
                unsigned column = 0;

                text_append_printable(&shown, i->name);
                text_appendf(&place, "%-8s ", instance_state_to_string(i->state));
                plan_words_set(ID_VIEW(&i->nodes), &place);
                plan_words_bytes(remote_bytes(i), &remote);
                if (i->pending_bytes > 0)
                        plan_words_bytes(i->pending_bytes, &move);
                else
                        text_append(&move, "-");
                if (i->pending_bytes > 0 && !isnan(i->migration_left_seconds))
                        text_appendf(&move, " %.0f s", fmax(1, i->migration_left_seconds));
                text_append(&line, row == selected ? ">" : " ");
                append_column(text_string(&shown), name, &line);
                text_append(&line, " ");
                append_column(text_string(&place), 16, &line);
                text_appendf(&line, " %10s ", text_string(&remote));
                append_column(text_string(&move), 17, &line);
                text_append(&line, " ");
                for (size_t k = 0; k < i->n_memory; k++)
                        all += i->memory_by_node[k].anon_bytes;
                for (size_t k = 0; k < i->n_memory && all > 0; k++) {
                        const uint32_t node = i->memory_by_node[k].node;
                        const char digit = node < sizeof(digits) - 1 ? digits[node] : '+';

                        so_far += i->memory_by_node[k].anon_bytes;
                        for (; column < (unsigned)((double)so_far / (double)all * width + 0.5);
                             column++)
                                text_append_bytes(&line, &digit, 1);
                }
                put_text(s, &line, status_is_problem(i) ? RED : NULL);
        }
        if (n == 0)
                put_line(s,
                         status->n_instances > 0 ? "No instance has this name."
                                                 : status_no_instances(status),
                         NULL);
}

/* --- nodes --- */

static void put_nodes(Screen *s) {
        const size_t n_nodes = s->view->topology->n_nodes;
        _cleanup_text_ Text line = { 0 };

        if (s->view->rows < s->used + NODE_LINES_MIN && n_nodes > 1) {
                text_appendf(&line, " … %zu nodes: a higher terminal shows them", n_nodes);
                put_text(s, &line, NULL);
                return;
        }

        put_line(s, "", NULL);
        put_line(s, " NODE       FREE      TOTAL  SOFTIRQ", NULL);
        for (size_t i = 0; i < n_nodes; i++) {
                const size_t n_left = n_nodes - i, room = s->view->rows - s->used;
                const NodeCounters *now = &s->view->now[i];
                const double softirq = node_softirq_ratio(&s->view->before[i], now);
                _cleanup_text_ Text free_text = { 0 }, total = { 0 };

                if (room == 1 && n_left > 1) {
                        text_appendf(&line, "    … %zu more nodes", n_left);
                        put_text(s, &line, NULL);
                        return;
                }
                plan_words_bytes(now->free_bytes, &free_text);
                plan_words_bytes(now->total_bytes, &total);
                text_appendf(&line, " %4" PRIu32 " %10s %10s", s->view->topology->nodes[i].id,
                             text_string(&free_text), text_string(&total));
                if (!isnan(softirq))
                        text_appendf(&line, " %6.1f %%", softirq * 100);
                put_text(s, &line, NULL);
        }
}

/* The row of the instance that is shown alone, if that is there, else the selected one. */
static size_t select_row(TopView *view, const InstanceInfo **sorted, size_t n) {
        for (size_t i = 0; view->detail && view->detailed && i < n; i++)
                if (strcmp(sorted[i]->name, view->detailed) == 0)
                        return i;
        view->detail = view->detail && !view->detailed && n > 0;
        free(view->detailed);
        view->detailed = NULL;
        return view->selected < n ? view->selected : n > 0 ? n - 1 : 0;
}

void top_view_render(TopView *view, Text *text) {
        const Snapshot *f = view->question->status;
        _cleanup_free_ const InstanceInfo **sorted = calloc(f->n_instances + 1, sizeof(*sorted));
        _cleanup_text_ Text page = { 0 }, problems = { 0 }, lines = { 0 }, more = { 0 };
        Screen s = { .view = view, .text = text };
        const size_t n_nodes = view->topology->n_nodes;
        size_t n = 0, first, n_shown, room, selected, left, nodes;
        TopSort sort = view->sort;
        unsigned n_problems = 0, most, shown;

        if (!sorted) {
                text->error = -ENOMEM;
                return;
        }
        for (size_t i = 0; i < f->n_instances; i++)
                if (status_is_asked(view->question, &f->instances[i]))
                        sorted[n++] = &f->instances[i];
        qsort_r(sorted, n, sizeof(*sorted), compare_instances, &sort);
        selected = view->selected = select_row(view, sorted, n);
        if (view->detail) {
                StatusQuestion q = *view->question;

                if (!view->detailed)
                        view->detailed = strdup(sorted[selected]->name);
                q.names = (WordList){ .words = (char *[]){ sorted[selected]->name }, .n_words = 1 };
                q.all = false; /* that is for `status` */
                q.width = view->columns;
                put_header(&s, 0, n, n);
                status_page_render(&q, &page);
                output_fit(&page, view->columns, false, true, &lines);
                put_lines(&s, &lines, view->rows);
                return;
        }
        status_problems_render(view->question, &problems);
        if (problems.length > 0) /* without the empty line before them */
                output_fit(&(Text){ .data = problems.data + 1, .length = problems.length - 1 },
                           view->columns, false, true, &lines);
        /* Instances get half of the lines at least, nodes the rest, or one that counts them. */
        for (const char *p = lines.data; p && *p; p++)
                n_problems += *p == '\n';
        most = view->rows > 4 ? view->rows / 2 - 1 : 0; /* an instance has room beside them */
        most = most < PROBLEM_LINES ? most : PROBLEM_LINES;
        shown = n_problems < most ? n_problems : most;
        left = view->rows > shown + 2 ? view->rows - shown - 1 - (shown > 0) : 1;
        nodes = n_nodes > 0 ? n_nodes + 2 : 0;
        if (n + 1 + nodes > left) {
                const size_t rest = left > n + 1 ? left - n - 1 : 0;

                nodes = rest > left / 2 ? rest : left / 2;
                nodes = nodes < NODE_LINES_MIN ? 1 : nodes;
                nodes = n_nodes > 0 ? nodes : 0;
        }
        room = left > nodes + 1 ? left - nodes - 1 : left > 1;
        n_shown = n < room ? n : room;
        first = selected >= room ? selected - room + 1 : 0;
        put_header(&s, first, n_shown, n);
        if (n_problems > shown && shown > 0) { /* what does not fit is counted in the last line */
                put_lines(&s, &lines, shown - 1);
                text_appendf(&more, "  … %u more lines: tidbnumactl status",
                             n_problems - shown + 1);
                put_text(&s, &more, NULL);
        } else
                put_lines(&s, &lines, shown);
        if (shown > 0)
                put_line(&s, "", NULL);
        put_instances(&s, sorted, n, first, n_shown, selected);
        if (n_nodes > 0)
                put_nodes(&s);
}

enum { REFRESH_MSEC = 1000 };

#define ENTER "\x1b[?1049h\x1b[?25l"
#define LEAVE "\x1b[?25h\x1b[?1049l"

typedef struct Top {
        const Args *args;
        Machine machine;
        NodeTimes times;
        NodeCounters *before, *now; /* by index of the topology; owned */
        TopView view;               /* owns its nodes */
        int signal_fd;
} Top;

static void top_done(Top *top) {
        machine_close(&top->machine);
        node_times_done(&top->times);
        free(top->before);
        free(top->now);
        free(top->view.detailed);
        closep(&top->signal_fd);
}

static int top_draw(Top *top) {
        _cleanup_status_ Snapshot status = { 0 };
        _cleanup_text_ Text text = { 0 }, fitting = { 0 }, frame = { 0 };
        struct winsize size = { .ws_row = 24, .ws_col = 80 };
        TopView *view = &top->view;
        StatusQuestion q;
        size_t written = 0;
        const char *rest;

        if (status_question_load(top->args, &status, &q) == -ENOMEM)
                return -ENOMEM;
        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        view->question = &q;
        view->columns = size.ws_col > 0 ? size.ws_col : 80;
        view->rows = size.ws_row > 0 ? size.ws_row : 24;
        top_view_render(view, &text);
        view->question = NULL;
        if (text.error < 0)
                return text.error;

        /* Clears the rest of each line instead of the screen, to avoid flicker. */
        output_fit(&text, 0, true, output_utf8(), &fitting);
        rest = text_string(&fitting);
        text_append(&frame, "\x1b[H");
        for (;;) {
                const size_t n = strcspn(rest, "\n");

                text_append_bytes(&frame, rest, n);
                text_append(&frame, "\x1b[K");
                rest += n;
                if (*rest == '\0')
                        break;
                text_append(&frame, "\n");
                rest++;
        }
        text_append(&frame, "\x1b[J");
        while (frame.error >= 0 && written < frame.length) {
                ssize_t n = write(STDOUT_FILENO, frame.data + written, frame.length - written);

                if (n < 0 && errno != EINTR)
                        return -errno;
                written += n > 0 ? (size_t)n : 0;
        }
        return frame.error;
}

static void select_other(TopView *view, size_t row) {
        view->selected = row;
        free(view->detailed);
        view->detailed = NULL;
}

static int top_loop(Top *top) {
        struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                { .fd = top->signal_fd, .events = POLLIN } };
        const Topology *t = &top->machine.topology;
        TopView *view = &top->view;
        uint64_t next = 0;
        int r;

        for (;;) {
                const uint64_t now = clock_monotonic_usec() / 1000;
                struct signalfd_siginfo info;
                char keys[64];
                ssize_t n;

                if (now >= next) {
                        NodeCounters *former = top->before;

                        next = now + REFRESH_MSEC;
                        top->before = top->now;
                        top->now = former;
                        memset(top->now, 0, t->n_nodes * sizeof(*top->now));
                        r = node_load(&top->machine.sysroot, t, &top->times, top->now);
                        if (r < 0)
                                return r;
                        view->before = top->before;
                        view->now = top->now;
                }
                r = top_draw(top);
                if (r < 0)
                        return r;
                r = poll(fds, ELEMENTSOF(fds), (int)(next > now ? next - now : 0));
                if (r < 0 && errno != EINTR)
                        return -errno;
                if (r > 0 && fds[1].revents) {
                        n = read(top->signal_fd, &info, sizeof(info));
                        if (n != (ssize_t)sizeof(info) || info.ssi_signo != SIGWINCH)
                                return 0;
                }
                if (r > 0 && fds[0].revents) {
                        n = read(STDIN_FILENO, keys, sizeof(keys));
                        if (n <= 0)
                                return 0;
                        /* Arrows are ESC [ A and ESC [ B; ESC alone leaves the view of one. */
                        for (ssize_t i = 0; i < n; i++) {
                                const char key = keys[i];
                                const bool arrow = key == '\x1b' && i + 2 < n && keys[i + 1] == '[';
                                const char direction = arrow ? keys[i + 2] : '\0';

                                if (key == 'q' || key == '\x03')
                                        return 0;
                                if (key == 's')
                                        view->sort = (view->sort + 1) % N_TOP_SORTS;
                                else if (key == 'i' || key == '\r' || key == '\n')
                                        view->detail = !view->detail;
                                else if (key == 'j' || direction == 'B')
                                        select_other(view, view->selected + 1);
                                else if ((key == 'k' || direction == 'A') && view->selected > 0)
                                        select_other(view, view->selected - 1);
                                else if (key == '\x1b' && !arrow)
                                        view->detail = false;
                                i += arrow ? 2 : 0;
                        }
                }
        }
}

/* --- the terminal --- */

static void put_sequence(const char *sequence) {
        if (write(STDOUT_FILENO, sequence, strlen(sequence)) < 0)
                return; /* the terminal is gone, so nothing has to be restored */
}

int command_top(const Args *args, Error *error) {
        _cleanup_(top_done) Top top = { .args = args,
                                        .machine = MACHINE_NONE,
                                        .view.colors = output_colors(),
                                        .signal_fd = -EBADF };
        struct termios former, raw;
        sigset_t set;
        size_t n;
        int r;

        if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
                return error_set(error, EXIT_FAILURE,
                                 "this needs a terminal; run tidbnumactl status");
        r = machine_open(args, &top.machine, error);
        if (r < 0)
                return r;
        top.view.topology = &top.machine.topology;
        n = top.machine.topology.n_nodes;
        top.before = must_have(calloc(n + 1, sizeof(*top.before)));
        top.now = must_have(calloc(n + 1, sizeof(*top.now)));

        if (tcgetattr(STDIN_FILENO, &former) < 0)
                return -errno;
        raw = former;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG);
        (void)sigemptyset(&set);
        for (size_t i = 0; i < 4; i++)
                (void)sigaddset(&set, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGWINCH }[i]);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        top.signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
        if (top.signal_fd < 0)
                return -errno;

        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
        put_sequence(ENTER);
        r = top_loop(&top);
        put_sequence(LEAVE);
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &former);
        return r;
}
