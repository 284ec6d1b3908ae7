/* Settings of interrupts: keeps what is known of each, writes them, logs failures and repairs; and
 * when the next reconcile is due.
 *
 * The order is that of undo/undoing.h: noted, undo_before(), written and read again, undo_after().
 * There are thousands of settings, so the record is flushed once for all that a reconcile writes.
 * No release as of an instance puts them back: the kernel shows a write at once, so nothing is
 * awaited, and the settings of one host come and go one by one. */
#include <string.h>
#include <strings.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/clock.h"

/* --- when the next reconcile is due --- */

/* The slow timer may fire together with other timers; a reconcile after an event may not be
 * delayed. */
#define SLOW_ACCURACY_USEC (UINT64_C(250) * 1000)
#define EVENT_ACCURACY_USEC (UINT64_C(1) * 1000)

/* Sets the timer, if there is one, to the next reconcile: the slow one, or the one after an event.
 */
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

/* --- settings --- */

IrqSetting *irq_setting_find(const Interrupts *irq, const SettingKey *key) {
        for (size_t i = 0; i < irq->n_settings; i++)
                if (setting_key_equal(&irq->settings[i].key, key))
                        return &irq->settings[i];
        return NULL;
}

static IrqSetting *irq_setting_get(Interrupts *irq, const SettingKey *key) {
        IrqSetting *s = irq_setting_find(irq, key);
        char *device;

        if (s)
                return s;
        device = strdup(key->device);
        if (!device ||
            ARRAY_RESERVE(irq->settings, irq->settings_allocated, irq->n_settings + 1) < 0) {
                free(device);
                return NULL;
        }
        s = &irq->settings[irq->n_settings++];
        *s = (IrqSetting){ .key = *key };
        s->key.device = device;
        return s;
}

static void irq_setting_forget(Interrupts *irq, const SettingKey *key) {
        IrqSetting *s = irq_setting_find(irq, key);

        if (!s)
                return;
        free((char *)s->key.device);
        *s = irq->settings[--irq->n_settings];
}

/* Does the vector exist in the kernel? `host` lacks devices that no policy names any more, or that
 * could not be read. */
static bool irq_setting_has_vector(const Interrupts *irq, const IrqHost *host,
                                   const SettingKey *key) {
        return irq_host_has_vector(host, key) ||
               irq_is_of_pci(&irq->host->sysroot, key->device, key->number);
}

/* Removes the state of vectors and cards that are gone: the next one with that number or name is
 * another device. A vector whose mask the kernel rejects is not desired any more; its state stays
 * as long as the vector exists. What is not desired any more may be changed by others: that is no
 * repair once it is desired again. */
void irq_settings_sweep(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired) {
        for (size_t i = irq->n_settings; i > 0; i--) {
                const SettingKey *key = &irq->settings[i - 1].key;
                const bool is_there = key->kind == SETTING_VECTOR
                                              ? irq_setting_has_vector(irq, host, key)
                                              : !setting_is_queue(key->kind) ||
                                                        irq_host_find_interface(host, key->ifindex);

                if (!is_there)
                        irq_setting_forget(irq, key);
                else if (!irq_desired_find(desired, key))
                        irq->settings[i - 1].progress.written = false;
        }
}

/* --- the original settings --- */

UndoRecord *irq_record(const Interrupts *irq) {
        return &irq->undo->records.host;
}

/* The unit that sets what the daemon itself may not. */
#define UNIT_PREFIX "tidbnumad-numa-balancing@"

/* The unit should be done by the next reconcile; after this many starts it counts as failed. */
enum { UNIT_TRIES = 3 };

/* --- messages --- */

