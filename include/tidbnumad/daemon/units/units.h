/* Known units: those that a policy names get their CPUs and memory nodes before they start, so that
 * their processes are bound at the first instruction. Which they are is followed by systemd's
 * signals; what happened while nobody listened is found at the next scan. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/units/unit-files.h"
#include "tidbnumad/daemon/units/unit.h"
#include "tidbnumad/sys/bus-manager.h"

typedef struct Units {
        BusManager bus;
        UnitFiles files;
        bool subscribed;
        bool lost_said;
        sd_event_source *retry; /* opens the bus again */
        Unit **units;           /* ascending by name; owned */
        size_t n_units, allocated;
        size_t n_lists; /* in flight */
        bool gathering; /* see unit_list_settle() */
        char *own_unit; /* the daemon's; NULL: none; owned */
} Units;

/* Through systemd, on this machine, in earnest? */
bool units_enforce(const Manager *manager);

/* Begins, and waits for some seconds until what is known is prepared: a unit that is ordered after
 * the daemon's starts bound. Does nothing where nothing is enforced through systemd. */
int units_start(Manager *manager);
void units_done(Manager *manager);

/* Policies were loaded: all is judged anew. */
void units_reload(Manager *manager);

/* The net under the signals, at each scan; room and nodes may have changed as well. */
void units_scan(Manager *manager);

/* Are the memory nodes of this unit (may be NULL) narrow by our doing, from before it started? */
bool units_did_narrow(const Manager *manager, const char *unit);

/* The memory nodes of this unit (may be NULL) were set, for its instance. Where they were ours
 * before, they still are. */
void units_note_mems(Manager *manager, const char *unit, const NodeSet *mems);
