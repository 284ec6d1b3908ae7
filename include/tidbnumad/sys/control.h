/* The control socket, by which tidbnumactl(8) asks the daemon to do something: D-Bus messages
 * between the two, without a bus daemon. Only root, or the user whom the daemon runs as, can
 * connect.
 *
 * Methods of CONTROL_INTERFACE at CONTROL_PATH, of which each answers with lines of text for the
 * operator:
 *
 *   Reload()                   → as   reads the policy files; when these are in force
 *   Pause(), Resume()          → as   ends, and begins again, what the daemon does by itself; when
 *                                     no change is under way any more
 *   Release(as globs, b wait)  → as   gives back what instances and devices had before; when the
 *                                     kernel's files show it
 *   Bind(as globs, b wait)     → as   ends a release; when the instances are on their way
 *   Replan(as globs)           → as   places instances again; likewise
 *   TrialBegin()               → as   begins a trial, and changes nothing: the instances that it
 *                                     would bind. It is the connection's, and ends with it
 *   TrialBind()                → as   binds, also in mode observe; when it has begun
 *   TrialKeep()                → as   ends the trial, and keeps what is bound
 *   TrialEnd()                 → as   ends the trial; when the kernel's files show what was there
 *                                     before
 *
 * A refusal is an error of CONTROL_ERROR with a sentence. While a call waits, the signal
 * Progress(s) says what it waits for. A connection may have one call at a time. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/cleanup.h"

#define CONTROL_SOCKET "control"
#define CONTROL_PATH "/org/tidbnumad/Manager"
#define CONTROL_INTERFACE "org.tidbnumad.Manager1"

#define CONTROL_ERROR "org.tidbnumad.Error."
#define CONTROL_ERROR_REFUSED CONTROL_ERROR "Refused"     /* by the policies, or by a mode */
#define CONTROL_ERROR_UNKNOWN CONTROL_ERROR "UnknownName" /* nothing has this name */
#define CONTROL_ERROR_LATE CONTROL_ERROR "NotFinished"    /* not in time; it goes on */
#define CONTROL_ERROR_BUSY CONTROL_ERROR "Busy"           /* too many calls at once */
#define CONTROL_ERROR_INVALID "org.freedesktop.DBus.Error.InvalidArgs"

/* Takes the place of a socket that an earlier daemon left. `*ret_fd` is the socket that listens,
 * `*ret_inode` that of its name, which fstat(2) of a socket does not show. -ENOSPC and others of
 * bind(2). */
int control_listen(const char *runtime_dir, int runtime_fd, int *ret_fd, ino_t *ret_inode);

/* Has it still its name? Not in a folder that was emptied. */
bool control_is_named(int runtime_fd, ino_t inode);

/* The next connection, attached to the loop. -EAGAIN: none; -EPERM: of
 * another user, and closed; other negative errno. The caller owns it, and ends it by
 * control_close(). */
int control_accept(int listen_fd, sd_event *event, sd_bus **ret);

/* Drops what was not sent. Always NULL; also takes NULL. */
sd_bus *control_close(sd_bus *bus);
DEFINE_CLEANUP(sd_bus *, control_close)

/* As tidbnumactl: connects to the daemon of the folder. -ENOENT, -ECONNREFUSED: none listens;
 * -EACCES: not allowed. */
int control_connect(const char *runtime_dir, sd_bus **ret);
