/* Loading of policies at the start and on SIGHUP. */
#pragma once

#include "tidbnumad/daemon/host/host.h"

/* Reads the policy files. 1: `ret` has the new policies, which the caller is to put in force. 0:
 * they are refused as a whole, and each error was logged; the policies in force stay, and of the
 * files only the drop-in of pause, resume and release is applied to them. Only -ENOMEM and the like
 * are errors. */
int load_policies(Host *host, PolicySet *ret);

/* Puts `fresh` in force; afterwards it holds the former policies, to which instances may still
 * refer. */
void load_take_over(Host *host, PolicySet *fresh);
