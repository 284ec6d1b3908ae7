/* Reads /run/tidbnumad/status.json, which the daemon publishes, and answers what is asked of it. */
#pragma once

#include <limits.h>

#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/publish/status.h"

/* Reads the status in a runtime folder. -ENOENT: no daemon has run there; -EBADMSG: it is of
 * another version; other negative errno. status_done() frees it. */
int status_file_read(const char *runtime_dir, Snapshot *ret);

/* Judged by its age: does the daemon that wrote it still run? The daemon writes it with every
 * sample. */
bool status_file_is_fresh(const Snapshot *status, double now_seconds);

const InstanceInfo *status_file_find(const Snapshot *status, const char *name);

/* What an instance in the unit is called. */
void status_unit_label(const UnitInfo *unit, char ret[static NAME_MAX]);

/* One of the globs matches the name of the unit, or that of an instance in it. */
bool status_unit_is_named(const UnitInfo *unit, const WordList *globs);

/* NULL: no such unit is known. */
const UnitInfo *status_file_find_unit(const Snapshot *status, const char *name);

/* Is one of the instances in it? */
bool status_unit_runs(const Snapshot *status, const UnitInfo *unit);

/* Could it not be prepared, or was its preparation taken back? Not: it starts unprepared, because
 * its start asks for that. */
bool status_unit_is_problem(const UnitInfo *unit);

/* Is the instance settled: bound, or only watched, or released? */
bool status_is_at_rest(const InstanceInfo *instance);

/* Is the instance in a state that needs the operator? A move in progress is not. */
bool status_is_problem(const InstanceInfo *instance);

/* The daemon as a process: whether the one that published a status still runs. */

/* The daemon that uses the runtime folder, by its lock, or else by the pid of the status that it
 * published; 0: none runs. The age of the status alone proves nothing: a daemon may be busy, or
 * have no room to publish. Only root may read the lock. `status` may be NULL: nothing is published.
 */
pid_t daemon_process_find(const char *runtime_dir, const Snapshot *status);

/* Was the program of that process removed, or replaced by another one, since it began? Only root
 * sees that of root's; other users: false. */
bool daemon_process_is_replaced(pid_t pid);

/* Does the file system of the runtime folder lack the room for what the daemon publishes? */
bool daemon_process_lacks_room(const char *runtime_dir);
