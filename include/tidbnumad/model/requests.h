/* What an operator has requested from the running daemon: a pause, the release of instances, and a
 * trial. It is kept over a restart of the daemon; a reboot ends it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"

/* Bounds of what is kept. A name of an instance or of a unit is shorter: systemd.unit(5) allows 255
 * characters. */
#define REQUESTS_MAX 256u
#define REQUEST_NAME_MAX 255u

typedef struct Request {
        char *glob;    /* of instances, units or devices; "host": settings of the host; owned */
        bool released; /* false: bound again, although an earlier request releases it */
} Request;

/* A trial binds everything, whatever the mode and the releases are, for as long as the one who
 * asked for it is connected. */
typedef enum TrialRequest {
        TRIAL_REQUEST_NONE,
        TRIAL_REQUEST_BINDS,
        TRIAL_REQUEST_KEPT, /* it is over, and enforces in spite of enforcement.mode: observe, until
                             * the policy files are loaded again, or all is released */
        TRIAL_REQUEST_ENDS, /* everything is being released, as it was before */
        N_TRIAL_REQUESTS,
} TrialRequest;

const char *trial_request_to_string(TrialRequest trial); /* "kept" */

/* Of several requests that name an instance, the last one counts. */
typedef struct Requests {
        bool paused;
        TrialRequest trial;
        Request *list; /* owned */
        size_t n;
} Requests;

void requests_done(Requests *requests);
#define _cleanup_requests_ _cleanup_(requests_done)

/* Adds a request behind the others, and drops those that it makes void. -EINVAL: empty, too long or
 * with a control character; -ENOSPC: REQUESTS_MAX; -ENOMEM. Nothing is changed then. */
int requests_add(Requests *requests, const char *glob, bool released);

void requests_remove(Requests *requests, size_t index);

/* Is the instance (or device) released, by its name or its unit? `unit` may be NULL. */
bool requests_release(const Requests *requests, const char *name, const char *unit);

/* Is anything released, by requests or by the end of a trial? */
bool requests_release_any(const Requests *requests);

/* Does a trial bind in spite of enforcement.mode: observe? */
bool requests_override_mode(const Requests *requests);

/* Nothing is requested: there is nothing to keep. */
bool requests_is_empty(const Requests *requests);

int requests_copy(const Requests *requests, Requests *ret); /* 0 or -ENOMEM */

/* As a text of one line for each request, and back. -EBADMSG: it is not such a text; -ENOMEM.
 * `ret` is untouched then. */
void requests_render(const Requests *requests, Text *text);
int requests_parse(const char *text, size_t size, Requests *ret);
