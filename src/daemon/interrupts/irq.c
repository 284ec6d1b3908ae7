/* Reconciles interrupts: decides when, reads and plans. irq-apply.c writes. */
#include <string.h>
#include <sys/epoll.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/irq.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/irq-load.h"

/* --- when --- */

static int on_irq_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Interrupts *irq = userdata;

        irq_reconcile(irq);
        return 0;
}

static void on_device_event(void *userdata) {
        Interrupts *irq = userdata;

        irq_series_event(&irq->series, clock_monotonic_usec());
        irq_events_schedule(irq);
}

static int on_link(_unused_ sd_event_source *source, int fd, _unused_ uint32_t revents,
                   void *userdata) {
        if (link_events_drain(fd))
                on_device_event(userdata);
        return 0;
}

/* Maximum time that a foreign change of a desired mask stays. Without desired masks, reconciles
 * only update counters: for them /proc/interrupts is read, a line for each interrupt with a column
 * for each CPU. */
#define INTERVAL_USEC (UINT64_C(3) * 1000 * 1000)
#define IDLE_INTERVAL_USEC (UINT64_C(30) * 1000 * 1000)

/* Drivers (virtio_net) set all masks again as a CPU goes or comes, and so does the kernel those
 * without a CPU. Longer than an interval: what it set may be found before the CPU is. */
#define CPUS_USEC (UINT64_C(5) * 1000 * 1000)

/* A cluster starts within some seconds, and irqbalance redistributes everything with each new
 * setting. */
#define OWNERS_DELAY_USEC (UINT64_C(1000) * 1000)

/* An irqbalance without a socket is found by a scan of all processes: often while the host boots,
 * rarely after some time without an irqbalance. */
#define FIND_IRQBALANCE_USEC (UINT64_C(60) * 1000 * 1000)
#define FIND_IRQBALANCE_MAX_USEC (UINT64_C(600) * 1000 * 1000)
enum { FIND_IRQBALANCE_SOON = 5 };

void irq_note_owners(Interrupts *irq) {
        uint64_t sum = 0; /* the order of instances does not matter */

        if (!irq)
                return;
        REGISTRY_FOREACH(i, irq->registry) {
                const Placement *to = &i->planned.placement;

                if (i->planned.known && !id_set_is_empty(&to->nodes))
                        sum += hash_bytes(HASH_BEGIN ^ i->policy->place.share, &to->cpus,
                                          sizeof(to->cpus));
        }
        if (sum != irq->owners_sum)
                irq_events_reconcile_within(irq, OWNERS_DELAY_USEC);
        irq->owners_sum = sum;
}

/* --- present state --- */

static int load_present(Interrupts *irq, IrqHost *ret) {
        const PolicySet *policies = &irq->host->policies;
        const uint64_t now = clock_monotonic_usec();
        IrqBalance *b = &irq->balance;
        const pid_t before = b->socketless_pid;
        /* A search for irqbalance reads the name of each process of the host. Where no policy
         * steers interrupts, only the report has it. */
        const bool often =
                policies->n_irqs > 0 && (before != 0 || b->n_searches < FIND_IRQBALANCE_SOON);
        const uint64_t pause_usec = often ? FIND_IRQBALANCE_USEC : FIND_IRQBALANCE_MAX_USEC;
        int r = irq_host_load_devices(&irq->host->sysroot, policies->irqs, policies->n_irqs, ret);

        if (r < 0 && !irq->load_failed)
                journal_log(&irq->host->journal, LOG_WARNING, NULL,
                            "Interrupts cannot be read: %s. They are left as they are",
                            strerror(-r));
        irq->load_failed = r < 0;
        if (r < 0)
                return r;
        for (size_t i = 0; i < ret->n_devices; i++)
                for (size_t k = 0; k < ret->devices[i].n_vectors; k++) {
                        IrqVector *v = &ret->devices[i].vectors[k];
                        const SettingKey key = { SETTING_VECTOR, irq_device_key(&ret->devices[i]),
                                                 v->irq };
                        const IrqSetting *s = irq_setting_find(irq, &key);

                        /* A write that the kernel has rejected proves more than the file. */
                        if (s && s->progress.refused)
                                v->managed = IRQ_MANAGED_YES;
                }
        irq_balance_read(irq, &ret->irqbalance);
        if (ret->irqbalance.pid != 0) {
                b->socketless_pid = 0;
                b->searched_usec = 0;
                b->n_searches = 0;
                return 0;
        }
        if (b->searched_usec == 0 || now >= b->searched_usec + pause_usec) {
                b->searched_usec = now;
                b->n_searches++;
                b->socketless_pid = irq_host_find_irqbalance(&irq->host->sysroot);
                if (b->socketless_pid != 0 && b->socketless_pid == before)
                        irq_balance_log_socketless(irq); /* it is not only starting up */
        }
        ret->irqbalance.pid = b->socketless_pid;
        return 0;
}

