#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/ctl/await.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/daemon-process.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/sys/clock.h"

#define POLL_NSEC (100L * 1000 * 1000)

/* A reload takes a moment; a release takes seconds for each unit with systemd on a slow host. */
#define LOAD_USEC (UINT64_C(30) * 1000 * 1000)
/* A full file system, on which the daemon cannot publish, is waited for only so long. */
#define ROOM_USEC (UINT64_C(3) * 1000 * 1000)
#define RELEASE_USEC (UINT64_C(180) * 1000 * 1000)

static bool names(const Await *a, const char *name, const char *unit) {
        return word_list_names(&a->globs, name, unit) &&
               !(a->args->undo && a->stays && word_list_names(a->stays, name, unit));
}

static bool are_released(const Await *a, const StatusFile *s, bool released) {
        for (size_t i = 0; i < s->n_releases; i++)
                if (s->releases[i].name && names(a, s->releases[i].name, s->releases[i].unit))
                        return false;
        for (size_t i = 0; i < s->n_instances; i++) {
                const StatusInstance *instance = &s->instances[i];

                if (names(a, instance->name, instance->unit) &&
                    (strcmp(instance->state, "released") == 0) != released)
                        return false;
        }
        for (size_t i = 0; released && i < s->n_devices; i++)
                if (s->devices[i].vectors[IRQ_STATE_STEERED] > 0 &&
                    names(a, s->devices[i].name, NULL))
                        return false;
        return true;
}

bool await_is_done(const Await *a, const StatusFile *s) {
        if (s->load_seconds == a->loaded_before)
                return false;
        switch (a->args->command) {
        case COMMAND_PAUSE:
                return !s->enforcing;
        case COMMAND_RESUME:
                return s->enforcing;
        case COMMAND_RELEASE:
                return are_released(a, s, !a->args->undo);
        default:
                return true;
        }
}

/* Some reasons begin with the state: "released by …". */
static void report_instance(const StatusInstance *i) {
        const bool repeats = strncmp(i->reason, i->state, strlen(i->state)) == 0;

        output_line(stdout, "%s: %s%s%s", i->name, repeats ? "" : i->state,
                    repeats || !*i->reason ? "" : ": ", i->reason);
}

static bool is_releasing(const StatusFile *s, const char *name) {
        for (size_t i = 0; i < s->n_releases; i++)
                if (s->releases[i].name && strcmp(s->releases[i].name, name) == 0)
                        return true;
        return false;
}

static void report_instances(const Await *a, const StatusFile *s) {
        for (size_t i = 0; i < s->n_instances; i++)
                if (names(a, s->instances[i].name, s->instances[i].unit))
                        report_instance(&s->instances[i]);
        for (size_t i = 0; i < s->n_devices; i++)
                if (s->devices[i].reason_code &&
                    strcmp(s->devices[i].reason_code, "released") == 0 &&
                    names(a, s->devices[i].name, NULL))
                        output_line(stdout, "%s: its interrupts are released", s->devices[i].name);
        if (names(a, RELEASE_HOST, NULL) && !is_releasing(s, RELEASE_HOST))
                output_line(stdout, RELEASE_HOST ": %s",
                            a->args->undo ? "no longer released"
                                          : "released; irqbalance and kernel.numa_balancing have "
                                            "their original settings");
        for (size_t i = 0; i < s->n_releases; i++)
                output_line(stdout, "%s: release in progress%s%s",
                            s->releases[i].name ? s->releases[i].name : "?",
                            s->releases[i].failure ? ": " : "",
                            s->releases[i].failure ? s->releases[i].failure : "");
}

static int report_done(const Await *a, const StatusFile *s) {
        if (a->quiet)
                return EXIT_SUCCESS;
        if (a->args->command == COMMAND_PAUSE)
                output_line(
                        stdout,
                        "Paused: nothing is changed until 'tidbnumactl resume' or the next boot. "
                        "Bindings are kept.");
        else if (a->args->command == COMMAND_RESUME)
                output_line(stdout, "Resumed.");
        else
                report_instances(a, s);
        return EXIT_SUCCESS;
}

/* The daemon has read the drop-in, and waiting is useless: one that changes nothing releases
 * nothing, and one that still enforces has rejected the pause. */
static bool is_in_vain(const Await *a, const StatusFile *s) {
        return s->load_seconds != a->loaded_before && a->args->command != COMMAND_RELEASE &&
               s->enforcing == (a->args->command == COMMAND_PAUSE);
}

static const char *why_late(const Await *a, const StatusFile *s) {
        const char *dir = a->args->runtime_dir;

        if (daemon_process_find(dir, s) == 0)
                return "the daemon has ended meanwhile: journalctl -u tidbnumad";
        if (s->load_seconds == a->loaded_before && daemon_process_lacks_room(dir))
                return "the daemon was told to, but cannot publish the result, because the file "
                       "system of its runtime folder is full: free space there, and see "
                       "journalctl -u tidbnumad";
        if (s->load_seconds == a->loaded_before)
                return "the daemon was told to, but has not published since: see journalctl -u "
                       "tidbnumad";
        if (a->args->command == COMMAND_PAUSE && is_in_vain(a, s))
                return "the daemon has read the policy files, and still enforces: journalctl -u "
                       "tidbnumad";
        if (a->args->command == COMMAND_RESUME)
                return "the daemon still changes nothing: it was started with --dry-run, or "
                       "enforcement.mode is observe in another policy file";
        return "not finished in time; the daemon continues: see tidbnumactl status";
}

static int report_late(const Await *a, const StatusFile *s) {
        if (s->load_failed) {
                output_line(stderr, "tidbnumactl: the daemon refused the policies:");
                for (size_t k = 0; k < s->n_errors; k++)
                        output_line(stderr, "  %s", s->errors[k]);
        }
        if (a->args->command == COMMAND_RELEASE)
                report_instances(a, s);
        output_line(stderr, "tidbnumactl: %s", why_late(a, s));
        return COMMAND_EXIT_REFUSED;
}

static bool is_over(const Await *a, const StatusFile *s, uint64_t begun_usec) {
        const uint64_t waited = clock_monotonic_usec() - begun_usec;
        const char *dir = a->args->runtime_dir;

        return waited > (a->args->command == COMMAND_RELEASE ? RELEASE_USEC : LOAD_USEC) ||
               (waited > ROOM_USEC && s->load_seconds == a->loaded_before &&
                daemon_process_lacks_room(dir)) ||
               is_in_vain(a, s) || daemon_process_find(dir, s) == 0;
}

int await_daemon(const Await *a) {
        const uint64_t begun_usec = clock_monotonic_usec();

        for (;;) {
                _cleanup_status_file_ StatusFile s = { 0 };
                const struct timespec pause = { .tv_nsec = POLL_NSEC };
                int r = status_file_read(a->args->runtime_dir, &s);

                if (r < 0 && r != -ENOENT) /* nothing was published yet */
                        return r;
                if (await_is_done(a, &s))
                        return report_done(a, &s);
                if (is_over(a, &s, begun_usec))
                        return report_late(a, &s);
                (void)nanosleep(&pause, NULL);
        }
}
