/* A token bucket: so many bytes a second, no more than a tenth of a second's worth at once. */
#pragma once

#include <stdint.h>

typedef struct Rate {
        uint64_t bytes_per_sec;
        int64_t balance_bytes; /* below zero: owed by a piece that was larger than what was there */
        uint64_t last_usec;    /* monotonic */
} Rate;

void rate_init(Rate *rate, uint64_t bytes_per_sec, uint64_t now_usec);

/* May a piece be moved now? 0: yes. Else the microseconds to wait. */
uint64_t rate_wait_usec(Rate *rate, uint64_t now_usec);

/* Another speed from now on; what is owed stays owed. */
void rate_change(Rate *rate, uint64_t bytes_per_sec, uint64_t now_usec);

/* Pays for a piece after the fact; the next ones wait until a debt is paid off. */
void rate_take(Rate *rate, uint64_t bytes);
