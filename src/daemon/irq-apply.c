/* One look's writes to the kernel, and what is said of them. */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/irq-apply.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/sys/bus-start.h"
#include "tidbnumad/sys/clock.h"

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

static void forget_setting(Irq *irq, const SettingKey *key) {
        IrqSetting *s = (IrqSetting *)irq_setting_find(irq, key);

        if (!s)
                return;
        free((char *)s->key.device);
        *s = irq->settings[--irq->n_settings];
}

/* A refused vector has no wish any more, and is known as long as it is there. */
static bool is_there(const IrqHost *host, const SettingKey *key) {
        switch (key->kind) {
        case SETTING_VECTOR:
                return irq_host_has_vector(host, key);
        case SETTING_XPS:
        case SETTING_RPS:
                return irq_host_find(host, IRQ_DEVICE_NET, key->device) != NULL;
        default:
                return true;
        }
}

void irq_settings_sweep(Irq *irq, const IrqHost *host) {
        for (size_t i = irq->n_settings; i > 0; i--)
                if (!is_there(host, &irq->settings[i - 1].key))
                        forget_setting(irq, &irq->settings[i - 1].key);
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
                (void)snprintf(buffer, size, "%s: interrupt %u (%s)",
                               device ? device->name : key->device, key->number,
                               handler ? handler : "of nobody");
                break;
        case SETTING_XPS:
        case SETTING_RPS:
                (void)snprintf(buffer, size, "%s: %s of queue %u", key->device,
                               key->kind == SETTING_XPS ? "xps_cpus" : "rps_cpus", key->number);
                break;
        default:
                (void)snprintf(buffer, size, "%s",
                               key->kind == SETTING_NUMA_BALANCING ? "kernel.numa_balancing"
                                                                   : "default_smp_affinity");
        }
}

static const char *likely_culprit(const IrqHost *host) {
        return host->irqbalance.pid > 0
                       ? "most likely irqbalance's: see irqbalance: in the policy"
                       : "tuned, a script of the card's driver, or an administrator";
}

static void say_repair(Manager *m, const IrqHost *host, const IrqWish *w) {
        static const JournalFields fields = { .message_id = JOURNAL_IRQ_CHANGED };
        char what[256], stood[SETTING_TEXT_MAX] = "";

        m->irq->n_repairs++;
        irq_describe(host, &w->key, what, sizeof(what));
        (void)setting_render(w->key.kind, &w->stands, stood);
        journal_log(&m->journal, LOG_NOTICE, &fields,
                    "%s was changed to %s by somebody else's doing (%s): it is set again", what,
                    stood, likely_culprit(host));
}

static void say_contested(Manager *m, const IrqHost *host, const IrqWish *w) {
        static const JournalFields fields = { .message_id = JOURNAL_IRQ_CONTESTED,
                                              .reason = REASON_CONTESTED };
        char what[256];

        irq_describe(host, &w->key, what, sizeof(what));
        journal_log(&m->journal, LOG_WARNING, &fields,
                    "%s is set by somebody else again and again (%s): it is left so for %u minutes",
                    what, likely_culprit(host), (unsigned)(IRQ_YIELD_USEC / 60000000));
}

static void say_failed(const Manager *m, const IrqHost *host, IrqSetting *s, int error) {
        const JournalFields fields = { .message_id = JOURNAL_IRQ_FAILED,
                                       .reason = error == -ENOSPC ? REASON_NO_VECTOR
                                                                  : reason_of_error(error) };
        char what[256];

        /* The kernel's own vectors are no failure. */
        if (s->told || error == -EINPROGRESS ||
            (s->progress.refused && s->key.kind == SETTING_VECTOR))
                return;
        s->told = true;
        irq_describe(host, &s->key, what, sizeof(what));
        journal_log(&m->journal, LOG_WARNING, &fields, "%s cannot be set: %s; %s", what,
                    strerror(-error), reason_to_remedy(fields.reason));
}

/* --- before --- */

