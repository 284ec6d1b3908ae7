#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/requests.h"

#define FIRST_LINE "tidbnumad requests 1"
#define PAUSE "pause"
#define RELEASE "release "
#define BIND "bind "
#define TRIAL "trial "

static const char *const trials[N_TRIAL_REQUESTS] = {
        [TRIAL_REQUEST_NONE] = "",
        [TRIAL_REQUEST_BINDS] = "binds",
        [TRIAL_REQUEST_KEPT] = "kept",
        [TRIAL_REQUEST_ENDS] = "ends",
};
DEFINE_STRING_TABLE(trial_request_to_string, TrialRequest, trials)

void requests_done(Requests *requests) {
        for (size_t i = 0; i < requests->n; i++)
                free(requests->list[i].glob);
        free(requests->list);
        *requests = (Requests){ 0 };
}

void requests_remove(Requests *requests, size_t index) {
        free(requests->list[index].glob);
        ARRAY_REMOVE(requests->list, requests->n, index);
}

/* "*" concerns everything that was requested before, any other glob what is written the same. */
static bool glob_voids(const char *glob, const Request *earlier) {
        return strcmp(glob, "*") == 0 || strcmp(glob, earlier->glob) == 0;
}

int requests_add(Requests *requests, const char *glob, bool released) {
        const size_t length = strlen(glob);
        size_t n_void = 0;
        Request *list;
        char *copy;

        if (length == 0 || length > REQUEST_NAME_MAX || utf8_has_control(glob))
                return -EINVAL;
        for (size_t i = 0; i < requests->n; i++)
                n_void += glob_voids(glob, &requests->list[i]);
        if (requests->n - n_void >= REQUESTS_MAX)
                return -ENOSPC;
        list = reallocarray(requests->list, requests->n + 1, sizeof(*list));
        if (!list)
                return -ENOMEM;
        requests->list = list;
        copy = strdup(glob);
        if (!copy)
                return -ENOMEM;
        for (size_t i = requests->n; i > 0; i--)
                if (glob_voids(copy, &requests->list[i - 1]))
                        requests_remove(requests, i - 1);
        requests->list[requests->n++] = (Request){ .glob = copy, .released = released };
        /* What releases all ends it: bound again is then what the policy files bind. */
        if (released && strcmp(glob, "*") == 0 && requests->trial == TRIAL_REQUEST_KEPT)
                requests->trial = TRIAL_REQUEST_NONE;
        /* Before them is no release that they could be excepted from. */
        while (requests->n > 0 && !requests->list[0].released)
                requests_remove(requests, 0);
        return 0;
}

bool requests_release(const Requests *requests, const char *name, const char *unit) {
        if (requests->trial == TRIAL_REQUEST_BINDS || requests->trial == TRIAL_REQUEST_ENDS)
                return requests->trial == TRIAL_REQUEST_ENDS;
        for (size_t i = requests->n; i > 0; i--) {
                const Request *r = &requests->list[i - 1];

                if (instance_is_named(r->glob, name, unit))
                        return r->released;
        }
        return false;
}

bool requests_release_any(const Requests *requests) {
        bool any = requests->trial == TRIAL_REQUEST_ENDS;

        for (size_t i = 0; i < requests->n && requests->trial != TRIAL_REQUEST_BINDS; i++)
                any |= requests->list[i].released;
        return any;
}

bool requests_override_mode(const Requests *requests) {
        return requests->trial == TRIAL_REQUEST_BINDS || requests->trial == TRIAL_REQUEST_KEPT;
}

bool requests_is_empty(const Requests *requests) {
        return !requests->paused && requests->n == 0 && requests->trial == TRIAL_REQUEST_NONE;
}

int requests_copy(const Requests *requests, Requests *ret) {
        _cleanup_requests_ Requests copy = { .paused = requests->paused, .trial = requests->trial };

        for (size_t i = 0; i < requests->n; i++) {
                int r = requests_add(&copy, requests->list[i].glob, requests->list[i].released);

                if (r < 0)
                        return r;
        }
        *ret = TAKE_STRUCT(copy);
        return 0;
}

void requests_render(const Requests *requests, Text *text) {
        text_append(text, FIRST_LINE "\n");
        if (requests->paused)
                text_append(text, PAUSE "\n");
        if (requests->trial != TRIAL_REQUEST_NONE)
                text_appendf(text, TRIAL "%s\n", trials[requests->trial]);
        for (size_t i = 0; i < requests->n; i++)
                text_appendf(text, "%s%s\n", requests->list[i].released ? RELEASE : BIND,
                             requests->list[i].glob);
}

int requests_parse(const char *text, size_t size, Requests *ret) {
        _cleanup_requests_ Requests requests = { 0 };
        bool first = true;

        for (const char *p = text, *end = text + size; p < end || first; first = false) {
                const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
                TrialRequest trial = TRIAL_REQUEST_BINDS;
                char line[REQUEST_NAME_MAX + sizeof(RELEASE)];
                int r = -EBADMSG;

                if (!newline || (size_t)(newline - p) >= sizeof(line))
                        return -EBADMSG;
                memcpy(line, p, (size_t)(newline - p));
                line[newline - p] = '\0';
                if (strlen(line) != (size_t)(newline - p) ||
                    (first && strcmp(line, FIRST_LINE) != 0))
                        return -EBADMSG;
                p = newline + 1;
                if (first)
                        continue;
                if (strcmp(line, PAUSE) == 0) {
                        requests.paused = true;
                        continue;
                }
                while (trial < N_TRIAL_REQUESTS &&
                       (strncmp(line, TRIAL, strlen(TRIAL)) != 0 ||
                        strcmp(line + strlen(TRIAL), trials[trial]) != 0))
                        trial++;
                if (trial < N_TRIAL_REQUESTS) {
                        requests.trial = trial;
                        continue;
                }
                if (strncmp(line, RELEASE, strlen(RELEASE)) == 0)
                        r = requests_add(&requests, line + strlen(RELEASE), true);
                else if (strncmp(line, BIND, strlen(BIND)) == 0)
                        r = requests_add(&requests, line + strlen(BIND), false);
                if (r < 0)
                        return r == -ENOMEM ? r : -EBADMSG;
        }
        *ret = TAKE_STRUCT(requests);
        return 0;
}
