/* Values of the kernel that belong to no process: masks of interrupts and of network queues, and
 * settings of the whole host. Plain data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"

typedef enum SettingKind {
        SETTING_VECTOR,         /* /proc/irq/N/smp_affinity_list */
        SETTING_XPS,            /* xps_cpus of a transmit queue */
        SETTING_RPS,            /* rps_cpus of a receive queue */
        SETTING_NUMA_BALANCING, /* the sysctl kernel.numa_balancing */
        N_SETTING_KINDS,
} SettingKind;

const char *setting_kind_to_string(SettingKind kind); /* "vector" */

/* -EINVAL: there is no such kind. */
int setting_kind_from_string(const char *word, SettingKind *ret);

/* Which of them. */
typedef struct SettingKey {
        SettingKind kind;
        const char *device; /* of a vector its PCI address, or its name where it has none; of a
                             * queue the last known name of the interface; "" of the host's own;
                             * borrowed */
        uint32_t number;    /* of the interrupt or the queue; else 0 */
        uint32_t ifindex;   /* of a queue its interface; else 0 */
} SettingKey;

/* Is it a mask of a network queue? */
bool setting_is_queue(SettingKind kind);

/* Queues are compared by interface index: an interface can be renamed. */
bool setting_key_equal(const SettingKey *a, const SettingKey *b);

/* Is its value a set of CPUs? Else it is a number. */
bool setting_is_mask(SettingKind kind);

/* What is wanted there. */
typedef struct SettingValue {
        CpuSet cpus;
        uint32_t number;
} SettingValue;

bool setting_value_equal(const SettingValue *a, const SettingValue *b);
