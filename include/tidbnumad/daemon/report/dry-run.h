/* What a dry run that publishes nothing prints. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/report/publish.h"

/* A table of the instances: where each belongs, and what would be done. */
void dry_run_render(const Report *report, Text *text);