/* For messages: "eth0: interrupt 24 (eth0-rx-0)", "eth0: transmit queue 0". */
static void setting_describe(const IrqHost *host, const SettingKey *key, char *buffer,
                             size_t size) {
        const IrqDevice *device = NULL;
        const IrqVector *vector = NULL;

        switch (key->kind) {
        case SETTING_VECTOR:
                for (size_t i = 0; i < host->n_devices && !vector; i++) {
                        device = &host->devices[i];
                        vector = irq_device_vector(device, key->number);
                }
                if (vector)
                        (void)snprintf(buffer, size, "%s: interrupt %u (%s)", device->name,
                                       key->number,
                                       vector->name ? vector->name : "without a handler");
                else
                        (void)snprintf(buffer, size, "%s: interrupt %u", key->device, key->number);
                break;
        case SETTING_XPS:
        case SETTING_RPS:
                device = irq_host_find_interface(host, key->ifindex);
                (void)snprintf(buffer, size, "%s: %s of queue %u",
                               device ? device->name : key->device,
                               key->kind == SETTING_XPS ? "xps_cpus" : "rps_cpus", key->number);
                break;
        default:
                (void)snprintf(buffer, size, "kernel.numa_balancing");
        }
}

/* irqbalance sets the masks of interrupts only. */
static const char *likely_cause(const IrqHost *host, SettingKind kind) {
        if (kind == SETTING_NUMA_BALANCING)
                return "tuned, sysctl.d, or an administrator";
        return kind == SETTING_VECTOR && host->irqbalance.pid > 0
                       ? "most likely irqbalance's: see irqbalance: in the policy"
                       : "tuned, a script of the card's driver, or an administrator";
}

static void setting_log_failed(const Interrupts *irq, const IrqHost *host, IrqSetting *s,
                               int error) {
        const bool by_unit = error == -EINPROGRESS;
        /* The remedies of some reasons are about processes, but here the errno may come from a
         * write to a mask. */
        const JournalFields fields = { .message_id = JOURNAL_IRQ_FAILED,
                                       .reason = by_unit            ? REASON_NO_ANSWER
                                                 : error == -ENOSPC ? REASON_NO_VECTOR
                                                 : error == -EINVAL ? REASON_OTHER
                                                                    : reason_of_error(error) };
        char what[256];

        /* A device that has gone, or a mask that the kernel manages itself, is not a failure. */
        if (s->logged || error == -ENOENT || error == -ENODEV ||
            (by_unit ? s->progress.retry.failures < UNIT_TRIES
                     : s->progress.refused && s->key.kind == SETTING_VECTOR))
                return;
        s->logged = true;
        setting_describe(host, &s->key, what, sizeof(what));
        if (by_unit)
                journal_log(&irq->host->journal, LOG_WARNING, &fields,
                            "%s is not set, although its unit was started %u times; see "
                            "journalctl -u '" UNIT_PREFIX "*'",
                            what, s->progress.retry.failures);
        else
                journal_log(&irq->host->journal, LOG_WARNING, &fields, "%s cannot be set: %s; %s",
                            what, strerror(-error),
                            fields.reason == REASON_OTHER ? "it is tried again"
                                                          : reason_to_remedy(fields.reason));
}

/* --- settings that need another capability --- */

/* kernel.numa_balancing needs CAP_SYS_ADMIN, which only a unit of its own has. 0: the unit was
 * started and should be done by the next reconcile. */
static int setting_start_unit(Interrupts *irq, const SettingKey *key, const char *text) {
        char unit[64];
        int r;

        if (key->kind != SETTING_NUMA_BALANCING)
                return -EPERM;
        (void)snprintf(unit, sizeof(unit), UNIT_PREFIX "%.8s.service", text);
        r = backend_systemd_ensure_bus(&irq->host->backend);
        if (r >= 0)
                r = bus_units_start(irq->host->backend.bus, unit);
        return r < 0 ? r : 0;
}

/* --- applying --- */