/* Has host.reserve no card yet, as in a boot before DHCP has set the default route? Once one is
 * known only a reload takes another: a route that comes and goes must not move servers. */
static bool is_without_card(const Host *h, const DeviceList *devices) {
        const Reserve *reserve = &h->policies.host.reserve;
        const NodeSet nodes =
                placement_input_of(&h->topology, &h->policies.host, devices).nic_nodes;

        return (reserve->kind == RESERVE_NIC || reserve->cpus > 0) && id_set_is_empty(&nodes);
}

/* Of the files of cards some wait for a lock that drivers hold for long, in a boot above all: they
 * are read once there is such a card, and not for ever, as that of a virtual machine has no node.
 */
enum { CARD_LOOKS_MAX = 20 };

static bool card_is_there(const Host *h) {
        const WordList *names = &h->policies.host.reserve.devices;
        char route[INTERFACE_NAME_SIZE];

        for (size_t i = 0; i < names->n_words; i++)
                if (path_exists(h->sysroot.sys_fd, "class/net/%s", names->words[i]))
                        return true;
        return names->n_words == 0 && default_route_read(&h->sysroot, route) >= 0;
}

static void look_for_card(Interrupts *irq) {
        _cleanup_device_list_ DeviceList now = { 0 };
        Host *h = irq->host;

        if (!is_without_card(h, &h->devices) || !card_is_there(h))
                irq->n_card_looks = 0;
        else if (irq->n_card_looks < CARD_LOOKS_MAX) {
                irq->n_card_looks++;
                if (devices_load(&h->sysroot, &now) >= 0 && !is_without_card(h, &now))
                        host_queue(h, HOST_WORK_CARDS);
        }
}

/* --- desired state --- */

static int build_plan(Interrupts *irq, const IrqHost *host, IrqPlan *ret) {
        _cleanup_free_ IrqOwner *owners = calloc(irq->registry->n_instances + 1, sizeof(*owners));
        IrqPlanInput input = { .topology = &irq->host->topology,
                               .host = host,
                               .policies = irq->host->policies.irqs,
                               .n_policies = irq->host->policies.n_irqs,
                               .reserved = irq->placing->reserved,
                               .reserved_cpus = irq->placing->reserved_cpus,
                               .owners = owners };
        IrqPlanBalance *bans = &ret->irqbalance;
        int r;

        if (!owners)
                return -ENOMEM;
        REGISTRY_FOREACH(i, irq->registry) {
                const Placement *p = &i->planned.placement;

                if (i->planned.known && !id_set_is_empty(&p->nodes))
                        owners[input.n_owners++] =
                                (IrqOwner){ .name = i->name,
                                            .cpus = p->cpus,
                                            .shared = i->policy->place.share == SHARE_SHARED };
        }
        r = irq_plan_build(&input, ret);
        if (r < 0)
                return r;
        irq_report_delivered(irq, host, owners, input.n_owners);
        /* A release names devices as it names instances; "host" is what belongs to no instance. */
        for (size_t i = 0; i < ret->n_devices; i++) {
                IrqPlanDevice *d = &ret->devices[i];
                size_t n = 0;

                if (!requests_release(&irq->host->requests, d->device->name, NULL) ||
                    (!irq_reason_steers(d->reason) && d->reason != IRQ_REASON_IRQBALANCE))
                        continue;
                d->reason = IRQ_REASON_RELEASED;
                for (size_t k = 0; k < bans->n_banned_irqs; k++)
                        if (!irq_device_vector(d->device, bans->banned_irqs[k]))
                                bans->banned_irqs[n++] = bans->banned_irqs[k];
                bans->n_banned_irqs = n;
                for (size_t k = 0; d->vectors && k < d->device->n_vectors; k++)
                        if (d->vectors[k].decision == IRQ_STEERED)
                                d->vectors[k].decision = IRQ_LEFT;
                free(d->xps);
                free(d->rps);
                d->xps = d->rps = NULL;
        }
        if (requests_release(&irq->host->requests, RELEASE_HOST, NULL))
                bans->sent = false;
        return 0;
}

