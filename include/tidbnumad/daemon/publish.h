/* The daemon's state into the files that others read. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* Writes metrics.prom and status.json. A failure is logged once, until it works again. */
int publish_now(Manager *manager);
