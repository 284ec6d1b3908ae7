/* The audit of a host. */
#include <errno.h>
#include <stdarg.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/plan/audit-rules.h"

static _printf_(1, 0) char *format_text(const char *format, va_list arguments) {
        Text text = { 0 };

        text_appendv(&text, format, arguments);
        if (text.error < 0)
                text_done(&text);
        return text.data;
}

char *audit_text(const char *format, ...) {
        va_list arguments;
        char *text;

        va_start(arguments, format);
        text = format_text(format, arguments);
        va_end(arguments);
        return text;
}

int audit_find(AuditReport *report, AuditRule rule, AuditState state, char *where, char *remedy,
               const char *format, ...) {
        AuditFinding finding = { .rule = rule, .state = state, .where = where, .remedy = remedy };
        va_list arguments;

        va_start(arguments, format);
        finding.found = format_text(format, arguments);
        va_end(arguments);
        return audit_report_add(report, &finding);
}

int audit_build(const AuditInput *input, AuditReport *ret) {
        static int (*const parts[])(const AuditInput *,
                                    AuditReport *) = { audit_host, audit_machine, audit_devices,
                                                       audit_instances };
        _cleanup_audit_report_ AuditReport report = { 0 };

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                int r = parts[i](input, &report);

                if (r < 0)
                        return r;
        }
        *ret = report;
        report = (AuditReport){ 0 };
        return 0;
}
