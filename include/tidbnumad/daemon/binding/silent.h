/* Processes whose memory map, or whose file system, does not answer: a FUSE server, a dead NFS, a
 * userfaultfd. The workers (tidbnumad/worker/worker.h) meet them; here it is logged and kept as the
 * instance's reason, and nothing is done that the kernel would wait with. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Starts the workers. `program`: the daemon's own. */
void silent_start(Binder *binder, const char *program);

/* Keeps the reason where one of its processes does not answer. False: all do. */
bool silent_set_failure(const Binder *binder, Instance *instance);

/* Before a change for which the kernel takes the memory map's lock, in systemd's name or in ours:
 * true: one does not answer. The reason is set, and when to look again. */
bool silent_refuses(const Binder *binder, Instance *instance, uint64_t now_usec);
