#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/lost.h"

/* A child that was let go ends at once, unless it hangs. */
#define REAP_USEC (UINT64_C(100) * 1000)

LostProcess *lost_find(const Lost *lost, const ProcessId *process, WorkerWait wait) {
        for (size_t i = 0; i < lost->n_processes; i++)
                if (lost->processes[i].wait == wait &&
                    process_id_equal(&lost->processes[i].id, process))
                        return (LostProcess *)&lost->processes[i];
        return NULL;
}

LostProcess *lost_remember(Lost *lost, const ProcessId *process, WorkerWait wait) {
        LostProcess *new = lost_find(lost, process, wait);

        if (new) {
                new->excused = false;
                new->n++;
                return new;
        }
        new = &lost->processes[lost->next];
        *new = (LostProcess){ .id = *process, .wait = wait, .n = 1 };
        lost->next = (lost->next + 1) % WORKER_HUNG_MAX;
        lost->n_processes += lost->n_processes < WORKER_HUNG_MAX;
        return new;
}

void lost_forget(Lost *lost, pid_t pid) {
        for (size_t i = 0; i < lost->n_processes; i++)
                if (lost->processes[i].id.pid == pid)
                        lost->processes[i].id = (ProcessId){ 0 };
}

/* By pid, which is not reused before the child is reaped: pidfds need Linux 5.3. */
static bool child_reap(pid_t pid) {
        return waitpid(pid, NULL, WNOHANG) != 0;
}

static void lost_reap(Lost *lost) {
        for (size_t i = lost->n_children; i > 0; i--) {
                const LostChild *child = &lost->children[i - 1];
                LostProcess *process = NULL;

                if (!child_reap(child->pid))
                        continue;
                /* A child that was killed in the middle of a job has ended; see WORKER_EXCUSE_USEC.
                 */
                if (child->stuck &&
                    clock_monotonic_usec() >= child->since_usec + WORKER_EXCUSE_USEC)
                        process = lost_find(lost, &child->process, worker_job_wait(child->job));
                if (process)
                        process->excused = process->n <= WORKER_EXCUSED_MAX;
                ARRAY_REMOVE(lost->children, lost->n_children, i - 1);
        }
}

/* One that hangs in the kernel may never end, so the timer tries again. */
static int on_reap(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Lost *lost = userdata;

        lost_reap(lost);
        if (lost->n_children == 0) {
                lost->timer = event_source_drop(lost->timer);
                return 0;
        }
        return event_source_arm_after(source, 10 * REAP_USEC);
}

/* Where there is no memory for it, it stays a zombie until the daemon ends. */
void lost_add_child(Lost *lost, const LostChild *child) {
        if (child_reap(child->pid) ||
            ARRAY_INSERT(lost->children, lost->n_children, lost->allocated, 0, child) < 0)
                return;
        if (!lost->timer)
                (void)event_source_add_after(lost->event, &lost->timer, REAP_USEC, on_reap, lost);
}

size_t lost_count_stuck(const Lost *lost, const uid_t *uid) {
        size_t n = 0;

        for (size_t i = 0; i < lost->n_children; i++)
                n += lost->children[i].stuck && (!uid || lost->children[i].uid == *uid);
        return n;
}

void lost_done(Lost *lost) {
        lost_reap(lost);
        lost->timer = event_source_drop(lost->timer);
        free(lost->children);
        lost->children = NULL;
        lost->n_children = lost->allocated = 0;
}
