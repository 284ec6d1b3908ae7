/* The gentle mover: the walk over a process, batches of pages, and the rate. When to call it, and
 * how fast, is the caller's business. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/change/mover.h"
#include "tidbnumad/sys/proc.h"

/* --- pages that are queried and moved together --- */

typedef struct PageBatch {
        void *addresses[PAGEMAP_PAGES_MAX];
        size_t n;
        bool shared;     /* shared memory */
        PageReach reach; /* whose pages */
        /* Private, of a mapping without a file or with one on a block device: a page that was
         * dropped meanwhile is filled by the kernel, unless a userfaultfd serves it. */
        bool may_be_read;
        bool dense; /* it is one chunk and all of it, so that it may be one huge page */
} PageBatch;

/* A page that is present and shows no node: marked by NUMA balancing, most of them. For a marked
 * huge page the kernel reports -EFAULT, as for the zero page, which is touched in vain. */
static bool page_is_hidden(int where) {
        return where == -ENOENT || where == -EFAULT;
}

static int find_userfaultfd(_unused_ int fd, const char *target, _unused_ void *userdata) {
        return strcmp(target, "anon_inode:[userfaultfd]") == 0 ? -ECANCELED : 0;
}

/* Keeps those that are on a node outside `nodes`. Pages without a node (gone since, marked for
 * hinting) are left: a later pass sees them again. `moved_pages` gets those that a touch moved. */
static int batch_keep_outside(Mover *mover, PageBatch *batch, const NodeSet *nodes,
                              uint64_t *moved_pages) {
        const pid_t pid = mover->process->pid;
        void *hidden[PAGEMAP_PAGES_MAX];
        int where[PAGEMAP_PAGES_MAX], seen[PAGEMAP_PAGES_MAX], r;
        size_t n_hidden = 0, kept = 0;
        uint64_t moved;

        r = pages_query(pid, batch->n, batch->addresses, where);
        if (r < 0)
                return r;
        for (size_t i = 0; batch->may_be_read && i < batch->n; i++)
                if (page_is_hidden(where[i]))
                        hidden[n_hidden++] = batch->addresses[i];
        /* Reading a page that has gone meanwhile waits for the server of the process's faults,
         * possibly for ever. A process whose descriptors cannot be listed counts as having a
         * userfaultfd. */
        if (n_hidden > 0 && mover->touch == MOVER_TOUCH_UNKNOWN)
                mover->touch = open_files_foreach(mover->process, find_userfaultfd, NULL) == 0
                                       ? MOVER_TOUCH_YES
                                       : MOVER_TOUCH_NO;
        /* A refused touch leaves them unchanged; a successful one may already have moved them,
         * which counts against the rate. */
        r = n_hidden > 0 && mover->touch == MOVER_TOUCH_YES
                    ? pages_touch(pid, n_hidden, hidden, &moved)
                    : -EPERM;
        if (r == -ESRCH)
                return r;
        if (r >= 0) {
                r = pages_query(pid, n_hidden, hidden, seen);
                if (r < 0)
                        return r;
                /* If the kernel does not report it, all of them that are now on the right nodes
                 * count as moved: moving too slowly is better than too fast. */
                for (size_t i = 0; moved == PAGES_UNKNOWN && i < n_hidden; i++)
                        *moved_pages += seen[i] >= 0 && id_set_has(nodes, (uint32_t)seen[i]);
                *moved_pages += moved == PAGES_UNKNOWN ? 0 : moved;
                for (size_t i = 0, k = 0; i < batch->n; i++)
                        if (page_is_hidden(where[i]))
                                where[i] = seen[k++];
        }
        for (size_t i = 0; i < batch->n; i++)
                if (where[i] >= 0 && !id_set_has(nodes, (uint32_t)where[i]))
                        batch->addresses[kept++] = batch->addresses[i];
        batch->n = kept;
        return 0;
}

