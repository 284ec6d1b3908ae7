/* tidbnumactl top: the status, live. Each screen is one write to the alternate screen, which is
 * restored at the end and on signals. */
#include <errno.h>
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

#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/top-view.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/memory.h"

enum { REFRESH_MSEC = 1000 };

#define ENTER "\x1b[?1049h\x1b[?25l"
#define LEAVE "\x1b[?25h\x1b[?1049l"

typedef struct Top {
        const Args *args;
        Machine machine;
        NodeTimes times;
        NodeCounters *before, *now; /* by index of the topology; owned */
        TopNode *nodes;             /* owned */
        TopSort sort;
        size_t selected;
        bool detail;
        struct termios terminal; /* its former state */
        int signal_fd;
} Top;

static void top_done(Top *top) {
        machine_close(&top->machine);
        node_times_done(&top->times);
        free(top->before);
        free(top->now);
        free(top->nodes);
        closep(&top->signal_fd);
}

/* --- what is shown --- */

static double softirq_ratio(const NodeCounters *before, const NodeCounters *now) {
        double all = 0;

        if (!before->cpu_known || !now->cpu_known)
                return (double)NAN;
        for (NodeMode m = 0; m < N_MODES; m++)
                all += now->cpu_seconds[m] - before->cpu_seconds[m];
        return all > 0 ? (now->cpu_seconds[MODE_SOFTIRQ] - before->cpu_seconds[MODE_SOFTIRQ]) / all
                       : (double)NAN;
}

static int read_nodes(Top *top) {
        const Topology *t = &top->machine.topology;
        NodeCounters *former = top->before;
        int r;

        top->before = top->now;
        top->now = former;
        memset(top->now, 0, t->n_nodes * sizeof(*top->now));
        r = node_load(&top->machine.sysroot, t, &top->times, top->now);
        for (size_t i = 0; i < t->n_nodes && r >= 0; i++)
                top->nodes[i] =
                        (TopNode){ .id = t->nodes[i].id,
                                   .total_bytes = top->now[i].total_bytes,
                                   .free_bytes = top->now[i].free_bytes,
                                   .softirq_ratio = softirq_ratio(&top->before[i], &top->now[i]) };
        return r;
}

/* Clears the rest of each line instead of the screen, to avoid flicker. */
static int write_screen(const Text *lines) {
        _cleanup_text_ Text fitting = { 0 }, frame = { 0 };
        size_t written = 0;
        const char *rest;

        output_fit(lines, 0, true, output_utf8(), &fitting);
        rest = fitting.data ? fitting.data : "";
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

static int draw(Top *top) {
        _cleanup_status_ Snapshot status = { 0 };
        _cleanup_text_ Text text = { 0 };
        struct winsize size = { .ws_row = 24, .ws_col = 80 };
        StatusQuestion q = { .status = &status,
                             .runtime_dir = top->args->runtime_dir,
                             .names = top->args->names,
                             .n_names = top->args->n_names,
                             .now_seconds = clock_realtime_seconds() };
        int r = status_file_read(top->args->runtime_dir, &status);

        if (r == -ENOMEM)
                return r;
        q.alive = r >= 0 && daemon_process_find(q.runtime_dir, &status) > 0;
        q.no_room = daemon_process_lacks_room(q.runtime_dir);
        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        if (top->selected >= status.n_instances)
                top->selected = status.n_instances > 0 ? status.n_instances - 1 : 0;
        const TopView view = { .question = &q,
                               .nodes = top->nodes,
                               .n_nodes = top->machine.topology.n_nodes,
                               .sort = top->sort,
                               .selected = top->selected,
                               .detail = top->detail,
                               .colors = output_colors(),
                               .columns = size.ws_col > 0 ? size.ws_col : 80,
                               .rows = size.ws_row > 0 ? size.ws_row : 24 };

        top_view_render(&view, &text);
        return text.error < 0 ? text.error : write_screen(&text);
}

/* --- keys and signals --- */

/* false: exit. Arrows are ESC [ A and ESC [ B; ESC alone returns from the view of one instance. */
static bool take_keys(Top *top, const char *keys, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char key = keys[i];
                const bool arrow = key == '\x1b' && i + 2 < n && keys[i + 1] == '[';

                if (key == 'q' || key == '\x03')
                        return false;
                if (key == 's')
                        top->sort = (top->sort + 1) % N_TOP_SORTS;
                else if (key == 'i' || key == '\r' || key == '\n')
                        top->detail = !top->detail;
                else if (key == 'j' || (arrow && keys[i + 2] == 'B'))
                        top->selected++;
                else if ((key == 'k' || (arrow && keys[i + 2] == 'A')) && top->selected > 0)
                        top->selected--;
                else if (key == '\x1b' && !arrow)
                        top->detail = false;
                i += arrow ? 2 : 0;
        }
        return true;
}

/* 1: draw again; 0: exit. */
static int take_signal(const Top *top) {
        struct signalfd_siginfo info;

        return read(top->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) &&
               info.ssi_signo == SIGWINCH;
}

static int take_input(Top *top) {
        char keys[64];
        ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

        return n > 0 && take_keys(top, keys, (size_t)n);
}

static int loop(Top *top) {
        struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                { .fd = top->signal_fd, .events = POLLIN } };
        uint64_t next = 0;
        int r;

        for (;;) {
                const uint64_t now = clock_monotonic_usec() / 1000;

                if (now >= next) {
                        next = now + REFRESH_MSEC;
                        r = read_nodes(top);
                        if (r < 0)
                                return r;
                }
                r = draw(top);
                if (r < 0)
                        return r;
                r = poll(fds, ELEMENTSOF(fds), (int)(next > now ? next - now : 0));
                if (r < 0 && errno != EINTR)
                        return -errno;
                if ((r > 0 && fds[1].revents && !take_signal(top)) ||
                    (r > 0 && fds[0].revents && !take_input(top)))
                        return 0;
        }
}

/* --- the terminal --- */

static int block_signals(Top *top) {
        sigset_t set;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < 4; i++)
                (void)sigaddset(&set, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGWINCH }[i]);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        top->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
        return top->signal_fd < 0 ? -errno : 0;
}

static void put_sequence(const char *sequence) {
        if (write(STDOUT_FILENO, sequence, strlen(sequence)) < 0)
                return; /* the terminal is gone, so nothing has to be restored */
}

static int run(Top *top) {
        struct termios raw;
        int r;

        if (tcgetattr(STDIN_FILENO, &top->terminal) < 0)
                return -errno;
        raw = top->terminal;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG);
        r = block_signals(top);
        if (r < 0)
                return r;
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
        put_sequence(ENTER);
        r = loop(top);
        put_sequence(LEAVE);
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &top->terminal);
        return r;
}

static int open_machine(Top *top) {
        int r = machine_open(top->args, &top->machine);
        const size_t n = top->machine.topology.n_nodes;

        if (r < 0)
                return r;
        top->before = calloc(n + 1, sizeof(*top->before));
        top->now = calloc(n + 1, sizeof(*top->now));
        top->nodes = calloc(n + 1, sizeof(*top->nodes));
        return top->before && top->now && top->nodes ? 0 : -ENOMEM;
}

int command_top(const Args *args) {
        _cleanup_(top_done)
                Top top = { .args = args, .machine = MACHINE_NONE, .signal_fd = -EBADF };
        int r;

        if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
                output_line(stderr, "tidbnumactl: this needs a terminal; run tidbnumactl status");
                return EXIT_FAILURE;
        }
        r = open_machine(&top);
        return r < 0 ? r : run(&top);
}
