/* The keys of the policy language. Changing a row changes what is loaded, what a message expects
 * and what the manual says (test-policy-reference tells when the page has to follow). */
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/config/suggest.h"
#include "tidbnumad/model/policy.h"

#define SECOND UINT64_C(1000000) /* in microseconds */

static const char *const memory_modes[] = {
        [MEMORY_BIND] = "bind",
        [MEMORY_PREFERRED] = "preferred",
        [MEMORY_NONE] = "none",
        NULL,
};
static const char *const migrate_modes[] = {
        [MIGRATE_GENTLE] = "gentle",
        [MIGRATE_NONE] = "none",
        NULL,
};
static const char *const container_modes[] = {
        [CONTAINERS_EXCLUDED] = "false",
        [CONTAINERS_INCLUDED] = "true",
        NULL,
};
static const char *const enforcement_modes[] = {
        [ENFORCEMENT_ENFORCE] = "enforce",
        [ENFORCEMENT_OBSERVE] = "observe",
        NULL,
};

static const char *const backends[] = {
        [BACKEND_AUTO] = "auto",
        [BACKEND_SYSTEMD] = "systemd",
        [BACKEND_CGROUP1] = "cgroup1",
        [BACKEND_AFFINITY] = "affinity",
        NULL,
};

#define NAME_ALLOWED "1 to 64 of the characters A-Z a-z 0-9 . _ -"
#define EXE_ALLOWED "a base name such as tidb-server, or an absolute path, which may hold globs"
#define UNIT_ALLOWED                                                                               \
        "a service or scope such as tidb-4000.service, or a glob such as tidb-*.service"
#define NODES_ALLOWED "node numbers such as 1, 2-3 or 0,4"
#define CPUS_ALLOWED "all, or CPU numbers such as 8-15 or 8,10"
#define RATE_ALLOWED "a size above zero with its unit, per second, such as 256MiB/s"
#define SIZE_UNITS                                                                                 \
        "B/s, KiB/s, MiB/s, GiB/s, TiB/s (powers of 1024), kB/s, MB/s, GB/s, TB/s (of 1000)"

/* A key that later versions carry out. `accepted` may name the value that changes nothing. */
#define LATER(path_, accepted_, help_)                                                             \
        { .path = path_, .type = POLICY_KEY_TEXT, .accepted = accepted_, .help = help_ }

