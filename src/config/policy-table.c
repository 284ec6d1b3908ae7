/* The keys of the policy language. Changing a row changes what is loaded, what a message expects,
 * the schema, and what the manual says (test-policy-reference tells when the page has to follow).
 */
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/config/suggest.h"
#include "tidbnumad/model/policy.h"

#define SECOND UINT64_C(1000000) /* in microseconds */
#define MAX_INSTANCES UINT64_C(4096)
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
            "The version of the policy language. Every file that is not empty needs it.",
            .need = POLICY_KEY_REQUIRED),

        KEY("host", SECTION, NONE, "What concerns the whole host.",
            .example = "{numa_balancing: off}"),
        KEY("host.numa_balancing", CHOICE, HOST,
            "The kernel's automatic NUMA balancing, kernel.numa_balancing. off and on set it, and "
            "what was there before comes back when the daemon lets go of the host. leave: it is "
            "not touched.",
            IN_SET(host.numa_balancing), .default_text = "leave",
            .choices = WORDS([NUMA_BALANCING_LEAVE] = "leave", [NUMA_BALANCING_OFF] = "off",
                             [NUMA_BALANCING_ON] = "on")),
        KEY("host.reserve", SECTION, NONE, "Nodes that are kept free of instances.",
            .example = "{nodes: nic}"),
        KEY("host.reserve.nodes", RESERVE, PLACE,
            "Which nodes are kept free. nic: the node of the network card that carries the default "
            "route, or of those in devices.",
            IN_SET(host.reserve), .default_text = "none"),
        KEY("host.reserve.devices", INTERFACES, PLACE,
            "Which network cards decide what nic means. None: that of the default route.",
            IN_SET(host.reserve.devices), .empty_ok = true),
        KEY("host.reserve.strict", BOOL, PLACE,
            "true: the nodes are kept free even where an instance then has no place. false: they "
            "are used when nothing else is left, with a warning.",
            IN_SET(host.reserve.strict), .default_text = "false"),

        KEY("policies", LIST, NONE,
            "The policies. A process belongs to the first one that matches it."),
        KEY("policies[].name", NAME, JUDGE,
            "The name in messages and metrics. A policy of the same name in a later file replaces "
            "the earlier one as a whole.",
            IN_POLICY(name), .need = POLICY_KEY_REQUIRED),
        KEY("policies[].match", SECTION, JUDGE,
            "Which processes the policy is for. Every key that is given must hold. At least exe or "
            "unit is required.",
            .need = POLICY_KEY_REQUIRED, .example = "{exe: tidb-server, user: tidb}"),
        KEY("policies[].match.exe", EXE, JUDGE,
            "The program that the process runs, as /proc/PID/exe tells it.", IN_POLICY(match.exe),
            .need = POLICY_KEY_ONE_OF),
        KEY("policies[].match.unit", UNIT, JUDGE, "The systemd unit that the process belongs to.",
            IN_POLICY(match.unit), .need = POLICY_KEY_ONE_OF),
        KEY("policies[].match.user", USER, JUDGE, "The owner of the process.",
            IN_POLICY(match.user)),
        KEY("policies[].match.args", ARGS, JUDGE,
            "The whole command line, its words joined by single spaces.", IN_POLICY(match.args)),
        KEY("policies[].match.containers", BOOL, JUDGE,
            "true: processes in another PID, mount or user namespace, such as containers, match as "
            "well.",
            IN_POLICY(match.containers), .default_text = "false",
            .choices = WORDS([CONTAINERS_EXCLUDED] = "false", [CONTAINERS_INCLUDED] = "true")),
        KEY("policies[].max_instances", NUMBER, JUDGE,
            "At most this many instances of one user belong to the policy. Further ones are "
            "ignored and counted (tidbnumad_instances_ignored), until one of them ends.",
            IN_POLICY(max_instances), .default_text = "64", .min = 1, .max = MAX_INSTANCES),
        KEY("policies[].place", SECTION, NONE, "Where the processes belong.",
            .example = "{count: 1}"),
        KEY("policies[].place.count", COUNT, PLACE,
            "How many nodes each instance gets. auto: as many as suit it.", IN_POLICY(place.count),
            .given_offset = offsetof(Policy, place.count_given), .default_text = "1"),
        KEY("policies[].place.nodes", NODES, PLACE,
            "With count: the nodes are chosen among these. Without count: each instance gets all "
            "of these. Not given: all nodes of the machine are open.",
            IN_POLICY(place.nodes)),
        KEY("policies[].place.near", CHOICE, PLACE,
            "storage: near the disk that the instance's data directory is on. nic: near the "
            "network card.",
            IN_POLICY(place.near), .default_text = "none",
            .choices = WORDS([NEAR_NONE] = "none", [NEAR_STORAGE] = "storage", [NEAR_NIC] = "nic")),
        KEY("policies[].place.same_package", BOOL, PLACE,
            "true: an instance of several nodes stays within one socket.",
            IN_POLICY(place.same_package), .default_text = "true",
            .given_offset = offsetof(Policy, place.same_package_given)),
        KEY("policies[].place.share", CHOICE, PLACE,
            "exclusive: no other exclusive instance comes to its nodes while there are free ones. "
            "shared: it fills gaps.",
            IN_POLICY(place.share), .default_text = "exclusive",
            .choices = WORDS([SHARE_EXCLUSIVE] = "exclusive", [SHARE_SHARED] = "shared"),
            .given_offset = offsetof(Policy, place.share_given)),
        KEY("policies[].place.avoid", NODES, PLACE, "Nodes that are never chosen.",
            IN_POLICY(place.avoid), .default_text = "[]", .empty_ok = true),
        KEY("policies[].cpus", CPUS, BIND,
            "Which CPUs of the nodes are used. one-per-core: the first thread of each core. An "
            "instance whose nodes lack one of the listed numbers is left alone.",
            IN_POLICY(cpus), .default_text = "all"),
        KEY("policies[].memory", CHOICE, BIND,
            "bind: memory comes from the nodes only. preferred: it comes from the nodes while they "
            "have room. none: only the CPUs are bound.",
            IN_POLICY(memory), .default_text = "bind",
            .choices = WORDS([MEMORY_BIND] = "bind", [MEMORY_PREFERRED] = "preferred",
                             [MEMORY_NONE] = "none")),
        KEY("policies[].on_full", CHOICE, BIND,
            "What happens before the nodes of a strict binding (memory: bind) are full. widen: "
            "another node is added until there has been room again for a minute. keep: it is only "
            "told, and the kernel may kill the process, or another one.",
            IN_POLICY(on_full), .default_text = "widen",
            .choices = WORDS([ON_FULL_WIDEN] = "widen", [ON_FULL_KEEP] = "keep")),
        KEY("policies[].migrate", CHOICE, MOVE,
            "gentle: memory that lies on other nodes is moved, in small batches. kernel: the "
            "kernel moves it, all at once, and the process waits for much of that: for hosts "
            "that are idle. none: it stays where it is.",
            IN_POLICY(migrate), .default_text = "gentle",
            .choices = WORDS([MIGRATE_GENTLE] = "gentle", [MIGRATE_KERNEL] = "kernel",
                             [MIGRATE_NONE] = "none")),
        KEY("policies[].rate", RATE, MOVE,
            "With migrate: gentle, at most this much memory is moved, for each instance.",
            IN_POLICY(rate_bytes_per_sec), .default_text = "256MiB/s"),
        KEY("policies[].instances", LIST, NONE,
            "Instances that have nodes of their own. They go before place."),
        KEY("policies[].instances[].match", SECTION, PLACE,
            "Which of the processes of the policy the entry is for. At least unit or port is "
            "required.",
            .need = POLICY_KEY_REQUIRED, .example = "{unit: tidb-4000.service}"),
        KEY("policies[].instances[].match.unit", UNIT, PLACE, "The systemd unit of the instance.",
            IN_INSTANCE(match.unit), .need = POLICY_KEY_ONE_OF),
        KEY("policies[].instances[].match.port", PORT, PLACE,
            "A TCP port on which the instance listens itself.", IN_INSTANCE(match.port),
            .need = POLICY_KEY_ONE_OF),
        KEY("policies[].instances[].nodes", NODES, PLACE, "The nodes of the instance.",
            IN_INSTANCE(nodes), .need = POLICY_KEY_REQUIRED),

        KEY("irq", LIST, HOST,
            "Where interrupts go. The first entry that matches a device counts for it. Entries of "
            "several files add up."),
        KEY("irq[].match", SECTION, NONE,
            "Which devices the entry is for: those that any of its keys names. At least one key is "
            "required.",
            .need = POLICY_KEY_REQUIRED, .example = "{net: \"*\"}"),
        KEY("irq[].match.net", NET_GLOBS, HOST, "Network interfaces.", IN_IRQ(net),
            .need = POLICY_KEY_ONE_OF),
        KEY("irq[].match.nvme", NVME_GLOBS, HOST, "NVMe controllers.", IN_IRQ(nvme),
            .need = POLICY_KEY_ONE_OF),
        KEY("irq[].match.pci", PCI_ADDRESSES, HOST, "PCI devices, by their addresses.", IN_IRQ(pci),
            .need = POLICY_KEY_ONE_OF),
        KEY("irq[].steer", STEER, HOST,
            "reserved: to the CPUs of the reserved nodes. local: to those of the device's own "
            "node. away: to those that no instance uses. leave: they are not touched. auto: what "
            "suits the device. CPU numbers: there.",
            .offset = 0, .default_text = "auto"),
        KEY("irq[].irqbalance", CHOICE, HOST,
            "What irqbalance is told. cooperate: which CPUs it is to leave alone. ban: also which "
            "interrupts. ignore: nothing.",
            IN_IRQ(irqbalance), .default_text = "cooperate",
            .choices = WORDS([IRQBALANCE_COOPERATE] = "cooperate", [IRQBALANCE_BAN] = "ban",
                             [IRQBALANCE_IGNORE] = "ignore")),
        KEY("irq[].xps", BOOL, HOST, "true: transmit queues follow the steering.", IN_IRQ(xps),
            .default_text = "true"),
        KEY("irq[].rps", CHOICE, HOST,
            "Receive packet steering. auto: where a card has fewer queues than there are CPUs to "
            "serve.",
            IN_IRQ(rps), .default_text = "auto",
            .choices = WORDS([RPS_AUTO] = "auto", [RPS_ON] = "on", [RPS_OFF] = "off")),

        KEY("sampling", SECTION, NONE, "How the daemon looks at what runs.",
            .example = "{interval: 10s}"),
        KEY("sampling.interval", DURATION, TIMER,
            "How often it looks where the memory of the processes lies.",
            IN_SET(sampling_interval_usec), .default_text = "10s", .min = SECOND,
            .max = 3600 * SECOND),
        KEY("sampling.access", SWITCH, TIMER,
            "on: hardware counters tell how much of the memory traffic is local and how much goes "
            "to other nodes. Where the processor has none, as in most virtual machines, that is "
            "told, and nothing else changes.",
            IN_SET(sampling_access), .default_text = "off"),
        KEY("sampling.events", SECTION, TIMER,
            "With access: on, the events to count, for a processor that the daemon does not know. "
            "They go before those that it knows. At least one is required."),
        KEY("sampling.events.local", EVENT, TIMER, "Accesses to memory of the node itself.",
            IN_SET(sampling_events[LOCALITY_LOCAL]), .need = POLICY_KEY_ONE_OF),
        KEY("sampling.events.remote", EVENT, TIMER, "Accesses to memory of other nodes.",
            IN_SET(sampling_events[LOCALITY_REMOTE]), .need = POLICY_KEY_ONE_OF),
        KEY("sampling.budget", PERCENT, TIMER,
            "What all sampling together may cost, of one CPU. It samples less often to stay within "
            "it.",
            IN_SET(sampling_budget_ppm), .default_text = "1%", .min = PERCENT / 100,
            .max = 100 * PERCENT),

        KEY("enforcement", SECTION, NONE, "What the daemon may change.",
            .example = "{mode: observe}"),
        KEY("enforcement.mode", CHOICE, BIND,
            "enforce: the policies are carried out. observe: the daemon plans and reports, and "
            "changes nothing.",
            IN_SET(mode), .default_text = "enforce",
            .choices = WORDS([ENFORCEMENT_ENFORCE] = "enforce", [ENFORCEMENT_OBSERVE] = "observe")),
        KEY("enforcement.backend", CHOICE, BIND,
            "By which means processes are bound. systemd: properties of their units. cgroup1: "
            "directories of cgroup v1's cpuset hierarchy. affinity: the CPUs of each thread, and "
            "no strictness for memory. auto: the first of them that the host has.",
            IN_SET(backend), .default_text = "auto",
            .choices = WORDS([BACKEND_AUTO] = "auto", [BACKEND_SYSTEMD] = "systemd",
                             [BACKEND_CGROUP1] = "cgroup1", [BACKEND_AFFINITY] = "affinity")),
        KEY("enforcement.on_stop", CHOICE, STOP,
            "keep: what is bound stays bound when the daemon stops, so that its restart or upgrade "
            "moves nothing. restore: everything is taken back.",
            IN_SET(on_stop), .default_text = "keep",
            .choices = WORDS([ON_STOP_KEEP] = "keep", [ON_STOP_RESTORE] = "restore")),
        KEY("enforcement.release", INSTANCE_GLOBS, BIND,
            "Instances, by their name or their unit, that get back the CPUs and memory nodes that "
            "they had, and are only watched. Devices, by the name that tidbnumactl status --json "
            "tells, whose interrupts go back to where they were. host: what belongs to no "
            "instance, irqbalance and kernel.numa_balancing.",
            IN_SET(release), .empty_ok = true),
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

