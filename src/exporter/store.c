/* The published files, each read again when it was replaced. A body that is being sent meanwhile
 * lives until its last reader is done. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tidbnumad/exporter/store.h"

struct Store {
        pthread_mutex_t lock;
        const char *runtime_dir;
        StoreBody *bodies[_STORE_FILE_MAX];
        bool stale[_STORE_FILE_MAX]; /* a newer snapshot waits for memory that slow clients hold */
        size_t old_bytes;
};

static const char *const file_names[_STORE_FILE_MAX] = {
        [STORE_METRICS] = "metrics.prom",
        [STORE_STATUS] = "status.json",
};

const char *store_file_name(StoreFile file) {
        return file_names[file];
}

const char *store_runtime_dir(const Store *store) {
        return store->runtime_dir;
}

int store_new(const char *runtime_dir, Store **ret) {
        Store *store = calloc(1, sizeof(*store));

        if (!store)
                return -ENOMEM;
        store->runtime_dir = runtime_dir;
        (void)pthread_mutex_init(&store->lock, NULL); /* never fails in glibc */
        *ret = store;
        return 0;
}

/* --- bodies --- */

static void body_free(StoreBody *body) {
        snapshot_file_done(&body->file);
        free(body);
}
DEFINE_CLEANUP(StoreBody *, body_free)

/* Makes sure that appended text starts on a new line. */
static void end_with_newline(SnapshotFile *file) {
        if (file->size > 0 && file->data[file->size - 1] != '\n')
                file->data[file->size++] = '\n';
        file->data[file->size] = '\0';
}

static int read_body(StoreFile file, int fd, const SnapshotId *id, StoreBody **ret) {
        _cleanup_(body_freep) StoreBody *body = calloc(1, sizeof(*body));
        int r;

        if (!body)
                return -ENOMEM;
        r = snapshot_file_read_fd(fd, id, &body->file);
        if (r < 0)
                return r;
        if (file == STORE_METRICS)
                end_with_newline(&body->file);
        body->n_users = 1;
        *ret = TAKE_PTR(body);
        return 0;
}

/* --- users of bodies --- */

static void drop(Store *store, StoreBody *body) {
        if (--body->n_users > 0)
                return;
        if (body->old)
                store->old_bytes -= body->file.size;
        body_free(body);
}

static void retire(Store *store, StoreBody **slot) {
        StoreBody *body = TAKE_PTR(*slot);

        if (!body)
                return;
        body->old = true;
        store->old_bytes += body->file.size;
        drop(store, body);
}

/* The memory of a body without readers is freed before the next one is read. */
static bool may_retire(const Store *store, const StoreBody *body) {
        return body->n_users == 1 || store->old_bytes + body->file.size <= STORE_OLD_BYTES_MAX;
}

static int take_locked(Store *store, StoreFile file, int fd, const SnapshotId *id,
                       StoreBody **ret) {
        StoreBody **slot = &store->bodies[file];
        bool changed = *slot && !snapshot_id_equal(&(*slot)->file.id, id);
        int r;

        store->stale[file] = changed && !may_retire(store, *slot);
        if (changed && !store->stale[file])
                retire(store, slot);
        if (!*slot) {
                r = read_body(file, fd, id, slot);
                if (r < 0)
                        return r;
        }
        (*slot)->n_users++;
        *ret = *slot;
        return 0;
}

int store_take(Store *store, StoreFile file, StoreBody **ret) {
        _cleanup_close_ int fd = -EBADF;
        SnapshotId id;
        int r;

        /* Open the file under the lock: otherwise a delayed thread could bring an older snapshot
         * back. */
        (void)pthread_mutex_lock(&store->lock);
        r = snapshot_file_open(store->runtime_dir, file_names[file], &id, &fd);
        if (r >= 0)
                r = take_locked(store, file, fd, &id, ret);
        (void)pthread_mutex_unlock(&store->lock);
        return r;
}

void store_put_back(Store *store, StoreBody *body) {
        (void)pthread_mutex_lock(&store->lock);
        drop(store, body);
        for (StoreFile f = 0; f < _STORE_FILE_MAX; f++)
                if (store->bodies[f] && store->bodies[f]->n_users == 1 &&
                    store->bodies[f]->file.size > STORE_KEPT_BYTES_MAX)
                        retire(store, &store->bodies[f]);
        (void)pthread_mutex_unlock(&store->lock);
}

bool store_is_crowded(Store *store) {
        bool crowded = false;

        (void)pthread_mutex_lock(&store->lock);
        for (StoreFile f = 0; f < _STORE_FILE_MAX; f++)
                crowded |= store->stale[f] && !may_retire(store, store->bodies[f]);
        (void)pthread_mutex_unlock(&store->lock);
        return crowded;
}

void store_free(Store *store) {
        if (!store)
                return;
        for (StoreFile f = 0; f < _STORE_FILE_MAX; f++)
                retire(store, &store->bodies[f]);
        (void)pthread_mutex_destroy(&store->lock);
        free(store);
}
