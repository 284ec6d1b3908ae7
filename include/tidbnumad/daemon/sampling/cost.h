/* The cost of samples, which the budget limits. */
#pragma once

#include <stdint.h>

#include "tidbnumad/model/snapshot.h"

typedef struct Sampling Sampling;

typedef struct Begun {
        uint64_t usec, cpu_usec;
} Begun;

Begun cost_begin(void);
void cost_end(Sampling *sampling, SampleMethod method, Begun begun);

/* Adds the cost of one part of a sample that continues later. */
void cost_pause(Sampling *sampling, Begun begun);
