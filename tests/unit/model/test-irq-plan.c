/* The words of interrupt plans: each reason has its own, and they agree with what is done. */
#include <ctype.h>

#include "../../support/test.h"

#include "tidbnumad/model/irq.h"

TEST(each_reason_has_its_words) {
        for (unsigned i = 0; i < N_IRQ_REASONS; i++) {
                const char *id = irq_reason_to_id(i), *sentence = irq_reason_to_string(i);

                assert_non_null(id);
                assert_non_null(sentence);
                assert_non_null(irq_reason_to_rule(i));
                assert_true(strlen(id) > 0 && strlen(sentence) > strlen(id));
                for (unsigned k = 0; k < i; k++) {
                        assert_string_not_equal(id, irq_reason_to_id(k));
                        assert_string_not_equal(sentence, irq_reason_to_string(k));
                }
        }
}

TEST(what_steers) {
        static const IrqReason steering[] = { IRQ_REASON_RESERVED, IRQ_REASON_LOCAL,
                                              IRQ_REASON_AWAY,     IRQ_REASON_LISTED,
                                              IRQ_REASON_SHARED,   IRQ_REASON_OWNED };
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(steering); i++)
                assert_true(irq_reason_steers(steering[i]));
        for (unsigned i = 0; i < N_IRQ_REASONS; i++)
                n += irq_reason_steers(i);
        assert_int_equal(n, ELEMENTSOF(steering));
}

TEST(words) {
        assert_string_equal(irq_reason_to_id(IRQ_REASON_OTHER_NETNS), "other-netns");
        assert_string_equal(irq_reason_to_rule(IRQ_REASON_IRQBALANCE), "R11");
        assert_string_equal(irq_reason_to_rule(IRQ_REASON_RESERVED), "R2");
        assert_string_equal(irq_reason_to_rule(IRQ_REASON_POLICY), "");
        assert_string_equal(irq_decision_to_string(IRQ_STEERED), "steered");
        assert_string_equal(irq_decision_to_string(IRQ_MANAGED), "managed");
        assert_string_equal(irq_decision_to_string(IRQ_LEFT), "left");
}
