/* Drift: CPUs or memory nodes of an instance that stood, and that somebody else has changed. It is
 * noticed at once where a cpuset holds the instance, else at the next look; repaired, counted, told
 * with what stood there; and left to the other one for a minute after STEP_REPAIRS_MAX repairs. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/plan/step.h"

/* Without it, drift is found at the next look only. */
void drift_start(Binder *b);
void drift_stop(Binder *b);

/* The instance is held by the cpuset of this folder (-EBADF: by none): writes to it are noticed
 * from now on. To be called at each look, for a service that starts again has a new one. */
void drift_watch(const Binder *b, Instance *instance, int cpuset_fd);

/* A look is over: what of it stands? Of what has stood since it was last written, writes are not
 * counted any more as without effect, in `input` either. */
void drift_note(Instance *instance, StepInput *input);

/* A step is about to change CPUs or memory nodes. Of those that had stood, this is a repair. */
void drift_count(const Binder *b, Instance *instance, const Step *step, uint64_t now_usec);

/* So many repairs were there within the last minute. */
unsigned drift_repairs(const Drift *drift, uint64_t now_usec);

/* Events of inotify(7): which of the instances are to be looked at, soon. For drift_start(). */
void drift_note_events(Binder *b, const char *events, size_t size, uint64_t now_usec);
