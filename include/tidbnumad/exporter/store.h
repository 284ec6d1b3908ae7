/* The published files in memory. Each snapshot is read once, and all answers that are being sent
 * share it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/exporter/snapshot-file.h"

typedef enum StoreFile {
        STORE_METRICS, /* metrics.prom; ends with a newline here */
        STORE_STATUS,  /* status.json */
        _STORE_FILE_MAX,
} StoreFile;

/* The memory of older snapshots that slow clients still fetch. Where a newer one would make it
 * more, the present one is served until they are cut off. */
#define STORE_OLD_BYTES_MAX ((size_t)2 << 20)

/* A larger one is not kept until the next client comes, but read again for that. */
#define STORE_KEPT_BYTES_MAX ((size_t)1 << 20)

typedef struct StoreBody {
        SnapshotFile file;
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
const char *store_file_name(StoreFile file);

/* The file as it is now, for store_put_back(). May be called by several threads. -ENOMEM,
 * and what snapshot_file_open() returns. */
int store_take(Store *store, StoreFile file, StoreBody **ret);
void store_put_back(Store *store, StoreBody *body);

/* Is a newer snapshot held back until the older ones, which are still being sent, free memory? */
bool store_is_crowded(Store *store);

/* How many times a file was read so far. */
uint64_t store_n_read(Store *store);
