/* What is answered to a request, without any HTTP library in it. */
#pragma once

#include "tidbnumad/base/text.h"

typedef struct Answer {
        unsigned status; /* HTTP status code */
        const char *content_type;
        Text body; /* owned */
} Answer;

void answer_done(Answer *answer);
#define _cleanup_answer_ _cleanup_(answer_done)

/* A snapshot is healthy up to three sampling intervals, but at least this long: a daemon that is
 * being upgraded or that samples fast must not flap. */
#define ANSWER_HEALTHY_SECONDS_MIN 60.0

/* The answer to GET or HEAD of `path` at the time `now_seconds` (since the epoch) from the files in
 * `runtime_dir`. What goes wrong with a file is an answer too, with a sentence for the operator.
 * -ENOMEM is the only failure. */
int answer_build(const char *runtime_dir, const char *path, double now_seconds, Answer *ret);

/* The answer to any other method (405). */
int answer_build_method_not_allowed(Answer *ret);
