/* Network cards in /sys. */
#pragma once

#include "tidbnumad/model/device.h"
#include "tidbnumad/sys/sysroot.h"

/* Adds the real cards, and what bundles them: bonds and teams. */
int network_cards_load(const Sysroot *sysroot, DeviceList *list);

/* Marks the cards that this interface's packets go through: itself, or the cards below it, be it
 * a bridge, a VLAN, a bond, or several of them one on another. */
int network_cards_mark_route(const Sysroot *sysroot, const char *interface, DeviceList *list);
