/* What samples cost, of the time and of the budget. */
#pragma once

#include <stdint.h>

#include "tidbnumad/model/snapshot.h"

typedef struct Sampling Sampling;

typedef struct Begun {
        uint64_t usec, cpu_usec;
} Begun;

Begun cost_begin(void);
void cost_end(Sampling *sampling, SampleMethod method, Begun begun);

/* Likewise of a sample that goes on later: its part of the budget. */
void cost_pause(Sampling *sampling, Begun begun);
