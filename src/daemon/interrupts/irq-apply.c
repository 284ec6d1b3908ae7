/* One look's writes to the kernel, and what is said of them. */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/interrupts/irq-apply.h"
#include "tidbnumad/daemon/interrupts/irq-record.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/sys/bus-start.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/irq.h"

/* Of what a unit of ours sets, since the daemon may not. */
#define UNIT_PREFIX "tidbnumad-numa-balancing@"

/* It has done it by the next look; when it was started so often, it does not. */
enum { UNIT_TRIES = 3 };

/* --- what is known of settings --- */

const IrqSetting *irq_setting_find(const Irq *irq, const SettingKey *key) {
        for (size_t i = 0; i < irq->n_settings; i++)
                if (setting_key_equal(&irq->settings[i].key, key))
                        return &irq->settings[i];
        return NULL;
}

IrqSetting *irq_setting_get(Irq *irq, const SettingKey *key) {
        IrqSetting *s = (IrqSetting *)irq_setting_find(irq, key);
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

void irq_setting_forget(Irq *irq, const SettingKey *key) {
        IrqSetting *s = (IrqSetting *)irq_setting_find(irq, key);

        if (!s)
                return;
        free((char *)s->key.device);
        *s = irq->settings[--irq->n_settings];
}

/* By the kernel: a device that no policy names any more, or that could not be read, is not among
 * those that were looked at. */
static bool has_vector(const Manager *m, const IrqHost *host, const SettingKey *key) {
        return irq_host_has_vector(host, key) ||
               irq_is_of_pci(&m->host.sysroot, key->device, key->number);
}

/* A refused vector has no wish any more, and is known as long as it is there. */
static bool is_there(const Manager *m, const IrqHost *host, const SettingKey *key) {
        switch (key->kind) {
        case SETTING_VECTOR:
                return has_vector(m, host, key);
        case SETTING_XPS:
        case SETTING_RPS:
                return irq_host_find(host, IRQ_DEVICE_NET, key->device) != NULL;
        default:
                return true;
        }
}

void irq_settings_sweep(Manager *m, const IrqHost *host) {
        Irq *irq = m->irq;

        for (size_t i = irq->n_settings; i > 0; i--)
                if (!is_there(m, host, &irq->settings[i - 1].key))
                        irq_setting_forget(irq, &irq->settings[i - 1].key);
}

/* --- words --- */

static const IrqDevice *device_of(const IrqHost *host, const SettingKey *key, const char **ret) {
        for (size_t i = 0; i < host->n_devices; i++)
                for (size_t k = 0; k < host->devices[i].n_vectors; k++)
                        if (host->devices[i].vectors[k].irq == key->number) {
                                *ret = host->devices[i].vectors[k].name;
                                return &host->devices[i];
                        }
        *ret = NULL;
        return NULL;
}

void irq_describe(const IrqHost *host, const SettingKey *key, char *buffer, size_t size) {
        const IrqDevice *device;
        const char *handler;

        switch (key->kind) {
        case SETTING_VECTOR:
                device = device_of(host, key, &handler);
                if (device)
                        (void)snprintf(buffer, size, "%s: interrupt %u (%s)", device->name,
                                       key->number, handler ? handler : "of nobody");
                else
                        (void)snprintf(buffer, size, "%s: interrupt %u", key->device, key->number);
                break;
        case SETTING_XPS:
        case SETTING_RPS:
                (void)snprintf(buffer, size, "%s: %s of queue %u", key->device,
                               key->kind == SETTING_XPS ? "xps_cpus" : "rps_cpus", key->number);
                break;
        default:
                (void)snprintf(buffer, size, "kernel.numa_balancing");
        }
}

/* Of all these irqbalance sets the masks of interrupts only. */
static const char *likely_culprit(const IrqHost *host, SettingKind kind) {
        if (kind == SETTING_NUMA_BALANCING)
                return "tuned, sysctl.d, or an administrator";
        return kind == SETTING_VECTOR && host->irqbalance.pid > 0
                       ? "most likely irqbalance's: see irqbalance: in the policy"
                       : "tuned, a script of the card's driver, or an administrator";
}

static void say_repair(Manager *m, const IrqHost *host, const IrqWish *w) {
        static const JournalFields fields = { .message_id = JOURNAL_IRQ_CHANGED };
        char what[256], stood[SETTING_TEXT_MAX] = "";

        m->irq->n_repairs++;
        irq_describe(host, &w->key, what, sizeof(what));
        (void)setting_render(w->key.kind, &w->stands, stood);
        journal_log(&m->host.journal, LOG_NOTICE, &fields,
                    "%s was changed to %s by somebody else's doing (%s): it is set again", what,
                    stood, likely_culprit(host, w->key.kind));
}

static void say_contested(Manager *m, const IrqHost *host, const IrqWish *w) {
        static const JournalFields fields = { .message_id = JOURNAL_IRQ_CONTESTED,
                                              .reason = REASON_CONTESTED };
        char what[256];

        irq_describe(host, &w->key, what, sizeof(what));
        journal_log(&m->host.journal, LOG_WARNING, &fields,
                    "%s is set by somebody else again and again (%s): it is left so for %u minutes",
                    what, likely_culprit(host, w->key.kind), (unsigned)(IRQ_YIELD_USEC / 60000000));
}

/* Its remedies are of processes, where the errno may also be that of a write to a mask. */
static Reason reason_of(int error) {
        return error == -ENOSPC   ? REASON_NO_VECTOR
               : error == -EINVAL ? REASON_OTHER
                                  : reason_of_error(error);
}

/* What is gone meanwhile, and what the kernel has chosen itself, is no failure. */
static bool is_worth_telling(const IrqSetting *s, int error) {
        if (s->told || error == -ENOENT || error == -ENODEV)
                return false;
        if (error == -EINPROGRESS)
                return s->progress.n_failures >= UNIT_TRIES;
        return !s->progress.refused || s->key.kind != SETTING_VECTOR;
}

static void say_failed(const Manager *m, const IrqHost *host, IrqSetting *s, int error) {
        const bool by_unit = error == -EINPROGRESS;
        const JournalFields fields = { .message_id = JOURNAL_IRQ_FAILED,
                                       .reason = by_unit ? REASON_NO_ANSWER : reason_of(error) };
        char what[256];

        if (!is_worth_telling(s, error))
                return;
        s->told = true;
        irq_describe(host, &s->key, what, sizeof(what));
        if (by_unit)
                journal_log(&m->host.journal, LOG_WARNING, &fields,
                            "%s is not set, although its unit was started %u times; see "
                            "journalctl -u '" UNIT_PREFIX "*'",
                            what, s->progress.n_failures);
        else
                journal_log(&m->host.journal, LOG_WARNING, &fields, "%s cannot be set: %s; %s",
                            what, strerror(-error),
                            fields.reason == REASON_OTHER ? "it is tried again"
                                                          : reason_to_remedy(fields.reason));
}

/* --- what the kernel does not let us do --- */

/* kernel.numa_balancing wants CAP_SYS_ADMIN. A unit of ours has that, and nothing else to do. 0:
 * it was asked to, and will have done it by the next look. */
static int set_by_unit(Manager *m, const SettingKey *key, const char *text) {
        char unit[64];
        int r;

        if (key->kind != SETTING_NUMA_BALANCING)
                return -EPERM;
        (void)snprintf(unit, sizeof(unit), UNIT_PREFIX "%.8s.service", text);
        r = backend_systemd_ensure_bus(&m->host.backend);
        if (r >= 0)
                r = bus_start(m->host.backend.bus, unit);
        if (r >= 0)
                r = sd_bus_flush(m->host.backend.bus);
        return r < 0 ? r : 0;
}

/* --- putting on --- */

static IrqStep decide(Manager *m, const IrqHost *host, const IrqWish *w, uint64_t now_usec) {
        IrqSetting *s = irq_setting_get(m->irq, &w->key);
        IrqStep step;

        if (!s || !w->known)
                return IRQ_STEP_WAIT;
        s->seen = true;
        step = irq_step_next(&s->progress, &w->value, &w->stands, now_usec);
        if (step == IRQ_STEP_REPAIR)
                say_repair(m, host, w);
        else if (step == IRQ_STEP_YIELD)
                say_contested(m, host, w);
        else if (step == IRQ_STEP_STANDS) {
                s->told = false;
                /* Ours from an earlier life, or as somebody had it before us: it is kept so. */
                if (!s->progress.written)
                        irq_step_done(&s->progress, &w->value, &w->stands);
        }
        return step;
}

static void write_one(Manager *m, const IrqHost *host, const IrqWish *w) {
        IrqSetting *s = irq_setting_get(m->irq, &w->key);
        const uint32_t *order = w->plan ? w->plan->order : NULL;
        char text[SETTING_TEXT_MAX];
        SettingValue ours;
        int r;

        if (!s)
                return;
        m->irq->n_writes++;
        r = setting_apply(m->irq->ops, &m->host.sysroot, &w->key, &w->value, order,
                          w->plan ? w->plan->n_order : 0, &ours);
        if (r >= 0) {
                irq_step_done(&s->progress, &w->value, &ours);
                s->told = false;
                return;
        }
        if (r == -EPERM && setting_render(w->key.kind, &w->value, text) >= 0 &&
            set_by_unit(m, &w->key, text) >= 0) {
                irq_step_failed(&s->progress, &w->value, -EINPROGRESS, clock_monotonic_usec());
                say_failed(m, host, s, -EINPROGRESS);
                return;
        }
        irq_step_failed(&s->progress, &w->value, r, clock_monotonic_usec());
        say_failed(m, host, s, r);
        irq_record_unnote(m, &w->key);
}

void irq_put_on(Manager *m, const IrqHost *host, const IrqWishes *wishes) {
        const uint64_t now = clock_monotonic_usec();
        _cleanup_free_ bool *chosen = calloc(wishes->n_wishes + 1, sizeof(*chosen));
        bool any = false;

        for (size_t i = 0; chosen && i < wishes->n_wishes; i++) {
                const IrqWish *w = &wishes->wishes[i];
                const IrqStep step = decide(m, host, w, now);

                chosen[i] = (step == IRQ_STEP_WRITE || step == IRQ_STEP_REPAIR) &&
                            irq_record_note(m, w) >= 0;
                any |= chosen[i];
        }
        if (!any || !irq_record_write(m))
                return;
        for (size_t i = 0; i < wishes->n_wishes; i++)
                if (chosen[i])
                        write_one(m, host, &wishes->wishes[i]);
        (void)irq_record_write(m);
}

/* --- giving back --- */

/* What it speaks of is not there any more, or is another one of that number. */
static bool is_gone(const Manager *m, const IrqHost *host, const UndoSetting *entry) {
        char text[SETTING_TEXT_MAX];
        int r;

        if (entry->key.kind == SETTING_VECTOR)
                return !has_vector(m, host, &entry->key);
        r = m->irq->ops->identify(&m->host.sysroot, &entry->key, text);
        /* It may have got another name in this moment: the next look follows it. */
        if ((entry->key.kind == SETTING_XPS || entry->key.kind == SETTING_RPS) &&
            (r < 0 || strcmp(text, entry->identity) != 0))
                return !irq_record_has_interface(m, entry);
        if (r >= 0 && strcmp(text, entry->identity) != 0)
                return true;
        if (r >= 0)
                r = m->irq->ops->read(&m->host.sysroot, &entry->key, text);
        return r == -ENOENT;
}

static bool stands_as_before(const Manager *m, const UndoSetting *entry) {
        char text[SETTING_TEXT_MAX];

        return m->irq->ops->read(&m->host.sysroot, &entry->key, text) >= 0 &&
               strcmp(text, entry->before) == 0;
}

static int put_back(Manager *m, const UndoSetting *entry) {
        int r = m->irq->ops->write(&m->host.sysroot, &entry->key, entry->before);

        m->irq->n_writes++;
        if (r == -EPERM && set_by_unit(m, &entry->key, entry->before) >= 0)
                return -EINPROGRESS;
        return r < 0 ? r : stands_as_before(m, entry) ? 0 : -EAGAIN;
}

/* A unit was started to set something else, and may come to it only after this look. */
static bool may_change_yet(const IrqSetting *s, const SettingValue *before, uint64_t now_usec) {
        return s && s->progress.error == -EINPROGRESS && now_usec < s->progress.retry_usec &&
               !setting_value_equal(&s->progress.wanted, before);
}

/* True: nothing of it is left to do. */
static bool give_back_one(Manager *m, const IrqHost *host, const UndoSetting *entry) {
        IrqSetting *s = irq_setting_get(m->irq, &entry->key);
        const uint64_t now = clock_monotonic_usec();
        SettingValue before = { 0 };
        bool may_change;
        int r;

        (void)setting_parse(entry->key.kind, entry->before, &before);
        may_change = may_change_yet(s, &before, now);
        if (is_gone(m, host, entry) || (s && s->progress.contested))
                return true; /* what somebody else has set is his */
        if (stands_as_before(m, entry))
                return !may_change;
        if (s && s->progress.error != 0 && now < s->progress.retry_usec && !may_change)
                return false;
        r = put_back(m, entry);
        if (r >= 0)
                return true;
        if (s) {
                irq_step_failed(&s->progress, &before, r, now);
                say_failed(m, host, s, r);
        }
        return false;
}

void irq_give_back(Manager *m, const IrqHost *host, const IrqWishes *wishes) {
        Irq *irq = m->irq;
        size_t n = 0;

        irq_record_follow_names(m);
        for (size_t i = irq->undo.n_settings; i > 0; i--) {
                const UndoSetting *entry = &irq->undo.settings[i - 1];

                if (irq_wishes_find(wishes, &entry->key) || !give_back_one(m, host, entry))
                        continue;
                irq_setting_forget(irq, &entry->key);
                undo_host_remove(&irq->undo, i - 1);
                n++;
        }
        if (n > 0 && irq->undo.n_settings == 0)
                journal_log(&m->host.journal, LOG_INFO, NULL,
                            "Interrupts are released: masks, queues and what else was set is as "
                            "it was before");
        (void)irq_record_write(m);
}
