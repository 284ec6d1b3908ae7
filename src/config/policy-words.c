/* What each type of key allows, and when a change counts, in words. */
#include <inttypes.h>
#include <stdio.h>

#include "tidbnumad/config/policy-words.h"

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
        [POLICY_KEY_DURATION] = "a time from 1s to 1h with its unit, such as 10s",
        [POLICY_KEY_PERCENT] = "a percentage from 0.01% to 100%, such as 1% or 0.5%",
        [POLICY_KEY_EVENT] =
                "the code of an event such as 0x01d3, or with its kind before it, such "
                "as raw:0x01d3, software:2 or 10:0x31",
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
