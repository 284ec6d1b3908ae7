/* A token bucket whose balance may go below zero by one piece. */
#include "tidbnumad/enforce/mover.h"

void rate_init(Rate *rate, uint64_t bytes_per_sec, uint64_t now_usec) {
        *rate = (Rate){ .bytes_per_sec = bytes_per_sec, .last_usec = now_usec };
}

static void refill(Rate *rate, uint64_t now_usec) {
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
        refill(rate, now_usec);
        if (rate->balance_bytes >= 0)
                return 0;
        return (uint64_t)((double)-rate->balance_bytes / (double)rate->bytes_per_sec * 1e6) + 1;
}

void rate_change(Rate *rate, uint64_t bytes_per_sec, uint64_t now_usec) {
        refill(rate, now_usec);
        rate->bytes_per_sec = bytes_per_sec;
}

void rate_take(Rate *rate, uint64_t bytes) {
        rate->balance_bytes -= (int64_t)bytes;
}
