/* The fixed order in which the rooms follow an event. */
#include "tidbnumad/daemon/turn.h"
#include "tidbnumad/daemon/binding/bind.h"
#include "tidbnumad/daemon/binding/look.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/roster/follow.h"
#include "tidbnumad/sys/clock.h"

/* Changes within so long are published together. */
#define PUBLISH_DELAY_USEC (UINT64_C(100) * 1000)

/* What has started meanwhile is planned for together. */
#define PLAN_DELAY_USEC (UINT64_C(50) * 1000)

/* The loop may wake so much later than asked, to wake together with others. */
#define WORK_ACCURACY_USEC UINT64_C(1000)

static int arm(sd_event_source *timer, uint64_t usec) {
        int r = sd_event_source_set_time(timer, usec);

        return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* So much later, unless it is to come already. */
static void arm_once(sd_event_source *timer, uint64_t delay_usec) {
        int enabled = SD_EVENT_OFF;

        (void)sd_event_source_get_enabled(timer, &enabled);
        if (enabled == SD_EVENT_OFF)
                (void)arm(timer, clock_monotonic_usec() + delay_usec);
}

static void arm_work(Manager *m) {
        uint64_t due = INSTANCE_NEVER;

        for (size_t i = 0; i < m->roster.n_instances; i++)
                if (m->roster.instances[i]->binding.due_usec < due)
                        due = m->roster.instances[i]->binding.due_usec;
        if (due == INSTANCE_NEVER)
                (void)sd_event_source_set_enabled(m->binding.work_timer, SD_EVENT_OFF);
        else
                (void)arm(m->binding.work_timer, due);
}

/* A round begins: the net under the signals of units, and what is bound and nobody's any more. */
static void begin_round(Manager *m) {
        units_scan(m);
        release_stray(m);
}

/* The rooms part with what has ended. */
static void end_instances(Manager *m) {
        for (Instance *i; (i = roster_take_ended(&m->roster));) {
                access_end(&m->sampling, i);
                instance_free(i);
        }
}

void turn_run(Manager *m) {
        end_instances(m);
        if (host_take_mark(&m->host, HOST_MARK_ROUND))
                begin_round(m);
        if (host_take_mark(&m->host, HOST_MARK_TOPOLOGY))
                place_note_topology(m);
        look_at_fresh(m, clock_monotonic_usec());
        follow_members(m); /* this takes longer; the children that it finds are looked at as well */
        look_at_fresh(m, clock_monotonic_usec());
        if (host_take_mark(&m->host, HOST_MARK_OWNERS))
                irq_note_owners(m->irq);
        if (host_take_mark(&m->host, HOST_MARK_TIDY))
                bind_tidy(m);
        arm_work(m);
        if (m->host.marks & HOST_MARK_PLAN)
                arm_once(m->placing.timer, PLAN_DELAY_USEC);
        if (host_take_mark(&m->host, HOST_MARK_PUBLISH))
                arm_once(m->report.timer, PUBLISH_DELAY_USEC);
        if (host_take_mark(&m->host, HOST_MARK_EXIT)) {
                (void)publish_now(&m->report);
                (void)sd_event_exit(m->host.event, 0);
        }
}

static int on_event(sd_event_source *source, void *userdata) {
        (void)source;
        turn_run(userdata);
        return 0;
}

static int on_work(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        look_at_due(userdata, clock_monotonic_usec());
        return 0;
}

static int on_plan(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        place_refresh(userdata);
        place_decide_units(userdata);
        return 0;
}

static int on_publish(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        (void)source;
        (void)usec;
        (void)publish_now(&m->report);
        return 0;
}

static int add_timer(Manager *m, sd_event_source **timer, uint64_t accuracy_usec,
                     sd_event_time_handler_t handler) {
        int r = sd_event_add_time(m->host.event, timer, CLOCK_MONOTONIC, 0, accuracy_usec, handler,
                                  m);

        return r < 0 ? r : sd_event_source_set_enabled(*timer, SD_EVENT_OFF);
}

int turn_start(Manager *m) {
        int r;

        r = add_timer(m, &m->binding.work_timer, WORK_ACCURACY_USEC, on_work);
        if (r >= 0)
                r = add_timer(m, &m->placing.timer, 0, on_plan);
        if (r >= 0)
                r = add_timer(m, &m->report.timer, 0, on_publish);
        if (r >= 0)
                r = sd_event_add_post(m->host.event, &m->turn, on_event, m);
        /* Before the next event, however many of them wait. */
        return r < 0 ? r : sd_event_source_set_priority(m->turn, SD_EVENT_PRIORITY_IMPORTANT * 2);
}
