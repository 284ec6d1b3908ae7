/* The room of undo: the values before each change, and their release. */
#pragma once

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/enforce/undo-restore.h"
#include "tidbnumad/enforce/undo.h"
#include "tidbnumad/sys/bus-manager.h"

/* A record that is being released. */
typedef struct UndoRelease {
        struct Undoing *undo; /* borrowed */
        UndoRestore restore;
        size_t part;      /* index into the order of release */
        BackendCall call; /* in flight if it has a slot */
        uint64_t due_usec,
                deadline_usec; /* monotonic; the deadline by which a written value must show */
        unsigned failures;
        unsigned turns;  /* of the loop, that its threads have taken so far */
        const char *why; /* a constant sentence */
        bool asked;      /* by an operator: done also while the daemon is paused */
        char *failure;   /* what went wrong in the last attempt; NULL; owned */
        Reason failure_code;
} UndoRelease;

typedef struct UndoReleases {
        UndoRelease **list; /* owned */
        size_t n, allocated;
        sd_event_source *timer;
        uint64_t stop_usec; /* monotonic: the daemon exits at this time if host.stopping */
        uint64_t n_done, n_failures;
} UndoReleases;

typedef struct Undoing {
        Host *host;     /* borrowed, as the next */
        Roster *roster; /* undo writes only the part `undo` of its instances */
        Undo records;
        UndoReleases releases;
        sd_bus_slot *admin_call; /* see undo-admin.h: the read that is in flight */
        int repair_told;         /* the error that the journal has; 0: none */
        char *admin_unit;        /* of it; owned */
} Undoing;
