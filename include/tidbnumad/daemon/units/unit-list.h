/* The known units as an array, and the lists of systemd's that it is filled from. Lists are
 * answered later, through the loop; what they bring is looked at then. */
#pragma once

#include "tidbnumad/daemon/units/unit.h"

Unit *unit_list_find(const Units *units, const char *name);

/* A unit was heard of: known from now on, if a policy names it. NULL: not ours. */
Unit *unit_list_get(Units *units, const char *name);

/* Forgets those that no policy names any more, once they have their own values back. */
void unit_list_forget(Units *units);

/* Everything anew: all known units, all that policies name, all loaded units and all unit files
 * that match. Systemd walks through its folders for it; not for every scan. */
void unit_list_reconcile_all(Units *units);

/* Until all that was asked for anew has been answered, nobody's place is weighed: who is heard of
 * first would have the choice. Then everybody's is decided. */
void unit_list_settle(Units *units);

/* A unit was loaded for the first time, often because it is being started. */
void unit_list_ask(Units *units, const char *name);

/* The cheap part of it, which loads nothing: loaded units that match, and those known that are not
 * among them. */
void unit_list_scan(Units *units);