/* --- scan: samples of the larger mappings ---
 *
 * Samples do not show anything about a mapping that is mostly empty: it is not sorted, and is moved
 * with the rest. */

/* Sorts the next MOVER_LINES mappings. Returns as mover_step(). */
static int mover_scan(Mover *mover, const NodeSet *nodes) {
        const uint64_t page = page_size_bytes();

        if (!proc_is_alive(mover->process))
                return -ESRCH;
        for (unsigned i = 0; i < MOVER_LINES; i++) {
                void *addresses[MOVER_SAMPLES];
                int where[MOVER_SAMPLES];
                uint64_t outside_bytes, size;
                unsigned n_outside = 0;
                Mapping mapping;
                size_t at;
                int r = maps_next(mover->maps, &mapping);

                if (r < 0)
                        return r;
                if (r == 0) {
                        mover->phase = MOVER_SORTED;
                        return 1;
                }
                size = mapping.end - mapping.start;
                if (mapping.kind != MAPPING_PRIVATE || size < MOVER_CHUNK_BYTES)
                        continue;
                /* Evenly over the mapping, so that one whose memory was allocated by different
                 * threads one after the other is estimated correctly. */
                for (unsigned k = 0; k < MOVER_SAMPLES; k++)
                        addresses[k] =
                                (void *)(uintptr_t)(mapping.start +
                                                    k * (size / MOVER_SAMPLES / page * page));
                r = pages_query(mover->process->pid, MOVER_SAMPLES, addresses, where);
                if (r < 0)
                        return r;
                for (unsigned k = 0; k < MOVER_SAMPLES; k++)
                        n_outside += where[k] >= 0 && !id_set_has(nodes, (uint32_t)where[k]);
                outside_bytes = size / MOVER_SAMPLES * n_outside;
                if (outside_bytes == 0)
                        continue;
                /* Into its place among the sorted ones; the least falls out when there are too
                 * many. */
                at = mover->n_sorted;
                while (at > 0 && mover->sorted[at - 1].outside_bytes < outside_bytes)
                        at--;
                if (at == MOVER_SORTED_MAX)
                        continue;
                if (mover->n_sorted < MOVER_SORTED_MAX)
                        mover->n_sorted++;
                memmove(&mover->sorted[at + 1], &mover->sorted[at],
                        (mover->n_sorted - 1 - at) * sizeof(mover->sorted[0]));
                mover->sorted[at] =
                        (SortedMapping){ .mapping = mapping, .outside_bytes = outside_bytes };
        }
        return 1;
}

/* How far one call may search for a page that is present: the kernel holds the process's memory map
 * meanwhile, for a millisecond where all of it is reserved, touched once and given back. */
#define SKIP_BYTES (UINT64_C(256) << 20)

/* The cost of a step of the walk that finds nothing, as the size of memory that can be queried in
 * the same time: a line of maps, or a system call or two for a mapping of a few pages. */
#define LINE_COST_BYTES (MOVER_CHUNK_BYTES / 16)

void mover_end(Mover *mover) {
        closep(&mover->pagemap_fd);
        mover->maps = maps_close(mover->maps);
        mover->process = NULL;
        mover->pagemap_fd = -EBADF;
}

int mover_begin(Mover *mover, const ProcHandle *process) {
        int r;

        mover_end(mover);
        mover->phase = MOVER_SCAN;
        mover->n_sorted = mover->next_sorted = 0;
        mover->mapping = (Mapping){ 0 };
        mover->address = 0;
        mover->cannot_skip = false;
        mover->touch = MOVER_TOUCH_UNKNOWN;
        r = pagemap_open(process, &mover->pagemap_fd);
        if (r >= 0)
                r = maps_open(process, &mover->maps);
        if (r < 0) {
                mover_end(mover);
                return r;
        }
        mover->process = process;
        return 0;
}

/* Do the pages of the file come along? No server but the kernel has to answer for them. */
static bool mover_takes_file(const Mover *mover, const Mapping *mapping) {
        return mover->files && mapping->on_disk;
}

