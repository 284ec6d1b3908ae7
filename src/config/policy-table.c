/* The keys of the policy language. Changing a row changes what is loaded, what a message
 * expects, the schema, and the manual (test-policy-reference is red until the page follows). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/model/policy.h"

#define SECOND UINT64_C(1000000) /* in microseconds */
#define MAX_INSTANCES UINT64_C(1024)
#define PERCENT UINT64_C(10000) /* in parts per million */

/* The words of an enum, by its values; or any words. */
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define KEY(path_, type_, reload_, help_, ...)                                                     \
        {                                                                                          \
                .path = path_, .type = POLICY_KEY_##type_, .reload = RELOAD_##reload_,             \
                .help = help_, ##__VA_ARGS__                                                       \
        }

#define IN_SET(field) .offset = offsetof(PolicySet, field)
#define IN_POLICY(field) .offset = offsetof(Policy, field)
#define IN_INSTANCE(field) .offset = offsetof(PolicyInstance, field)
#define IN_IRQ(field) .offset = offsetof(IrqPolicy, field)

static const PolicyKey keys[] = {
        KEY("version", VERSION, NONE,
            "The version of the policy language. Required in every file that is not empty.",
            .need = POLICY_KEY_REQUIRED),

        KEY("host", SECTION, NONE, "Settings for the whole host.",
            .example = "{numa_balancing: off}"),
        KEY("host.numa_balancing", CHOICE, HOST,
            "The kernel's automatic NUMA balancing, kernel.numa_balancing. off, on: set it; the "
            "original value is restored when the host is released. leave: do not change it.",
            IN_SET(host.numa_balancing), .default_text = "leave",
            .choices = WORDS([NUMA_BALANCING_LEAVE] = "leave", [NUMA_BALANCING_OFF] = "off",
                             [NUMA_BALANCING_ON] = "on")),
        KEY("host.reserve", SECTION, NONE, "Nodes on which no instance is placed.",
            .example = "{nodes: nic}"),
        KEY("host.reserve.nodes", RESERVE, PLACE,
            "The reserved nodes. nic: the node of the network card with the default route, be it "
            "over "
            "a VLAN or a bridge, and of a bond those of all its cards; or of the cards in devices.",
            IN_SET(host.reserve), .default_text = "none",
            .choices = WORDS([RESERVE_NONE] = "none", [RESERVE_NIC] = "nic")),
        KEY("host.reserve.cpus", AUTO_NUMBER, PLACE,
            "Whole cores of the node of the network card that are kept for interrupts, for hosts "
            "that cannot spare a whole node: no instance gets them, and `steer: reserved` and "
            "`steer: auto` use them, for each card those of its own node. auto: 1 below 25 Gbit/s, "
            "4 from 25, 8 from 100, and at most an eighth of the node. At least one core of the "
            "node remains for instances. No effect on a node that host.reserve.nodes reserves.",
            IN_SET(host.reserve.cpus), .default_text = "0", .min = 0, .max = 1024),
        KEY("host.reserve.devices", INTERFACES, PLACE,
            "The network cards that nic means. Default: the card with the default route.",
            IN_SET(host.reserve.devices), .empty_ok = true),
        KEY("host.reserve.strict", BOOL, PLACE,
            "true: reserve the nodes even if an instance then has no place. false: use them, with "
            "a warning, when no other node is left.",
            IN_SET(host.reserve.strict), .default_text = "false"),

        KEY("policies", LIST, NONE,
            "The policies. A process belongs to the first policy that matches it. The processes of "
            "one "
            "service are one instance: it has the place of the policy that comes first among "
            "theirs."),
        KEY("policies[].name", NAME, JUDGE,
            "The name in messages and metrics. A policy with the same name in a later file "
            "replaces the earlier policy completely.",
            IN_POLICY(name), .need = POLICY_KEY_REQUIRED),
        KEY("policies[].match", SECTION, JUDGE,
            "The processes of the policy. All given keys must match. At least exe or unit is "
            "required.",
            .need = POLICY_KEY_REQUIRED, .example = "{exe: tidb-server, user: tidb}"),
        KEY("policies[].match.exe", EXE, JUDGE,
            "The program that the process runs, from /proc/PID/exe.", IN_POLICY(match.exe),
            .need = POLICY_KEY_ONE_OF),
        KEY("policies[].match.unit", UNIT, JUDGE, "The systemd unit that the process belongs to.",
            IN_POLICY(match.unit), .need = POLICY_KEY_ONE_OF),
        KEY("policies[].match.user", USER, JUDGE, "The owner of the process.",
            IN_POLICY(match.user)),
        KEY("policies[].match.args", ARGS, JUDGE,
            "The whole command line, words joined by single spaces.", IN_POLICY(match.args)),
        KEY("policies[].match.containers", BOOL, JUDGE,
            "true: also match processes in another PID, mount or user namespace, such as "
            "containers.",
            IN_POLICY(match.containers), .default_text = "false",
            .choices = WORDS([CONTAINERS_EXCLUDED] = "false", [CONTAINERS_INCLUDED] = "true")),
        KEY("policies[].max_instances", NUMBER, JUDGE,
            "The maximum number of instances of one user. Further instances are ignored and "
            "counted (tidbnumad_instances_ignored) until one ends.",
            IN_POLICY(max_instances), .default_text = "64", .min = 1, .max = MAX_INSTANCES),
        KEY("policies[].place", SECTION, NONE, "How nodes are chosen.", .example = "{count: 1}"),
        KEY("policies[].place.count", COUNT, PLACE,
            "The number of nodes of each instance. auto: the planner chooses it.",
            IN_POLICY(place.count), .is_set_offset = offsetof(Policy, place.count_is_set),
            .default_text = "1"),
        KEY("policies[].place.nodes", NODES, PLACE,
            "With count: the nodes to choose from. Without count: each instance gets all of them, "
            "less those of avoid. Default: all nodes of the machine.",
            IN_POLICY(place.nodes)),
        KEY("policies[].place.near", CHOICE, PLACE,
            "storage: near the disk of the instance's data directory. nic: near the network card.",
            IN_POLICY(place.near), .default_text = "none",
            .choices = WORDS([NEAR_NONE] = "none", [NEAR_STORAGE] = "storage", [NEAR_NIC] = "nic")),
        KEY("policies[].place.same_package", BOOL, PLACE,
            "true: all nodes of an instance are in one socket.", IN_POLICY(place.same_package),
            .default_text = "true", .is_set_offset = offsetof(Policy, place.same_package_is_set)),
        KEY("policies[].place.share", CHOICE, PLACE,
            "exclusive: no other exclusive instance uses its nodes while other nodes are free. "
            "shared: it uses the least loaded nodes.",
            IN_POLICY(place.share), .default_text = "exclusive",
            .choices = WORDS([SHARE_EXCLUSIVE] = "exclusive", [SHARE_SHARED] = "shared"),
            .is_set_offset = offsetof(Policy, place.share_is_set)),
        KEY("policies[].place.avoid", NODES, PLACE, "Nodes that are never chosen.",
            IN_POLICY(place.avoid), .default_text = "[]", .empty_ok = true),
        KEY("policies[].cpus", CPUS, BIND,
            "The CPUs of the nodes to use. one-per-core: one thread of each core, the first that "
            "it may use. If the nodes of an instance lack one of the listed CPUs, the instance is "
            "not bound.",
            IN_POLICY(cpus), .default_text = "all",
            .choices = WORDS([CPUS_ALL] = "all", [CPUS_ONE_PER_CORE] = "one-per-core")),
        KEY("policies[].memory", CHOICE, BIND,
            "bind: memory comes only from the nodes. preferred: memory comes from the nodes while "
            "they have room. none: only the CPUs are bound.",
            IN_POLICY(memory), .default_text = "bind",
            .choices = WORDS([MEMORY_BIND] = "bind", [MEMORY_PREFERRED] = "preferred",
                             [MEMORY_NONE] = "none")),
        KEY("policies[].on_full", CHOICE, BIND,
            "What to do before the nodes of a strict binding (memory: bind) are full. widen: allow "
            "one more node until there has been room for a minute. keep: only log it; the kernel "
            "may then kill the process or another one.",
            IN_POLICY(on_full), .default_text = "widen",
            .choices = WORDS([ON_FULL_WIDEN] = "widen", [ON_FULL_KEEP] = "keep")),
        KEY("policies[].memory_limit", LIMIT, BIND,
            "MemoryMax= of the unit of each instance, set before the unit starts: TiKV, TiDB, "
            "TiFlash and JVMs size themselves by it, and else by the memory of the whole host. "
            "share: the memory of its nodes less the headroom, divided among the heavy instances "
            "there by their weights. A size: that many bytes. A smaller limit of the unit stays, "
            "and the limit is lifted before it could kill; see MEMORY LIMITS in tidbnumad(7).",
            IN_POLICY(memory_limit), .default_text = "none"),
        KEY("policies[].migrate", CHOICE, MOVE,
            "How existing memory on other nodes is moved. gentle: in small batches. kernel: all at "
            "once by the kernel, during which the process mostly waits; for idle hosts. none: not "
            "moved.",
            IN_POLICY(migrate), .default_text = "gentle",
            .choices = WORDS([MIGRATE_GENTLE] = "gentle", [MIGRATE_KERNEL] = "kernel",
                             [MIGRATE_NONE] = "none")),
        KEY("policies[].rate", RATE, MOVE,
            "With migrate: gentle, the maximum rate for each instance.",
            IN_POLICY(rate_bytes_per_sec), .default_text = "256MiB/s"),
        KEY("policies[].backend", CHOICE, BIND,
            "How the instances of this policy are bound. auto: by their units, or scopes of their "
            "own, and by affinity where neither is possible. affinity: by the CPUs of each thread "
            "alone, without a change to any unit or cgroup; memory is moved, but not bound "
            "(memory: bind is treated as preferred).",
            IN_POLICY(backend), .default_text = "auto",
            .choices =
                    WORDS([POLICY_BACKEND_AUTO] = "auto", [POLICY_BACKEND_AFFINITY] = "affinity")),
        KEY("policies[].weight", AUTO_NUMBER, PLACE,
            "How much of a node each instance counts for when instances share nodes: the weights "
            "on a node are kept in proportion to its CPUs. auto: that of its product, see PRODUCTS "
            "in "
            "tidbnumad(7), 2 for other programs; or the number of CPUs that the instance has used "
            "on average since its start, rounded up to a power of two, where that is more.",
            IN_POLICY(weight), .default_text = "auto", .min = 1, .max = WEIGHT_MAX),
        KEY("policies[].metrics", SECTION, NONE,
            "Where the program reports its requests, for tidbnumactl trial: "
            "http://127.0.0.1:PORT/metrics, in the text format of Prometheus. TiDB, TiKV and PD "
            "need none.",
            .example = "{port: 9404, duration: http_server_requests_seconds}"),
        KEY("policies[].metrics.port", PORT, NONE, "The TCP port.", IN_POLICY(metrics.port),
            .need = POLICY_KEY_REQUIRED),
        KEY("policies[].metrics.count", METRIC, NONE,
            "A counter of requests. Default: the count of duration.", IN_POLICY(metrics.count),
            .need = POLICY_KEY_ONE_OF),
        KEY("policies[].metrics.duration", METRIC, NONE,
            "A histogram of their durations in seconds, by its name without _bucket.",
            IN_POLICY(metrics.duration), .need = POLICY_KEY_ONE_OF),
        KEY("policies[].instances", LIST, NONE,
            "Instances with explicit nodes. These override place."),
        KEY("policies[].instances[].match", SECTION, PLACE,
            "The processes of the policy to which the entry applies. At least unit or port is "
            "required.",
            .need = POLICY_KEY_REQUIRED, .example = "{unit: tidb-4000.service}"),
        KEY("policies[].instances[].match.unit", UNIT, PLACE, "The systemd unit of the instance.",
            IN_INSTANCE(match.unit), .need = POLICY_KEY_ONE_OF),
        KEY("policies[].instances[].match.port", PORT, PLACE,
            "A TCP port on which the instance listens.", IN_INSTANCE(match.port),
            .need = POLICY_KEY_ONE_OF),
        KEY("policies[].instances[].nodes", NODES, PLACE, "The nodes of the instance.",
            IN_INSTANCE(nodes), .need = POLICY_KEY_REQUIRED),

        KEY("irq", LIST, HOST,
            "Where interrupts go. The first entry that matches a device applies to it. Entries of "
            "several files add up."),
        KEY("irq[].match", SECTION, NONE,
            "The devices of the entry: those that match any key. At least one key is required.",
            .need = POLICY_KEY_REQUIRED, .example = "{net: \"*\"}"),
        KEY("irq[].match.net", NET_GLOBS, HOST,
            "Network interfaces. A bond or a team stands for the cards in it.", IN_IRQ(net),
            .need = POLICY_KEY_ONE_OF),
        KEY("irq[].match.nvme", NVME_GLOBS, HOST, "NVMe controllers.", IN_IRQ(nvme),
            .need = POLICY_KEY_ONE_OF),
        KEY("irq[].match.pci", PCI_ADDRESSES, HOST, "PCI devices, by address.", IN_IRQ(pci),
            .need = POLICY_KEY_ONE_OF),
        KEY("irq[].steer", STEER, HOST,
            "The CPUs that serve the interrupts. reserved: the CPUs of the reserved nodes. local: "
            "the CPUs of the device's node. away: the CPUs that no instance uses. leave: do not "
            "change the interrupts. auto: chosen by device. CPU numbers: these CPUs.",
            .offset = 0, .default_text = "auto",
            .choices =
                    WORDS([STEER_AUTO] = "auto", [STEER_RESERVED] = "reserved",
                          [STEER_LOCAL] = "local", [STEER_AWAY] = "away", [STEER_LEAVE] = "leave")),
        KEY("irq[].irqbalance", CHOICE, HOST,
            "What is sent to irqbalance. cooperate: the CPUs that it must not use, and the "
            "interrupts that tidbnumad places itself. ban: the same, and tidbnumad places all "
            "interrupts itself, also those of slow devices. ignore: nothing.",
            IN_IRQ(irqbalance), .default_text = "cooperate",
            .choices = WORDS([IRQBALANCE_COOPERATE] = "cooperate", [IRQBALANCE_BAN] = "ban",
                             [IRQBALANCE_IGNORE] = "ignore")),
        KEY("irq[].xps", BOOL, HOST, "true: also set the CPU masks of transmit queues (XPS).",
            IN_IRQ(xps), .default_text = "true"),
        KEY("irq[].rps", CHOICE, HOST,
            "Receive packet steering. auto: on if a card has fewer queues than CPUs that serve it.",
            IN_IRQ(rps), .default_text = "auto",
            .choices = WORDS([RPS_AUTO] = "auto", [RPS_ON] = "on", [RPS_OFF] = "off")),

        KEY("sampling", SECTION, NONE, "How processes are measured.", .example = "{interval: 10s}"),
        KEY("sampling.interval", DURATION, TIMER,
            "How often the location of the processes' memory is read.",
            IN_SET(sampling_interval_usec), .default_text = "10s", .min = SECOND,
            .max = 3600 * SECOND),
        KEY("sampling.access", SWITCH, TIMER,
            "on: count local and remote memory accesses with hardware counters. If the processor "
            "has none, as in most virtual machines, that is reported and nothing else changes. It "
            "needs the drop-in sampling-access.conf, see tidbnumad-metrics(7).",
            IN_SET(sampling_access), .default_text = "off"),
        KEY("sampling.events", SECTION, TIMER,
            "With access: on, the events to count, for a processor that the daemon does not know. "
            "They override the built-in events. At least one is required."),
        KEY("sampling.events.local", EVENT, TIMER, "The event of local memory accesses.",
            IN_SET(sampling_events[LOCALITY_LOCAL]), .need = POLICY_KEY_ONE_OF),
        KEY("sampling.events.remote", EVENT, TIMER, "The event of remote memory accesses.",
            IN_SET(sampling_events[LOCALITY_REMOTE]), .need = POLICY_KEY_ONE_OF),
        KEY("sampling.budget", PERCENT, TIMER,
            "The share of one CPU that all sampling may use. The interval is extended to stay "
            "within it.",
            IN_SET(sampling_budget_ppm), .default_text = "0.2%", .min = PERCENT / 100,
            .max = 100 * PERCENT),

        KEY("enforcement", SECTION, NONE, "What the daemon may change.",
            .example = "{mode: observe}"),
        KEY("enforcement.mode", CHOICE, BIND,
            "enforce: apply the policies. observe: plan and report, change nothing.", IN_SET(mode),
            .default_text = "enforce",
            .choices = WORDS([ENFORCEMENT_ENFORCE] = "enforce", [ENFORCEMENT_OBSERVE] = "observe")),
        KEY("enforcement.backend", CHOICE, BIND,
            "How processes are bound. systemd: properties of their units. cgroup1: directories of "
            "the cpuset hierarchy of cgroup v1. affinity: the CPUs of each thread; memory cannot "
            "be bound. auto: the first of these that the host has.",
            IN_SET(backend), .default_text = "auto",
            .choices = WORDS([BACKEND_AUTO] = "auto", [BACKEND_SYSTEMD] = "systemd",
                             [BACKEND_CGROUP1] = "cgroup1", [BACKEND_AFFINITY] = "affinity")),
        KEY("enforcement.on_stop", CHOICE, STOP,
            "What to do when the daemon stops. keep: keep all bindings, so that a restart or an "
            "upgrade moves nothing. restore: release everything.",
            IN_SET(on_stop), .default_text = "keep",
            .choices = WORDS([ON_STOP_KEEP] = "keep", [ON_STOP_RESTORE] = "restore")),
};

