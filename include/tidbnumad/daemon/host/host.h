/* The module of the host: command line, devices that come and go, the policies and requests in
 * force, the event loop. Every other module is built on it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/daemon/host/journal.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/requests.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/sysroot.h"
#include "tidbnumad/worker/worker.h"

/* The command line of tidbnumad(8). */

enum { ARGS_POLICY_DIRS_MAX = 8 };

typedef struct Args {
        bool dry_run;
        bool once;
        bool debug;
        const char *sysroot;                           /* NULL: this machine */
        const char *runtime_dir;                       /* NULL: a dry run that publishes nothing */
        const char *policy_dirs[ARGS_POLICY_DIRS_MAX]; /* files of later folders replace those of
                                                          the same name in earlier ones */
        size_t n_policy_dirs;
        bool policy_dirs_named; /* and so must exist, unlike the default ones */
} Args;

/* 1: continue; 0: --help or --version was printed; -EINVAL: invalid, with a message on stderr. */
int args_parse(Args *args, int argc, char *argv[]);

/* CPUs and memory that are added or removed while the daemon runs, and CPUs that a cpuset partition
 * takes.
 *
 * The kernel removes an offline CPU from all cpusets, and gives a group without any CPU left those
 * of its parent: its processes then run anywhere. Therefore the plan is made again with what is
 * present. */

typedef struct Host Host;

/* As in the kernel's files when last read. */
typedef struct Present {
        CpuSet cpus;    /* online */
        NodeSet nodes;  /* online */
        NodeSet memory; /* with memory */
        CpuSet offered; /* by the root of cgroup v2: all but those of partitions; empty: unknown */
        uint64_t min_free_kib, watermark_scale; /* in /proc/sys/vm; 0: unknown */
} Present;

typedef struct Hotplug {
        bool known;
        Present present;
        bool event_seen;     /* since the last check: memory comes to a node in blocks, and only the
                              * first     block changes `present` */
        CpuSet come;         /* CPUs that came online at the last change */
        NodeSet memory_come; /* nodes that got their first memory then */
        NodeSet logged;      /* new nodes, which are not used before the next start; logged once */
        Uevents uevents;
        sd_event_source
                *timer; /* collects events: a socket that is switched off causes some hundred */
} Hotplug;

/* Stores what is present, and listens for events on this machine. Without events, samples find what
 * has changed. */
int hotplug_start(Host *host);
void hotplug_done(Host *host);

/* Reads the topology or the watermarks again if anything of theirs has changed, and queues a plan.
 */
void hotplug_check(Host *host);

/* The host and the policies in force, on which every other module of the daemon is built. */

/* Work of the host that a module queues; the pass that follows every event (manager.h) takes it.
 * That of an instance is queued with instance_queue(). */
typedef enum HostWork {
        HOST_WORK_PLAN = 1 << 0,     /* an input of the plan has changed */
        HOST_WORK_PUBLISH = 1 << 1,  /* something that is published has changed */
        HOST_WORK_OWNERS = 1 << 2,   /* the owner of some CPUs may have changed */
        HOST_WORK_TIDY = 1 << 3,     /* an instance has ended, and its cpuset may be unused now */
        HOST_WORK_TOPOLOGY = 1 << 4, /* CPUs or memory were added or removed */
        HOST_WORK_ROUND = 1 << 5,    /* a round of the slow scan begins */
        HOST_WORK_UNITS = 1 << 6,    /* a record is being released or is gone; it may be a unit's */
        HOST_WORK_EXIT = 1 << 7, /* all work that a stop waits for is complete: publish, and exit */
        HOST_WORK_CARDS = 1 << 9, /* the card to reserve nodes for has come, and none was known */
        HOST_WORK_NONE = 1 << 8,  /* the event was of processes that concern no policy: no pass */
} HostWork;

