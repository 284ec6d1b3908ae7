/* Words of the states of an instance. */
#include "tidbnumad/model/instance.h"

static const char *const instance_state_strings[N_INSTANCE_STATES] = {
        [INSTANCE_WAITING] = "waiting",     [INSTANCE_WATCHED] = "watched",
        [INSTANCE_RELEASED] = "released",   [INSTANCE_PLANNED] = "planned",
        [INSTANCE_BINDING] = "binding",     [INSTANCE_MOVING] = "moving",
        [INSTANCE_NARROWING] = "narrowing", [INSTANCE_SETTLING] = "settling",
        [INSTANCE_BOUND] = "bound",         [INSTANCE_WIDENED] = "widened",
        [INSTANCE_PARTLY] = "partly",       [INSTANCE_REFUSED] = "refused",
};
DEFINE_STRING_TABLE(instance_state_to_string, InstanceState, instance_state_strings)

uint64_t node_memory_held(const NodeMemory *memory) {
        return memory->anon_bytes + memory->shmem_bytes;
}
