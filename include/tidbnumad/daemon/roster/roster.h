/* All instances there are, by name, and who is in them. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* The instance that the process belongs to, or NULL. */
Instance *roster_find_owner(const Manager *manager, const Process *process);

/* The instance that holds the process, with its index in it, or NULL. By number: whether it is
 * still the same process, the handle beside it tells. */
Instance *roster_find_pid(const Manager *manager, pid_t pid, size_t *ret_index);

/* Gives the instance its name and takes it over. It needs a process: the name may hold its pid.
 * Where another has the name already, a longer one is given, and that is logged. -ENOMEM: it stays
 * with the caller. */
int roster_add(Manager *manager, Instance *instance);

/* Gives it the name it should have by now, as its port has become known. */
int roster_rename(Manager *manager, Instance *instance);

/* Takes one process away, and the instance with its last one. */
void roster_remove_process(Manager *manager, Instance *instance, size_t index);
