/* Devices in hwloc's tree: those that it found, and those that topology_export() noted. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/device.h"
#include "tidbnumad/world/topology-fill.h"

/* For an exported machine what the export has, for others what hwloc reports: name, PCI address,
 * and the node, if exactly one of the nodes near the device has CPUs. */
int topology_devices_load(hwloc_topology_t t, const Topology *topology, DeviceList *ret);

/* Notes them on hwloc's devices of the same name, the rest on the machine. */
int topology_devices_note(hwloc_topology_t t, const DeviceList *devices);

void device_note_render(const Device *device, Text *text);

/* Unknown words are passed over: a later version may know more. -EBADMSG: no such line. */
int device_note_parse(const char *text, Device *ret);
