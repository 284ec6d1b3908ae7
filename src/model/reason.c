/* The table of reasons. The list in tidbnumad(8) is generated from it. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/reason.h"

typedef struct ReasonText {
        const char *word, *sentence, *remedy;
} ReasonText;

static const ReasonText texts[N_REASONS] = {
        [REASON_NONE] = { "", "", "" },
        [REASON_NO_PLACE] = { "no-place", "the plan has no nodes for it",
                              "run tidbnumactl explain INSTANCE to see why" },
        [REASON_RELEASED] = { "released", "released on request",
                              "to bind it again: tidbnumactl release --undo INSTANCE" },
        [REASON_OBSERVE] = { "observe",
                             "the daemon changes nothing: it is paused, in mode observe, or a dry "
                             "run",
                             "run tidbnumactl resume, or set enforcement.mode: enforce" },
        [REASON_NOT_STRICT] = { "not-strict", "the backend affinity cannot bind memory",
                                "set memory: preferred, or run it in a system service of its own, "
                                "on a "
                                "host with the cpuset controller" },
        [REASON_NOT_MOVED] = { "not-moved", "its existing memory is not moved (migrate: none)",
                               "set migrate: gentle, or restart it" },
        [REASON_NO_ROOM] = { "no-room", "its memory does not fit on its nodes",
                             "free memory on these nodes, or give it more nodes; the move then "
                             "continues" },
        [REASON_HUGE_POOL] = { "huge-pool",
                               "its nodes have fewer free huge pages than it has reserved and not "
                               "touched, or than its next start will reserve",
                               "give these nodes more huge pages: nr_hugepages in "
                               "/sys/devices/system/node/nodeN/hugepages; tidbnumactl check says "
                               "how many" },
        [REASON_NODE_FULL] = { "node-full", "its nodes are nearly full",
                               "free memory on these nodes, or give it more nodes" },
        [REASON_NODE_FILLING] = { "node-filling",
                                  "the memory of its nodes is being taken fast, so it may use "
                                  "other nodes until that has ended",
                                  "nothing, if something has just started there; else give it more "
                                  "nodes, or find what takes the memory" },
        [REASON_NODE_FREED] = { "node-freed",
                                "its nodes have room again after they were nearly full or filled "
                                "fast, and it returns to them within a minute if its memory fits",
                                "nothing; if it does not return, its memory does not fit on its "
                                "nodes: give it more" },
        [REASON_PINNED_PAGES] = { "pinned-pages",
                                  "the kernel does not move some pages: they are pinned, or shared "
                                  "with a process outside the instance",
                                  "restart it if the remote pages matter" },
        [REASON_MEMORY_UNREADABLE] = { "memory-unreadable",
                                       "it has no memory cgroup of its own, so the location of its "
                                       "memory is not counted",
                                       "run it in its own unit, with MemoryAccounting=yes" },
        [REASON_STATE_UNREADABLE] = { "state-unreadable",
                                      "its state in /proc or in its cgroup cannot be read",
                                      "see the journal; the daemon tries again" },
        [REASON_MEMORY_SILENT] = { "memory-silent", "its memory map does not answer",
                                   "look for a FUSE server or a userfaultfd that hangs, and "
                                   "restart it" },
        [REASON_FILES_SILENT] = { "files-silent",
                                  "the file system of its data directory does not answer",
                                  "see whether that directory can be listed (NFS, FUSE, autofs), "
                                  "and restart it" },
        [REASON_SHARED_UNIT] = { "shared-unit", "unrelated processes share its unit",
                                 "run it in its own unit" },
        [REASON_UNIT_LIMITS] = { "unit-limits",
                                 "its scope has limits or filters that a scope of its own would "
                                 "not have",
                                 "run it as a system service, or set the limits on its slice" },
        [REASON_NO_UNIT] = { "no-unit", "it does not run in its own system service",
                             "run it as a system service" },
        [REASON_OWN_LIMITS] = { "own-limits",
                                "AllowedCPUs= or AllowedMemoryNodes= of its unit leaves nothing of "
                                "its nodes",
                                "change these settings, or the nodes in the policy" },
        [REASON_SLICE_TOO_TIGHT] = { "slice-too-tight",
                                     "a slice or cgroup above it allows too few CPUs or memory "
                                     "nodes",
                                     "widen AllowedCPUs= and AllowedMemoryNodes= of the slice, or "
                                     "choose other nodes" },
        [REASON_INNER_GROUP] = { "inner-group",
                                 "a cgroup that the service created inside its own allows too few "
                                 "CPUs or memory nodes",
                                 "find what creates it, and remove its cpuset limits" },
        [REASON_CONTROLLER_MISSING] = { "controller-missing",
                                        "the host lacks what enforcement.backend needs: systemd or "
                                        "the cpuset controller",
                                        "set enforcement.backend to auto, or enable the "
                                        "controller" },
        [REASON_CONTESTED] = { "contested",
                               "something else keeps changing its CPUs or memory nodes",
                               "find and stop the other program; the daemon tries again after a "
                               "minute" },
        [REASON_OWN_CPUS] = { "own-cpus",
                              "its threads have their own CPU affinity (taskset, "
                              "sched_setaffinity), which leaves some CPUs of its place unused",
                              "nothing, if that is intended; else restart it without taskset, or "
                              "let its own setting (HAProxy: cpu-map, numa-cpu-mapping) name all "
                              "of them" },
        [REASON_UNIT_AFFINITY] = { "unit-affinity",
                                   "CPUAffinity= of its unit leaves out some of the CPUs of its "
                                   "place",
                                   "remove CPUAffinity= from the unit (systemctl cat UNIT shows "
                                   "where it is), run systemctl daemon-reload, and restart it" },
        [REASON_START_AFFINITY] = { "start-affinity",
                                    "numactl or taskset in its start leaves out some of the CPUs "
                                    "of its place",
                                    "take numactl or taskset out of its start (TiUP: numa_node, "
                                    "numa_cores), and restart it" },
        [REASON_START_FAILED] = { "start-failed",
                                  "its unit failed or was started again within a minute of a "
                                  "prepared start, so its preparation was taken back",
                                  "see journalctl -u UNIT; a change of the unit, or systemctl "
                                  "reload tidbnumad, lets it be prepared again" },
        [REASON_START_LIMITS] = { "start-limits",
                                  "its start asks for other CPUs or memory nodes than those of its "
                                  "place",
                                  "take numactl, taskset, CPUAffinity= or NUMAPolicy= out of its "
                                  "start (TiUP: numa_node), or name their nodes in its policy" },
        [REASON_PERMISSION] = { "permission", "the daemon has no permission for the change",
                                "start the daemon as tidbnumad.service; check drop-ins of that "
                                "unit, SELinux and AppArmor" },
        [REASON_UNIT_MASKED] = { "unit-masked", "its unit is masked", "run systemctl unmask UNIT" },
        [REASON_UNIT_GONE] = { "unit-gone", "its unit is unknown to systemd, or cannot be read",
                               "check the unit file, then run systemctl daemon-reload" },
        [REASON_NODE_OFFLINE] = { "node-offline", "one of its CPUs or memory nodes is offline",
                                  "bring it online, or choose other nodes" },
        [REASON_BUS_GONE] = { "bus-gone", "D-Bus or systemd cannot be reached",
                              "see systemctl status dbus; the daemon tries again" },
        [REASON_NO_ANSWER] = { "no-answer", "no answer in time, or the change had no effect",
                               "check whether systemd, or a process of the instance, hangs; the "
                               "daemon tries again" },
        [REASON_RECORD_UNWRITABLE] = { "record-unwritable",
                                       "the original values cannot be saved, so nothing is changed",
                                       "make /run/tidbnumad/undo writable for root, with free "
                                       "space" },
        [REASON_NO_VECTOR] = { "no-vector",
                               "an interrupt cannot move to its CPUs: none of them has a free "
                               "vector",
                               "give the device fewer queues (ethtool -L) or more CPUs" },
        [REASON_NOT_FOLLOWED] = { "not-followed",
                                  "an interrupt still fires on other CPUs than its mask allows",
                                  "check its driver and interrupt controller, or set steer: leave "
                                  "for the device" },
        [REASON_NO_MEMORY] = { "no-memory", "the daemon or the kernel is out of memory",
                               "free memory; the daemon tries again" },
        [REASON_OTHER] = { "other", "another error", "see the journal" },
};

const char *reason_to_string(Reason reason) {
        return texts[reason].word;
}

const char *reason_to_sentence(Reason reason) {
        return texts[reason].sentence;
}

const char *reason_to_remedy(Reason reason) {
        return texts[reason].remedy;
}

void reason_append_remedy(Text *text, Reason reason, const char *unit) {
        const char *remedy = texts[reason].remedy, *name = unit ? strstr(remedy, "UNIT") : NULL;

        text_append_bytes(text, remedy, name ? (size_t)(name - remedy) : strlen(remedy));
        if (name)
                text_appendf(text, "%s%s", unit, name + strlen("UNIT"));
}

static const char *const drift_strings[N_DRIFTS] = {
        [DRIFT_CPUS] = "cpus", [DRIFT_MEMS] = "mems", [DRIFT_THREADS] = "threads"
};
DEFINE_STRING_TABLE(drift_to_string, DriftKind, drift_strings)

Reason reason_of_error(int error) {
        static const struct {
                int error;
                Reason reason;
        } rows[] = {
                { EPERM, REASON_PERMISSION },
                { EACCES, REASON_PERMISSION },
                { EROFS, REASON_PERMISSION },
                { ERFKILL, REASON_UNIT_MASKED },
                { ENOENT, REASON_UNIT_GONE },
                { ENOEXEC, REASON_UNIT_GONE },
                { ENODEV, REASON_NODE_OFFLINE },
                { ENOSPC,
                  REASON_NODE_OFFLINE }, /* cgroup1: its directory has no CPU or node left */
                { EINVAL, REASON_SLICE_TOO_TIGHT }, /* sched_setaffinity(2): its cpuset has none */
                { ENOTCONN, REASON_BUS_GONE },
                { ECONNREFUSED, REASON_BUS_GONE },
                { ECONNRESET, REASON_BUS_GONE },
                { EPIPE, REASON_BUS_GONE },
                { EHOSTUNREACH, REASON_BUS_GONE },
                { ESHUTDOWN, REASON_BUS_GONE },
                { ETIMEDOUT, REASON_NO_ANSWER },
                { ENOMEM, REASON_NO_MEMORY },
                { EOPNOTSUPP, REASON_CONTROLLER_MISSING },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (rows[i].error == -error)
                        return rows[i].reason;
        return REASON_OTHER;
}
