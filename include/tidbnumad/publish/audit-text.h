/* The audit for people and programs. */
#pragma once

#include "tidbnumad/base/json.h"
#include "tidbnumad/model/audit.h"

/* The findings, worst first, what mends each, and the rules that hold or are not known. `width` as
 * for table_render(). Failure shows in text->error. */
void audit_render_text(const AuditReport *report, unsigned width, bool colors, Text *text);

void audit_json(Json *json, const AuditReport *report);
