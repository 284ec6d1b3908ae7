/* Keeps the published files in memory. Each snapshot is read once, and shared by all answers that
 * are being sent. */
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

/* Limit on the memory of older snapshots that slow clients still read. If a newer snapshot would
 * exceed it, the present one is served until these clients are disconnected. */
#define STORE_OLD_BYTES_MAX ((size_t)2 << 20)

/* A larger snapshot is not kept after its last reader, but read again for the next client. */
#define STORE_KEPT_BYTES_MAX ((size_t)1 << 20)

typedef struct StoreBody {
        SnapshotFile file;
        unsigned n_users; /* number of users: answers, and the store itself; for the store only */
        bool old;         /* replaced by a newer snapshot; for the store only */
} StoreBody;

typedef struct Store Store;

/* `runtime_dir` must live as long as the result. -ENOMEM. */
int store_new(const char *runtime_dir, Store **ret);

/* All bodies must have been returned by store_put_back() before. */
void store_free(Store *store);
DEFINE_CLEANUP(Store *, store_free)

const char *store_runtime_dir(const Store *store);
const char *store_file_name(StoreFile file);

/* Returns the present content of the file, to be returned by store_put_back(). May be called by
 * several threads. -ENOMEM, or an error of snapshot_file_open(). */
int store_take(Store *store, StoreFile file, StoreBody **ret);
void store_put_back(Store *store, StoreBody *body);

/* Is a newer snapshot held back until the older ones, which are still being sent, free memory? */
bool store_is_crowded(Store *store);
