/* Which processes there are: the connector's events and full scans into instances. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* Subscribes; where that is refused, says so once and leaves it to polling. */
int watch_start(Manager *manager);

/* Looks at every process: adds what is new, removes what is gone. */
int watch_scan(Manager *manager);

/* After the policies changed: sorts every known process anew, then scans. */
int watch_rematch(Manager *manager);
