/* The room of undo: the values before each change, and the way back to them. */
#pragma once

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/enforce/undo-restore.h"
#include "tidbnumad/enforce/undo.h"
#include "tidbnumad/sys/bus-manager.h"

/* One record on its way back. */
typedef struct UndoRelease {
        struct Undoing *undo; /* borrowed */
        UndoRestore restore;
        size_t part; /* of the order of giving back */
        sd_bus_slot *call;
        uint64_t due_usec, deadline_usec; /* monotonic; the deadline of what was written to show */
        unsigned failures;
        const char *why; /* a constant sentence */
        char *failure;   /* what went wrong in the last attempt; NULL; owned */
        Reason failure_code;
} UndoRelease;

typedef struct UndoReleases {
        UndoRelease **list; /* owned */
        size_t n, allocated;
        sd_event_source *timer;
        uint64_t stop_usec; /* monotonic: while host.stopping, the daemon ends by then */
        uint64_t n_done, n_failures;
} UndoReleases;

typedef struct Undoing {
        Host *host;     /* borrowed, as the next */
        Roster *roster; /* of whose instances it writes `undo` alone */
        Undo records;
        UndoReleases releases;
} Undoing;
