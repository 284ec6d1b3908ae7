/* Does what must move fit? */
#include "tidbnumad/plan/fit.h"

static uint64_t minus(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

uint64_t fit_headroom_bytes(uint64_t node_bytes, uint64_t high_watermark_bytes) {
        uint64_t share = node_bytes / 50, marks = 3 * high_watermark_bytes;

        return share > marks ? share : marks;
}

static uint64_t room_of(const NodeRoom *room) {
        return minus(room->free_bytes + room->reclaimable_bytes, room->headroom_bytes);
}

bool fit_check(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes, uint64_t *ret_missing_bytes) {
        uint64_t room = 0;

        for (size_t i = 0; i < n_rooms; i++)
                room += minus(room_of(&rooms[i]), rooms[i].promised_bytes);
        if (ret_missing_bytes)
                *ret_missing_bytes = minus(bytes, room);
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