_Static_assert(ELEMENTSOF(keys) <= POLICY_KEYS_MAX, "POLICY_KEYS_MAX is too small");

size_t policy_keys(const PolicyKey **ret) {
        *ret = keys;
        return ELEMENTSOF(keys);
}

const PolicyKey *policy_key_at(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (strcmp(keys[i].path, path) == 0)
                        return &keys[i];
        return NULL;
}

size_t policy_key_index(const PolicyKey *key) {
        return (size_t)(key - keys);
}

const char *policy_key_leaf(const PolicyKey *key) {
        const char *dot = strrchr(key->path, '.');

        return dot ? dot + 1 : key->path;
}

bool policy_key_is_below(const PolicyKey *key, const char *parent) {
        size_t length = strlen(parent);

        if (length == 0)
                return !strchr(key->path, '.');
        return strncmp(key->path, parent, length) == 0 && key->path[length] == '.' &&
               policy_key_leaf(key) == key->path + length + 1;
}

const PolicyKey *policy_key_find(const char *parent, const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (policy_key_is_below(&keys[i], parent) &&
                    strcmp(policy_key_leaf(&keys[i]), name) == 0)
                        return &keys[i];
        return NULL;
}

/* What each type of key allows, and when a change counts, in words. */

static const char *const allowed[] = {
        [POLICY_KEY_SECTION] = "a mapping",
        [POLICY_KEY_LIST] = "a list of mappings",
        [POLICY_KEY_VERSION] = "1",
        [POLICY_KEY_NAME] = "1 to 64 of the characters A-Z a-z 0-9 . _ -",
        [POLICY_KEY_EXE] =
                "a base name such as tidb-server, or an absolute path, which may contain globs",
        [POLICY_KEY_UNIT] =
                "a service or scope such as tidb-4000.service, or a glob such as tidb-*.service",
        [POLICY_KEY_USER] = "the name or the number of a user",
        [POLICY_KEY_ARGS] = "a glob such as \"*--store=tikv*\"",
        [POLICY_KEY_METRIC] = "the name of a metric such as http_requests_total, without labels",
        [POLICY_KEY_NODES] = "node numbers such as 1, 2-3 or 0,4, or a list such as [0, 4]",
        [POLICY_KEY_CPUS] = "all, one-per-core, or CPU numbers such as 8-15 or 8,10",
        [POLICY_KEY_RESERVE] = "none, nic, or node numbers such as 0 or [0, 4]",
        [POLICY_KEY_STEER] =
                "auto, reserved, local, away, leave, or CPU numbers such as 0-3 or 0,2",
        [POLICY_KEY_INTERFACES] = "network interfaces such as eth0 or [eth0, eth1]",
        [POLICY_KEY_NET_GLOBS] = "network interfaces, which may be globs, such as \"eth*\"",
        [POLICY_KEY_NVME_GLOBS] = "NVMe controllers, which may be globs, such as \"nvme*\"",
        [POLICY_KEY_PCI_ADDRESSES] =
                "PCI addresses in quotes, such as \"0000:3b:00.0\" or \"3b:00.0\"",
        [POLICY_KEY_PORT] = "a TCP port from 1 to 65535",
        [POLICY_KEY_COUNT] = "a number of nodes above zero, or auto",
        [POLICY_KEY_NUMBER] = "a number from 1 to 1024",
        [POLICY_KEY_SWITCH] = "off or on",
        [POLICY_KEY_BOOL] = "true or false",
        [POLICY_KEY_RATE] = "a size above zero with its unit, per second, such as 256MiB/s",
        [POLICY_KEY_LIMIT] = "none, share, or a size from 1MiB with its unit, such as 64GiB",
        [POLICY_KEY_DURATION] = "a time from 1s to 1h with its unit, such as 10s",
        [POLICY_KEY_PERCENT] = "a percentage from 0.01% to 100%, such as 1% or 0.5%",
        [POLICY_KEY_EVENT] = "the code of an event such as 0x01d3, or with its kind before it, "
                             "such as raw:0x01d3, software:2 or 10:0x31",
};

const char *policy_key_allowed(const PolicyKey *key, char buffer[static POLICY_KEY_ALLOWED_MAX]) {
        size_t length = 0;

        if (key->type == POLICY_KEY_AUTO_NUMBER) {
                (void)snprintf(buffer, POLICY_KEY_ALLOWED_MAX,
                               "a number from %" PRIu64 " to %" PRIu64 ", or auto", key->min,
                               key->max);
                return buffer;
        }
        if (key->type != POLICY_KEY_CHOICE) {
                (void)snprintf(buffer, POLICY_KEY_ALLOWED_MAX, "%s%s%s", allowed[key->type],
                               key->example ? " such as " : "", key->example ? key->example : "");
                return buffer;
        }
        buffer[0] = '\0';
        for (size_t i = 0; key->choices[i] && length < POLICY_KEY_ALLOWED_MAX; i++) {
                const char *separator = i == 0 ? "" : key->choices[i + 1] ? ", " : " or ";

                length += (size_t)snprintf(buffer + length, POLICY_KEY_ALLOWED_MAX - length, "%s%s",
                                           separator, key->choices[i]);
        }
        return buffer;
}