bool policy_key_is_part(const PolicyKey *key, const char *parent) {
        size_t length = strlen(parent);

        return strncmp(key->path, parent, length) == 0 && !strstr(key->path + length, "[]") &&
               (length == 0 || key->path[length] == '.');
}

const PolicyKey *policy_key_find(const char *parent, const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (policy_key_is_below(&keys[i], parent) &&
                    strcmp(policy_key_leaf(&keys[i]), name) == 0)
                        return &keys[i];
        return NULL;
}

const PolicyKey *policy_key_nearest(const char *parent, const char *name) {
        const PolicyKey *rows[ELEMENTSOF(keys)];
        const char *words[ELEMENTSOF(keys)];
        size_t n = 0;
        int nearest;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (policy_key_is_below(&keys[i], parent)) {
                        rows[n] = &keys[i];
                        words[n++] = policy_key_leaf(&keys[i]);
                }
        nearest = suggest_nearest(name, words, n);
        return nearest < 0 ? NULL : rows[nearest];
}

const char *policy_key_later(const PolicyKey *key, const char *value) {
        for (size_t i = 0; key->later && key->later[i]; i++)
                if (strcmp(key->later[i], "*") == 0 || strcmp(key->later[i], value) == 0)
                        return key->later[i];
        return NULL;
}
