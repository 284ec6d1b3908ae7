/* Builds the answer to a request, independently of the HTTP library. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/exporter/store.h"

typedef struct AnswerRequest {
        const char *path;
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

/* Builds the answer to a GET or HEAD request. A problem with a file is also an answer, with a
 * sentence for the operator. -ENOMEM is the only failure. */
int answer_build(Store *store, const AnswerRequest *request, Answer *ret);

/* The answer to any other method (405). */
int answer_build_method_not_allowed(Answer *ret);
