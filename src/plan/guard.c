/* Does memory fit on a node; the full-node guard. */
#include "tidbnumad/plan/guard.h"

/* 0 where that is below it. */
static uint64_t fit_minus(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

uint64_t fit_headroom_bytes(uint64_t node_bytes, uint64_t high_watermark_bytes) {
        uint64_t share = node_bytes / 50, marks = 3 * high_watermark_bytes;

        return share > marks ? share : marks;
}

static uint64_t node_room_bytes(const NodeRoom *room) {
        return fit_minus(room->free_bytes + room->reclaimable_bytes, room->headroom_bytes);
}

static uint64_t room_of(const NodeRoom *r) {
        return fit_minus(node_room_bytes(r), r->promised_bytes);
}

NodeRoom fit_room(uint32_t node, const NodeUse *use) {
        return (NodeRoom){ .node = node,
                           .free_bytes = use->free_bytes,
                           .reclaimable_bytes = use->idle_file_bytes,
                           .headroom_bytes = fit_headroom_bytes(use->total_bytes,
                                                                use->high_watermark_bytes) };
}

uint64_t fit_left_bytes(const NodeUse *use, uint64_t held_bytes) {
        const NodeRoom room = fit_room(0, use);
        const uint64_t left = node_room_bytes(&room) + held_bytes;

        return left < use->total_bytes ? left : use->total_bytes;
}

bool fit_check(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes) {
        uint64_t room = 0;

        for (size_t i = 0; i < n_rooms; i++)
                room += room_of(&rooms[i]);
        return bytes <= room;
}

int fit_best(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes) {
        uint64_t most = 0;
        int best = -1;

        for (size_t i = 0; i < n_rooms; i++) {
                uint64_t room = node_room_bytes(&rooms[i]);

                if (room >= bytes && room > most) {
                        most = room;
                        best = (int)i;
                }
        }
        return best;
}

/* The two spans over which it must fall, and the smallest fall that counts: the kernel frees and
 * takes pages in lots for each CPU. */
#define SHORT_USEC (UINT64_C(1000) * 1000)
#define LONG_USEC (UINT64_C(3000) * 1000)
#define LEAST_USEC (UINT64_C(500) * 1000)

/* The node was not read for so long that the former reading is of no use. */
#define GAP_USEC (UINT64_C(5000) * 1000)

/* --- one node --- */

/* age 0: the newest */
static size_t index_at(const GuardNode *node, size_t age) {
        return (node->newest + GUARD_READINGS - age) % GUARD_READINGS;
}

static const GuardReading *reading_at(const GuardNode *node, size_t age) {
        return &node->readings[index_at(node, age)];
}

/* All that programs and the kernel have not taken for good. */
static uint64_t untaken_bytes(const GuardReading *r) {
        return r->free_bytes + r->inactive_file_bytes + r->active_file_bytes;
}

uint64_t guard_left_bytes(const GuardReading *r) {
        return r->free_bytes + fit_minus(r->inactive_file_bytes, r->unclean_bytes) +
               r->active_file_bytes / 2;
}

/* As if what the mover brought were elsewhere still. */
static double level_at(const GuardNode *node, size_t age) {
        const size_t index = index_at(node, age);

        return (double)untaken_bytes(&node->readings[index]) + (double)node->pulled_bytes[index];
}

/* The loss of free memory in bytes per second over the time `span`: since the youngest reading that
 * is at least that old, else since the oldest reading, as if nothing had changed before it.
 * Negative: free memory grows. There must be a reading. */
static double fall_over(const GuardNode *node, uint64_t span_usec) {
        uint64_t elapsed = 0;
        size_t age = 0;

        while (elapsed < span_usec && age + 1 < node->n_readings)
                elapsed = reading_at(node, 0)->usec - reading_at(node, ++age)->usec;
        if (elapsed < LEAST_USEC)
                return 0;
        return (level_at(node, age) - level_at(node, 0)) * 1e6 /
               (double)(elapsed > span_usec ? elapsed : span_usec);
}

static uint64_t usec_until_gone(uint64_t room_bytes, double fall) {
        const double usec = fall > 0 ? (double)room_bytes * 1e6 / fall : 1e18;

        if (room_bytes == 0)
                return 0;
        return usec < 1e18 ? (uint64_t)usec : UINT64_MAX;
}

static uint64_t room_on(const GuardNode *node) {
        return fit_minus(guard_left_bytes(reading_at(node, 0)), node->headroom_bytes);
}

void guard_add(GuardNode *node, const GuardReading *reading) {
        const GuardReading *last = node->n_readings > 0 ? reading_at(node, 0) : NULL;
        uint64_t pulled = 0;
        size_t age = 0;
        double fall;

        if (last && reading->usec <= last->usec)
                return;
        if (last && reading->usec - last->usec > GAP_USEC) {
                node->n_readings = 0;
        } else if (last) {
                /* The memory that the mover may have moved since then. A pass may have ended or
                 * begun meanwhile. The mover's own count is lower: pages that NUMA balancing has
                 * marked move when the mover queries them. */
                const uint64_t rate = last->pull_bytes_per_sec > reading->pull_bytes_per_sec
                                              ? last->pull_bytes_per_sec
                                              : reading->pull_bytes_per_sec;
                const double most = (double)rate * (double)(reading->usec - last->usec) / 1e6;
                const uint64_t lost = fit_minus(untaken_bytes(last), untaken_bytes(reading));

                pulled = node->pulled_bytes[node->newest] +
                         ((double)lost < most ? lost : (uint64_t)most);
        }
        node->newest = (node->newest + 1) % GUARD_READINGS;
        node->readings[node->newest] = *reading;
        node->pulled_bytes[node->newest] = pulled;
        if (node->n_readings < GUARD_READINGS)
                node->n_readings++;
        /* Of a fall it keeps what was left when it began: three seconds before it was noticed. */
        fall = fall_over(node, LONG_USEC);
        if (node->n_readings < 2 || fall <= 0 ||
            usec_until_gone(room_on(node), fall) > GUARD_WATCH_USEC) {
                while (age + 1 < node->n_readings &&
                       reading_at(node, 0)->usec - reading_at(node, age)->usec < LONG_USEC)
                        age++;
                node->level_before = level_at(node, age);
        }
        fall = fall_over(node, SHORT_USEC);
        if (fall > (double)node->burst_bytes_per_sec)
                node->burst_bytes_per_sec = (uint64_t)fall;
}

/* --- a set of nodes --- */

GuardOutlook guard_predict(const GuardNode *nodes, size_t n_nodes, const NodeSet *set) {
        double fall_short = 0, fall_long = 0, fall;
        GuardOutlook o = { 0 };

        for (size_t i = 0; i < n_nodes; i++) {
                const GuardNode *n = &nodes[i];
                double taken;

                if (n->n_readings == 0 || !id_set_has(set, n->node))
                        continue;
                o.known = true;
                o.room_bytes += room_on(n);
                taken = n->level_before - level_at(n, 0);
                o.taken_bytes += taken > 0 ? (uint64_t)taken : 0;
                o.headroom_bytes += n->headroom_bytes;
                o.burst_bytes_per_sec += n->burst_bytes_per_sec;
                fall_short += fall_over(n, SHORT_USEC);
                fall_long += fall_over(n, LONG_USEC);
        }
        fall = fall_short < fall_long ? fall_short : fall_long;
        o.fall_bytes_per_sec = fall > 0 ? (uint64_t)fall : 0;
        o.gone_usec = o.known ? usec_until_gone(o.room_bytes, fall) : UINT64_MAX;
        return o;
}

static bool is_falling(const GuardOutlook *o) {
        return o->gone_usec <= GUARD_WATCH_USEC;
}

GuardVerdict guard_judge(const GuardOutlook *o) {
        if (!o->known)
                return GUARD_QUIET;
        /* It may take as much again as it has taken. */
        if (o->gone_usec <= GUARD_WIDEN_USEC)
                return o->room_bytes > o->headroom_bytes && o->room_bytes > o->taken_bytes
                               ? GUARD_WATCH
                               : GUARD_WIDEN;
        /* Free memory that fell so fast once may do so again, and between two readings. */
        return is_falling(o) || o->room_bytes / GUARD_BURST_SECONDS < o->burst_bytes_per_sec
                       ? GUARD_WATCH
                       : GUARD_QUIET;
}

bool guard_is_far(const GuardOutlook *o) {
        const uint64_t seconds = 2 * GUARD_FAR_INTERVAL_USEC / 1000000;
        const uint64_t fastest = o->burst_bytes_per_sec > GUARD_FAR_BYTES_PER_SEC
                                         ? o->burst_bytes_per_sec
                                         : GUARD_FAR_BYTES_PER_SEC;

        return o->known && !is_falling(o) && o->room_bytes / seconds >= fastest;
}

static bool is_calm(const GuardOutlook *home) {
        return home->known && !is_falling(home) && home->room_bytes >= home->headroom_bytes;
}

Reason guard_reason(const GuardOutlook *home) {
        if (is_calm(home))
                return REASON_NODE_FREED;
        return home->room_bytes > 0 && is_falling(home) ? REASON_NODE_FILLING : REASON_NODE_FULL;
}

bool guard_has_rested(const GuardOutlook *home, uint64_t calm_usec, uint64_t *since_usec,
                      uint64_t now_usec) {
        const bool calm = is_calm(home);

        if (!calm)
                *since_usec = 0;
        else if (*since_usec == 0)
                *since_usec = now_usec;
        return calm && now_usec - *since_usec >= calm_usec;
}

/* --- the node to widen to --- */

static bool may_be_chosen(const GuardSearch *s, const NodeRoom *r, bool home) {
        const Node *node = topology_find(s->topology, r->node);

        return room_of(r) > 0 && !id_set_has(s->blocked, r->node) &&
               !(s->strict && id_set_has(s->reserved, r->node)) &&
               (node && topology_is_home(node)) == home;
}

/* Among the nodes on which instances can be placed, or among the others. The criteria: enough room,
 * not reserved, near. A near node that lasts half as long as the best one is better than a far
 * node: the next node is added in time, too. A node without enough room and with less than half the
 * room of another node is hardly worth the widening, however near it is. */
static int choose_among(const GuardSearch *s, bool home) {
        uint32_t best_rank = UINT32_MAX;
        uint64_t most = 0;
        int best = -1;

        for (size_t i = 0; i < s->n_rooms; i++)
                if (may_be_chosen(s, &s->rooms[i], home) && room_of(&s->rooms[i]) > most)
                        most = room_of(&s->rooms[i]);
        for (size_t i = 0; i < s->n_rooms; i++) {
                const NodeRoom *r = &s->rooms[i];
                const uint64_t room = room_of(r);
                const uint32_t lasts_not = room < r->headroom_bytes ||
                                           (room < s->want_bytes && room < most / 2),
                               reserved = id_set_has(s->reserved, r->node),
                               is_small = lasts_not && room < most / 2;
                uint32_t near = UINT16_MAX, rank; /* lower is better */

                if (!may_be_chosen(s, r, home))
                        continue;
                ID_SET_FOREACH(from, s->home) {
                        const uint16_t d = topology_distance(s->topology, (uint32_t)from, r->node);

                        near = d < near ? d : near;
                }
                rank = lasts_not << 18 | reserved << 17 | is_small << 16 | near;
                if (rank < best_rank || (rank == best_rank && room > room_of(&s->rooms[best]))) {
                        best_rank = rank;
                        best = (int)i;
                }
        }
        return best;
}

int guard_choose(const GuardSearch *s) {
        const int best = choose_among(s, true);

        return best >= 0 ? best : choose_among(s, false);
}