/* 2, memory tiering, counts as on. */
static int add_numa_balancing(Interrupts *irq, IrqDesiredList *desired) {
        static const SettingKey key = { .kind = SETTING_NUMA_BALANCING, .device = "" };
        const NumaBalancing wanted = irq->host->policies.host.numa_balancing;
        IrqDesired setting = { .key = key,
                               .value.number = wanted == NUMA_BALANCING_ON,
                               .known = true };
        char text[SETTING_TEXT_MAX];

        if (wanted == NUMA_BALANCING_LEAVE ||
            requests_release(&irq->host->requests, RELEASE_HOST, NULL) ||
            irq->ops->read(&irq->host->sysroot, &key, text) < 0 ||
            setting_parse(key.kind, text, &setting.present) < 0)
                return 0; /* a kernel without NUMA balancing */
        if (wanted == NUMA_BALANCING_ON && setting.present.number != 0)
                setting.value.number = setting.present.number;
        if (ARRAY_RESERVE(desired->settings, desired->allocated, desired->n_settings + 1) < 0)
                return -ENOMEM;
        desired->settings[desired->n_settings++] = setting;
        return 0;
}

/* --- reconcile --- */

static bool may_change(const Interrupts *irq) {
        return host_enforces(irq->host) && irq->undo->records.dir_fd >= 0;
}

/* --- before the daemon ends --- */

/* What the unit that sets the sysctl, and irqbalance, get for their part. The loop runs meanwhile.
 */
#define STOP_TIMEOUT_USEC (UINT64_C(2) * 1000 * 1000)
#define STOP_PAUSE_USEC (UINT64_C(100) * 1000)

static void stop_continue(Interrupts *irq) {
        static const SettingKey by_unit = { .kind = SETTING_NUMA_BALANCING, .device = "" };
        const IrqDesiredList none = { 0 };
        const uint64_t now = clock_monotonic_usec();
        _cleanup_irq_host_ IrqHost host = { 0 };
        bool waits = false; /* a unit or irqbalance has not done its part yet */

        if (irq->stop_restores) {
                /* Devices that cannot be read are not gone: their records stay. */
                if (irq_record(irq)->n_settings > 0 &&
                    irq_host_load_devices(&irq->host->sysroot, irq->host->policies.irqs,
                                          irq->host->policies.n_irqs, &host) >= 0) {
                        irq_give_back(irq, &host, &none, false);
                        waits = undo_record_find_setting(irq_record(irq), &by_unit) != NULL;
                }
                waits |= irq_balance_restore(irq);
        }
        /* irqbalance does not ignore SIGPIPE unless systemd started it, and would be killed by
         * writing to a closed socket: it gets the time to answer. */
        waits |= irq->balance.fd >= 0;
        if (waits && irq->timer && now < irq->stop_usec) {
                irq->series = (IrqSeries){ 0 };
                irq->due_usec = now + STOP_PAUSE_USEC;
                irq_events_schedule(irq);
                return;
        }
        if (irq->stop_restores && irq_record(irq)->n_settings > 0)
                journal_log(&irq->host->journal, LOG_WARNING, NULL,
                            "Stopping; %zu settings of interrupts could not be restored. Their "
                            "undo record is kept for the next start of the daemon",
                            irq_record(irq)->n_settings);
        irq->stop_usec = 0;
        host_queue(irq->host, HOST_WORK_EXIT);
}

bool irq_stop(Interrupts *irq, bool restore) {
        if (!irq)
                return false;
        irq->stop_restores = restore && may_change(irq);
        irq->stop_usec = clock_monotonic_usec() + STOP_TIMEOUT_USEC;
        if (!irq->timer)
                (void)sd_event_add_time(irq->host->event, &irq->timer, CLOCK_MONOTONIC, 0, 0,
                                        on_irq_timer, irq);
        for (size_t i = 0; i < irq->n_settings;
             i++) /* no later attempt is possible, except by a unit */
                if (irq->settings[i].progress.error != -EINPROGRESS)
                        irq->settings[i].progress.retry.due_usec = 0;
        stop_continue(irq);
        return irq_is_stopping(irq);
}

bool irq_is_stopping(const Interrupts *irq) {
        return irq && irq->stop_usec != 0;
}

