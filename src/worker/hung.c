#include "tidbnumad/worker/hung.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"
#include "tidbnumad/worker/kept.h"

static bool is_it(const WorkerHung *hung, const ProcessId *process, WorkerWait wait) {
        return hung->wait == wait && process_id_equal(&hung->process, process);
}

WorkerHung *hung_find(Workers *all, const ProcessId *process, WorkerWait wait) {
        for (size_t i = 0; i < all->n_hung; i++)
                if (is_it(&all->hung[i], process, wait))
                        return &all->hung[i];
        return NULL;
}

bool workers_is_hung(Workers *all, const ProcessId *process, WorkerWait wait) {
        const WorkerHung *hung = hung_find(all, process, wait);

        return hung && !hung->excused;
}

void workers_forget(Workers *all, pid_t pid) {
        for (size_t i = 0; i < all->n_hung; i++)
                if (all->hung[i].process.pid == pid)
                        all->hung[i].process = (ProcessId){ 0 };
        for (size_t i = 0; i < WORKER_LATE_MAX; i++)
                if (all->late[i] && all->late[i]->process.pid == pid)
                        all->late[i]->outdated = true;
        kept_forget(all, pid);
}

WorkerHung *hung_remember(Workers *all, const ProcessId *process, WorkerWait wait) {
        WorkerHung *new = hung_find(all, process, wait);

        if (new) {
                new->excused = false;
                new->n++;
                return new;
        }
        new = &all->hung[all->next_hung];
        *new = (WorkerHung){ .process = *process, .wait = wait, .n = 1 };
        all->next_hung = (all->next_hung + 1) % WORKER_HUNG_MAX;
        all->n_hung += all->n_hung < WORKER_HUNG_MAX;
        return new;
}

void hung_excuse(Workers *all, const WorkerLeaving *leaving) {
        WorkerHung *hung;

        if (!leaving->stuck || clock_monotonic_usec() < leaving->since_usec + WORKER_EXCUSE_USEC)
                return;
        hung = hung_find(all, &leaving->process, worker_job_wait(leaving->job));
        if (hung)
                hung->excused = hung->n <= WORKER_EXCUSED_MAX;
}
