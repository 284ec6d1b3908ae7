/* What interrupts were like before us. The record itself is enforce's. */
#include <string.h>

#include "tidbnumad/daemon/interrupts/irq-record.h"

int irq_record_note(Interrupts *irq, const IrqWish *w) {
        char before[SETTING_TEXT_MAX];
        int r;

        if (undo_host_find(&irq->undo, &w->key))
                return 0;
        r = irq->ops->read(&irq->host->sysroot, &w->key, before);
        return r < 0 ? r : undo_host_add(&irq->undo, &w->key, before);
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
                            "The original settings of interrupts cannot be saved: %s. No interrupt "
                            "is changed; %s",
                            strerror(-r), reason_to_remedy(REASON_RECORD_UNWRITABLE));
        irq->record_failed = r < 0;
        return r >= 0;
}
