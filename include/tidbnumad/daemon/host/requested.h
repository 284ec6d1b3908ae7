/* What the operator has requested, in a file of the runtime folder: a restart of the daemon keeps
 * it, and a reboot ends it. */
#pragma once

#include "tidbnumad/daemon/host/host.h"

/* At the start. A file that cannot be used counts as a pause, because it may have been one; that is
 * logged. */
void requested_read(Host *host);

/* Writes host->requests, as they are to be from now on. Negative errno: they hold until the daemon
 * ends. */
int requested_write(const Host *host);
