/* The rules of the audit, by their subject; audit.c calls them. A failure (-ENOMEM) is in the
 * `error` of the report. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/plan/audit.h"

/* Adds a finding; `found` is printf's. Takes over `where` and `remedy`; NULL: no memory. */
void audit_find(AuditReport *report, AuditRule rule, AuditState state, char *where, char *remedy,
                const char *found, ...) _printf_(6, 7);

void audit_host(const AuditInput *input, AuditReport *report);
void audit_devices(const AuditInput *input, AuditReport *report);
void audit_instances(const AuditInput *input, AuditReport *report);
