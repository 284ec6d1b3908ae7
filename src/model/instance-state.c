/* The words for the states of an instance. */
#include "tidbnumad/model/instance-state.h"

const char *instance_state_to_string(InstanceState state) {
        static const char *const words[N_INSTANCE_STATES] = {
                [INSTANCE_WAITING] = "waiting",     [INSTANCE_WATCHED] = "watched",
                [INSTANCE_RELEASED] = "released",   [INSTANCE_PLANNED] = "planned",
                [INSTANCE_BINDING] = "binding",     [INSTANCE_MOVING] = "moving",
                [INSTANCE_NARROWING] = "narrowing", [INSTANCE_SETTLING] = "settling",
                [INSTANCE_BOUND] = "bound",         [INSTANCE_WIDENED] = "widened",
                [INSTANCE_PARTLY] = "partly",       [INSTANCE_REFUSED] = "refused",
        };

        return words[state];
}