static bool mover_takes_mapping(const Mover *mover, const Mapping *mapping) {
        return mapping->kind == MAPPING_PRIVATE || mapping->kind == MAPPING_SHARED_ANON ||
               (mapping->kind == MAPPING_FILE &&
                (mapping->is_shmem || mapping->is_huge || mover_takes_file(mover, mapping)));
}

/* Goes to the next mapping, or skips one in which there is nothing to do. 0: there are no more. */
static int mover_next_mapping(Mover *mover) {
        Mapping mapping;
        bool was_sorted = false; /* and has not grown since */
        int r;

        if (mover->phase != MOVER_REST && mover->next_sorted < mover->n_sorted) {
                mover->mapping = mover->sorted[mover->next_sorted++].mapping;
                mover->address = mover->mapping.start;
                return 1;
        }
        if (mover->phase != MOVER_REST) {
                r = maps_rewind(mover->maps);
                mover->phase = MOVER_REST;
                return r < 0 ? r : 1;
        }
        r = maps_next(mover->maps, &mapping);
        if (r <= 0)
                return r;
        for (size_t i = 0; i < mover->n_sorted; i++)
                was_sorted |= mapping.start >= mover->sorted[i].mapping.start &&
                              mapping.end <= mover->sorted[i].mapping.end;
        if (was_sorted || !mover_takes_mapping(mover, &mapping))
                return 1; /* the address stays at the end of the last one */
        mover->mapping = mapping;
        mover->address = mapping.start;
        return 1;
}

/* Skips empty address space, if the kernel supports it. 1: the walk is at a present page, or the
 * kernel does not support this; 0: the walk is further on in the mapping, at a page that may be
 * absent. */
static int mover_skip_empty(Mover *mover) {
        const uint64_t left = mover->mapping.end - mover->address;
        uint64_t end = mover->address + (left < SKIP_BYTES ? left : SKIP_BYTES);
        int r;

        /* What one reading shows as well needs no call of its own. */
        if (mover->cannot_skip || left < MOVER_CHUNK_BYTES)
                return 1;
        r = pagemap_skip(mover->pagemap_fd, &mover->address, end);
        mover->cannot_skip = r == -EOPNOTSUPP;
        if (mover->cannot_skip)
                return 1;
        return r < 0 ? r : mover->address < end;
}

/* Entries of pages as of this step: what one reading shows is enough for all small mappings of a
 * chunk. */
typedef struct Entries {
        uint64_t start, end; /* addresses */
        uint64_t of[PAGEMAP_PAGES_MAX];
} Entries;

typedef struct Walk {
        Mover *mover;
        const NodeSet *nodes;
        uint32_t target;
        PageBatch own, shared;
        uint64_t scanned_bytes, paid_bytes;
        Entries entries;
} Walk;

