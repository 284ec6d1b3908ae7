/* What every fuzz target has: the call that a fuzzer makes, and what its answers are judged by. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An answer that must not be: the fuzzer takes the abort for a crash, and keeps the input. */
static inline void check(int condition) {
        if (!condition)
                abort();
}

/* The input as text, in a block of exactly its size and a NUL, so that a sanitizer sees the first
 * byte too far. The caller owns it. NULL: no memory. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
        char *text = malloc(size + 1);

        if (!text)
                return NULL;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';
        return text;
}
