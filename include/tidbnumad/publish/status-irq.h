/* The part of status.json that is about interrupts. */
#pragma once

#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/publish/object.h"

json_t *status_irq(const IrqSnapshot *irq);
