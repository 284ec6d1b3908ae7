/* tidbnumactl reload, pause, resume, release, replan, and the session of trial: calls on the
 * daemon's control socket. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/control-session.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/control.h"

/* The daemon answers within three minutes, done or not; this is for one that does not run. */
#define ANSWER_USEC (UINT64_C(240) * 1000 * 1000)

typedef struct Control {
        WordList *lines; /* that the answer is added to; NULL: it is printed */
        WordList *said;  /* lines of progress */
        bool answered;
        int status; /* exit status, once it is answered; or a negative errno */
} Control;

/* --- the connection --- */

static int report_no_daemon(const Args *args, Error *error) {
        _cleanup_status_ Snapshot status = { 0 };
        const bool published = status_file_read(args->runtime_dir, &status) >= 0;
        const pid_t pid = daemon_process_find(args->runtime_dir, published ? &status : NULL);

        /* It has the lock before it listens, and listens before it publishes. */
        if (pid > 0 && (!published || status.self.pid != pid))
                return error_set(error, COMMAND_EXIT_NO_DAEMON,
                                 "the daemon (process %d) is starting, and does not listen on "
                                 "%s/%s yet; try again soon, or see journalctl -u tidbnumad",
                                 pid, args->runtime_dir, CONTROL_SOCKET);
        if (pid > 0)
                return error_set(error, COMMAND_EXIT_NO_DAEMON,
                                 "the daemon runs (process %d), but does not listen on %s/%s%s; it "
                                 "tries again soon: see journalctl -u tidbnumad",
                                 pid, args->runtime_dir, CONTROL_SOCKET,
                                 daemon_process_lacks_room(args->runtime_dir)
                                         ? ", because the file system is full"
                                         : ": something has removed it");
        return error_set(error, COMMAND_EXIT_NO_DAEMON,
                         "no daemon runs (nothing listens on %s/%s); start it: systemctl start "
                         "tidbnumad",
                         args->runtime_dir, CONTROL_SOCKET);
}

int control_session_open(const Args *args, sd_bus **ret, Error *error) {
        int r = control_connect(args->runtime_dir, ret);

        if (r == -ENOENT || r == -ECONNREFUSED)
                return report_no_daemon(args, error);
        return r < 0 ? error_set(error, r, "cannot connect to %s/%s: %s%s", args->runtime_dir,
                                 CONTROL_SOCKET, strerror(-r),
                                 r == -EACCES || r == -EPERM ? "; run it as root" : "")
                     : r;
}

/* --- the answer --- */

static int on_reply(sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *unused) {
        const sd_bus_error *error = sd_bus_message_get_error(reply);
        _cleanup_text_ Text text = { 0 };
        Control *c = userdata;
        const char *line;
        int r;

        c->answered = true;
        if (error && (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY) ||
                      sd_bus_error_has_name(error, SD_BUS_ERROR_DISCONNECTED) ||
                      sd_bus_error_get_errno(error) == ECONNRESET)) {
                output_line(stderr, "tidbnumactl: the daemon has ended meanwhile, or does not "
                                    "answer: journalctl -u tidbnumad");
                c->status = COMMAND_EXIT_REFUSED;
                return 1;
        }
        if (error) {
                text_appendf(&text, "tidbnumactl: %s\n",
                             error->message ? error->message : error->name);
                output_lines(stderr, &text); /* it may have several lines */
                c->status = sd_bus_error_has_name(error, CONTROL_ERROR_LATE) ? COMMAND_EXIT_REFUSED
                                                                             : EXIT_FAILURE;
                return 1;
        }
        r = sd_bus_message_enter_container(reply, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read_basic(reply, 's', &line)) > 0)
                if (c->lines)
                        r = word_list_add(c->lines, line);
                else
                        output_line(strncmp(line, "note: ", 6) == 0 ||
                                                    strncmp(line, "warning: ", 9) == 0
                                            ? stderr
                                            : stdout,
                                    "%s", line);
        c->status = r < 0 ? r : EXIT_SUCCESS;
        return 1;
}

/* Whoever waits at a terminal sees what for: a line for each, once, though it comes again with
 * every change of another. */
