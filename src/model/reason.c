/* The one table of reasons. tidbnumad(8) has the same, which its test compares. */
#include <errno.h>
#include <stddef.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/reason.h"

typedef struct ReasonText {
        const char *word, *sentence, *remedy;
} ReasonText;

static const ReasonText texts[N_REASONS] = {
        [REASON_NONE] = { "", "", "" },
        [REASON_NO_PLACE] = { "no-place", "its policy or the machine gives it no nodes",
                              "see tidbnumactl explain INSTANCE" },
        [REASON_RELEASED] = { "released", "enforcement.release names it",
                              "tidbnumactl release --undo INSTANCE binds it again" },
        [REASON_OBSERVE] = { "observe",
                             "nothing may be changed: the daemon is paused, or a dry run",
                             "tidbnumactl resume, or enforcement.mode: enforce" },
        [REASON_NOT_STRICT] = { "not-strict", "the backend affinity cannot hold memory to nodes",
                                "accept memory: preferred, or boot with a cpuset controller" },
        [REASON_NOT_MOVED] = { "not-moved", "its old memory stays where it is",
                               "set migrate: gentle, or restart it" },
        [REASON_NO_ROOM] = { "no-room", "its nodes have no room for all of its memory",
                             "free memory on them, or give it more nodes; it goes on by itself" },
        [REASON_NODE_FULL] = { "node-full", "its nodes are nearly full",
                               "free memory on them, or give it more nodes" },
        [REASON_PINNED_PAGES] = { "pinned-pages",
                                  "the kernel does not move all of its pages: they are pinned, or "
                                  "shared with a process outside",
                                  "restart it where that matters" },
        [REASON_MEMORY_UNREADABLE] = { "memory-unreadable",
                                       "it has no memory cgroup of its own, so where its memory "
                                       "lies is not known",
                                       "run it in a unit of its own, with MemoryAccounting=yes" },
        [REASON_STATE_UNREADABLE] = { "state-unreadable",
                                      "what stands of it in /proc and its cgroup cannot be read",
                                      "see the journal; it is tried again" },
        [REASON_SHARED_UNIT] = { "shared-unit", "processes that it did not start share its unit",
                                 "run it in a unit of its own" },
        [REASON_NO_UNIT] = { "no-unit", "it does not run as a system service of its own",
                             "run it in one" },
        [REASON_OWN_LIMITS] = { "own-limits",
                                "what its unit itself sets as AllowedCPUs= or AllowedMemoryNodes= "
                                "leaves nothing of its nodes",
                                "change these, or the nodes of the policy" },
        [REASON_SLICE_TOO_TIGHT] = { "slice-too-tight",
                                     "a slice or cgroup above it allows fewer CPUs or memory nodes",
                                     "widen the slice's AllowedCPUs= and AllowedMemoryNodes=, or "
                                     "place it elsewhere" },
        [REASON_INNER_GROUP] = { "inner-group",
                                 "a cgroup that the service made below its own allows fewer CPUs "
                                 "or "
                                 "memory nodes",
                                 "see what makes it, and take its cpuset limits out of there" },
        [REASON_CONTROLLER_MISSING] = { "controller-missing",
                                        "this host does not have what enforcement.backend needs: "
                                        "systemd, or the kernel's cpuset controller",
                                        "set enforcement.backend to auto, or enable the "
                                        "controller" },
        [REASON_CONTESTED] = { "contested",
                               "something else changes its CPUs or memory nodes again and again",
                               "find and stop the other one; it is taken up again after a minute" },
        [REASON_OWN_CPUS] = { "own-cpus",
                              "some of its threads keep CPUs of their own choice within its nodes",
                              "nothing, if that is meant; else restart it without taskset" },
        [REASON_PERMISSION] = { "permission", "the daemon was not permitted to do it",
                                "run it by its own unit; look for drop-ins of tidbnumad.service, "
                                "SELinux and AppArmor" },
        [REASON_UNIT_MASKED] = { "unit-masked", "its unit is masked", "systemctl unmask UNIT" },
        [REASON_UNIT_GONE] = { "unit-gone",
                               "systemd does not know its unit any more, or cannot read it",
                               "systemctl daemon-reload, and see that its unit file is there" },
        [REASON_NODE_OFFLINE] = { "node-offline",
                                  "a CPU or a memory node of it is not there any more",
                                  "bring it online, or give it other nodes" },
        [REASON_BUS_GONE] = { "bus-gone", "D-Bus or systemd cannot be reached",
                              "see systemctl status dbus; it goes on by itself" },
        [REASON_NO_ANSWER] = { "no-answer", "there was no answer in time, or no effect",
                               "see whether systemd hangs; it is tried again" },
        [REASON_RECORD_UNWRITABLE] = { "record-unwritable",
                                       "what stands before cannot be written down, so nothing is "
                                       "changed",
                                       "see to the folder undo in /run/tidbnumad: owned by root, "
                                       "writable, not full" },
        [REASON_NO_VECTOR] = { "no-vector",
                               "an interrupt cannot go to its CPUs: the kernel has no vector free "
                               "on any of them",
                               "give the device fewer queues (ethtool -L), or more CPUs to serve "
                               "it" },
        [REASON_NOT_FOLLOWED] = { "not-followed",
                                  "an interrupt has the mask that was written, and does not go "
                                  "there",
                                  "see its driver and interrupt controller; steer: leave gives "
                                  "the device up" },
        [REASON_NO_MEMORY] = { "no-memory", "the daemon or the kernel had no memory for it",
                               "free some; it is tried again" },
        [REASON_OTHER] = { "other", "an error of no other kind", "see the journal" },
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

const char *drift_to_string(DriftKind drift) {
        static const char *const words[N_DRIFTS] = {
                [DRIFT_CPUS] = "cpus", [DRIFT_MEMS] = "mems", [DRIFT_THREADS] = "threads"
        };

        return words[drift];
}

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
