/* The published files in the forms that clients ask for. Each form is made once for each snapshot,
 * and all answers that are being sent share it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/exporter/snapshot-file.h"

typedef enum StoreForm {
        STORE_METRICS,     /* metrics.prom as it is */
        STORE_OPENMETRICS, /* the same as OpenMetrics, without its end mark */
        STORE_STATUS,      /* status.json */
        _STORE_FORM_MAX,
} StoreForm;

/* Held back by clients that are slow to fetch an older snapshot: what the store puts up with. */
#define STORE_OLD_BYTES_MAX ((size_t)3 << 20)

typedef struct StoreBody {
        SnapshotId id; /* of the file it was made from */
        uint8_t *data; /* metrics end with a newline */
        size_t size;
        bool gzip;        /* `data` is a gzip_start() … */
        uint32_t crc;     /* … with this sum … */
        uint32_t n_plain; /* … of so many bytes */
        unsigned n_users; /* answers, and the store itself; the store's */
        bool old;         /* a newer snapshot has taken its place; the store's */
} StoreBody;

typedef struct Store Store;

/* `runtime_dir` must live as long as the result. -ENOMEM. */
int store_new(const char *runtime_dir, Store **ret);

/* All bodies must have been put back. */
void store_free(Store *store);
DEFINE_CLEANUP(Store *, store_free)

const char *store_runtime_dir(const Store *store);
const char *store_file_name(StoreForm form);

/* A form of the file as it is now, for store_put_back(). May be called by several threads. -ENOMEM,
 * and what snapshot_file_open() returns. */
int store_take(Store *store, StoreForm form, bool gzip, StoreBody **ret);
void store_put_back(Store *store, StoreBody *body);

/* Whether answers that are still being sent hold more than STORE_OLD_BYTES_MAX of older snapshots.
 */
bool store_is_crowded(Store *store);

/* How many bodies were made so far. */
uint64_t store_n_made(Store *store);
