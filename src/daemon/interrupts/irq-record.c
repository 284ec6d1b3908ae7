/* What interrupts were like before us. The record itself is enforce's. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/daemon/interrupts/irq-record.h"
#include "tidbnumad/daemon/interrupts/irq-setting.h"
#include "tidbnumad/sys/sysfs-device.h"

/* --- before and after a change --- */

int irq_record_note(Interrupts *irq, const IrqWish *w) {
        char before[SETTING_TEXT_MAX], identity[SETTING_TEXT_MAX];
        const UndoSetting *entry = undo_host_find(&irq->undo, &w->key);
        int r;

        r = irq->ops->identify(&irq->host->sysroot, &w->key, identity);
        if (r >= 0 && entry && strcmp(entry->identity, identity) == 0)
                return 0;
        if (entry) /* of another interface that had this name */
                undo_host_remove(&irq->undo, (size_t)(entry - irq->undo.settings));
        if (r >= 0)
                r = irq->ops->read(&irq->host->sysroot, &w->key, before);
        return r < 0 ? r : undo_host_add(&irq->undo, &w->key, identity, before);
}

void irq_record_unnote(Interrupts *irq, const SettingKey *key) {
        UndoSetting *entry = undo_host_find(&irq->undo, key);
        char now[SETTING_TEXT_MAX];

        if (entry && irq->ops->read(&irq->host->sysroot, key, now) >= 0 &&
            strcmp(now, entry->before) == 0)
                undo_host_remove(&irq->undo, (size_t)(entry - irq->undo.settings));
}

bool irq_record_write(Interrupts *irq) {
        static const JournalFields fields = { .reason = REASON_RECORD_UNWRITABLE };
        int r = undo_host_write(irq->records, &irq->undo);

        if (r < 0 && !irq->record_failed)
                journal_log(&irq->host->journal, LOG_ERR, &fields,
                            "What interrupts were like before cannot be written down: %s. Nothing "
                            "of them is changed; %s",
                            strerror(-r), reason_to_remedy(REASON_RECORD_UNWRITABLE));
        irq->record_failed = r < 0;
        return r >= 0;
}

/* --- interfaces that have another name now --- */

static bool is_same_interface(const Interrupts *irq, const UndoSetting *entry) {
        char identity[SETTING_TEXT_MAX];

        return irq->ops->identify(&irq->host->sysroot, &entry->key, identity) >= 0 &&
               strcmp(identity, entry->identity) == 0;
}

typedef struct Search {
        const Interrupts *room;
        const char *identity;
        char name[NAME_MAX + 1];
} Search;

static int on_interface(const char *name, void *userdata) {
        Search *search = userdata;
        const Interrupts *irq = search->room;
        const SettingKey key = { SETTING_XPS, name, 0 };
        char text[SETTING_TEXT_MAX];

        if (irq->ops->identify(&irq->host->sysroot, &key, text) < 0 ||
            strcmp(text, search->identity) != 0)
                return 0;
        (void)snprintf(search->name, sizeof(search->name), "%s", name);
        return -EEXIST;
}

/* By the kernel, and not by the list of this look: the name may have changed since that was read.
 * False: there is none with that number that we see. */
static bool find_interface(Search *search) {
        return sysfs_foreach(&search->room->host->sysroot, "class/net", on_interface, search) ==
               -EEXIST;
}

bool irq_record_has_interface(const Interrupts *irq, const UndoSetting *entry) {
        Search search = { .room = irq, .identity = entry->identity };

        return find_interface(&search);
}

/* Of two entries with one key the one whose interface has lost the name: no record may have both.
 */
static void drop_doubles(Interrupts *irq) {
        UndoHost *undo = &irq->undo;

        for (size_t i = undo->n_settings; i > 0; i--) {
                const UndoSetting *first = undo_host_find(undo, &undo->settings[i - 1].key);
                const size_t at = (size_t)(first - undo->settings);

                if (at != i - 1)
                        undo_host_remove(undo, is_same_interface(irq, first) ? i - 1 : at);
        }
}

void irq_record_follow_names(Interrupts *irq) {
        UndoHost *undo = &irq->undo;
        bool any = false;

        for (size_t i = 0; i < undo->n_settings; i++) {
                const UndoSetting *entry = &undo->settings[i];
                Search search = { .room = irq, .identity = entry->identity };

                if ((entry->key.kind != SETTING_XPS && entry->key.kind != SETTING_RPS) ||
                    is_same_interface(irq, entry))
                        continue;
                if (!find_interface(&search))
                        continue;
                irq_setting_forget(irq, &entry->key);
                any |= undo_host_rename(undo, i, search.name) >= 0;
        }
        if (any)
                drop_doubles(irq);
}
