/* Loading of policies at the start and on SIGHUP. */
#pragma once

#include "tidbnumad/daemon/manager.h"

/* All or nothing: with any error the policies in force stay, with what pause and release say now,
 * and each error is logged once. Returns 0 also then; only -ENOMEM and the like are errors. */
int load_policies(Manager *manager);
