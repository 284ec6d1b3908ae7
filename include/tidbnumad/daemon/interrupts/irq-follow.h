/* Verification of masks that were written: does the interrupt go where its mask says? */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Compares with the last look. What goes on firing elsewhere counts as failed, and is told once. */
void irq_follow(Manager *manager, const IrqHost *host, const IrqWishes *wishes);
