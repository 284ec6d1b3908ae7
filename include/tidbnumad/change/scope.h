/* Scopes of tidbnumad, on cgroup v2 with systemd: an instance without a unit to itself, such as one
 * started in a login session, is moved to a scope that is made for it in the same slice. Its
 * properties are then set as those of a service.
 *
 * A scope never loosens a limit. A process with limits or filters of its own is not moved; limits
 * of the slice apply in both places. Only the processes of a scope are moved. A service is not,
 * even if it is shared: systemd stops a service by killing all processes in its cgroup, and a
 * process that was moved out would survive its service's restart.
 *
 * The memory that a process has when it is moved stays charged to its former group: the counters of
 * a scope do not show where that memory is located. */
#pragma once

#include "tidbnumad/change/backend.h"
#include "tidbnumad/model/reason.h"

/* May the target be moved to a scope? NULL, or a constant sentence why not, and the reason's code.
 * NULL for a target that is in a scope already. */
const char *scope_refuses(const Sysroot *sysroot, const BackendTarget *target, Reason *ret_code);

/* The same by its record, which has the group it came from and what systemd reported of that. */
const char *scope_refuses_by(const Sysroot *sysroot, const UndoRecord *record,
                             const BackendTarget *target, Reason *ret_code);

/* Records the values that the move changes. Answers as BackendOps.note does. */
int scope_note(Backend *backend, const BackendTarget *target, UndoRecord *record,
               BackendCall *call);

/* Moves the processes that are not in the scope yet. Answers as BackendOps.note does; a scope
 * appears a moment after systemd's answer. */
int scope_start(Backend *backend, const BackendTarget *target, const UndoRecord *record,
                BackendCall *call);

/* Moves the processes back. 1: they are where they came from, or there are none; 0: that group is
 * gone, so they stay and only the scope's properties are left to be restored; negative: it failed.
 */
int scope_send_home(Backend *backend, UndoRestore *restore);
