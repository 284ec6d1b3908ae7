/* tidbnumad: binds database processes and their memory to NUMA nodes. See tidbnumad(8). */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

/* With --once, instances that are not settled after this time are reported as they are. */
#define ONCE_TIMEOUT_USEC (UINT64_C(600) * 1000 * 1000)

/* tidbnumad(8), EXIT STATUS. */
enum { EXIT_NOT_BOUND = 3 };

static int run_once(Manager *m) {
        const uint64_t end = clock_monotonic_usec() + ONCE_TIMEOUT_USEC;
        _cleanup_text_ Text plan = { 0 };
        bool bound;
        int r;

        while (!reconcile_is_settled(&m->binding) && clock_monotonic_usec() < end) {
                r = manager_next(m, 1000 * 1000);
                if (r < 0)
                        return r;
        }
        if (m->host.args->runtime_dir)
                r = publish_now(&m->report);
        else {
                dry_run_render(&m->report, &plan);
                r = plan.error;
                if (r >= 0) {
                        (void)fputs(plan.data, stdout);
                        r = fflush(stdout) == 0 ? 0 : -errno;
                }
        }
        (void)irq_stop(m->irq, false);
        while (irq_is_stopping(m->irq) && manager_next(m, 1000 * 1000) >= 0)
                ;
        if (r < 0)
                return r;
        if (!m->host.policy_load_success)
                return EXIT_FAILURE; /* each error was logged */
        if (!host_enforces(&m->host))
                return EXIT_SUCCESS;
        bound = reconcile_is_settled(&m->binding);
        REGISTRY_FOREACH(i, &m->registry)
        bound = bound && i->binding.step.kind != STEP_REFUSE && i->binding.step.kind != STEP_PARTLY;
        return bound ? EXIT_SUCCESS : EXIT_NOT_BOUND;
}

int main(int argc, char *argv[]) {
        _cleanup_(manager_freep) Manager *m = NULL;
        struct rlimit files;
        Args args;
        sigset_t signals;
        int code, r;

        if (argc == 2 && strcmp(argv[1], "--worker") == 0) /* see worker.h */
                return worker_serve(WORKER_FD);
        r = args_parse(&args, argc, argv);
        if (r <= 0)
                return r < 0 ? EX_USAGE : EXIT_SUCCESS;
        (void)sigemptyset(&signals);
        (void)sigaddset(&signals, SIGHUP);
        (void)sigaddset(&signals, SIGTERM);
        (void)sigaddset(&signals, SIGINT);
        (void)sigprocmask(SIG_BLOCK, &signals, NULL);
        /* Each process takes two descriptors: systemd's soft limit of 1,024, which protects
         * select(2), would suffice for 500. */
        if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
                files.rlim_cur = files.rlim_max;
                (void)setrlimit(RLIMIT_NOFILE, &files);
        }
        r = manager_new(&args, &m);
        if (r < 0)
                return EXIT_FAILURE; /* the reason is on stderr */
        if (m->host.sysroot.live)
                r = unresponsive_start(&m->binding, "/proc/self/exe");
        if (r >= 0 && m->host.workers) /* what they still do, the next daemon waits for */
                workers_hold(m->host.workers, &m->host.lock_fd);
        if (r >= 0)
                r = manager_start(m);
        if (r >= 0 && args.once)
                r = run_once(m);
        else if (r >= 0) {
                r = notify_start_watchdog(&m->host.notifier);
                while (r >= 0 && sd_event_get_state(m->host.event) != SD_EVENT_FINISHED)
                        r = manager_next(m, UINT64_MAX);
                if (r >= 0)
                        r = sd_event_get_exit_code(m->host.event, &code);
                if (r >= 0)
                        r = code < 0 ? code : EXIT_SUCCESS;
        }
        if (r < 0) {
                journal_log(&m->host.journal, LOG_ERR, NULL, "tidbnumad ends: %s", strerror(-r));
                return EXIT_FAILURE;
        }
        return r;
}