/* Made since the default was ours: before us it would have had what stood there then. */
static bool was_born_ours(const Irq *irq, const IrqWish *w, const UndoSetting *by_default,
                          char buffer[static SETTING_TEXT_MAX]) {
        static const SettingKey default_key = { SETTING_DEFAULT_AFFINITY, "", 0 };
        const IrqSetting *ours = irq_setting_find(irq, &default_key);
        SettingValue before;

        return w->key.kind == SETTING_VECTOR && by_default && ours && ours->progress.written &&
               irq->host_known && !irq_host_has_vector(&irq->host, &w->key) &&
               id_set_equal(&w->stands.cpus, &ours->progress.ours.cpus) &&
               setting_parse(SETTING_DEFAULT_AFFINITY, by_default->before, &before) >= 0 &&
               setting_render(SETTING_VECTOR, &before, buffer) >= 0;
}

static int note(Manager *m, const IrqWish *w) {
        static const SettingKey default_key = { SETTING_DEFAULT_AFFINITY, "", 0 };
        char before[SETTING_TEXT_MAX], identity[SETTING_TEXT_MAX];
        Irq *irq = m->irq;
        const UndoSetting *entry = undo_host_find(&irq->undo, &w->key);
        int r;

        r = irq->ops->identify(&m->sysroot, &w->key, identity);
        if (r >= 0 && entry && strcmp(entry->identity, identity) == 0)
                return 0;
        if (entry) /* of another interface that had this name */
                undo_host_remove(&irq->undo, (size_t)(entry - irq->undo.settings));
        if (r >= 0 && !was_born_ours(irq, w, undo_host_find(&irq->undo, &default_key), before))
                r = irq->ops->read(&m->sysroot, &w->key, before);
        return r < 0 ? r : undo_host_add(&irq->undo, &w->key, identity, before);
}

/* A record of what we did not change. */
static void unnote(Manager *m, const SettingKey *key) {
        UndoSetting *entry = undo_host_find(&m->irq->undo, key);
        char now[SETTING_TEXT_MAX];

        if (entry && m->irq->ops->read(&m->sysroot, key, now) >= 0 &&
            strcmp(now, entry->before) == 0)
                undo_host_remove(&m->irq->undo, (size_t)(entry - m->irq->undo.settings));
}

/* Nothing may be changed unless this is true. */
static bool write_record(Manager *m) {
        static const JournalFields fields = { .reason = REASON_RECORD_UNWRITABLE };
        int r = undo_host_write(&m->undo, &m->irq->undo);

        if (r < 0 && !m->irq->record_failed)
                journal_log(&m->journal, LOG_ERR, &fields,
                            "What interrupts were like before cannot be written down: %s. Nothing "
                            "of them is changed; %s",
                            strerror(-r), reason_to_remedy(REASON_RECORD_UNWRITABLE));
        m->irq->record_failed = r < 0;
        return r >= 0;
}

/* --- what the kernel does not let us do --- */

/* kernel.numa_balancing wants CAP_SYS_ADMIN. A unit of ours has that, and nothing else to do. 0:
 * it was asked to, and will have done it by the next look. */
static int set_by_unit(Manager *m, const SettingKey *key, const char *text) {
        char unit[64];
        int r;

        if (key->kind != SETTING_NUMA_BALANCING)
                return -EPERM;
        (void)snprintf(unit, sizeof(unit), "tidbnumad-numa-balancing@%.8s.service", text);
        r = backend_systemd_ensure_bus(&m->backend);
        if (r >= 0)
                r = bus_start(m->backend.bus, unit);
        if (r >= 0)
                r = sd_bus_flush(m->backend.bus);
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
        r = setting_apply(m->irq->ops, &m->sysroot, &w->key, &w->value, order,
                          w->plan ? w->plan->n_order : 0, &ours);
        if (r >= 0) {
                irq_step_done(&s->progress, &w->value, &ours);
                s->told = false;
                return;
        }
        if (r == -EPERM && setting_render(w->key.kind, &w->value, text) >= 0 &&
            set_by_unit(m, &w->key, text) >= 0) {
                irq_step_failed(&s->progress, &w->value, -EINPROGRESS, clock_monotonic_usec());
                return;
        }
        irq_step_failed(&s->progress, &w->value, r, clock_monotonic_usec());
        say_failed(m, host, s, r);
        unnote(m, &w->key);
}

