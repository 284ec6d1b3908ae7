/* The room of interrupts: moves them to the planned CPUs, keeps them there, and restores them.
 *
 * Each reconcile reads the present settings, plans, and compares: a desired setting that is not in
 * force is written, and a setting of tidbnumad that is not desired any more is restored. Events of
 * udev, of links and of instances trigger it, and a slow timer. */
#pragma once

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/interrupts/irq-balance.h"
#include "tidbnumad/enforce/undo-host.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/plan/irq-step.h"
#include "tidbnumad/plan/irq-verify.h"
#include "tidbnumad/plan/irq.h"
#include "tidbnumad/sys/devices.h"

typedef struct Interrupts Interrupts;
typedef struct Placing Placing;
typedef struct Roster Roster;

/* State of one setting, kept between reconciles. */
typedef struct IrqSetting {
        SettingKey key; /* `device` is owned */
        IrqProgress progress;
        IrqVerify verify;   /* verification of a vector's mask */
        bool seen;          /* it is desired at this reconcile */
        bool logged;        /* its failure is logged */
        bool astray_logged; /* firing elsewhere is logged */
} IrqSetting;

/* Interrupts of a device that landed on an instance's CPUs, so far. */
typedef struct IrqLanded {
        char *device, *instance; /* owned */
        uint64_t count;
        bool seen;
} IrqLanded;

/* What the last reconcile has decided for a device, for reports. */
typedef struct IrqSummary {
        IrqReason reason;
        CpuSet cpus; /* where its vectors are to be */
        uint64_t vectors[N_IRQ_STATES];
        uint64_t reset_usec; /* when its driver reinitialized it; 0: never */
        bool unlogged;       /* a change that the next reconcile logs */
} IrqSummary;

/* The state of this room: interrupts and irqbalance. */
struct Interrupts {
        Host *host; /* borrowed, as the other rooms and the folder of the records */
        const Roster *roster;
        const Placing *placing;
        const Undo *records;
        sd_event_source *timer, *link_source;
        int link_fd;
        Uevents uevents;
        void (*reconcile)(Interrupts *irq); /* called by the timer */
        uint64_t due_usec;                  /* time of the next slow reconcile */
        IrqSeries series;                   /* reconciles after an event */
        uint64_t owners_sum;                /* checksum of the CPUs' owners */
        const SettingOps *ops;
        UndoHost undo;
        IrqHost last; /* state at the last reconcile */
        bool last_known;
        IrqSetting *settings; /* owned */
        size_t n_settings, settings_allocated;
        IrqLanded *landed; /* owned */
        size_t n_landed, landed_allocated;
        IrqSummary *devices; /* at the same index as in `last`; owned */
        size_t n_devices;
        IrqBalance balance;
        uint64_t n_writes, n_repairs;
        bool load_failed, record_failed; /* logged once */
};

/* Reads the record of an earlier run, and reconciles for the first time. Without udev or netlink
 * the slow timer finds what has changed. */
int irq_start(Host *host, const Roster *roster, const Placing *placing, const Undo *records,
              Interrupts **ret);
Interrupts *irq_free(Interrupts *irq);

/* Reads the record of an earlier run, which could not be read when irq_start() tried. */
void irq_read_record(Interrupts *irq);

/* Writes the record again, which something else may have removed. */
void irq_write_record(Interrupts *irq);

/* Reconciles at once. `irq` may be NULL, here and below: not started. */
void irq_reconcile(Interrupts *irq);

/* To be called when instances have joined, left or moved: if the owners of CPUs have changed,
 * interrupts are reconciled soon. */
void irq_note_owners(Interrupts *irq);

/* Restores everything that can be restored at once, because the daemon is about to exit. */
void irq_give_all_back(Interrupts *irq);