static int on_message(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        Control *c = userdata;
        _cleanup_free_ char *copy = NULL;
        const char *text;
        char *at;

        if (sd_bus_message_is_signal(message, CONTROL_INTERFACE, "Progress") <= 0 ||
            !isatty(STDERR_FILENO) || sd_bus_message_read_basic(message, 's', &text) <= 0 ||
            !(copy = at = strdup(text)))
                return 0;
        for (const char *line; (line = strsep(&at, "\n"));)
                if (!word_list_has(c->said, line) && word_list_add(c->said, line) >= 0)
                        output_line(stderr, "%s …", line);
        return 0;
}

/* --- the call --- */

int control_session_call(const Args *args, sd_bus *bus, const char *method, WordList *ret,
                         Error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *filter = NULL;
        _cleanup_(word_list_done) WordList said = { 0 };
        Control c = { .lines = ret, .said = &said };
        int r = sd_bus_add_filter(bus, &filter, on_message, &c);

        if (r >= 0)
                r = sd_bus_message_new_method_call(bus, &message, NULL, CONTROL_PATH,
                                                   CONTROL_INTERFACE, method);
        if (r >= 0 && (args->command == COMMAND_RELEASE || args->command == COMMAND_REPLAN))
                r = sd_bus_message_append_strv(message, args->names.words);
        if (r >= 0 && args->command == COMMAND_RELEASE)
                r = sd_bus_message_append(message, "b", !args->no_wait);
        if (r >= 0)
                r = sd_bus_call_async(bus, NULL, message, on_reply, &c, ANSWER_USEC);
        if (r < 0)
                return error_prefix(error, r, "cannot call %s on %s/%s: ", method,
                                    args->runtime_dir, CONTROL_SOCKET);
        while (!c.answered) {
                r = sd_bus_process(bus, NULL);
                if (r == 0 && !c.answered)
                        r = sd_bus_wait(bus, UINT64_MAX);
                if (r < 0 && !c.answered && r != -EINTR)
                        return error_set(error, COMMAND_EXIT_REFUSED,
                                         "the daemon has ended meanwhile: journalctl -u tidbnumad");
        }
        return c.status;
}

int control_session_process(sd_bus *bus) {
        int r;

        while ((r = sd_bus_process(bus, NULL)) > 0)
                ;
        return r < 0 ? r : sd_bus_is_open(bus) > 0 ? 0 : -ECONNRESET;
}

static int call(const Args *args, const char *method, Error *error) {
        _cleanup_(control_closep) sd_bus *bus = NULL;
        int r = control_session_open(args, &bus, error);

        return r != 0 ? r : control_session_call(args, bus, method, NULL, error);
}

/* --- the commands --- */

int command_reload(const Args *args, Error *error) {
        return call(args, "Reload", error);
}

int command_pause(const Args *args, Error *error) {
        if (!args->dry_run)
                return call(args, "Pause", error);
        output_line(stdout, "Would pause: nothing is changed then until 'tidbnumactl resume' or "
                            "the next boot.");
        return EXIT_SUCCESS;
}

int command_resume(const Args *args, Error *error) {
        if (!args->dry_run)
                return call(args, "Resume", error);
        output_line(stdout, "Would resume what 'tidbnumactl pause' has stopped.");
        return EXIT_SUCCESS;
}

int command_release(const Args *args, Error *error) {
        _cleanup_status_ Snapshot status = { 0 };
        size_t n = 0;

        if (!args->dry_run)
                return call(args, args->undo ? "Bind" : "Release", error);
        if (status_file_read(args->runtime_dir, &status) < 0 ||
            daemon_process_find(args->runtime_dir, &status) <= 0)
                return report_no_daemon(args, error);
        for (size_t k = 0; k < args->names.n_words; k++) {
                const WordList glob = { .words = &args->names.words[k], .n_words = 1 };
                bool known = word_list_names(&glob, RELEASE_HOST, NULL);

                for (size_t i = 0; i < status.n_instances && !known; i++)
                        known = word_list_names(&glob, status.instances[i].name,
                                                status.instances[i].unit);
                for (size_t i = 0; i < status.n_units && !known; i++)
                        known = status_unit_is_named(&status.units[i], &glob);
                for (size_t i = 0; i < status.irq.n_devices && !known; i++)
                        known = word_list_names(&glob, status.irq.devices[i].name, NULL);
                if (!known)
                        return error_set(error, EXIT_FAILURE,
                                         "no instance, unit or device is named '%s'; tidbnumactl "
                                         "status lists all",
                                         glob.words[0]);
        }
        for (size_t i = 0; i < status.n_instances; i++) {
                const InstanceInfo *instance = &status.instances[i];

                if (!word_list_names(&args->names, instance->name, instance->unit) ||
                    (instance->state == INSTANCE_RELEASED) != args->undo)
                        continue;
                output_line(stdout, args->undo ? "Would bind %s again." : "Would release %s.",
                            instance->name);
                n++;
        }
        for (size_t i = 0; i < status.irq.n_devices; i++) {
                const IrqDeviceInfo *device = &status.irq.devices[i];

                if (!word_list_names(&args->names, device->name, NULL) ||
                    text_equal(device->reason_id, irq_reason_to_id(IRQ_REASON_RELEASED)) !=
                            args->undo)
                        continue;
                output_line(stdout,
                            args->undo ? "Would steer the interrupts of %s again."
                                       : "Would release the interrupts of %s.",
                            device->name);
                n++;
        }
        if (word_list_names(&args->names, RELEASE_HOST, NULL)) {
                output_line(stdout, args->undo
                                            ? "Would set what the host's settings are to be again."
                                            : "Would release the host's settings.");
                n++;
        }
        if (n == 0)
                output_line(stdout, "Would change no instance.");
        return EXIT_SUCCESS;
}

