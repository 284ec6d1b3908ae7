/* The part of status.json that is about one instance. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/snapshot.h"

/* Appends the object, as jansson would, indented as an element of a list that is a value of the
 * whole; no newline at its end. */
void status_instance_append(Text *text, const Topology *topology, const InstanceInfo *instance);
