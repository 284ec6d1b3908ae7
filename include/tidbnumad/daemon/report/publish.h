/* The daemon's state into the files that others read. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* Writes metrics.prom and status.json. A failure is logged once, and so is that it works
 * again. Nothing is done in a dry run without --runtime-dir. */
int publish_now(Manager *manager);