void irq_put_on(Manager *m, const IrqHost *host, const IrqWishes *wishes) {
        const uint64_t now = clock_monotonic_usec();
        _cleanup_free_ bool *chosen = calloc(wishes->n_wishes + 1, sizeof(*chosen));
        bool any = false;

        for (size_t i = 0; chosen && i < wishes->n_wishes; i++) {
                const IrqStep step = decide(m, host, &wishes->wishes[i], now);

                chosen[i] = (step == IRQ_STEP_WRITE || step == IRQ_STEP_REPAIR) &&
                            note(m, &wishes->wishes[i]) >= 0;
                any |= chosen[i];
        }
        if (!any || !write_record(m))
                return;
        for (size_t i = 0; i < wishes->n_wishes; i++)
                if (chosen[i])
                        write_one(m, host, &wishes->wishes[i]);
        (void)write_record(m);
}

/* --- giving back --- */

/* What it speaks of is not there any more, or is another one of that number. */
static bool is_gone(const Manager *m, const IrqHost *host, const UndoSetting *entry) {
        char text[SETTING_TEXT_MAX];
        int r;

        if (entry->key.kind == SETTING_VECTOR)
                return !irq_host_has_vector(host, &entry->key);
        r = m->irq->ops->identify(&m->sysroot, &entry->key, text);
        if (r >= 0 && strcmp(text, entry->identity) != 0)
                return true;
        if (r >= 0)
                r = m->irq->ops->read(&m->sysroot, &entry->key, text);
        return r == -ENOENT;
}

static bool stands_as_before(const Manager *m, const UndoSetting *entry) {
        char text[SETTING_TEXT_MAX];

        return m->irq->ops->read(&m->sysroot, &entry->key, text) >= 0 &&
               strcmp(text, entry->before) == 0;
}

static int put_back(Manager *m, const UndoSetting *entry) {
        int r = m->irq->ops->write(&m->sysroot, &entry->key, entry->before);

        m->irq->n_writes++;
        if (r == -EPERM && set_by_unit(m, &entry->key, entry->before) >= 0)
                return -EINPROGRESS;
        return r < 0 ? r : stands_as_before(m, entry) ? 0 : -EAGAIN;
}

/* True: nothing of it is left to do. */
static bool give_back_one(Manager *m, const IrqHost *host, const UndoSetting *entry) {
        IrqSetting *s = irq_setting_get(m->irq, &entry->key);
        const uint64_t now = clock_monotonic_usec();
        int r;

        if (is_gone(m, host, entry) || stands_as_before(m, entry) || (s && s->progress.contested))
                return true; /* what somebody else has set is his */
        if (s && s->progress.error != 0 && now < s->progress.retry_usec)
                return false;
        r = put_back(m, entry);
        if (r >= 0)
                return true;
        if (s) {
                irq_step_failed(&s->progress, &s->progress.wanted, r, now);
                say_failed(m, host, s, r);
        }
        return false;
}

void irq_give_back(Manager *m, const IrqHost *host, const IrqWishes *wishes) {
        Irq *irq = m->irq;
        size_t n = 0;

        for (size_t i = irq->undo.n_settings; i > 0; i--) {
                const UndoSetting *entry = &irq->undo.settings[i - 1];

                if (irq_wishes_find(wishes, &entry->key) || !give_back_one(m, host, entry))
                        continue;
                forget_setting(irq, &entry->key);
                undo_host_remove(&irq->undo, i - 1);
                n++;
        }
        if (n > 0 && irq->undo.n_settings == 0)
                journal_log(&m->journal, LOG_INFO, NULL,
                            "Interrupts are released: masks, queues and what else was set is as "
                            "it was before");
        (void)write_record(m);
}
