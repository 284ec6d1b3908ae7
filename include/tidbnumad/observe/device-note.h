/* A device as one line of text, for the XML of a machine: "net eth0 node=0 pci=0000:3b:00.0
 * driver=mlx5_core speed=100000 master=bond0 default-route virtual-function". What is not known is
 * not there. Blanks and the like in names are written as \040. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/device.h"

void device_note_render(const Device *device, Text *text);

/* Unknown words are passed over: a later version may know more. -EBADMSG: no such line. */
int device_note_parse(const char *text, Device *ret);
