/* The daemon as a process: whether the one that published a status still runs. */
#pragma once

#include "tidbnumad/ctl/status-file.h"

/* The daemon that uses the runtime folder, by its lock, or else by the pid of the status that it
 * published; 0: none runs. The age of the status alone proves nothing: a daemon may be busy, or
 * have no room to publish. Only root may read the lock. `status` may be NULL: nothing is published.
 */
pid_t daemon_process_find(const char *runtime_dir, const Snapshot *status);

/* Does the file system of the runtime folder lack the room for what the daemon publishes? */
bool daemon_process_lacks_room(const char *runtime_dir);
