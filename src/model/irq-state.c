/* Words for how a vector is. */
#include "tidbnumad/model/snapshot.h"

const char *irq_state_to_string(IrqState state) {
        static const char *const words[N_IRQ_STATES] = {
                [IRQ_STATE_STEERED] = "steered",     [IRQ_STATE_MANAGED] = "managed",
                [IRQ_STATE_CONTESTED] = "contested", [IRQ_STATE_FAILED] = "failed",
                [IRQ_STATE_LEFT] = "left",
        };

        return words[state];
}
