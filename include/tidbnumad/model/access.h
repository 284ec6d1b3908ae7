/* Accesses to local and remote memory: what processors count of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum Locality {
        LOCALITY_LOCAL,
        LOCALITY_REMOTE,
        N_LOCALITIES,
} Locality;

const char *locality_to_string(Locality locality); /* "local", "remote" */

typedef enum ProcessorVendor {
        PROCESSOR_OTHER,
        PROCESSOR_INTEL,
        PROCESSOR_AMD,
        PROCESSOR_ARM,       /* implementer 0x41: Neoverse, also in chips of others */
        PROCESSOR_HISILICON, /* implementer 0x48 */
} ProcessorVendor;

typedef struct Processor {
        ProcessorVendor vendor;
        uint32_t family; /* of x86, else 0 */
        uint32_t model;  /* of Arm the part */
} Processor;

/* What perf_event_open(2) calls `type` and `config`; two of its types, of linux/perf_event.h. */
enum { ACCESS_EVENT_SOFTWARE = 1, ACCESS_EVENT_RAW = 4 };

typedef struct AccessEvent {
        bool given;
        uint32_t type;
        uint64_t config;
} AccessEvent;

typedef struct AccessEvents {
        const char *source;   /* metric label: whose event it is */
        const char *coverage; /* metric label: which accesses it counts, as vendors differ */
        AccessEvent events[N_LOCALITIES]; /* at least one of them is given */
} AccessEvents;

/* What the processor counts for a single thread. -ENOENT: the table does not know it; -EOPNOTSUPP:
 * it does, and the processor counts by die, not by thread. */
int access_events_find(const Processor *processor, AccessEvents *ret);

bool access_events_equal(const AccessEvents *a, const AccessEvents *b);
