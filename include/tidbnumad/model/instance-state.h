/* How far the binding of an instance is, in one word. The words are a contract, listed in
 * tidbnumad(8) under STATES. */
#pragma once

typedef enum InstanceState {
        INSTANCE_WAITING,
        INSTANCE_WATCHED,
        INSTANCE_RELEASED,
        INSTANCE_PLANNED,
        INSTANCE_BINDING,
        INSTANCE_MOVING,
        INSTANCE_NARROWING,
        INSTANCE_SETTLING,
        INSTANCE_BOUND,
        INSTANCE_WIDENED,
        INSTANCE_PARTLY,
        INSTANCE_REFUSED,
        N_INSTANCE_STATES,
} InstanceState;

const char *instance_state_to_string(InstanceState state); /* "bound" */