void irq_reconcile(Interrupts *irq) {
        _cleanup_irq_host_ IrqHost host = { 0 };
        _cleanup_irq_plan_ IrqPlan plan = { 0 };
        _cleanup_irq_desired_ IrqDesiredList desired = { 0 };
        uint64_t now = clock_monotonic_usec();
        bool desired_known, releasing;
        CpuSet cpus;
        int r;

        if (!irq)
                return;
        if (irq_is_stopping(irq)) {
                stop_continue(irq);
                return;
        }
        irq->due_usec = now + INTERVAL_USEC;
        irq_series_reconciled(&irq->series, now);
        /* If new policies are invalid, those in force stay. At the start there are none, so it is
         * unknown whether a setting is still desired. */
        desired_known = irq->host->policies_known;
        look_for_card(irq);
        r = load_present(irq, &host);
        if (r >= 0)
                r = build_plan(irq, &host, &plan);
        if (r >= 0)
                r = irq_desired_build(&plan, &desired);
        if (r >= 0)
                r = add_numa_balancing(irq, &desired);
        if (r < 0) { /* for lack of memory: it is retried */
                irq_events_schedule(irq);
                return;
        }
        now = clock_monotonic_usec();
        cpus = topology_cpus(&irq->host->topology);
        if (!id_set_equal(&cpus, &irq->cpus) && !id_set_is_empty(&irq->cpus))
                irq->cpus_usec = now;
        irq->cpus = cpus;
        for (size_t k = 0; k < host.n_devices; k++) {
                const IrqDevice *d = &host.devices[k];

                if ((irq->cpus_usec == 0 || now >= irq->cpus_usec + CPUS_USEC) &&
                    !irq_report_was_reset(irq, d, now))
                        continue;
                /* A driver that has just set all masks of its device again may continue: that is
                 * not a dispute over them. */
                for (size_t i = 0; i < irq->n_settings; i++)
                        if ((d->ifindex > 0 && irq->settings[i].key.ifindex == d->ifindex) ||
                            strcmp(irq->settings[i].key.device, irq_device_key(d)) == 0)
                                irq_step_reset_contention(&irq->settings[i].progress);
        }
        releasing = irq_host_is_releasing(irq);
        if (may_change(irq)) {
                if (desired_known)
                        irq_give_back(irq, &host, &desired, false);
                irq_put_on(irq, &host, &desired);
                if (desired_known || plan.irqbalance.sent)
                        irq_balance_send(irq, &plan.irqbalance);
        } else if (host_obeys(irq->host) && irq->undo->records.dir_fd >= 0 &&
                   irq_is_asked_back(irq, &host)) {
                /* What an operator asks for is given back also while the daemon is paused. */
                irq_give_back(irq, &host, &desired, true);
                irq_balance_send(irq, &plan.irqbalance);
        }
        if (releasing && !irq_host_is_releasing(irq)) /* tidbnumactl waits for it */
                host_queue(irq->host, HOST_WORK_PUBLISH);
        irq_verify(irq, &host, &desired);
        irq_settings_sweep(irq, &host, &desired);
        irq_report_devices(irq, &plan);
        irq_host_done(&irq->last);
        irq->last = host;
        irq->last_known = true;
        host = (IrqHost){ 0 };
        irq->due_usec = clock_monotonic_usec() +
                        (desired.n_settings > 0 || !undo_record_is_empty(irq_record(irq)) ||
                                         (is_without_card(irq->host, &irq->host->devices) &&
                                          irq->n_card_looks < CARD_LOOKS_MAX)
                                 ? INTERVAL_USEC
                                 : IDLE_INTERVAL_USEC);
        irq_events_schedule(irq);
}

/* --- start and end --- */

Interrupts *irq_free(Interrupts *irq) {
        if (!irq)
                return NULL;
        uevents_close(&irq->uevents);
        event_source_drop(irq->timer);
        event_source_drop(irq->link_source);
        closep(&irq->link_fd);
        irq_balance_done(&irq->balance);
        irq_host_done(&irq->last);
        irq_report_done(irq);
        for (size_t i = 0; i < irq->n_settings; i++)
                free((char *)irq->settings[i].key.device);
        free(irq->settings);
        free(irq);
        return NULL;
}

int irq_start(Host *host, const Registry *registry, const Placing *placing, Undoing *undo,
              Interrupts **ret) {
        static const char *const subsystems[] = { "net", "nvme", "pci", "queues", NULL };
        const bool has_events = host->sysroot.live && !host->args->once;
        Interrupts *irq = calloc(1, sizeof(*irq));
        int r = 0;

        if (!irq)
                return -ENOMEM;
        irq->host = host;
        irq->registry = registry;
        irq->placing = placing;
        irq->undo = undo;
        irq->link_fd = -EBADF;
        irq->ops = &SETTING_FILES;
        irq_balance_init(&irq->balance);
        /* Without udev or netlink the slow timer finds what has changed. */
        if (has_events)
                r = sd_event_add_time(host->event, &irq->timer, CLOCK_MONOTONIC, 0, 0, on_irq_timer,
                                      irq);
        if (has_events && r >= 0) {
                r = uevents_open(&irq->uevents, host->event, subsystems, on_device_event, irq);
                if (r < 0)
                        journal_log(&host->journal, LOG_INFO, NULL,
                                    "No events from udev: %s. New or changed devices are noticed "
                                    "within seconds",
                                    strerror(-r));
                r = link_events_open(&irq->link_fd) < 0
                            ? 0
                            : sd_event_add_io(host->event, &irq->link_source, irq->link_fd, EPOLLIN,
                                              on_link, irq);
        }
        if (r < 0) {
                irq_free(irq);
                return r;
        }
        irq_reconcile(irq);
        *ret = irq;
        return 0;
}
