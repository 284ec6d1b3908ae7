/* Processes whose memory map, or whose file system, does not answer: because of a FUSE server, a
 * dead NFS server or a userfaultfd. The workers (tidbnumad/worker/worker.h) find them. This module
 * logs such a process, keeps it as the instance's reason, and refuses changes for which the kernel
 * would wait for it. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Starts the workers. `program`: the daemon's own. */
void silent_start(Binder *binder, const char *program);

/* Sets the failure if one of the instance's processes does not answer. False: all of them answer.
 */
bool silent_set_failure(const Binder *binder, Instance *instance);

/* To be called before a change for which the kernel takes the lock of the memory map, on behalf of
 * systemd or of the daemon. True: a process does not answer; the reason and the time of the next
 * attempt are set. */
bool silent_refuses(const Binder *binder, Instance *instance, uint64_t now_usec);
