/* What stands between the files and the answers: a body for each form, made anew where the file is
 * another one. A body that is being sent while its file is replaced lives until that is done. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tidbnumad/exporter/gzip.h"
#include "tidbnumad/exporter/openmetrics.h"
#include "tidbnumad/exporter/store.h"

struct Store {
        pthread_mutex_t lock;
        const char *runtime_dir;
        StoreBody *bodies[_STORE_FORM_MAX][2]; /* by whether it is compressed */
        size_t old_bytes;
        uint64_t n_made;
};

static const char *const file_names[_STORE_FORM_MAX] = {
        [STORE_METRICS] = "metrics.prom",
        [STORE_OPENMETRICS] = "metrics.prom",
        [STORE_STATUS] = "status.json",
};

const char *store_file_name(StoreForm form) {
        return file_names[form];
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
        free(body->data);
        free(body);
}
DEFINE_CLEANUP(StoreBody *, body_free)

/* Takes the file's text over, or what is made of it. */
static int fill_plain(StoreForm form, SnapshotFile *file, Text *ret) {
        if (form == STORE_OPENMETRICS) {
                openmetrics_append(ret, file->data, file->size);
                if (ret->error == 0)
                        snapshot_file_done(file);
                return ret->error;
        }
        *ret = (Text){ .data = TAKE_PTR(file->data),
                       .length = file->size,
                       .allocated = file->size + 1 };
        if (form == STORE_METRICS && ret->length > 0 && ret->data[ret->length - 1] != '\n')
                text_append(ret, "\n");
        return ret->error;
}

static int fill_body(StoreForm form, bool gzip, SnapshotFile *file, StoreBody *body) {
        _cleanup_text_ Text plain = { 0 };
        GzipStart start;
        int r;

        r = fill_plain(form, file, &plain);
        if (r < 0)
                return r;
        if (gzip) {
                r = gzip_start(plain.data ? plain.data : "", plain.length, &start);
                if (r < 0)
                        return r;
                body->data = start.data;
                body->size = start.size;
                body->crc = start.crc;
                body->n_plain = start.n_plain;
                return 0;
        }
        body->size = plain.length;
        body->data = (uint8_t *)TAKE_PTR(plain.data);
        if (plain.allocated > plain.length + 4096) { /* it grew by doubling */
                void *smaller = realloc(body->data, plain.length + 1);

                if (smaller)
                        body->data = smaller;
        }
        return 0;
}

static int make_body(StoreForm form, bool gzip, int fd, const SnapshotId *id, StoreBody **ret) {
        _cleanup_snapshot_file_ SnapshotFile file = { 0 };
        _cleanup_(body_freep) StoreBody *body = NULL;
        int r;

        r = snapshot_file_read_fd(fd, id, &file);
        if (r < 0)
                return r;
        body = calloc(1, sizeof(*body));
        if (!body)
                return -ENOMEM;
        body->id = *id;
        body->gzip = gzip;
        body->n_users = 1;
        r = fill_body(form, gzip, &file, body);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(body);
        return 0;
}

/* --- who holds them --- */

static void drop(Store *store, StoreBody *body) {
        if (--body->n_users > 0)
                return;
        if (body->old)
                store->old_bytes -= body->size;
        body_free(body);
}

static void retire(Store *store, StoreBody **slot) {
        StoreBody *body = TAKE_PTR(*slot);

        if (!body)
                return;
        body->old = true;
        store->old_bytes += body->size;
        drop(store, body);
}

/* All forms of a snapshot go when the first is seen to be of another: nobody may ask for the rest
 * for a long time. */
static void retire_others(Store *store, StoreForm form, const SnapshotId *id) {
        for (unsigned f = 0; f < _STORE_FORM_MAX; f++)
                for (unsigned z = 0; z < 2; z++) {
                        StoreBody **slot = &store->bodies[f][z];

                        if (file_names[f] == file_names[form] && *slot &&
                            !snapshot_id_equal(&(*slot)->id, id))
                                retire(store, slot);
                }
}

static int take_locked(Store *store, StoreForm form, bool gzip, int fd, const SnapshotId *id,
                       StoreBody **ret) {
        StoreBody **slot = &store->bodies[form][gzip];
        int r;

        retire_others(store, form, id);
        if (!*slot) {
                r = make_body(form, gzip, fd, id, slot);
                if (r < 0)
                        return r;
                store->n_made++;
        }
        (*slot)->n_users++;
        *ret = *slot;
        return 0;
}

int store_take(Store *store, StoreForm form, bool gzip, StoreBody **ret) {
        _cleanup_close_ int fd = -EBADF;
        SnapshotId id;
        int r;

        /* Opened under the lock: else a thread that was held up would bring an older one back. */
        (void)pthread_mutex_lock(&store->lock);
        r = snapshot_file_open(store->runtime_dir, file_names[form], &id, &fd);
        if (r >= 0)
                r = take_locked(store, form, gzip, fd, &id, ret);
        (void)pthread_mutex_unlock(&store->lock);
        return r;
}

void store_put_back(Store *store, StoreBody *body) {
        (void)pthread_mutex_lock(&store->lock);
        drop(store, body);
        (void)pthread_mutex_unlock(&store->lock);
}

bool store_is_crowded(Store *store) {
        bool crowded;

        (void)pthread_mutex_lock(&store->lock);
        crowded = store->old_bytes > STORE_OLD_BYTES_MAX;
        (void)pthread_mutex_unlock(&store->lock);
        return crowded;
}

uint64_t store_n_made(Store *store) {
        uint64_t n;

        (void)pthread_mutex_lock(&store->lock);
        n = store->n_made;
        (void)pthread_mutex_unlock(&store->lock);
        return n;
}

void store_free(Store *store) {
        if (!store)
                return;
        for (unsigned f = 0; f < _STORE_FORM_MAX; f++)
                for (unsigned z = 0; z < 2; z++)
                        retire(store, &store->bodies[f][z]);
        (void)pthread_mutex_destroy(&store->lock);
        free(store);
}
