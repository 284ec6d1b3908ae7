/* The array of known units, and the lists of systemd from which it is filled. systemd answers
 * later, through the loop. */
#pragma once

#include "tidbnumad/daemon/units/unit.h"

Unit *unit_list_find(const Units *units, const char *name);

/* Adds a unit if a policy matches its name. NULL: no policy does. */
Unit *unit_list_get(Units *units, const char *name);

/* Removes units that no policy matches any more, once their own values are restored. */
void unit_list_forget(Units *units);

/* Reconciles all units: known ones, those that policies name, and all loaded units and unit files
 * that match. systemd walks its folders for this, so it is not done in every scan. */
void unit_list_reconcile_all(Units *units);

/* Postpones placing until all requested lists have been answered, as otherwise the first unit in a
 * list would have the first choice. Then plans for all of them. */
void unit_list_settle(Units *units);

/* Reads a unit that systemd loaded for the first time, often because it is being started. */
void unit_list_ask(Units *units, const char *name);

/* The cheap part of it, which makes systemd load nothing: loaded units that match, and known units
 * that are not loaded. */
void unit_list_scan(Units *units);