/* Is it to be written? What it had is recorded then: nothing is changed without that. */
static bool setting_is_due(Interrupts *irq, const IrqHost *host, const IrqDesired *w,
                           uint64_t now_usec) {
        static const JournalFields changed = { .message_id = JOURNAL_IRQ_CHANGED };
        static const JournalFields contested = { .message_id = JOURNAL_IRQ_CONTESTED,
                                                 .reason = REASON_CONTESTED };
        IrqSetting *s = irq_setting_get(irq, &w->key);
        UndoRecord *record = irq_record(irq);
        char what[256], found[SETTING_TEXT_MAX] = "", before[SETTING_TEXT_MAX];
        const char *pci;
        IrqStep step;

        if (!s || !w->known)
                return false;
        step = irq_step_next(&s->progress, &w->value, &w->present, now_usec);
        if (step == IRQ_STEP_REPAIR) {
                irq->n_repairs++;
                setting_describe(host, &w->key, what, sizeof(what));
                (void)setting_render(w->key.kind, &w->present, found);
                journal_log(&irq->host->journal, LOG_NOTICE, &changed,
                            "something else changed %s to %s (%s); restored", what, found,
                            likely_cause(host, w->key.kind));
        } else if (step == IRQ_STEP_YIELD) {
                setting_describe(host, &w->key, what, sizeof(what));
                journal_log(&irq->host->journal, LOG_WARNING, &contested,
                            "something else keeps changing %s (%s); left alone for %u minutes",
                            what, likely_cause(host, w->key.kind),
                            (unsigned)(IRQ_YIELD_USEC / 60000000));
        } else if (step == IRQ_STEP_IN_FORCE) {
                s->logged = false;
                /* Applied by an earlier run, or by the administrator before: keep it in force. */
                if (!s->progress.written)
                        irq_step_done(&s->progress, &w->value, &w->present);
        }
        if (step != IRQ_STEP_WRITE && step != IRQ_STEP_REPAIR)
                return false;
        if (undo_record_find_setting(record, &w->key))
                return true;
        pci = setting_is_queue(w->key.kind) && w->device ? w->device->pci : NULL;
        return irq->ops->read(&irq->host->sysroot, &w->key, before) >= 0 &&
               undo_record_add_setting(record, &w->key, pci, before) >= 0;
}

static bool entry_is_as_before(const Interrupts *irq, const UndoSetting *entry) {
        char text[SETTING_TEXT_MAX];

        return irq->ops->read(&irq->host->sysroot, &entry->key, text) >= 0 &&
               strcmp(text, entry->before) == 0;
}

void irq_put_on(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired) {
        static const JournalFields unwritable = { .reason = REASON_RECORD_UNWRITABLE };
        const uint64_t now = clock_monotonic_usec();
        const Sysroot *sysroot = &irq->host->sysroot;
        UndoRecord *record = irq_record(irq);
        _cleanup_free_ bool *chosen = calloc(desired->n_settings + 1, sizeof(*chosen));
        bool any = false;
        int r;

        for (size_t i = 0; chosen && i < desired->n_settings; i++) {
                chosen[i] = setting_is_due(irq, host, &desired->settings[i], now);
                any |= chosen[i];
        }
        if (!any)
                return;
        r = undo_before(irq->undo, record, IRQ_CHANGE);
        if (r < 0 && !irq->record_failed)
                journal_log(&irq->host->journal, LOG_ERR, &unwritable,
                            "The original settings of interrupts cannot be saved: %s. No interrupt "
                            "is changed; %s",
                            strerror(-r), reason_to_remedy(REASON_RECORD_UNWRITABLE));
        irq->record_failed = r < 0;
        if (r < 0)
                return;
        for (size_t i = 0; i < desired->n_settings; i++) {
                const IrqDesired *w = &desired->settings[i];
                IrqSetting *s = chosen[i] ? irq_setting_get(irq, &w->key) : NULL;
                const UndoSetting *entry;
                char text[SETTING_TEXT_MAX];
                SettingValue ours;

                if (!s)
                        continue;
                irq->n_writes++;
                r = setting_apply(irq->ops, sysroot, &w->key, &w->value,
                                  w->plan ? w->plan->order : NULL, w->plan ? w->plan->n_order : 0,
                                  &ours);
                if (r >= 0) {
                        irq_step_done(&s->progress, &w->value, &ours);
                        s->logged = false;
                        continue;
                }
                if (r == -EPERM && setting_render(w->key.kind, &w->value, text) >= 0 &&
                    setting_start_unit(irq, &w->key, text) >= 0)
                        r = -EINPROGRESS;
                irq_step_failed(&s->progress, &w->value, r, clock_monotonic_usec());
                setting_log_failed(irq, host, s, r);
                if (r == -EINPROGRESS)
                        continue;
                /* If the kernel shows that nothing was changed, there is nothing to undo. */
                entry = undo_record_find_setting(record, &w->key);
                if (entry && entry_is_as_before(irq, entry))
                        undo_record_remove_setting(record, (size_t)(entry - record->settings));
        }
        undo_after(irq->undo, record, IRQ_CHANGE, true);
}

