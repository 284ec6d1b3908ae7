/* The module of interrupts: devices, vectors, and irqbalance. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/change/setting.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/irq-step.h"
#include "tidbnumad/plan/irq.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/irq.h"

/* Finds the running irqbalance and reads its settings: once a minute, and as soon as its process
 * changes. Settings that differ from the desired ones are sent; the daemon does not keep what was
 * sent. */

#define IRQ_BALANCE_READ_USEC (UINT64_C(60) * 1000 * 1000)

typedef struct Interrupts Interrupts;

typedef struct IrqBalance {
        ProcessId id; /* pid 0: it does not run */
        const char *folder;
        int fd; /* socket on which an answer is awaited; -EBADF: none */
        sd_event_source *answer;
        char *buffer; /* owned */
        size_t length;
        bool setup_known;      /* `setup` is valid */
        IrqbalanceSetup setup; /* its settings as read, or as sent since */
        uint64_t read_usec; /* time of the next read; while an answer is awaited, the deadline for
                               it */
        uint64_t sent_usec; /* time of the last settings sent to this process; 0: none */
        bool logged_refused;
        bool logged_not_kept;
        pid_t socketless_pid; /* an irqbalance without a socket; 0: none was found */
        pid_t logged_socketless_pid;
        uint64_t searched_usec;
        unsigned n_searches; /* for one without a socket, since one with a socket ran */
} IrqBalance;

void irq_balance_init(IrqBalance *balance);
void irq_balance_done(IrqBalance *balance);

/* Finds the process, and reads its settings if that is due. Puts what is known into `ret`. */
void irq_balance_read(Interrupts *irq, IrqbalanceFacts *ret);

/* Logs once that it has no socket. */
void irq_balance_log_socketless(Interrupts *irq);

/* Sends irqbalance the bans of the plan, merged with its own; and its own ones alone at the end. */

/* Sends what the plan wants if irqbalance's settings differ; its own settings if the plan wants
 * nothing. */
void irq_balance_send(Interrupts *irq, const IrqPlanBalance *wanted);

/* Restores its own settings before the daemon ends. True: it is busy, to be called again. */
bool irq_balance_restore(Interrupts *irq);

/* The module of interrupts: moves them to the planned CPUs, keeps them there, and restores them.
 *
 * Each reconcile reads the present settings, plans, and compares: a desired setting that is not in
 * force is written, and a setting of tidbnumad that is not desired any more is restored. Events of
 * udev, of links and of instances trigger it, and a slow timer. */

typedef struct Placing Placing;
typedef struct Registry Registry;

/* State of one setting, kept between reconciles. */
typedef struct IrqSetting {
        SettingKey key; /* `device` is owned */
        IrqProgress progress;
        IrqVerify verify;      /* verification of a vector's mask */
        bool logged;           /* its failure is logged */
        bool misplaced_logged; /* firing elsewhere is logged */
} IrqSetting;

/* Interrupts of a device that were delivered on an instance's CPUs, so far. */
typedef struct IrqDelivered {
        char *device, *instance; /* owned */
        uint64_t count;
} IrqDelivered;

/* What the last reconcile has decided for a device, for reports. */
typedef struct IrqSummary {
        IrqReason reason;
        CpuSet cpus; /* where its vectors are to be */
        uint64_t vectors[N_IRQ_STATES];
        uint64_t reset_usec; /* when its driver reinitialized it; 0: never */
        bool unlogged;       /* a change that the next reconcile logs */
} IrqSummary;

/* The state of this module: interrupts and irqbalance. */
struct Interrupts {
        Host *host; /* borrowed, as the other modules */
        const Registry *registry;
        const Placing *placing;
        Undoing *undo; /* interrupts write only its record of the host */
        sd_event_source *timer, *link_source;
        int link_fd;
        Uevents uevents;
        uint64_t due_usec;     /* time of the next slow reconcile */
        CpuSet cpus;           /* online at the last one */
        uint64_t cpus_usec;    /* when they have changed; 0: never */
        unsigned n_card_looks; /* since the card to reserve for is there, and shows no node */
        IrqSeries series;      /* reconciles after an event */
        uint64_t owners_sum;   /* checksum of the CPUs' owners */
        const SettingOps *ops;
        IrqHost last; /* state at the last reconcile */
        bool last_known;
        IrqSetting *settings; /* owned */
        size_t n_settings, settings_allocated;
        IrqDelivered *delivered; /* owned */
        size_t n_delivered;
        IrqSummary *devices; /* at the same index as in `last`; owned */
        size_t n_devices;
        IrqBalance balance;
        uint64_t n_writes, n_repairs;
        bool load_failed, record_failed; /* logged once */
        uint64_t stop_usec; /* monotonic: the daemon stops, and waits until then at most; 0: not */
        bool stop_restores; /* and restores everything first */
};

