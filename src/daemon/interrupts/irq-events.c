#include <string.h>
#include <sys/epoll.h>

#include "tidbnumad/daemon/interrupts/irq-events.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/devices.h"

/* The slow timer may fire together with other timers; a reconcile after an event may not be
 * delayed. */
#define SLOW_ACCURACY_USEC (UINT64_C(250) * 1000)
#define EVENT_ACCURACY_USEC (UINT64_C(1) * 1000)

void irq_events_schedule(Interrupts *irq) {
        const uint64_t soon = irq_series_due(&irq->series);

        if (!irq->timer)
                return;
        (void)sd_event_source_set_time_accuracy(
                irq->timer, soon < irq->due_usec ? EVENT_ACCURACY_USEC : SLOW_ACCURACY_USEC);
        (void)event_source_arm(irq->timer, soon < irq->due_usec ? soon : irq->due_usec);
}

void irq_events_reconcile_within(Interrupts *irq, uint64_t usec) {
        const uint64_t due = clock_monotonic_usec() + usec;

        if (due < irq->due_usec)
                irq->due_usec = due;
        irq_events_schedule(irq);
}

static int on_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Interrupts *irq = userdata;

        irq->reconcile(irq);
        return 0;
}

static void on_event(void *userdata) {
        Interrupts *irq = userdata;

        irq_series_event(&irq->series, clock_monotonic_usec());
        irq_events_schedule(irq);
}

static int on_link(_unused_ sd_event_source *source, int fd, _unused_ uint32_t revents,
                   void *userdata) {
        if (link_events_drain(fd))
                on_event(userdata);
        return 0;
}

static int listen_to_events(Interrupts *irq) {
        static const char *const subsystems[] = { "net", "nvme", "pci", "queues", NULL };
        int r = uevents_open(&irq->uevents, irq->host->event, subsystems, on_event, irq);

        if (r < 0)
                journal_log(&irq->host->journal, LOG_INFO, NULL,
                            "No events from udev: %s. New or changed devices are noticed within "
                            "seconds",
                            strerror(-r));
        if (link_events_open(&irq->link_fd) < 0)
                return 0;
        return sd_event_add_io(irq->host->event, &irq->link_source, irq->link_fd, EPOLLIN, on_link,
                               irq);
}

int irq_events_start(Interrupts *irq, void (*reconcile)(Interrupts *irq)) {
        int r = sd_event_add_time(irq->host->event, &irq->timer, CLOCK_MONOTONIC, 0, 0, on_timer,
                                  irq);

        irq->reconcile = reconcile;
        return r < 0 ? r : listen_to_events(irq);
}

void irq_events_done(Interrupts *irq) {
        uevents_close(&irq->uevents);
        irq->timer = event_source_drop(irq->timer);
        irq->link_source = event_source_drop(irq->link_source);
        closep(&irq->link_fd);
        irq->link_fd = -EBADF;
}
