/* Identifies one process, and finds the instance that it belongs to. */
#pragma once

#include "tidbnumad/daemon/registry/registry.h"

/* Considers a process again when what a worker was asked about it is answered. */
void identify_start(Registry *registry);

/* Could a policy name it, by its executable alone? Negative: the link cannot be read. */
int identify_may_match(Registry *registry, pid_t pid);

/* Reads the process and adds it to an instance or to the ignored processes, or removes it from
 * both. Allocates nothing for a process that no policy names. Returns only errors such as -ENOMEM.
 */
int identify_consider(Registry *registry, pid_t pid);

/* The same of one whose exec was just reported: it gets its CPUs at once, see start.h. */
int identify_exec(Registry *registry, pid_t pid);

/* Reads the command line, only if a policy for the executable matches by it. The command line is in
 * the process's own memory, so the process can write anything there. If it cannot be read, no such
 * policy matches. Negative: it may be read later, and is considered again then. */
int identify_read_args(Registry *registry, Process *process, const ProcHandle *handle);
