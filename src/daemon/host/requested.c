#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/daemon/host/requested.h"
#include "tidbnumad/sys/atomic-file.h"

#define REQUESTS_FILE "requests"
#define REQUESTS_MAX_BYTES ((size_t)REQUESTS_MAX * (REQUEST_NAME_MAX + 16))

/* To pause is the careful answer: nothing that was released is bound again. */
static void cannot_read(Host *h, int error) {
        h->requests.paused = true;
        journal_log(&h->journal, LOG_WARNING, NULL,
                    "What was requested before this start, in %s/%s, cannot be used: %s. The "
                    "daemon is paused, because it may have been; run tidbnumactl resume",
                    h->args->runtime_dir, REQUESTS_FILE,
                    error == -EBADMSG ? "it is not what a daemon has written"
                    : error == -EPERM ? "it is not root's alone"
                                      : strerror(-error));
}

void requested_read(Host *h) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (h->runtime_fd < 0)
                return;
        r = private_file_read(h->runtime_fd, REQUESTS_FILE, REQUESTS_MAX_BYTES, &text, &size);
        if (r == -ENOENT)
                return;
        if (r >= 0)
                r = requests_parse(text, size, &h->requests);
        if (r < 0)
                cannot_read(h, r);
        else if (h->requests.paused || h->requests.n > 0)
                journal_log(&h->journal, LOG_NOTICE, NULL, "As requested before this start: %s, %s",
                            h->requests.paused ? "paused" : "not paused",
                            requests_release_any(&h->requests) ? "some instances are released"
                                                               : "nothing is released");
}

int requested_write(const Host *h) {
        _cleanup_text_ Text text = { 0 };

        if (h->runtime_fd < 0)
                return 0;
        if (!h->requests.paused && h->requests.n == 0)
                return unlinkat(h->runtime_fd, REQUESTS_FILE, 0) < 0 && errno != ENOENT ? -errno
                                                                                        : 0;
        requests_render(&h->requests, &text);
        return text.error < 0 ? text.error
                              : atomic_file_write(h->runtime_fd, REQUESTS_FILE, text.data,
                                                  text.length, 0600);
}
