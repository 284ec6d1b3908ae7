#include <stdlib.h>
#include <string.h>

#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/kept.h"

static void kept_free(WorkerKept *kept) {
        free(kept->request);
        free(kept->reply);
        *kept = (WorkerKept){ 0 };
}

static bool has_same_details(const WorkerRequest *a, const WorkerRequest *b) {
        switch (a->job) {
        case WORKER_STORAGE:
        case WORKER_USER:
        case WORKER_SCRIPT:
                return a->any_text == b->any_text && strcmp(a->path, b->path) == 0;
        case WORKER_VFORK:
                return a->forked_by == b->forked_by;
        case WORKER_EXE:
                return a->foreign == b->foreign;
        case WORKER_HUGE:
                return id_set_equal(&a->nodes, &b->nodes);
        default:
                return true;
        }
}

static bool is_old(const WorkerKept *kept, uint64_t now_usec) {
        return now_usec >= kept->at_usec + (kept->request->job == WORKER_PROBE
                                                    ? WORKER_KEEP_PROBE_USEC
                                                    : WORKER_KEEP_USEC);
}

static WorkerKept *find(Workers *all, const WorkerRequest *request, pid_t pid,
                        uint64_t start_ticks) {
        const uint64_t now = clock_monotonic_usec();

        for (size_t i = 0; i < WORKER_KEPT_MAX; i++) {
                WorkerKept *kept = &all->kept[i];

                if (kept->request && is_old(kept, now))
                        kept_free(kept);
                if (kept->request && kept->request->job == request->job &&
                    kept->request->pid == pid && kept->request->start_ticks == start_ticks &&
                    has_same_details(kept->request, request))
                        return kept;
        }
        return NULL;
}

/* That of the same question, else a free one, else that of the oldest. */
static WorkerKept *find_place(Workers *all, const WorkerRequest *request) {
        WorkerKept *at = find(all, request, request->pid, request->start_ticks);

        for (size_t i = 0; !at && i < WORKER_KEPT_MAX; i++)
                if (!all->kept[i].request)
                        at = &all->kept[i];
        if (at)
                return at;
        at = &all->kept[0];
        for (size_t i = 1; i < WORKER_KEPT_MAX; i++)
                if (all->kept[i].at_usec < at->at_usec)
                        at = &all->kept[i];
        return at;
}

void kept_add(Workers *all, const WorkerRequest *request, const WorkerReply *reply) {
        const size_t size = worker_reply_size(reply);
        WorkerKept new = { .request = malloc(sizeof(*request)),
                           .reply = malloc(size),
                           .at_usec = clock_monotonic_usec() };
        WorkerKept *at;

        if (!new.request || !new.reply) {
                kept_free(&new);
                return;
        }
        *new.request = *request;
        memcpy(new.reply, reply, size);
        at = find_place(all, request);
        kept_free(at);
        *at = new;
}

const WorkerReply *kept_find(Workers *all, const WorkerRequest *request,
                             const ProcHandle *process) {
        const WorkerKept *kept = find(all, request, process->pid, process->start_ticks);

        return kept ? kept->reply : NULL;
}

void kept_remove(Workers *all, const WorkerRequest *request, const ProcHandle *process) {
        WorkerKept *kept = find(all, request, process->pid, process->start_ticks);

        if (kept)
                kept_free(kept);
}

void kept_forget(Workers *all, pid_t pid) {
        for (size_t i = 0; i < WORKER_KEPT_MAX; i++)
                if (all->kept[i].request && all->kept[i].request->pid == pid)
                        kept_free(&all->kept[i]);
}

void kept_done(Workers *all) {
        for (size_t i = 0; i < WORKER_KEPT_MAX; i++)
                kept_free(&all->kept[i]);
}
