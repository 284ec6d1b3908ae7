/* A growing list of messages for whoever wrote the input: all that is wrong with it, not the first
 * thing only. Where the messages go (journal, terminal, status) is the caller's business. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/cleanup.h"

typedef struct Diagnostics {
        char **messages; /* owned, without a final newline */
        size_t n_messages;
        size_t allocated;
        int error; /* 0, or -ENOMEM when a message was lost */
} Diagnostics;

void diagnostics_done(Diagnostics *diagnostics);
#define _cleanup_diagnostics_ _cleanup_(diagnostics_done)

/* Never fails at the call: what could not be kept is told by `error`. */
void diagnostics_addf(Diagnostics *diagnostics, const char *format, ...) _printf_(2, 3);
