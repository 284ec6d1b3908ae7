/* What interrupts were like before us. The record itself is enforce's. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/daemon/irq-apply.h"
#include "tidbnumad/daemon/irq-record.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/sys/sysfs-device.h"

static const SettingKey DEFAULT_KEY = { SETTING_DEFAULT_AFFINITY, "", 0 };

/* --- interrupts that are younger than our default --- */

/* The mask that an interrupt begins with (irq_setup_affinity() of kernel/irq/manage.c): of the
 * default what is online, and of that what is on its device's node, if there is any. One that
 * nobody handles yet has the default itself. */
static CpuSet mask_at_birth(const Manager *m, const IrqWish *w, const CpuSet *by_default) {
        const CpuSet online = topology_cpus(&m->topology);
        CpuSet mask = *by_default, near;
        NodeSet nodes = { 0 };

        if (!w->vector || !w->vector->name)
                return mask;
        id_set_keep_only(&mask, &online);
        if (id_set_is_empty(&mask))
                mask = online;
        if (w->device->node >= 0)
                id_set_add(&nodes, (uint32_t)w->device->node);
        near = topology_cpus_of(&m->topology, &nodes);
        id_set_keep_only(&near, &mask);
        return id_set_is_empty(&near) ? mask : near;
}

/* Made since the default was ours: before us it would have had what stood there then. */
static bool was_born_ours(const Manager *m, const IrqWish *w,
                          char buffer[static SETTING_TEXT_MAX]) {
        const Irq *irq = m->irq;
        const UndoSetting *by_default = undo_host_find(&irq->undo, &DEFAULT_KEY);
        const IrqSetting *ours = irq_setting_find(irq, &DEFAULT_KEY);
        SettingValue before;
        CpuSet begun;

        if (w->key.kind != SETTING_VECTOR || !by_default || !ours || !ours->progress.written ||
            !irq->host_known || irq_host_has_vector(&irq->host, &w->key) ||
            setting_parse(SETTING_DEFAULT_AFFINITY, by_default->before, &before) < 0)
                return false;
        begun = mask_at_birth(m, w, &ours->progress.ours.cpus);
        if (id_set_equal(&w->stands.cpus, &begun))
                before.cpus = mask_at_birth(m, w, &before.cpus);
        else if (!id_set_equal(&w->stands.cpus, &ours->progress.ours.cpus))
                return false;
        return setting_render(SETTING_VECTOR, &before, buffer) >= 0;
}

bool irq_record_note_born(Manager *m, const IrqWish *w) {
        char before[SETTING_TEXT_MAX];

        return !undo_host_find(&m->irq->undo, &w->key) && was_born_ours(m, w, before) &&
               undo_host_add(&m->irq->undo, &w->key, "", before) >= 0;
}

/* --- before and after a change --- */

int irq_record_note(Manager *m, const IrqWish *w) {
        char before[SETTING_TEXT_MAX], identity[SETTING_TEXT_MAX];
        Irq *irq = m->irq;
        const UndoSetting *entry = undo_host_find(&irq->undo, &w->key);
        int r;

        r = irq->ops->identify(&m->sysroot, &w->key, identity);
        if (r >= 0 && entry && strcmp(entry->identity, identity) == 0)
                return 0;
        if (entry) /* of another interface that had this name */
                undo_host_remove(&irq->undo, (size_t)(entry - irq->undo.settings));
        if (r >= 0 && !was_born_ours(m, w, before))
                r = irq->ops->read(&m->sysroot, &w->key, before);
        return r < 0 ? r : undo_host_add(&irq->undo, &w->key, identity, before);
}

void irq_record_unnote(Manager *m, const SettingKey *key) {
        UndoSetting *entry = undo_host_find(&m->irq->undo, key);
        char now[SETTING_TEXT_MAX];

        if (entry && m->irq->ops->read(&m->sysroot, key, now) >= 0 &&
            strcmp(now, entry->before) == 0)
                undo_host_remove(&m->irq->undo, (size_t)(entry - m->irq->undo.settings));
}

bool irq_record_write(Manager *m) {
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

/* --- interfaces that have another name now --- */

static bool is_same_interface(const Manager *m, const UndoSetting *entry) {
        char identity[SETTING_TEXT_MAX];

        return m->irq->ops->identify(&m->sysroot, &entry->key, identity) >= 0 &&
               strcmp(identity, entry->identity) == 0;
}

typedef struct Search {
        const Manager *manager;
        const char *identity;
        char name[NAME_MAX + 1];
} Search;

static int on_interface(const char *name, void *userdata) {
        Search *search = userdata;
        const Manager *m = search->manager;
        const SettingKey key = { SETTING_XPS, name, 0 };
        char text[SETTING_TEXT_MAX];

        if (m->irq->ops->identify(&m->sysroot, &key, text) < 0 ||
            strcmp(text, search->identity) != 0)
                return 0;
        (void)snprintf(search->name, sizeof(search->name), "%s", name);
        return -EEXIST;
}

/* By the kernel, and not by the list of this look: the name may have changed since that was read.
 * False: there is none with that number that we see. */
static bool find_interface(Search *search) {
        return sysfs_foreach(&search->manager->sysroot, "class/net", on_interface, search) ==
               -EEXIST;
}

bool irq_record_has_interface(const Manager *m, const UndoSetting *entry) {
        Search search = { .manager = m, .identity = entry->identity };

        return find_interface(&search);
}

/* Of two entries with one key the one whose interface has lost the name: no record may have both.
 */
static void drop_doubles(const Manager *m) {
        UndoHost *undo = &m->irq->undo;

        for (size_t i = undo->n_settings; i > 0; i--) {
                const UndoSetting *first = undo_host_find(undo, &undo->settings[i - 1].key);
                const size_t at = (size_t)(first - undo->settings);

                if (at != i - 1)
                        undo_host_remove(undo, is_same_interface(m, first) ? i - 1 : at);
        }
}

void irq_record_follow_names(Manager *m) {
        UndoHost *undo = &m->irq->undo;
        bool any = false;

        for (size_t i = 0; i < undo->n_settings; i++) {
                const UndoSetting *entry = &undo->settings[i];
                Search search = { .manager = m, .identity = entry->identity };

                if ((entry->key.kind != SETTING_XPS && entry->key.kind != SETTING_RPS) ||
                    is_same_interface(m, entry))
                        continue;
                if (!find_interface(&search))
                        continue;
                irq_setting_forget(m->irq, &entry->key);
                any |= undo_host_rename(undo, i, search.name) >= 0;
        }
        if (any)
                drop_doubles(m);
}
