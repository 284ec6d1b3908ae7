/* Which mappings have the most outside: the mover's first look at a process. */
#pragma once

#include "tidbnumad/enforce/mover.h"

/* Ranks the next MOVER_LINES mappings. Returns 1: more to do; 0: all are ranked; -ESRCH. */
int mover_survey_step(Mover *mover, const NodeSet *nodes);

/* Is it among those that were ranked, and has not grown since? */
bool mover_survey_has(const Mover *mover, const Mapping *mapping);
