/* Rate and progress of a migration: the rate in force, the time left, and the two lines in the
 * journal. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* A migration of less memory is not logged. */
#define MOVE_LOGGED_BYTES (UINT64_C(16) << 20)

/* Reads where the memory is located, and notes how much of files and shared memory the last pass
 * has left. */
void observe_memory(const Binder *b, Instance *instance, int cgroup_fd);

/* Sets the input of the next step about files and shared memory outside the nodes. */
void move_progress_note_files(const Binder *b, const Instance *instance, StepInput *in);

/* Notes that a pass begins; the first one of a migration is logged. */
void move_progress_begin(const Binder *b, Instance *instance, uint64_t now_usec);

/* To be called before a slice: once a second it reads how long the instance's tasks had to wait,
 * and sets the rate. */
void move_progress_note(const Binder *b, Instance *instance, uint64_t now_usec);

/* Counts bytes after each piece of a pass. */
void move_progress_add(const Binder *b, Instance *instance, uint64_t bytes);

/* Appends how much was on other nodes, who moved it, and what is left, since the migration began.
 */
void move_progress_describe(const Instance *instance, uint64_t now_usec, Text *text);

/* Ends the migration when the instance has reached its last step. `bound_logged`: the journal
 * already has the number of moved bytes. */
void move_progress_end(const Binder *b, Instance *instance, bool bound_logged, uint64_t now_usec);

/* 0 and NAN while nothing is being moved. */
uint64_t move_rate_in_force(const Instance *instance);
double move_left_seconds(const Instance *instance, uint64_t now_usec);
