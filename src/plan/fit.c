#include "tidbnumad/plan/fit.h"

uint64_t fit_minus(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

uint64_t fit_headroom_bytes(uint64_t node_bytes, uint64_t high_watermark_bytes) {
        uint64_t share = node_bytes / 50, marks = 3 * high_watermark_bytes;

        return share > marks ? share : marks;
}

static uint64_t room_of(const NodeRoom *room) {
        return fit_minus(room->free_bytes + room->reclaimable_bytes, room->headroom_bytes);
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
        const uint64_t left = room_of(&room) + held_bytes;

        return left < use->total_bytes ? left : use->total_bytes;
}

uint64_t fit_need_bytes(const NodeMemory *by_node, size_t n_nodes, uint64_t limit_bytes) {
        uint64_t bytes = 0;

        if (limit_bytes > 0)
                return limit_bytes;
        for (size_t i = 0; by_node && i < n_nodes; i++)
                bytes += node_memory_held(&by_node[i]);
        return bytes;
}

bool fit_check(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes, uint64_t *ret_missing_bytes) {
        uint64_t room = 0;

        for (size_t i = 0; i < n_rooms; i++)
                room += fit_minus(room_of(&rooms[i]), rooms[i].promised_bytes);
        if (ret_missing_bytes)
                *ret_missing_bytes = fit_minus(bytes, room);
        return bytes <= room;
}

int fit_best(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes) {
        uint64_t most = 0;
        int best = -1;

        for (size_t i = 0; i < n_rooms; i++) {
                uint64_t room = room_of(&rooms[i]);

                if (room >= bytes && room > most) {
                        most = room;
                        best = (int)i;
                }
        }
        return best;
}