/* Reconciles for the first time. Without udev or netlink the slow timer finds what has changed. */
int irq_start(Host *host, const Registry *registry, const Placing *placing, Undoing *undo,
              Interrupts **ret);
Interrupts *irq_free(Interrupts *irq);

/* Reconciles at once. `irq` may be NULL, here and below: not started. */
void irq_reconcile(Interrupts *irq);

/* To be called when instances have joined, left or moved: if the owners of CPUs have changed,
 * interrupts are reconciled soon. */
void irq_note_owners(Interrupts *irq);

/* To be called when the daemon stops: restores everything, if `restore`, and lets irqbalance answer
 * what it was asked. True: the loop has to go on with that for at most two seconds, until
 * HOST_WORK_EXIT is set and irq_is_stopping() is false. */
bool irq_stop(Interrupts *irq, bool restore);
bool irq_is_stopping(const Interrupts *irq);

/* What interrupts, queues, sysctls and irqbalance had before. Of ours it has nothing: what is set
 * is compared with what is wanted at each reconcile, so each change of it is IRQ_CHANGE. */
UndoRecord *irq_record(const Interrupts *irq);
#define IRQ_CHANGE (&(const UndoChange){ 0 })

/* State of single settings, kept between reconciles. */

/* NULL: nothing was noted of it yet. */
IrqSetting *irq_setting_find(const Interrupts *irq, const SettingKey *key);

/* Writes the settings of interrupts: desired ones, and original ones that are restored. */

/* Writes the desired settings that are not in force, each after its original value was recorded. */
void irq_put_on(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);

/* Is there something in the record whose release was requested? */
bool irq_is_asked_back(const Interrupts *irq, const IrqHost *host);

/* Recorded queue masks of cards that are in other network namespaces now. */
size_t irq_n_out_of_reach(const Interrupts *irq);

/* Was the release of `host` requested, while its settings are still recorded as changed? */
bool irq_host_is_releasing(const Interrupts *irq);

/* Restores the settings that are in the record and not in `desired`. `only_asked`: of these only
 * what was requested. */
void irq_give_back(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired,
                   bool only_asked);

/* Compares with the last reconcile. An interrupt that continues to fire elsewhere counts as failed,
 * and is logged once. */
void irq_verify(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);

/* When interrupts are reconciled: at long intervals, and soon after an event of a device. */

/* Requests a reconcile within that time. */
void irq_events_reconcile_within(Interrupts *irq, uint64_t usec);

/* Reports interrupts in the journal and in the published files. */

/* Counts the interrupts that fired on instances' CPUs since the last reconcile. */
void irq_report_delivered(Interrupts *irq, const IrqHost *host, const IrqOwner *owners,
                          size_t n_owners);

/* Stores the present devices for publication, and logs what has changed. */
void irq_report_devices(Interrupts *irq, const IrqPlan *plan);

/* Has the driver reinitialized the device within the last moments, judged by changes since the last
 * reconcile: queues, vectors, link? To be called before irq_report_devices(). */
bool irq_report_was_reset(const Interrupts *irq, const IrqDevice *device, uint64_t now_usec);

/* For the snapshot; the caller owns both lists, also after -ENOMEM, the rest is borrowed. */
int irq_report_fill(const Interrupts *irq, IrqInfo *ret);

void irq_report_done(Interrupts *irq);

/* Removes the state of vectors and cards that are gone: the next one with that number or name is
 * another device. */
void irq_settings_sweep(Interrupts *irq, const IrqHost *host, const IrqDesiredList *desired);

/* Sets the timer, if there is one, to the next reconcile: the slow one, or the one after an event.
 */
void irq_events_schedule(Interrupts *irq);
