/* A batch of pages: their nodes, which of them to move, and whether they were moved. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/enforce/mover-batch.h"
#include "tidbnumad/sys/proc.h"

static size_t count_home(const int *where, size_t n, const NodeSet *nodes) {
        size_t home = 0;

        for (size_t i = 0; i < n; i++)
                home += where[i] >= 0 && id_set_has(nodes, (uint32_t)where[i]);
        return home;
}

/* A page that is present and shows no node: marked by NUMA balancing, most of them. For a marked
 * huge page the kernel reports -EFAULT, as for the zero page, which is touched in vain. */
static bool is_hidden(int where) {
        return where == -ENOENT || where == -EFAULT;
}

static int find_userfaultfd(_unused_ int fd, const char *target, _unused_ void *userdata) {
        return strcmp(target, "anon_inode:[userfaultfd]") == 0 ? -ECANCELED : 0;
}

/* Reading a page that has gone meanwhile waits for the server of the process's faults, possibly
 * for ever. A process whose descriptors cannot be listed counts as having a userfaultfd. */
static bool may_touch(Mover *mover, const PageBatch *batch) {
        if (!batch->may_be_read)
                return false;
        if (mover->touch == MOVER_TOUCH_UNKNOWN)
                mover->touch = open_files_foreach(mover->process, find_userfaultfd, NULL) == 0
                                       ? MOVER_TOUCH_YES
                                       : MOVER_TOUCH_NO;
        return mover->touch == MOVER_TOUCH_YES;
}

/* Queries the hidden pages again, after touching them. A refused touch leaves them unchanged; a
 * successful one may already have moved them, which counts against the rate. If the kernel does not
 * report this, all of them that are now on the right nodes count as moved: moving too slowly is
 * better than too fast. */
static int reveal_hidden(Mover *mover, const PageBatch *batch, const NodeSet *nodes, int *where,
                         uint64_t *moved_pages) {
        const pid_t pid = mover->process->pid;
        const size_t n = batch->n;
        void *hidden[PAGEMAP_PAGES_MAX];
        int seen[PAGEMAP_PAGES_MAX], r;
        uint64_t moved;
        size_t n_hidden = 0;

        for (size_t i = 0; i < n; i++)
                if (is_hidden(where[i]))
                        hidden[n_hidden++] = batch->addresses[i];
        if (n_hidden == 0 || !may_touch(mover, batch))
                return 0;
        r = pages_touch(pid, n_hidden, hidden, &moved);
        if (r < 0)
                return r == -ESRCH ? r : 0;
        r = pages_query(pid, n_hidden, hidden, seen);
        if (r < 0)
                return r;
        *moved_pages += moved != PAGES_UNKNOWN ? moved : count_home(seen, n_hidden, nodes);
        for (size_t i = 0, k = 0; i < n; i++)
                if (is_hidden(where[i]))
                        where[i] = seen[k++];
        return 0;
}

/* Keeps those that are on a node outside `nodes`. Pages without a node (gone since, marked for
 * hinting) are left: a later pass sees them again. */
static int keep_outside(Mover *mover, PageBatch *batch, const NodeSet *nodes,
                        uint64_t *moved_pages) {
        int where[PAGEMAP_PAGES_MAX], r;
        size_t kept = 0;

        r = pages_query(mover->process->pid, batch->n, batch->addresses, where);
        if (r >= 0)
                r = reveal_hidden(mover, batch, nodes, where, moved_pages);
        if (r < 0)
                return r;
        for (size_t i = 0; i < batch->n; i++)
                if (where[i] >= 0 && !id_set_has(nodes, (uint32_t)where[i]))
                        batch->addresses[kept++] = batch->addresses[i];
        batch->n = kept;
        return 0;
}

/* A whole chunk outside may be one huge page, which the kernel moves when its first base page is
 * requested. A request for all base pages would do the same, but check 512 pages instead of one. */
static int try_as_huge(pid_t pid, PageBatch *batch, const NodeSet *nodes, uint32_t target) {
        void *last = batch->addresses[batch->n - 1];
        int status, where, r;

        r = pages_move(pid, 1, batch->addresses, target, batch->reach, &status);
        if (r >= 0)
                r = pages_query(pid, 1, &last, &where);
        if (r < 0)
                return r;
        return where >= 0 && id_set_has(nodes, (uint32_t)where);
}

static int move_pages_of(pid_t pid, PageBatch *batch, uint32_t target) {
        int status[MOVER_BATCH_PAGES];

        for (size_t i = 0; i < batch->n; i += MOVER_BATCH_PAGES) {
                size_t n = batch->n - i < MOVER_BATCH_PAGES ? batch->n - i : MOVER_BATCH_PAGES;
                int r = pages_move(pid, n, batch->addresses + i, target, batch->reach, status);

                if (r < 0)
                        return r;
        }
        return 0;
}

static void count(MoverCounters *c, bool shared, size_t n_found, size_t n_left) {
        const uint64_t page = page_size_bytes();

        if (shared) {
                c->shared_moved_bytes += (n_found - n_left) * page;
                return;
        }
        c->found_bytes += n_found * page;
        c->moved_bytes += (n_found - n_left) * page;
        c->failed_pages += n_left;
}

static int64_t flush(Mover *mover, PageBatch *batch, const NodeSet *nodes, uint32_t target,
                     uint64_t *by_touch) {
        const pid_t pid = mover->process->pid;
        const size_t n_all = batch->n;
        size_t n_found;
        int r;

        r = keep_outside(mover, batch, nodes, by_touch);
        if (r < 0 || batch->n == 0)
                return r;
        n_found = batch->n;
        r = batch->dense && n_found == n_all ? try_as_huge(pid, batch, nodes, target) : 0;
        if (r == 0)
                r = move_pages_of(pid, batch, target);
        /* The statuses may report busy for a page that did move: query the nodes again. */
        if (r >= 0)
                r = keep_outside(mover, batch, nodes, by_touch);
        if (r < 0)
                return r;
        count(&mover->counters, batch->shared, n_found, batch->n);
        return (int64_t)(n_found * page_size_bytes());
}

int64_t mover_batch_flush(Mover *mover, PageBatch *batch, const NodeSet *nodes, uint32_t target) {
        uint64_t by_touch = 0;
        int64_t bytes = 0;

        /* The system calls take a pid: it must still be the one that we hold. */
        if (batch->n > 0)
                bytes = proc_is_alive(mover->process)
                                ? flush(mover, batch, nodes, target, &by_touch)
                                : -ESRCH;
        count(&mover->counters, batch->shared, by_touch, 0);
        batch->n = 0;
        batch->dense = false;
        return bytes < 0 ? bytes : bytes + (int64_t)(by_touch * page_size_bytes());
}
