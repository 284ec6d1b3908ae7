/* The rules of the audit, by what they look at; audit.h calls them. 0 or -ENOMEM. */
#pragma once

#include "tidbnumad/plan/audit.h"

/* Adds a finding; the strings are printf's. 0 or -ENOMEM. */
int audit_find(AuditReport *report, AuditRule rule, AuditState state, char *where, char *remedy,
               const char *format, ...) _printf_(6, 7);

/* A new string; NULL: no memory. */
char *audit_text(const char *format, ...) _printf_(1, 2);

int audit_host(const AuditInput *input, AuditReport *report);
int audit_machine(const AuditInput *input, AuditReport *report);
int audit_devices(const AuditInput *input, AuditReport *report);
int audit_instances(const AuditInput *input, AuditReport *report);
