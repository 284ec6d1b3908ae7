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
static int scan_one(Manager *m, pid_t pid) {
        size_t unused;

        if (!identify_may_match(m, pid) && !roster_find_pid(m, pid, &unused))
                return 0;
        return identify_consider(m, pid);
}

static int scan_slice(Manager *m, size_t n) {
        for (; n > 0 && m->roster.scan_next < m->roster.scan.n_pids; n--) {
                int r = scan_one(m, m->roster.scan.pids[m->roster.scan_next++]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int begin_round(Manager *m) {
        m->roster.scan_next = 0;
        m->roster.scan_events.received++;
        strangers_prune(&m->roster.strangers);
        strangers_begin_round(&m->roster.strangers);
        return pid_list_read(&m->host.sysroot, &m->roster.scan);
}

int scan_all(Manager *m) {
        int r = begin_round(m);

        return r < 0 ? r : scan_slice(m, m->roster.scan.n_pids);
}

/* Until the next slice, so that a round takes the whole interval. */
static uint64_t pause_usec(const Manager *m) {
        const size_t slices = (m->roster.scan.n_pids + SLICE_PROCESSES - 1) / SLICE_PROCESSES;

        return MANAGER_SCAN_INTERVAL_USEC / (slices > 0 ? slices : 1);
}

static int on_scan(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;
        int r = 0;

        (void)usec;
        if (m->roster.scan_next >= m->roster.scan.n_pids) {
                r = begin_round(m);
                host_mark(&m->host, HOST_MARK_ROUND);
        }
        if (r >= 0)
                r = scan_slice(m, m->roster.connector_fd >= 0 ? SLICE_PROCESSES
                                                              : m->roster.scan.n_pids);
        if (r < 0)
                m->roster.scan_next = m->roster.scan.n_pids; /* the next round begins anew */
        (void)sd_event_source_set_time_relative(
                source, m->roster.connector_fd >= 0 ? pause_usec(m) : MANAGER_POLL_INTERVAL_USEC);
        (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

int scan_start(Manager *m) {
        int r = scan_all(m);

        if (r < 0)
                return r;
        m->roster.follow_stale = true; /* also where there is nobody: then of nobody */
        follow_members(m);
        return sd_event_add_time_relative(m->host.event, &m->roster.scan_timer, CLOCK_MONOTONIC,
                                          m->roster.connector_fd >= 0 ? pause_usec(m)
                                                                      : MANAGER_POLL_INTERVAL_USEC,
                                          0, on_scan, m);
}