/* The state of the host and the policies in force. */
struct Host {
        const Args *args; /* borrowed */
        Journal journal;
        JournalLimit journal_limits[JOURNAL_LIMITS];
        Notifier notifier;
        Sysroot sysroot;
        Workers *workers; /* NULL: below a --sysroot */
        Topology topology;
        Hotplug hotplug;
        DeviceList devices;             /* read at the start and with each reload */
        uint64_t *high_watermark_bytes; /* by index of the topology's nodes; owned; see
                                         * hotplug_check() */
        int runtime_fd;                 /* -EBADF: nothing is published */
        int lock_fd;                    /* of the folder; held until the end */
        bool lock_lost_logged;
        sd_event *event;
        uint32_t queued; /* HostWork */
        Backend backend;
        uint64_t units_reload_usec; /* monotonic: until then, a value that differs from ours may be
                                     * of a unit file that systemd has read again */
        bool ready;
        bool reloading; /* policies are in force, and not all processes were looked at by them yet:
                         * nothing is placed or released until then */
        bool stopping;  /* the daemon releases all instances and exits then */
        bool memory_lock_tried;
        int32_t intruder; /* see Members.intruder */

        PolicySet policies;
        PolicyInfo *policy_counters; /* as they are published, at the same index, without names;
                                      * the last one counts for instances that no policy names any
                                      * more. Written by sampling and binding; owned */
        Diagnostics policy_errors;   /* of the last attempt */
        Diagnostics policy_warnings;
        bool policy_load_success;
        bool policies_known; /* policies are in force: of the files, or those that were kept */
        bool policies_kept;  /* they are those of an earlier run, because the files are refused */
        size_t n_adopted; /* policies_known is false: records of an earlier run that are held to */
        SourceFileList policy_files; /* that were loaded and are about to come into force */
        double policy_load_seconds;

        Requests requests; /* of the operator */
};

/* Opens proc and sys, reads the topology, opens and locks the runtime folder. `args` is borrowed.
 * Errors are logged. */
int host_open(Host *host, const Args *args);
void host_close(Host *host);

/* Takes the lock of the runtime folder again if its file was removed: a second daemon could enforce
 * beside this one. */
void host_keep_lock(Host *host);

/* With a trial that binds in spite of the policies, or has. */
DaemonMode host_mode(const Host *host);

/* Does the daemon change anything on this host? Not while it ends. */
bool host_enforces(const Host *host);

/* May the daemon do what an operator asked for explicitly: give back what it has changed? Also
 * while it is paused, or observes: a pause ends only what the daemon does by itself. Not in a dry
 * run. */
bool host_obeys(const Host *host);

void host_queue(Host *host, uint32_t work);

/* Was it queued? It is taken then. */
bool host_take(Host *host, HostWork work);

/* Reads network cards and disks again. If that fails, nothing can be placed near a device, and
 * everything else works. */
void host_read_devices(Host *host);

/* Locks this process's memory once it enforces, because the guard has to act when the host has no
 * free memory. It stays locked when a reload ends enforcement. A failure, as in a run by hand, is
 * logged. */
void host_lock_memory(Host *host);

/* Loads policies at the start and on SIGHUP. */

/* Reads the policy files. 1: `ret` has the new policies, which the caller puts in force. 0: the set
 * was rejected as a whole, and each error was logged; the policies in force stay. Returns only
 * errors such as -ENOMEM.
 *
 * Rejected while none are in force yet: `ret` has those that were last in force, by the runtime
 * folder, and the result is 1 as well (`policy_load_success` tells the difference). Where these
 * cannot be used either it is 0. */
int load_policies(Host *host, PolicySet *ret);

/* Puts `fresh`, the result of load_policies(), in force; afterwards `fresh` contains the former
 * policies, to which instances may still refer. Counters belong to a policy's name, so that a
 * reload keeps them. Keeps the policies for a start at which the files are refused. 0 or -ENOMEM.
 */
int load_take_over(Host *host, PolicySet *fresh);

/* Where no policies are in force: `fresh` holds on to what an earlier run has bound, and nothing
 * new is bound. 0 or -ENOMEM. Afterwards as above. */
int load_adopt(Host *host, PolicySet *fresh);

/* Appends the built-in policies, which only watch. 0 or -ENOMEM. */
int load_add_watched(PolicySet *set);

/* What the operator has requested, in a file of the runtime folder: a restart of the daemon keeps
 * it, and a reboot ends it. */

/* At the start. A file that cannot be used counts as a pause, because it may have been one; that is
 * logged. */
void requested_read(Host *host);

/* Writes host->requests, as they are to be from now on. Negative errno: they hold until the daemon
 * ends. */
int requested_write(const Host *host);