/* Moves those of the batch that are on other nodes, counts them in the mover, and empties it. */
static int walk_flush(Walk *w, PageBatch *batch) {
        MoverCounters *c = &w->mover->counters;
        const pid_t pid = w->mover->process->pid;
        const uint64_t page = page_size_bytes();
        const size_t n_all = batch->n;
        uint64_t by_touch = 0, n_found, n_moved;
        int status[MOVER_BATCH_PAGES], where, r = 0;
        bool huge = false;

        /* The system calls take a pid: it must still be the one that we hold. */
        if (n_all > 0)
                r = proc_is_alive(w->mover->process)
                            ? batch_keep_outside(w->mover, batch, w->nodes, &by_touch)
                            : -ESRCH;
        n_found = batch->n;
        /* A whole chunk outside may be one huge page, which the kernel moves when its first base
         * page is requested. A request for all base pages would do the same, but check 512 pages
         * instead of one. */
        if (r >= 0 && batch->dense && n_found > 0 && n_found == n_all) {
                r = pages_move(pid, 1, batch->addresses, w->target, batch->reach, status);
                if (r >= 0)
                        r = pages_query(pid, 1, &batch->addresses[n_all - 1], &where);
                huge = r >= 0 && where >= 0 && id_set_has(w->nodes, (uint32_t)where);
        }
        for (size_t i = 0, n; r >= 0 && !huge && i < n_found; i += n) {
                n = n_found - i < MOVER_BATCH_PAGES ? n_found - i : MOVER_BATCH_PAGES;
                r = pages_move(pid, n, batch->addresses + i, w->target, batch->reach, status);
        }
        /* The statuses may report busy for a page that did move: query the nodes again. */
        if (r >= 0 && n_found > 0)
                r = batch_keep_outside(w->mover, batch, w->nodes, &by_touch);
        if (r < 0)
                n_found = batch->n = 0; /* only what a touch moved is known */
        n_moved = by_touch + n_found - batch->n;
        if (batch->shared)
                c->shared_moved_bytes += n_moved * page;
        else {
                c->found_bytes += (by_touch + n_found) * page;
                c->moved_bytes += n_moved * page;
                c->failed_pages += batch->n;
        }
        batch->n = 0;
        batch->dense = false;
        if (r >= 0)
                w->paid_bytes += (by_touch + n_found) * page;
        return r < 0 ? r : 0;
}

/* Adds pages of one kind. Those of many small mappings are queried together; a whole chunk is
 * queried alone, for it may be one huge page. */
static int walk_add(Walk *w, PageBatch *batch, const uint64_t *entries, size_t n, PageKind kind) {
        void *addresses[PAGEMAP_PAGES_MAX];
        size_t n_picked = pagemap_pick(entries, n, w->mover->address, kind, addresses);
        bool whole = n_picked == MOVER_CHUNK_BYTES / page_size_bytes();
        int r;

        if (n_picked == 0)
                return 0;
        if (batch->dense || whole || batch->n + n_picked > PAGEMAP_PAGES_MAX) {
                r = walk_flush(w, batch);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < n_picked; i++)
                batch->addresses[batch->n++] = addresses[i];
        batch->dense = whole;
        return 0;
}

static int walk_read_entries(Walk *w, uint64_t end) {
        const uint64_t start = w->mover->address;
        int r = pagemap_read(w->mover->pagemap_fd, start,
                             (size_t)((end - start) / page_size_bytes()), w->entries.of);

        w->entries.start = start;
        w->entries.end = r < 0 ? start : end;
        return r;
}

/* The chunk, or the part of one, at the walk's address. */
static int walk_add_piece(Walk *w) {
        Mover *mover = w->mover;
        const Mapping *mapping = &mover->mapping;
        const bool may_be_read = !mapping->has_file || mapping->on_disk;
        const PageReach reach = mapping->kind == MAPPING_SHARED_ANON ? w->own.reach : PAGES_ALONE;
        const uint64_t *entries;
        uint64_t border, end;
        int r = mover_skip_empty(mover);
        size_t n;

        if (r == 0)
                w->scanned_bytes += MOVER_CHUNK_BYTES; /* it may have taken as long */
        if (r <= 0)
                return r;
        border = (mover->address / MOVER_CHUNK_BYTES + 1) * MOVER_CHUNK_BYTES;
        end = border < mapping->end ? border : mapping->end;
        n = (size_t)((end - mover->address) / page_size_bytes());
        /* The chunk may continue after the end of a small mapping, but the address space may not,
         * which shows as -ESTALE. */
        if (mover->address < w->entries.start || end > w->entries.end) {
                r = walk_read_entries(w, border);
                if (r == -ESTALE && end < border)
                        r = walk_read_entries(w, end);
        }
        entries = w->entries.of + (mover->address - w->entries.start) / page_size_bytes();
        if (r >= 0 && mapping->kind == MAPPING_PRIVATE) {
                if (may_be_read != w->own.may_be_read)
                        r = walk_flush(w, &w->own);
                w->own.may_be_read = may_be_read;
                if (r >= 0)
                        r = walk_add(w, &w->own, entries, n, PAGE_OWN);
        }
        /* Shared memory that has a name, and a file, may be open in any process: of it what this
         * one alone maps. */
        if (r >= 0 && (mapping->kind != MAPPING_PRIVATE || mover_takes_file(mover, mapping))) {
                if (reach != w->shared.reach)
                        r = walk_flush(w, &w->shared);
                w->shared.reach = reach;
                if (r >= 0)
                        r = walk_add(w, &w->shared, entries, n,
                                     reach == PAGES_ALL ? PAGE_FILE : PAGE_FILE_ALONE);
        }
        if (r >= 0) {
                w->scanned_bytes += end - mover->address;
                mover->address = end;
        }
        return r;
}

