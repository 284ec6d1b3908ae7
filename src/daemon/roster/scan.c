/* The net below the events. With the connector a round of it is spread over its whole interval, so
 * that no single moment is dear; without, it is how new processes are found at all. */
#include "tidbnumad/daemon/roster/scan.h"
#include "tidbnumad/daemon/roster/follow.h"
#include "tidbnumad/daemon/roster/identify.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/sys/clock.h"

/* Some 0.3 ms of work at a time. */
enum { SLICE_PROCESSES = 64 };

/* Of what is ours already every process is looked at, whatever it runs by now. */
static int scan_one(Roster *roster, pid_t pid) {
        size_t unused;

        if (!identify_may_match(roster, pid) && !roster_find_pid(roster, pid, &unused))
                return 0;
        return identify_consider(roster, pid);
}

static int scan_slice(Roster *roster, size_t n) {
        for (; n > 0 && roster->scan_next < roster->scan.n_pids; n--) {
                int r = scan_one(roster, roster->scan.pids[roster->scan_next++]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int begin_round(Roster *roster) {
        roster->scan_next = 0;
        roster->scan_events.received++;
        strangers_prune(&roster->strangers);
        strangers_begin_round(&roster->strangers);
        return pid_list_read(&roster->host->sysroot, &roster->scan);
}

int scan_all(Roster *roster) {
        int r = begin_round(roster);

        return r < 0 ? r : scan_slice(roster, roster->scan.n_pids);
}

/* Until the next slice, so that a round takes the whole interval. */
static uint64_t pause_usec(const Roster *roster) {
        const size_t slices = (roster->scan.n_pids + SLICE_PROCESSES - 1) / SLICE_PROCESSES;

        return ROSTER_SCAN_INTERVAL_USEC / (slices > 0 ? slices : 1);
}

static int on_scan(sd_event_source *source, uint64_t usec, void *userdata) {
        Roster *roster = userdata;
        int r = 0;

        (void)usec;
        if (roster->scan_next >= roster->scan.n_pids) {
                r = begin_round(roster);
                host_mark(roster->host, HOST_MARK_ROUND);
        }
        if (r >= 0)
                r = scan_slice(roster,
                               roster->connector_fd >= 0 ? SLICE_PROCESSES : roster->scan.n_pids);
        if (r < 0)
                roster->scan_next = roster->scan.n_pids; /* the next round begins anew */
        (void)sd_event_source_set_time_relative(
                source, roster->connector_fd >= 0 ? pause_usec(roster) : ROSTER_POLL_INTERVAL_USEC);
        (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

int scan_start(Roster *roster) {
        int r = scan_all(roster);

        if (r < 0)
                return r;
        roster->follow_stale = true; /* also where there is nobody: then of nobody */
        follow_members(roster);
        return sd_event_add_time_relative(roster->host->event, &roster->scan_timer, CLOCK_MONOTONIC,
                                          roster->connector_fd >= 0 ? pause_usec(roster)
                                                                    : ROSTER_POLL_INTERVAL_USEC,
                                          0, on_scan, roster);
}
