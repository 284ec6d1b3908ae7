/* Scopes of our own, on cgroup v2 with systemd: an instance that has no unit to itself, as what was
 * started in a login session, is moved to one that is made for it, in the slice that it was in. Its
 * properties are then set as those of a service.
 *
 * A scope never loosens anything. What has limits or filters of its own stays where it is; limits
 * of the slice apply in both places. Only the processes of a scope are moved. A service is not,
 * even where others share it: systemd ends a service by ending all that is in its cgroup, and a
 * process that was taken out of it would outlive its service's restart.
 *
 * The memory that a process has when it is moved stays charged to where it came from: the counters
 * of a scope do not tell where its memory lies.
 */
#pragma once

#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/enforce/undo-restore.h"
#include "tidbnumad/model/reason.h"

/* May the target be moved to a scope? NULL, or a constant sentence why not, and of what kind that
 * is. Of what is in one already, nothing is asked. */
const char *scope_refuses(const Sysroot *sysroot, const BackendTarget *target, Reason *ret_code);

/* The same by its record, which knows where it came from, and what systemd has said of that. */
const char *scope_refuses_by(const Sysroot *sysroot, const UndoRecord *record,
                             const BackendTarget *target, Reason *ret_code);

/* The constant sentence that refuses it for this property of its scope; NULL for none. */
const char *scope_lost_limit(const char *property);

/* The first process of the target that is in no scope of ours; NULL: none. */
const Process *scope_first_outside(const BackendTarget *target);

/* Puts into the record what the move is about to change. Answers as BackendOps.note does. */
int scope_note(Backend *backend, const BackendTarget *target, BackendNote *note, BackendReply reply,
               void *userdata, sd_bus_slot **ret_slot);

/* Moves those that are not in it. Answers as BackendSet does; a scope that is asked of systemd
 * shows a moment after its answer. */
int scope_start(Backend *backend, const BackendTarget *target, const UndoRecord *record,
                BackendReply reply, void *userdata, sd_bus_slot **ret_slot);

/* The group of the record's scope, and its path; the caller owns both. -ESRCH: there is none. */
int scope_open(const Sysroot *sysroot, const UndoRecord *record, char **ret_path, int *ret_fd);

/* One process into a group. -ESRCH: it has ended; -ENOENT: the group has gone. */
int scope_attach(int group_fd, const ProcHandle *handle);

/* The way back. 1: its processes are where they came from, or there are none; 0: that is gone, so
 * they stay, and only the scope's properties are left to be given back; negative: it failed. */
int scope_send_home(Backend *backend, UndoRestore *restore);