int mover_step(Mover *mover, const NodeSet *nodes, uint32_t target, uint64_t scan_bytes,
               uint64_t *ret_bytes) {
        Walk w = { .mover = mover, .nodes = nodes, .target = target };
        uint64_t entry;
        int r = 1, q;

        *ret_bytes = 0;
        if (mover->phase == MOVER_SCAN)
                return mover_scan(mover, nodes);
        w.own.reach = mover->alone ? PAGES_ALL : PAGES_ALONE;
        w.shared.shared = true;
        w.shared.reach = PAGES_ALONE;
        /* Until something had to be moved, or enough was scanned. 0: the pass is complete. */
        while (r > 0 && w.paid_bytes == 0 && w.scanned_bytes < scan_bytes) {
                w.scanned_bytes += LINE_COST_BYTES;
                if (mover->address >= mover->mapping.end) {
                        r = mover_next_mapping(mover);
                        continue;
                }
                r = walk_add_piece(&w);
                r = r < 0 ? r : 1;
        }
        q = r < 0 ? 0 : walk_flush(&w, &w.own);
        if (r >= 0 && q >= 0)
                q = walk_flush(&w, &w.shared);
        *ret_bytes = w.paid_bytes;
        if (r >= 0 && q < 0)
                r = q;
        /* At the end, and when a file of the process ends: is it still the same process? As long as
         * the address space exists, every address has an entry, mapped or not. */
        if (r == 0 || r == -ESTALE) {
                q = proc_is_alive(mover->process) ? pagemap_read(mover->pagemap_fd, 0, 1, &entry)
                                                  : -ESRCH;
                r = q < 0 ? q : r;
        }
        return r;
}

/* --- the rate: a token bucket whose balance may go below zero by one piece --- */

void rate_init(Rate *rate, uint64_t bytes_per_sec, uint64_t now_usec) {
        *rate = (Rate){ .bytes_per_sec = bytes_per_sec, .last_usec = now_usec };
}

static void rate_refill(Rate *rate, uint64_t now_usec) {
        const int64_t burst = (int64_t)(rate->bytes_per_sec / 10);
        const uint64_t elapsed = now_usec > rate->last_usec ? now_usec - rate->last_usec : 0;
        const double earned = (double)rate->bytes_per_sec * (double)elapsed / 1e6;

        rate->last_usec = now_usec;
        /* Compared before it is converted: after a long rest it may be larger than the type. */
        if (earned >= (double)(burst - rate->balance_bytes))
                rate->balance_bytes = burst;
        else
                rate->balance_bytes += (int64_t)earned;
}

uint64_t rate_wait_usec(Rate *rate, uint64_t now_usec) {
        rate_refill(rate, now_usec);
        if (rate->balance_bytes >= 0)
                return 0;
        return (uint64_t)((double)-rate->balance_bytes / (double)rate->bytes_per_sec * 1e6) + 1;
}

void rate_change(Rate *rate, uint64_t bytes_per_sec, uint64_t now_usec) {
        rate_refill(rate, now_usec);
        rate->bytes_per_sec = bytes_per_sec;
}

void rate_take(Rate *rate, uint64_t bytes) {
        rate->balance_bytes -= (int64_t)bytes;
}
