/* The gentle mover. When to call it, and how fast, is the caller's business. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tidbnumad/enforce/mover.h"

/* Pages of 4 KiB in a chunk; fewer where pages are larger. */
enum { CHUNK_PAGES_MAX = 512 };

void mover_end(Mover *mover) {
        closep(&mover->pagemap_fd);
        free(mover->mappings);
        mover->mappings = NULL;
        mover->n_mappings = 0;
        mover->process = NULL;
        mover->pagemap_fd = -EBADF;
}

void mover_reset_counters(Mover *mover) {
        mover->found_bytes = mover->moved_bytes = mover->failed_pages = 0;
}

int mover_begin(Mover *mover, const ProcHandle *process) {
        int r;

        mover_end(mover);
        mover->mapping = 0;
        mover->address = 0;
        mover->pagemap_fd = openat(process->dir_fd, "pagemap", O_RDONLY | O_CLOEXEC);
        if (mover->pagemap_fd < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        r = maps_read(process, &mover->mappings, &mover->n_mappings);
        if (r < 0) {
                mover_end(mover);
                return r;
        }
        mover->process = process;
        return 0;
}

/* The next piece of the walk, cut at the borders of chunks. False at the end. */
static bool next_chunk(Mover *mover, uint64_t *ret_start, uint64_t *ret_end) {
        const Mapping *m;
        uint64_t border;

        if (mover->mapping >= mover->n_mappings)
                return false;
        m = &mover->mappings[mover->mapping];
        *ret_start = mover->address > 0 ? mover->address : m->start;
        border = (*ret_start / MOVER_CHUNK_BYTES + 1) * MOVER_CHUNK_BYTES;
        *ret_end = border < m->end ? border : m->end;
        if (*ret_end == m->end) {
                mover->mapping++;
                mover->address = 0;
        } else
                mover->address = *ret_end;
        return true;
}

/* Asks again for the pages that showed no node though they are present: marked by NUMA balancing,
 * most of them. A touch that is refused leaves them as they are. */
static int reveal_hidden(pid_t pid, void **addresses, size_t n, int *where) {
        void *hidden[CHUNK_PAGES_MAX];
        int seen[CHUNK_PAGES_MAX], r;
        size_t n_hidden = 0;

        for (size_t i = 0; i < n; i++)
                if (where[i] == -ENOENT)
                        hidden[n_hidden++] = addresses[i];
        if (n_hidden == 0)
                return 0;
        r = pages_touch(pid, n_hidden, hidden);
        if (r < 0)
                return r == -ESRCH ? r : 0;
        r = pages_query(pid, n_hidden, hidden, seen);
        if (r < 0)
                return r;
        for (size_t i = 0, k = 0; i < n; i++)
                if (where[i] == -ENOENT)
                        where[i] = seen[k++];
        return 0;
}

/* Keeps, of `n` addresses, those of pages that lie on a node outside `nodes`. Pages without a node
 * (gone since, marked for hinting) are left: a later pass sees them again. */
static int keep_outside(pid_t pid, const NodeSet *nodes, void **addresses, size_t n) {
        int where[CHUNK_PAGES_MAX], r, kept = 0;

        r = pages_query(pid, n, addresses, where);
        if (r >= 0)
                r = reveal_hidden(pid, addresses, n, where);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (where[i] >= 0 && !id_set_has(nodes, (uint32_t)where[i]))
                        addresses[kept++] = addresses[i];
        return kept;
}

static int move_batches(pid_t pid, void **addresses, size_t n, uint32_t target) {
        int status[MOVER_BATCH_PAGES];

        for (size_t i = 0; i < n; i += MOVER_BATCH_PAGES) {
                size_t batch = n - i < MOVER_BATCH_PAGES ? n - i : MOVER_BATCH_PAGES;
                int r = pages_move(pid, batch, addresses + i, target, status);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Returns the bytes that lay outside in this piece, or a negative errno. */
static int64_t move_chunk(Mover *mover, uint64_t start, uint64_t end, const NodeSet *nodes,
                          uint32_t target) {
        const uint64_t page = page_size_bytes();
        const pid_t pid = mover->process->pid;
        void *addresses[CHUNK_PAGES_MAX];
        int n, outside, left, r;

        n = pagemap_anonymous(mover->pagemap_fd, start, (size_t)((end - start) / page), addresses);
        if (n < 0)
                return n;
        /* The system call takes a pid: it must still be the one that we hold. And of one that has
         * ended the map is empty. */
        if (!proc_is_alive(mover->process))
                return -ESRCH;
        if (n == 0)
                return 0;
        outside = keep_outside(pid, nodes, addresses, (size_t)n);
        if (outside <= 0)
                return outside;
        r = move_batches(pid, addresses, (size_t)outside, target);
        if (r < 0)
                return r;
        /* The statuses may say busy of a page that did move: ask where they are now. */
        left = keep_outside(pid, nodes, addresses, (size_t)outside);
        if (left < 0)
                return left;
        mover->found_bytes += (uint64_t)outside * page;
        mover->moved_bytes += (uint64_t)(outside - left) * page;
        mover->failed_pages += (uint64_t)left;
        return (int64_t)((uint64_t)outside * page);
}

int mover_step(Mover *mover, const NodeSet *nodes, uint32_t target, uint64_t scan_bytes,
               uint64_t *ret_moved_bytes) {
        uint64_t start, end, scanned = 0;

        *ret_moved_bytes = 0;
        while (scanned < scan_bytes) {
                int64_t bytes;

                if (!next_chunk(mover, &start, &end))
                        return 0;
                bytes = move_chunk(mover, start, end, nodes, target);
                if (bytes < 0)
                        return (int)bytes;
                scanned += end - start;
                if (bytes > 0) {
                        *ret_moved_bytes = (uint64_t)bytes;
                        return 1;
                }
        }
        return 1;
}
