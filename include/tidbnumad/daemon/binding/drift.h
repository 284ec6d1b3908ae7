/* Drift: somebody else has changed CPUs or memory nodes that were in force. Drift of an instance in
 * a cpuset is noticed at once, other drift at the next reconcile. It is repaired, counted, and
 * logged with the value that was found. After STEP_REPAIRS_MAX repairs tidbnumad backs off for one
 * minute. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/plan/step.h"

/* Starts the watch of cpuset files. Without the watch, drift is found at the next reconcile. */
void drift_start(Binder *b);
void drift_stop(Binder *b);

/* Watches the cpuset in this folder (-EBADF: none) for writes by others. To be called at each
 * reconcile, because a service that starts again has a new cpuset. */
void drift_watch(const Binder *b, Instance *instance, int cpuset_fd);

/* Notes which values are in force after a reconcile. Of a value that is in force, former writes no
 * longer count as without effect; `input` is adjusted as well. */
void drift_note(Instance *instance, StepInput *input);

/* Counts a repair if the step is about to change CPUs or memory nodes that were in force. */
void drift_count(const Binder *b, Instance *instance, const Step *step, uint64_t now_usec);

/* systemd has read its unit files again: what that changed is repaired, and not counted. */
void drift_note_reload(Instance *instance, uint64_t now_usec);

/* Number of repairs within the last minute. */
unsigned drift_repairs(const Drift *drift, uint64_t now_usec);

/* Handles inotify(7) events: reconciles the instances that the events concern soon. For
 * drift_start(). */
void drift_note_events(Binder *b, const char *events, size_t size, uint64_t now_usec);
