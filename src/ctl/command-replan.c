/* tidbnumactl replan: shows what a new plan would move, and requests the moves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/sys/clock.h"

static int check_names(const Args *args, const Situation *s) {
        for (size_t k = 0; k < args->n_names; k++) {
                const WordList glob = { .words = (char **)&args->names[k], .n_words = 1 };
                bool found = s->report.n_instances == 0;

                for (size_t i = 0; i < s->report.n_instances && !found; i++)
                        found = word_list_names(&glob, s->report.instances[i].in->name,
                                                s->report.instances[i].in->unit);
                if (!found) {
                        output_line(stderr,
                                    "tidbnumactl: no instance or unit is named '%s'; tidbnumactl "
                                    "status lists all",
                                    args->names[k]);
                        return -ENOENT;
                }
        }
        return 0;
}

/* What is not bound now is not moved by a new plan, but bound by it. */
static size_t keep_bound(PlanChange *changes, size_t n) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++)
                if (!id_set_is_empty(&changes[i].from))
                        changes[kept++] = changes[i];
        return kept;
}

static int show(const PlanChange *changes, size_t n) {
        _cleanup_text_ Text text = { 0 };

        if (n == 0)
                text_append(&text, "Nothing would move: each bound instance is where a new plan "
                                   "puts it.\n");
        else {
                text_append(&text, "A new plan would move:\n\n");
                plan_table_changes(changes, n, output_width(), &text);
        }
        return output_text(&text);
}

/* 1: yes; 0: no; -EINVAL: there is no terminal. */
static int ask(void) {
        char answer[16] = "";

        if (!isatty(STDIN_FILENO)) {
                output_line(stderr,
                            "tidbnumactl: standard input is no terminal; give --yes to replan "
                            "without a question");
                return -EINVAL;
        }
        (void)fputs("\nReplan now? [y/N] ", stdout);
        (void)fflush(stdout);
        if (!fgets(answer, sizeof(answer), stdin))
                return 0;
        return answer[0] == 'y' || answer[0] == 'Y';
}

static int replan(const Args *args, const Situation *s) {
        _cleanup_free_ PlanChange *changes = NULL;
        size_t n = 0;
        int r = check_names(args, s);

        if (r >= 0)
                r = situation_compare(NULL, s, &changes, &n);
        if (r >= 0) {
                n = keep_bound(changes, n);
                r = show(changes, n);
        }
        if (r < 0 || n == 0 || args->dry_run)
                return r;
        r = args->yes ? 1 : ask();
        if (r == 0)
                output_line(stdout, "Nothing was changed.");
        return r <= 0 ? r : control_replan(args);
}

int command_replan(const Args *args) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args,
                                            .machine = &machine,
                                            .replan = { .words = (char **)args->names,
                                                        .n_words = args->n_names } };
        int r = situation_open_machine(args, &machine);

        if (r >= 0 && !machine.daemon_runs) {
                output_line(stderr,
                            "tidbnumactl: no daemon runs, so there is nothing to replan; at its "
                            "start it keeps the places of bound instances");
                return COMMAND_EXIT_NO_DAEMON;
        }
        if (r >= 0 && !args->dry_run &&
            !status_file_is_fresh(&machine.status, clock_realtime_seconds())) {
                output_line(stderr,
                            "tidbnumactl: the daemon has published nothing for %.0f s%s, so that "
                            "what would move is not known; nothing was changed. See journalctl -u "
                            "tidbnumad",
                            clock_realtime_seconds() - machine.status.time_seconds,
                            daemon_process_lacks_room(args->runtime_dir)
                                    ? ", because the file system of its runtime folder is full"
                                    : "");
                return COMMAND_EXIT_NO_DAEMON;
        }
        if (r >= 0)
                r = situation_load(&s);
        return r < 0 ? r : replan(args, &s);
}
