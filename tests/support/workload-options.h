/* The workload's command line. A mistake in it is told on stderr and ends the program with
 * status 2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload-memory.h"

typedef struct WorkloadOptions {
        size_t hold_bytes[N_REGION_KINDS];
        size_t reserved_touch; /* 0: all */
        size_t grow_bytes_per_sec, grow_max;
        unsigned threads, churn_hz;
        uint16_t port;
        const char *data_dir;
        bool stall_report, status_first, sizes_first;
        Spread spread;
} WorkloadOptions;

/* --help ends the program too. `data_dir` points into argv. */
WorkloadOptions workload_options_parse(int argc, char **argv);
