/* A number that a server of this host reports about itself: a metric of its /metrics, read by HTTP
 * over the loopback interface. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The requested metric, and the result so far while the answer arrives. An answer may be large and
 * may contain anything: only one line of it is kept. */
typedef struct MetricReader {
        const char *const *names; /* any of these, without labels; NULL behind the last */
        char line[128];
        size_t length; /* of `line`; longer lines cannot be the requested metric */
        bool cut;      /* the line is longer */
        bool begun;    /* the first line is over */
        bool body;     /* the headers are over */
        int result;    /* 0: not found yet; 1: found; -errno */
        uint32_t value;
} MetricReader;

/* The next bytes of the answer, headers first. Its `result`: -EBADMSG: no answer of HTTP, or
 * another status than 200. A metric counts if its value is a whole number from 1. */
int metric_reader_add(MetricReader *reader, const char *bytes, size_t size);

/* 0; -ENODATA: it has none of these metrics; -EBADMSG; -ETIMEDOUT; -ECONNREFUSED and what else
 * connect(2) gives. */
int metric_get(uint16_t port, const char *const *names, uint32_t timeout_msec, uint32_t *ret);
