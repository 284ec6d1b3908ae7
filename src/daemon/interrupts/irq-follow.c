/* Masks that stand, and interrupts that do not care. */
#include "tidbnumad/daemon/interrupts/irq-follow.h"
#include "tidbnumad/daemon/interrupts/irq-apply.h"
#include "tidbnumad/daemon/manager.h"

static void say_astray(const Manager *m, const IrqHost *host, const IrqWish *w) {
        static const JournalFields fields = { .message_id = JOURNAL_IRQ_FAILED,
                                              .reason = REASON_NOT_FOLLOWED };
        char what[256], mask[ID_SET_LIST_MAX];

        irq_describe(host, &w->key, what, sizeof(what));
        (void)id_set_render_list(&w->stands.cpus, mask, sizeof(mask));
        journal_log(&m->host.journal, LOG_WARNING, &fields,
                    "%s goes on firing on other CPUs than its mask %s: %s; %s", what, mask,
                    reason_to_string(REASON_NOT_FOLLOWED), reason_to_remedy(REASON_NOT_FOLLOWED));
}

/* A mask that was another one until this look says nothing yet: irq_follow_course() sees to that.
 */
static void follow_one(Manager *m, const IrqHost *host, const IrqWish *w) {
        IrqSetting *s = (IrqSetting *)irq_setting_find(m->irq, &w->key);

        if (!s || !s->progress.written || !setting_value_equal(&w->stands, &s->progress.ours)) {
                if (s)
                        s->follow = (IrqFollow){ 0 };
                return;
        }
        irq_follow_note(&s->follow, irq_follow_course(&m->irq->host, host, w->device, w->vector));
        if (irq_follow_fails(&s->follow) && !s->told_astray)
                say_astray(m, host, w);
        s->told_astray = irq_follow_fails(&s->follow);
}

void irq_follow(Manager *m, const IrqHost *host, const IrqWishes *wishes) {
        for (size_t i = 0; m->irq->host_known && i < wishes->n_wishes; i++)
                if (wishes->wishes[i].key.kind == SETTING_VECTOR && wishes->wishes[i].known)
                        follow_one(m, host, &wishes->wishes[i]);
}
