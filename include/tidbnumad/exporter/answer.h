/* The files that the daemon publishes, read and kept in memory, and the answers made from them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"

/* A larger file is not plausible: 64 instances on 16 nodes take half a megabyte. The limit also
 * bounds the exporter's memory, as it keeps the files there. */
#define SNAPSHOT_FILE_MAX ((size_t)4 << 20)

/* Keeps the published files in memory. Each snapshot is read once, and shared by all answers that
 * are being sent. */

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
        char *data; /* NUL-terminated; owned */
        size_t size;
        struct stat stat; /* which snapshot it is, and of when */
        unsigned n_users; /* number of users: answers, and the store itself; for the store only */
        bool old;         /* replaced by a newer snapshot; for the store only */
} StoreBody;

typedef struct Store Store;

/* `runtime_dir` must live as long as the result. -ENOMEM. */
int store_new(const char *runtime_dir, Store **ret);

/* All bodies must have been returned by store_put_back() before. */
void store_free(Store *store);
DEFINE_CLEANUP(Store *, store_free)

/* Returns the present content of the file, to be returned by store_put_back(). May be called by
 * several threads. -ENOMEM; -ENOENT: no directory or no such file; -ELOOP: a symbolic link; -EBADF:
 * not a regular file; -EFBIG: larger than SNAPSHOT_FILE_MAX; other negative errno. */
int store_take(Store *store, StoreFile file, StoreBody **ret);
void store_put_back(Store *store, StoreBody *body);

/* Is a newer snapshot held back until the older ones, which are still being sent, free memory? */
bool store_is_crowded(Store *store);

/* Builds the answer to a request, independently of the HTTP library. */

typedef struct AnswerRequest {
        const char *path;   /* NULL: it is no GET or HEAD, which is answered with 405 */
        double now_seconds; /* since the epoch */
        uint64_t n_scrapes; /* number of answers with metrics before this one */
        uint64_t n_cut_off; /* number of clients that were cut off */
} AnswerRequest;

typedef struct Answer {
        unsigned status; /* HTTP status code */
        const char *content_type;
        bool is_scrape;  /* metrics were answered */
        Store *store;    /* the store that owns `body` */
        StoreBody *body; /* shared with other answers; NULL: the answer has `text` only */
        Text text;       /* the whole answer, or the part after the body; owned */
} Answer;

void answer_done(Answer *answer);
#define _cleanup_answer_ _cleanup_(answer_done)

/* A snapshot is healthy up to three sampling intervals, but at least this long: a daemon that is
 * being upgraded or that samples fast must not flap. */
#define ANSWER_HEALTHY_SECONDS_MIN 60.0

/* Builds the answer to a request. A problem with a file is also an answer, with a
 * sentence for the operator. -ENOMEM is the only failure. */
int answer_build(Store *store, const AnswerRequest *request, Answer *ret);
