/* Where no policies are in force, as after a start with broken files: what an earlier run has
 * bound, by its records, as policies that hold it where it is. */
#pragma once

#include "tidbnumad/daemon/undo/undoing.h"

/* One policy for each record of something bound: of the unit, else of its processes alone. Nothing
 * is moved by them, and memory is bound only where it was already. 0 or -ENOMEM; `ret` is untouched
 * then. */
int undo_make_policies(const Undoing *undo, PolicySet *ret);
