/* What the admin sets on bound units: read again from their unit files and drop-ins when systemd
 * has read these, and when something has changed a value of ours. The records then have what a
 * release gives back, and within what the instances are bound. */
#pragma once

#include "tidbnumad/daemon/undo/undoing.h"

/* Of one unit. systemd answers later, through the loop, which files there are. */
void undo_admin_read(Undoing *undo, UndoRecord *record);

/* Of all. */
void undo_admin_read_all(Undoing *undo);

/* Has it changed for this instance since the last call? */
bool undo_admin_take_change(Instance *instance);

void undo_admin_end(Undoing *undo);