/* --- restoring --- */

/* Was the release of the entry's device requested, or of `host` where it is of none? */
static bool setting_is_asked_back(const Interrupts *irq, const IrqHost *host,
                                  const SettingKey *key) {
        const IrqDevice *queue =
                setting_is_queue(key->kind) ? irq_host_find_interface(host, key->ifindex) : NULL;

        if (*key->device == '\0')
                return requests_release(&irq->host->requests, RELEASE_HOST, NULL);
        if (queue)
                return requests_release(&irq->host->requests, queue->name, NULL);
        for (size_t i = 0; i < host->n_devices; i++)
                if (strcmp(irq_device_key(&host->devices[i]), key->device) == 0)
                        return requests_release(&irq->host->requests, host->devices[i].name, NULL);
        return requests_release(&irq->host->requests, key->device, NULL);
}

/* Queues of a card in another network namespace cannot be reached until it comes back. */
static bool setting_is_out_of_reach(const IrqHost *host, const UndoSetting *entry) {
        for (size_t i = 0; entry->pci && i < host->n_devices; i++)
                if (host->devices[i].in_other_netns && host->devices[i].pci &&
                    strcasecmp(host->devices[i].pci, entry->pci) == 0)
                        return true;
        return false;
}

size_t irq_n_out_of_reach(const Interrupts *irq) {
        const UndoRecord *record = irq_record(irq);
        size_t n = 0;

        for (size_t i = 0; i < record->n_settings; i++)
                n += setting_is_out_of_reach(&irq->last, &record->settings[i]);
        return n;
}

/* Nobody waits for what is out of reach: it may be so for as long as a container runs. */
bool irq_is_asked_back(const Interrupts *irq, const IrqHost *host) {
        const UndoRecord *record = irq_record(irq);

        for (size_t i = 0; i < record->n_settings; i++)
                if (!setting_is_out_of_reach(host, &record->settings[i]) &&
                    setting_is_asked_back(irq, host, &record->settings[i].key))
                        return true;
        return record->irqbalance.known &&
               requests_release(&irq->host->requests, RELEASE_HOST, NULL);
}

bool irq_host_is_releasing(const Interrupts *irq) {
        const UndoRecord *record = irq_record(irq);

        if (!host_obeys(irq->host) || !requests_release(&irq->host->requests, RELEASE_HOST, NULL))
                return false;
        for (size_t i = 0; i < record->n_settings; i++)
                if (*record->settings[i].key.device == '\0')
                        return true;
        return record->irqbalance.known;
}

