/* Why something failed: the code, and the sentence on what was wrong, where, what was expected and
 * how to mend it. Made where that is known, and carried up to the one place that logs it or answers
 * with it. */
#pragma once

#include <string.h>

#include "tidbnumad/base/cleanup.h"

/* On the stack of whoever wants to know; zeroed, it is no error. What is constant, or lasts as long
 * as a call, needs no function: (Error){ .code = -EBUSY, .sentence = "another one has it" }. */
typedef struct Error {
        int code;             /* negative errno, or what else the caller returns then; 0: none */
        const char *sentence; /* NULL: nothing is known but the code */
        char *owned;          /* the sentence, where it was composed */
} Error;

void error_done(Error *error);
#define _cleanup_error_ _cleanup_(error_done)

/* Composes the sentence in place of a former one, which may be among the arguments, and returns
 * `code`, or -ENOMEM without a sentence. `error` NULL: only the code is wanted. */
int error_set(Error *error, int code, const char *format, ...) _printf_(3, 4);

/* The same in front of what is known: the former sentence, or else strerror(3) of `code`. */
int error_prefix(Error *error, int code, const char *format, ...) _printf_(3, 4);

/* What is known: the sentence, or else strerror(3) of the code. */
const char *error_sentence(const Error *error);