static const PolicyKey keys[] = {
        { .path = "version",
          .type = POLICY_KEY_VERSION,
          .need = POLICY_KEY_REQUIRED,
          .supported = true,
          .allowed = "1",
          .help = "The version of the policy language. Every file that is not empty needs it." },
        { .path = "policies",
          .type = POLICY_KEY_LIST,
          .supported = true,
          .allowed = "a list of mappings",
          .help = "The policies. A process belongs to the first one that matches it." },
        { .path = "policies[].name",
          .type = POLICY_KEY_NAME,
          .need = POLICY_KEY_REQUIRED,
          .supported = true,
          .allowed = NAME_ALLOWED,
          .offset = offsetof(Policy, name),
          .help = "The name in messages and metrics. A policy of the same name in a later file "
                  "replaces the earlier one as a whole." },
        { .path = "policies[].match",
          .type = POLICY_KEY_SECTION,
          .need = POLICY_KEY_REQUIRED,
          .supported = true,
          .allowed = "a mapping",
          .help = "Which processes the policy is for. Every key that is given must hold. At least "
                  "exe or unit is required." },
        { .path = "policies[].match.exe",
          .type = POLICY_KEY_EXE,
          .need = POLICY_KEY_ONE_OF,
          .supported = true,
          .allowed = EXE_ALLOWED,
          .offset = offsetof(Policy, match.exe),
          .help = "The program that the process runs, as /proc/PID/exe tells it." },
        { .path = "policies[].match.unit",
          .type = POLICY_KEY_UNIT,
          .need = POLICY_KEY_ONE_OF,
          .supported = true,
          .allowed = UNIT_ALLOWED,
          .offset = offsetof(Policy, match.unit),
          .help = "The systemd unit that the process belongs to." },
        { .path = "policies[].match.user",
          .type = POLICY_KEY_USER,
          .supported = true,
          .allowed = "the name or the number of a user",
          .offset = offsetof(Policy, match.user),
          .help = "The owner of the process." },
        { .path = "policies[].match.containers",
          .type = POLICY_KEY_CHOICE,
          .supported = true,
          .default_text = "false",
          .choices = container_modes,
          .offset = offsetof(Policy, match.containers),
          .help = "true: processes in another PID, mount or user namespace, such as containers, "
                  "match as well." },
        { .path = "policies[].place",
          .type = POLICY_KEY_SECTION,
          .supported = true,
          .allowed = "a mapping",
          .help = "Where the processes belong." },
        { .path = "policies[].place.nodes",
          .type = POLICY_KEY_NODES,
          .supported = true,
          .allowed = NODES_ALLOWED,
          .offset = offsetof(Policy, nodes),
          .help = "Each instance gets all of these nodes. A policy without any nodes, here or in "
                  "instances, changes nothing: its processes are watched and reported." },
        { .path = "policies[].cpus",
          .type = POLICY_KEY_CPUS,
          .supported = true,
          .default_text = "all",
          .allowed = CPUS_ALLOWED,
          .offset = offsetof(Policy, cpus),
          .help = "Which CPUs of the nodes are used. An instance whose nodes lack one of the "
                  "numbers is left alone." },
        { .path = "policies[].memory",
          .type = POLICY_KEY_CHOICE,
          .supported = true,
          .default_text = "bind",
          .choices = memory_modes,
          .offset = offsetof(Policy, memory),
          .help = "bind: memory comes from the nodes only. preferred: it comes from the nodes "
                  "while "
                  "they have room. none: only the CPUs are bound." },
        { .path = "policies[].migrate",
          .type = POLICY_KEY_CHOICE,
          .supported = true,
          .default_text = "gentle",
          .choices = migrate_modes,
          .offset = offsetof(Policy, migrate),
          .help = "gentle: memory that lies on other nodes is moved, in small batches. none: it "
                  "stays where it is." },
        { .path = "policies[].rate",
          .type = POLICY_KEY_RATE,
          .supported = true,
          .default_text = "256MiB/s",
          .allowed = RATE_ALLOWED,
          .unit = SIZE_UNITS,
          .offset = offsetof(Policy, rate_bytes_per_sec),
          .help = "At most this much memory is moved, for each instance." },
        { .path = "policies[].instances",
          .type = POLICY_KEY_LIST,
          .supported = true,
          .allowed = "a list of mappings",
          .help = "Instances that have nodes of their own. They go before place.nodes." },
        { .path = "policies[].instances[].match",
          .type = POLICY_KEY_SECTION,
          .need = POLICY_KEY_REQUIRED,
          .supported = true,
          .allowed = "a mapping",
          .help = "Which of the processes of the policy the entry is for." },
        { .path = "policies[].instances[].match.unit",
          .type = POLICY_KEY_UNIT,
          .need = POLICY_KEY_ONE_OF,
          .supported = true,
          .allowed = UNIT_ALLOWED,
          .offset = offsetof(PolicyInstance, match.unit),
          .help = "The systemd unit of the instance." },
        { .path = "policies[].instances[].match.port",
          .type = POLICY_KEY_PORT,
          .need = POLICY_KEY_ONE_OF,
          .supported = true,
          .allowed = "a TCP port from 1 to 65535",
          .offset = offsetof(PolicyInstance, match.port),
          .help = "A TCP port on which the instance listens itself." },
        { .path = "policies[].instances[].nodes",
          .type = POLICY_KEY_NODES,
          .need = POLICY_KEY_REQUIRED,
          .supported = true,
          .allowed = NODES_ALLOWED,
          .offset = offsetof(PolicyInstance, nodes),
          .help = "The nodes of the instance." },
        { .path = "sampling",
          .type = POLICY_KEY_SECTION,
          .supported = true,
          .allowed = "a mapping",
          .help = "How the daemon looks at what runs." },
        { .path = "sampling.interval",
          .type = POLICY_KEY_DURATION,
          .supported = true,
          .default_text = "10s",
          .allowed = "a time from 1s to 1h with its unit, such as 10s",
          .unit = "us, ms, s, min, h",
          .min = SECOND,
          .max = 3600 * SECOND,
          .offset = offsetof(PolicySet, sampling_interval_usec),
          .help = "How often it looks where the memory of the processes lies." },
        { .path = "enforcement",
          .type = POLICY_KEY_SECTION,
          .supported = true,
          .allowed = "a mapping",
          .help = "What the daemon may change." },
        { .path = "enforcement.mode",
          .type = POLICY_KEY_CHOICE,
          .supported = true,
          .default_text = "enforce",
          .choices = enforcement_modes,
          .offset = offsetof(PolicySet, mode),
          .help = "enforce: the policies are carried out. observe: the daemon plans and reports, "
                  "and changes nothing." },
        { .path = "enforcement.backend",
          .type = POLICY_KEY_CHOICE,
          .supported = true,
          .default_text = "auto",
          .choices = backends,
          .offset = offsetof(PolicySet, backend),
          .help = "By which means processes are bound. systemd: properties of their units. "
                  "cgroup1: directories of cgroup v1's cpuset hierarchy. affinity: the CPUs of "
                  "each "
                  "thread, and no strictness for memory. auto: the first of them that the host "
                  "has." },

        /* Walked into although all their keys are for later, so that a key is told by its name. */
        { .path = "host",
          .type = POLICY_KEY_SECTION,
          .supported = true,
          .allowed = "a mapping",
          .help = "Settings of the whole host. This version carries out none." },
        { .path = "host.reserve",
          .type = POLICY_KEY_SECTION,
          .supported = true,
          .allowed = "a mapping",
          .help = "Nodes kept for network cards. This version keeps none." },
        LATER("host.numa_balancing", "leave", "Automatic NUMA balancing of the kernel."),
        LATER("host.reserve.nodes", "none", "Which nodes are kept for network cards."),
        LATER("host.reserve.devices", NULL, "Which network cards decide that."),
        LATER("host.reserve.strict", NULL, "Whether kept nodes may be used in need."),
        LATER("policies[].match.args", NULL, "A glob over the command line."),
        LATER("policies[].place.count", NULL, "How many nodes each instance gets."),
        LATER("policies[].place.near", "none", "Nodes near the storage or the network card."),
        LATER("policies[].place.same_package", NULL, "Instances within one socket."),
        LATER("policies[].place.share", NULL, "Whether instances share nodes."),
        LATER("policies[].place.avoid", "[]", "Nodes that are not used."),
        LATER("policies[].on_full", "keep", "What happens when a bound node is full."),
        /* One refusal at irq speaks for these: the loader does not walk into it. */
        LATER("irq", "[]", "Steering of interrupts."),
        LATER("irq[].match", NULL, "Which devices an entry is for."),
        LATER("irq[].match.net", NULL, "Network interfaces."),
        LATER("irq[].match.nvme", NULL, "NVMe controllers."),
        LATER("irq[].match.pci", NULL, "PCI addresses."),
        LATER("irq[].steer", NULL, "Where interrupts go."),
        LATER("irq[].irqbalance", NULL, "How to live with irqbalance."),
        LATER("irq[].xps", NULL, "Transmit queue masks."),
        LATER("irq[].rps", NULL, "Receive packet steering."),
        LATER("sampling.access", "off", "Hardware counters of memory access."),
        LATER("sampling.budget", NULL, "What sampling may cost."),
        LATER("enforcement.on_stop", "keep", "What happens when the daemon stops."),
};

_Static_assert(ELEMENTSOF(keys) <= POLICY_KEYS_MAX, "POLICY_KEYS_MAX is too small");

size_t policy_keys(const PolicyKey **ret) {
        *ret = keys;
        return ELEMENTSOF(keys);
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

const char *policy_key_allowed(const PolicyKey *key, char buffer[static POLICY_KEY_ALLOWED_MAX]) {
        size_t length = 0;

        if (!key->choices) {
                (void)snprintf(buffer, POLICY_KEY_ALLOWED_MAX, "%s",
                               key->allowed ? key->allowed : "");
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
