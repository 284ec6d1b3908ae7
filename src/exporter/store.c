/* The published files, each read again when it was replaced. A body that is being sent meanwhile
 * lives until its last reader is done. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/exporter/store.h"

/* --- the files --- */

void snapshot_file_done(SnapshotFile *file) {
        free(file->data);
        *file = (SnapshotFile){ 0 };
}

bool snapshot_id_equal(const SnapshotId *a, const SnapshotId *b) {
        return a->device == b->device && a->inode == b->inode && a->size == b->size &&
               a->mtime_nsec == b->mtime_nsec;
}

double snapshot_id_age(const SnapshotId *id, double now_seconds) {
        double age = now_seconds - (double)id->mtime_nsec / 1e9;

        return age > 0 ? age : 0;
}

int snapshot_file_open(const char *directory, const char *name, SnapshotId *ret_id, int *ret_fd) {
        _cleanup_close_ int dir_fd = -EBADF, fd = -EBADF;
        struct stat st;

        dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;
        /* O_NONBLOCK: a FIFO in its place must not block. */
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADF;
        if (st.st_size < 0 || (size_t)st.st_size > SNAPSHOT_FILE_MAX)
                return -EFBIG;
        *ret_id = (SnapshotId){ .device = st.st_dev,
                                .inode = st.st_ino,
                                .size = st.st_size,
                                .mtime_nsec = (int64_t)st.st_mtim.tv_sec * 1000000000 +
                                              st.st_mtim.tv_nsec };
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int snapshot_file_read_fd(int fd, const SnapshotId *id, SnapshotFile *ret) {
        _cleanup_snapshot_file_ SnapshotFile file = { .id = *id };
        const size_t size = (size_t)id->size;

        file.data = malloc(size + 2); /* a newline may be appended */
        if (!file.data)
                return -ENOMEM;
        while (file.size < size) {
                ssize_t n = read(fd, file.data + file.size, size - file.size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                file.size += (size_t)n;
        }
        file.data[file.size] = '\0';
        *ret = file;
        file.data = NULL;
        return 0;
}

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
