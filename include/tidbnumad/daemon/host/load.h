/* Loads policies at the start and on SIGHUP. */
#pragma once

#include "tidbnumad/daemon/host/host.h"

/* Reads the policy files. 1: `ret` has the new policies, which the caller puts in force. 0: the set
 * was rejected as a whole, and each error was logged; the policies in force stay, and only the
 * drop-in of pause, resume and release is applied to them. Returns only errors such as -ENOMEM. */
int load_policies(Host *host, PolicySet *ret);

/* Puts `fresh` in force; afterwards `fresh` contains the former policies, to which instances may
 * still refer. */
void load_take_over(Host *host, PolicySet *fresh);
