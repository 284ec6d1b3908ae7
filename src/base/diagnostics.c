/* A growing list of messages. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/diagnostics.h"

void diagnostics_done(Diagnostics *diagnostics) {
        for (size_t i = 0; i < diagnostics->n_messages; i++)
                free(diagnostics->messages[i]);
        free(diagnostics->messages);
        *diagnostics = (Diagnostics){ 0 };
}

void diagnostics_addf(Diagnostics *diagnostics, const char *format, ...) {
        char *message = NULL;
        va_list args;
        int n;

        if (ARRAY_RESERVE(diagnostics->messages, diagnostics->allocated,
                          diagnostics->n_messages + 1) < 0) {
                diagnostics->error = -ENOMEM;
                return;
        }
        va_start(args, format);
        n = vasprintf(&message, format, args);
        va_end(args);
        if (n < 0) {
                diagnostics->error = -ENOMEM;
                return;
        }
        diagnostics->messages[diagnostics->n_messages++] = message;
}
