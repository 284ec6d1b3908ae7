#include <stdarg.h>
#include <string.h>

#include "tidbnumad/base/error.h"
#include "tidbnumad/base/text.h"

void error_done(Error *error) {
        free(error->owned);
        *error = (Error){ 0 };
}

const char *error_sentence(const Error *error) {
        return error->sentence ? error->sentence : strerror(-error->code);
}

_printf_(3, 0) static int error_compose(Error *error, int code, const char *format, va_list args,
                                        const char *end) {
        _cleanup_text_ Text text = { 0 };

        text_appendv(&text, format, args);
        text_append(&text, end);
        error_done(error);
        error->code = text.error < 0 ? text.error : code;
        if (text.error == 0)
                error->sentence = error->owned = TAKE_PTR(text.data);
        return error->code;
}

int error_set(Error *error, int code, const char *format, ...) {
        va_list args;

        va_start(args, format);
        if (error)
                code = error_compose(error, code, format, args, "");
        va_end(args);
        return code;
}

int error_prefix(Error *error, int code, const char *format, ...) {
        va_list args;

        va_start(args, format);
        if (error)
                code = error_compose(error, code, format, args,
                                     error->sentence ? error->sentence : strerror(-code));
        va_end(args);
        return code;
}