void irq_give_back(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired,
                   bool only_asked) {
        UndoRecord *record = irq_record(irq);
        size_t n = 0;

        for (size_t i = record->n_settings; i > 0; i--) {
                const UndoSetting *entry = &record->settings[i - 1];
                const uint64_t now = clock_monotonic_usec();
                SettingValue before = { 0 };
                bool may_change, complete, is_gone;
                char text[SETTING_TEXT_MAX];
                IrqSetting *s;
                int r;

                if (setting_is_out_of_reach(host, entry) ||
                    irq_desired_find(desired, &entry->key) ||
                    (only_asked && !setting_is_asked_back(irq, host, &entry->key)))
                        continue;
                s = irq_setting_get(irq, &entry->key);
                (void)setting_parse(entry->key.kind, entry->before, &before);
                /* A unit was started to set another value, which may take effect only after this
                 * reconcile. */
                may_change = s && s->progress.error == -EINPROGRESS &&
                             now < s->progress.retry.due_usec &&
                             !setting_value_equal(&s->progress.wanted, &before);
                /* The device of the record may be gone, or be another one with the same number. */
                if (entry->key.kind == SETTING_VECTOR)
                        is_gone = !irq_setting_has_vector(irq, host, &entry->key);
                else {
                        r = irq->ops->read(&irq->host->sysroot, &entry->key, text);
                        is_gone = r == -ENOENT || r == -ENODEV;
                }
                if (is_gone || (s && s->progress.yield_usec != 0))
                        complete = true; /* a value that somebody else has set is kept */
                else if (entry_is_as_before(irq, entry))
                        complete = !may_change;
                else if (s && s->progress.error != 0 && now < s->progress.retry.due_usec &&
                         !may_change)
                        complete = false;
                else {
                        irq->n_writes++;
                        r = irq->ops->write(&irq->host->sysroot, &entry->key, entry->before);
                        if (r == -EPERM && setting_start_unit(irq, &entry->key, entry->before) >= 0)
                                r = -EINPROGRESS;
                        else if (r >= 0 && !entry_is_as_before(irq, entry))
                                r = -EAGAIN;
                        if (r < 0 && s) {
                                irq_step_failed(&s->progress, &before, r, now);
                                setting_log_failed(irq, host, s, r);
                        }
                        complete = r >= 0;
                }
                if (!complete)
                        continue;
                irq_setting_forget(irq, &entry->key);
                undo_record_remove_setting(record, i - 1);
                n++;
        }
        if (n > 0 && record->n_settings == 0)
                journal_log(
                        &irq->host->journal, LOG_INFO, NULL,
                        "Interrupts are released: original masks, queues and settings restored");
        undo_after(irq->undo, record, IRQ_CHANGE, true);
}

/* --- verification: a mask may be set, and the interrupt fire elsewhere --- */

void irq_verify(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired) {
        static const JournalFields fields = { .message_id = JOURNAL_IRQ_FAILED,
                                              .reason = REASON_NOT_FOLLOWED };

        for (size_t i = 0; irq->last_known && i < desired->n_settings; i++) {
                const IrqDesired *w = &desired->settings[i];
                char what[256];
                IrqSetting *s;

                if (w->key.kind != SETTING_VECTOR || !w->known)
                        continue;
                s = irq_setting_find(irq, &w->key);
                if (!s)
                        continue;
                /* A mask that changed since the last reconcile proves nothing yet:
                 * irq_verify_course() checks that. */
                if (!s->progress.written || !setting_value_equal(&w->present, &s->progress.ours)) {
                        s->verify = (IrqVerify){ 0 };
                        continue;
                }
                irq_verify_note(&s->verify,
                                irq_verify_course(&irq->last, host, w->device, w->vector));
                if (irq_verify_fails(&s->verify) && !s->misplaced_logged) {
                        setting_describe(host, &w->key, what, sizeof(what));
                        journal_log(&irq->host->journal, LOG_WARNING, &fields,
                                    "%s still fires on other CPUs than its mask %s: %s; %s", what,
                                    id_set_list(&w->present.cpus),
                                    reason_to_string(REASON_NOT_FOLLOWED),
                                    reason_to_remedy(REASON_NOT_FOLLOWED));
                }
                s->misplaced_logged = irq_verify_fails(&s->verify);
        }
}
