/* One process: who it is now, and which instance it belongs to. */
#pragma once

#include "tidbnumad/daemon/roster/roster.h"

/* Could a policy name it, by its executable alone? */
bool identify_may_match(Roster *roster, pid_t pid);

/* Looks at the process and sorts it in: into an instance, among the strangers, or out of both.
 * Allocates nothing for a process that no policy names. Only -ENOMEM and the like are errors. */
int identify_consider(Roster *roster, pid_t pid);

/* The command line lies in the process's own memory and says what the process wants: it is read
 * only where a policy for the executable asks for it. Where it cannot be read, no such policy
 * matches. */
void identify_read_args(Roster *roster, Process *process, const ProcHandle *handle);
