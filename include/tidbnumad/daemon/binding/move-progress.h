/* How fast and how far a migration is: the rate in force, the time left, and the two lines that the
 * journal has of it. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Less is not worth two lines. */
#define MOVE_LOGGED_BYTES (UINT64_C(16) << 20)

/* Reads where its memory lies, and notes of files and shared memory what the last pass has left. */
void observe_memory(const Binder *b, Instance *instance, int cgroup_fd);

/* A pass begins; the first one of a migration is told. */
void move_progress_begin(const Binder *b, Instance *instance, uint64_t now_usec);

/* Before a slice: once a second looks how long the instance's tasks had to wait, and sets the rate.
 */
void move_progress_note(const Binder *b, Instance *instance, uint64_t now_usec);

/* After a piece. */
void move_progress_add(const Binder *b, Instance *instance, uint64_t bytes);

/* It has come to its end, and the last step with it; `bound_logged`: the journal has what was moved
 * already. */
void move_progress_end(const Binder *b, Instance *instance, bool bound_logged, uint64_t now_usec);

/* 0 and NAN while nothing is being moved. */
uint64_t move_rate_in_force(const Instance *instance);
double move_left_seconds(const Instance *instance, uint64_t now_usec);
