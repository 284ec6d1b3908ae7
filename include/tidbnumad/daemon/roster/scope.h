/* Instances that have no unit to themselves, and their scopes (enforce/scope.h). */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* A process that was found in a scope of ours is what it was before: of the unit that it came from,
 * as its record says, for policies name that one. */
void scope_resolve(const Roster *roster, Process *process);

/* Reads anew where the processes are, of an instance that is not a service: a move shows here. */
void scope_follow(const Roster *roster, Instance *instance);

/* The scope that it is in with at least one process; NULL: none. */
const char *scope_of(const Instance *instance);

/* Is all of it in its scope? */
bool scope_holds(const Instance *instance);
