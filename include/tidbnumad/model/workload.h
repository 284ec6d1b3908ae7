/* The processes that policies may name, as plain data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/product.h"

/* A process for as long as the machine is up: a pid alone may have been given to another one. */
typedef struct ProcessId {
        pid_t pid;
        uint64_t start_ticks; /* field 22 of /proc/PID/stat, clock ticks since boot */
} ProcessId;

bool process_id_equal(const ProcessId *a, const ProcessId *b);

/* The kind of namespace of the process that is not the host's. */
typedef enum Foreign {
        FOREIGN_NONE,
        FOREIGN_PID,
        FOREIGN_USER,
        FOREIGN_MOUNT, /* of its own making: the one that systemd gives a hardened service is ours
                        */
        FOREIGN_ROOT,  /* a process of a service that sees another root folder there: a container or
                        * a chroot, which process_check_mounts() decides; FOREIGN_MOUNT until then */
} Foreign;

/* "PID", "user", "mount"; "" for none. */
const char *foreign_to_string(Foreign foreign);

typedef struct Process {
        ProcessId id;
        uid_t uid; /* effective */
        char *exe; /* target of /proc/PID/exe without the " (deleted)" of a replaced file; owned */
        char *cgroup; /* path below the unified hierarchy (or systemd's own on v1); owned */
        char *args;   /* its command line, the words joined by single spaces; NULL: no policy for
                       * its executable needs it; owned */
        char *unit;   /* of the system manager; NULL when there is none; owned */
        char *scope;  /* a scope of ours that it is in, see unit_is_own_scope(); `unit` is then the
                       * one that it came from, or NULL; NULL: none; owned */
        Foreign foreign;
        pid_t forked_by; /* its parent, if it has executed no program since its fork; 0: it has */
} Process;

/* How a program by Go counts its CPUs, by the version of Go that built it. */
typedef enum GoCount {
        GO_UNKNOWN, /* not a program by Go, or that is not known */
        GO_ONCE,    /* when it starts: up to Go 1.24 */
        GO_FOLLOWS, /* it follows a change, unless it sets the number itself: from Go 1.25 on */
} GoCount;

/* CPUs that a process was given at its exec, before a record of it was written. All of its threads
 * come from the one that did the exec, so they have `before` or inherit `given`. */
typedef struct StartCpus {
        bool set;
        CpuSet before; /* empty: those of its cpuset, it had chosen none */
        CpuSet given;
} StartCpus;

/* A process of an instance, and what the layers that touch the OS hold it by. */
typedef struct Member {
        Process process;
        struct ProcHandle *handle; /* of sys/proc.h; owned */
        bool forks_reported;       /* the kernel reports its forks, and none before was missed */
        bool cpus_applied;         /* each of its threads got the CPUs of its placement once */
        StartCpus *start;          /* until its record is written; NULL: it was given none; owned */
        int32_t *threads; /* their numbers when they were last listed, see binding_load(); owned */
        size_t n_threads, threads_allocated;
        unsigned n_listed; /* how often that list has served since */
} Member;

/* Are both the same process, with the same owner, executable and unit? */
bool process_is_same(const Process *a, const Process *b);

void process_done(Process *process);
#define _cleanup_process_ _cleanup_(process_done)

/* A scope that the daemon made for one instance, which had no unit to itself:
 * tidbnumad-INSTANCE-START.scope. */
#define OWN_SCOPE_PREFIX "tidbnumad-"
bool unit_is_own_scope(const char *unit);

/* The part of a cgroup's path that is the unit's own, as a length; what is behind it the unit has
 * made itself. 0: the unit is not in it. */
size_t unit_cgroup_length(const char *path, const char *unit);

/* The system unit that a cgroup path belongs to: the first component that is not a slice
 * (systemd.unit(5), "systemd.slice(5)"), with systemd's escape of a leading "_" undone. NULL when
 * there is none. A unit of a user's own manager is NOT seen here: its path leads through
 * user@UID.service, which is the answer. The result points to a new string that the caller owns.
 * Returns 0, -ENXIO (no unit in it) or -ENOMEM. */
int unit_from_cgroup(const char *path, char **ret);

/* Is it a service whose processes are one instance? A user's manager is a service that holds
 * many programs: each of its processes is an instance. NULL: no. */
bool unit_is_service(const char *unit);

/* Does the word name the unit: its name, or that without ".service"? `unit` may be NULL. */
bool unit_is_named(const char *unit, const char *word);

/* A topology file of TiUP: the servers of a cluster, and where in the file each of them is. Plain
 * data; config/tiup.h parses it, publish/advice.h fills it in. */

/* How a comment begins that is filled in below the host. */
#define TIUP_NOTE "# tidbnumad: "

typedef struct TiupServer {
        Product product;
        char *host;            /* owned, as the other strings */
        char *unit;            /* "tidb-4000.service" */
        char *name;            /* "tidb-4000" */
        uint16_t ports[2];     /* that clients use, and the second one; 0: it has none */
        char *data_dirs;       /* absolute ones, with commas between them; NULL: none */
        uint64_t memory_limit; /* resource_control.memory_limit; 0: none, or a percentage */
        uint32_t cpu_quota;    /* resource_control.cpu_quota, in percent of one CPU; 0: none */
        NodeSet nodes;         /* `numa_node`; empty: not given, or in words of numactl ("all") */
        bool nodes_unknown;    /* in such words, whose meaning depends on the host */
        bool has_cores;        /* `numa_cores`, which TiUP heeds beside `numa_node` */
        CpuSet cores;          /* it; empty: in words of numactl */
        char **settings; /* keys of `config`, with dots: "readpool.unified.max-thread-count" */
        size_t n_settings, settings_allocated;
        SourceSpan at;        /* its first key */
        SourceSpan host_at;   /* the value of `host` */
        SourceSpan note_at;   /* the comment of an earlier plan below it; line 0: it has none */
        SourceSpan numa_at;   /* the value of its own `numa_node`, which may be empty; line 0: it
                               * has none */
        SourceSpan cores_at;  /* likewise, `numa_cores` */
        SourceSpan config_at; /* the first key of its own `config`; line 0: it has none */
        bool on_each_host;    /* of `monitored`, where nothing can be filled in for one host */
        bool in_lines;        /* one key a line: nothing can be filled into braces, aliases, or
                               * around values of several lines */
        bool config_fits;     /* likewise, `config`; also: there is none */
} TiupServer;

/* Servers of a section that is not planned, such as tispark_masters. */
typedef struct TiupOthers {
        char *section; /* owned */
        size_t n;
} TiupOthers;

typedef struct TiupTopology {
        TiupServer *servers; /* in file order, those of `monitored` last; owned */
        size_t n_servers, allocated;
        TiupOthers *others; /* in file order; owned */
        size_t n_others, others_allocated;
        bool user_units; /* global.systemd_mode is user: services of a user's own manager */
} TiupTopology;

void tiup_topology_done(TiupTopology *topology);
#define _cleanup_tiup_topology_ _cleanup_(tiup_topology_done)

/* Is there a key of `config` for this setting? */
bool tiup_server_sets(const TiupServer *server, const char *setting);
