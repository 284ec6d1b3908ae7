/* tidbnumad-exporter: opens the sockets, serves HTTP, and exits on SIGTERM. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "tidbnumad/exporter/http.h"
#include "tidbnumad/exporter/listen.h"

int main(int argc, char **argv) {
        _cleanup_listeners_ Listeners listeners = { 0 };
        _cleanup_(http_freep) Http *http = NULL;
        sigset_t signals;
        int r, received;
        Args args;

        r = args_parse(argc, argv, &args);
        if (r <= 0)
                return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;

        /* By default glibc raises the size from which freed blocks return to the kernel, and keeps
         * memory for each thread. Blocks of an ordinary snapshot are still kept: page faults for
         * new ones took nearly half of the time of a scrape. */
        (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
        (void)mallopt(M_TRIM_THRESHOLD, 2 << 20);
        (void)mallopt(M_ARENA_MAX, 1);
        /* Before any thread exists, so that no thread receives these signals. */
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return EXIT_FAILURE;
        if (listeners_open(&args, &listeners) < 0)
                return EXIT_FAILURE;
        r = http_new(&listeners, args.runtime_dir, &HTTP_LIMITS, &http);
        if (r < 0) {
                (void)fprintf(stderr, "tidbnumad-exporter: cannot start the HTTP server: %s\n",
                              strerror(-r));
                return EXIT_FAILURE;
        }
        (void)sd_notifyf(0, "READY=1\nSTATUS=Serving %s on %zu socket%s.", args.runtime_dir,
                         listeners.n, listeners.n == 1 ? "" : "s");
        r = sigwait(&signals, &received);
        (void)sd_notify(0, "STOPPING=1");
        return r > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
