/* Instances that have no unit to themselves, and their scopes (enforce/scope.h). */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* Gives a process that was found in a scope of tidbnumad the unit from which it came, as the undo
 * record has it, because policies name that unit. */
void scope_resolve(const Roster *roster, Process *process);

/* Reads the control groups of the processes of an instance that is not a service, which change when
 * they are moved to a scope. */
void scope_follow(const Roster *roster, Instance *instance);

/* The scope that contains at least one of its processes; NULL: none. */
const char *scope_of(const Instance *instance);

/* Are all of its processes in its scope? */
bool scope_holds(const Instance *instance);
