/* Instances that have no unit to themselves, and their scopes (enforce/scope.h). */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* A process that was found in a scope of ours is what it was before: of the unit that it came from,
 * as its record says, for policies name that one. */
void scope_resolve(const Manager *manager, Process *process);

/* Reads anew where the processes are, of an instance that is not a service: a move shows here. */
void scope_follow(Instance *instance);

/* The scope that it is in with at least one process; NULL: none. */
const char *scope_of(const Instance *instance);

/* Is all of it in its scope? */
bool scope_holds(const Instance *instance);

/* May it be moved to one? NULL, or a constant sentence why not, and of what kind that is. */
const char *scope_cannot(const Instance *instance, Reason *ret_code);

/* The instance as backends see it. */
BackendTarget scope_target(const Instance *instance);