/* --- replan: shows what a new plan would move, and requests the moves --- */

/* 1: yes; 0: no; -EINVAL: there is no terminal. */
static int confirm_replan(Error *error) {
        char answer[16] = "";

        if (!isatty(STDIN_FILENO))
                return error_set(error, -EINVAL,
                                 "standard input is no terminal; give --yes to replan without a "
                                 "question");
        (void)fputs("\nReplan now? [y/N] ", stdout);
        (void)fflush(stdout);
        if (!fgets(answer, sizeof(answer), stdin))
                return 0;
        return answer[0] == 'y' || answer[0] == 'Y';
}

int command_replan(const Args *args, Error *error) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args,
                                            .machine = &machine,
                                            .replan = args->names };
        _cleanup_free_ PlanChange *changes = NULL;
        _cleanup_text_ Text text = { 0 };
        size_t n_all = 0, n = 0;
        int r = machine_open(args, &machine, error);

        if (r >= 0 && !machine.daemon_runs)
                return error_set(error, COMMAND_EXIT_NO_DAEMON,
                                 "no daemon runs, so there is nothing to replan; at its start it "
                                 "keeps the places of bound instances");
        if (r >= 0 && !args->dry_run &&
            !status_file_is_fresh(&machine.status, clock_realtime_seconds()))
                return error_set(error, COMMAND_EXIT_NO_DAEMON,
                                 "the daemon has published nothing for %.0f s%s, so that what "
                                 "would move is not known; nothing was changed. See journalctl -u "
                                 "tidbnumad",
                                 clock_realtime_seconds() - machine.status.time_seconds,
                                 daemon_process_lacks_room(args->runtime_dir)
                                         ? ", because the file system of its runtime folder is full"
                                         : "");
        if (r >= 0)
                r = situation_load(&s, error);
        if (r < 0)
                return r;
        for (size_t k = 0; k < args->names.n_words; k++) {
                const WordList glob = { .words = &args->names.words[k], .n_words = 1 };
                bool found = strcmp(glob.words[0], "*") == 0; /* all, also of none */

                for (size_t i = 0; i < s.report.n_instances && !found; i++)
                        found = word_list_names(&glob, s.report.instances[i].in->name,
                                                s.report.instances[i].in->unit);
                if (!found)
                        return error_set(error, -ENOENT,
                                         "no instance or unit is named '%s'; tidbnumactl status "
                                         "lists all",
                                         glob.words[0]);
        }
        changes = situation_compare(NULL, &s, &n_all);
        /* What is not bound now is not moved by a new plan, but bound by it. */
        for (size_t i = 0; i < n_all; i++)
                if (!id_set_is_empty(&changes[i].from))
                        changes[n++] = changes[i];
        if (n == 0)
                text_append(&text, "Nothing would move: each bound instance is where a new plan "
                                   "puts it.\n");
        else {
                text_append(&text, "A new plan would move:\n\n");
                plan_table_changes(changes, n, output_width(), &text);
        }
        r = output_text(&text);
        if (r < 0 || n == 0 || args->dry_run)
                return r;
        r = args->yes ? 1 : confirm_replan(error);
        if (r == 0)
                output_line(stdout, "Nothing was changed.");
        return r <= 0 ? r : call(args, "Replan", error);
}
