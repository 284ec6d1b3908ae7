/* Interrupts: put where the plan wants them, kept there, and given back.
 *
 * Each look reads what there is, plans, and compares: what is wanted and does not stand is written,
 * what stands by our doing and is not wanted any more is given back. Looks come from udev, from
 * links that change, from instances that come and go, and slowly all the time. */
#pragma once

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/interrupts/irq-balance.h"
#include "tidbnumad/enforce/undo-host.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/plan/irq-step.h"
#include "tidbnumad/plan/irq-verify.h"
#include "tidbnumad/plan/irq.h"
#include "tidbnumad/sys/uevents.h"

typedef struct Interrupts Interrupts;
typedef struct Placing Placing;
typedef struct Roster Roster;

/* What is known of a setting from earlier looks. */
typedef struct IrqSetting {
        SettingKey key; /* `device` is owned */
        IrqProgress progress;
        IrqVerify verify;   /* of a vector */
        bool seen;          /* it is wanted at this look */
        bool logged;        /* that it fails */
        bool astray_logged; /* that it fires elsewhere */
} IrqSetting;

/* Interrupts of a device that landed on an instance's CPUs, so far. */
typedef struct IrqLanded {
        char *device, *instance; /* owned */
        uint64_t count;
        bool seen;
} IrqLanded;

/* A device at the last look, for whoever asks. */
typedef struct IrqSummary {
        IrqDeviceKind kind;
        char *name, *pci; /* owned; `pci` NULL: none */
        int32_t node;
        IrqReason reason;
        CpuSet cpus; /* where its vectors are to be */
        uint64_t vectors[N_IRQ_STATES];
        size_t n_tx, n_rx, n_vectors;
        IrqLink link;
        uint64_t anew_usec; /* its driver has set it up anew; 0: it has not */
        bool unlogged;      /* what there is to tell of it waits for the next look */
} IrqSummary;

/* The room: what the daemon knows of interrupts and of irqbalance. */
struct Interrupts {
        Host *host; /* borrowed, as the other rooms and the folder of the records */
        const Roster *roster;
        const Placing *placing;
        const Undo *records;
        sd_event_source *timer, *link_source;
        int link_fd;
        Uevents uevents;
        void (*reconcile)(Interrupts *irq); /* on the timer */
        uint64_t due_usec;                  /* the next slow look */
        IrqAgain again;                     /* those after an event */
        uint64_t owners_sum;                /* who owned which CPUs */
        const SettingOps *ops;
        UndoHost undo;
        IrqHost last; /* at the last look */
        bool last_known;
        IrqSetting *settings; /* owned */
        size_t n_settings, settings_allocated;
        IrqLanded *landed; /* owned */
        size_t n_landed, landed_allocated;
        IrqSummary *devices; /* owned */
        size_t n_devices;
        IrqBalance balance;
        uint64_t n_writes, n_repairs;
        bool load_failed, record_failed; /* logged once */
};

/* Reads the record of an earlier life, and looks for the first time. Without udev or netlink the
 * slow look finds what has changed. */
int irq_start(Host *host, const Roster *roster, const Placing *placing, const Undo *records,
              Interrupts **ret);
Interrupts *irq_free(Interrupts *irq);

/* Now. `irq` may be NULL, here and below: not started. */
void irq_reconcile(Interrupts *irq);

/* Instances have come, gone or been placed elsewhere: looks soon, if that changes who owns CPUs. */
void irq_note_owners(Interrupts *irq);

/* Gives all back, as far as that goes at once: the daemon is about to end. */
void irq_give_all_back(Interrupts *irq);
